//! From the operator's words to a host: the data folder by the platform's convention, the plugins, the documents.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::signing::Signing;
use super::{Data, Documents, findings, print};
use crate::catalogue::{Catalogue, FileFault, Plugins};
use crate::clock::System;
use crate::plugin::contract::Severity;
use crate::plugin::{Policy, Runtime, RuntimeOptions};
use crate::session::{Host, HostOptions};
use crate::store::{self, Store};

impl Data {
    /// The folder: the one that was named, else the platform's.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        if let Some(named) = &self.data {
            return Ok(named.clone());
        }
        default_folder().context(
            "there is no folder for sessions: neither HOME nor XDG_DATA_HOME is set. Name one with `--data DIR` or \
             WFHOST_DATA, or keep sessions in memory only with `serve --ephemeral`",
        )
    }

    /// The store in that folder, if there is one: who only looks must leave no folder behind.
    pub(crate) fn store_if_there(&self) -> Result<Option<Arc<dyn Store>>> {
        let folder = self.folder()?;
        match std::fs::metadata(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Ok(_) | Err(_) => self.store().map(Some),
        }
    }

    /// The store in that folder.
    pub(crate) fn store(&self) -> Result<Arc<dyn Store>> {
        let folder = self.folder()?;
        let options = store::Options { notice: Arc::new(|text: &str| print::note(text)), ..store::Options::default() };
        Ok(store::open(&folder, options)?)
    }

    /// Where native code of plugins is kept: in the data folder, else in the platform's folder for what can be made again.
    pub(crate) fn cache(&self) -> Option<PathBuf> {
        let folder = match &self.data {
            Some(named) => Some(named.clone()),
            None => cache_folder().or_else(default_folder),
        };
        Some(folder?.join("native"))
    }
}

/// Where commands without a data folder keep native code: with the data if there is any, else in the platform's folder for
/// what can be made again. None means that plugins are compiled each time.
pub(crate) fn cache() -> Option<PathBuf> {
    let data = std::env::var_os("WFHOST_DATA").map(PathBuf::from).filter(|folder| folder.is_dir());
    Some(data.or_else(cache_folder).or_else(default_folder)?.join("native"))
}

/// A path as messages show it: without `.` and doubled or trailing separators.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let kept: PathBuf = path.components().filter(|c| !matches!(c, Component::CurDir)).collect();
    if kept.as_os_str().is_empty() { PathBuf::from(".") } else { kept }
}

fn variable(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name)?;
    let path = PathBuf::from(value);
    path.is_absolute().then_some(path)
}

fn default_folder() -> Option<PathBuf> {
    if cfg!(windows) {
        return Some(variable("LOCALAPPDATA")?.join("wfhost"));
    }
    if cfg!(target_os = "macos") {
        return Some(variable("HOME")?.join("Library/Application Support/wfhost"));
    }
    let share = variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")))?;
    Some(share.join("wfhost"))
}

fn cache_folder() -> Option<PathBuf> {
    if cfg!(windows) {
        return None;
    }
    if cfg!(target_os = "macos") {
        return Some(variable("HOME")?.join("Library/Caches/wfhost"));
    }
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")))?;
    Some(cache.join("wfhost"))
}

impl Documents {
    /// The plugins that were named, or all built-in ones.
    pub(crate) fn plugins(&self, cache: Option<PathBuf>) -> Result<Plugins> {
        let runtime = runtime_under(cache, self.policy.as_deref())?;
        self.all_plugins(&runtime)
    }

    /// A host that serves at once what it can, and the names of the plugins that take seconds to be made ready.
    pub(crate) fn host_now(
        &self,
        store: Arc<dyn Store>,
        cache: Option<PathBuf>,
        options: HostOptions,
    ) -> Result<(Host, Vec<String>)> {
        let (plugins, slow) = Plugins::choose_ready(&runtime_under(cache, self.policy.as_deref())?, &self.plugins)?;
        let plugins = plugins.with_servers(self.servers.clone());
        Ok((Host::new(store, Arc::new(System), (plugins, self.places.clone()), options)?, slow))
    }

    /// All plugins that were named, the slow ones with them.
    pub(crate) fn all_plugins(&self, runtime: &Arc<Runtime>) -> Result<Plugins> {
        Ok(Plugins::choose(runtime, &self.plugins)?.with_servers(self.servers.clone()))
    }

    /// With the operator's own upstream servers, by name.
    pub(crate) fn with_servers(self, servers: Vec<String>) -> Self {
        Self { servers, ..self }
    }

    /// A host over the documents, in this store.
    pub(crate) fn host(&self, store: Arc<dyn Store>, cache: Option<PathBuf>, options: HostOptions) -> Result<Host> {
        let plugins = self.plugins(cache)?;
        Ok(Host::new(store, Arc::new(System), (plugins, self.places.clone()), options)?)
    }

    /// The documents' places, for messages.
    pub(crate) fn shown(&self) -> String {
        shown(&self.places)
    }

    pub(crate) fn places(&self) -> &[PathBuf] {
        &self.places
    }
}

/// Places in a message.
pub(crate) fn shown(places: &[PathBuf]) -> String {
    places.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(" and ")
}

/// An engine; what it could not have is told.
pub(crate) fn runtime(cache: Option<PathBuf>) -> Result<Arc<Runtime>> {
    // What may not run is not run by commands either that take no policy on their command line.
    runtime_under(cache, std::env::var_os("WFHOST_POLICY").map(PathBuf::from).as_deref())
}

/// The same under a policy.
pub(crate) fn runtime_under(cache: Option<PathBuf>, policy: Option<&Path>) -> Result<Arc<Runtime>> {
    let policy = policy.map(Policy::from_file).transpose()?;
    let runtime = Runtime::new(RuntimeOptions { cache, policy, ..RuntimeOptions::default() })?;
    if let Some(warning) = &runtime.warning {
        print::note(warning);
    }
    Ok(Arc::new(runtime))
}

/// A host without documents over a store, for commands that look at sessions.
pub(crate) fn bare_host(store: Arc<dyn Store>, cache: Option<PathBuf>) -> Result<Host> {
    host_of(store, cache, HostOptions::default())
}

/// The same for commands that write to sessions: with the key that seals them, if there is one.
pub(crate) fn writing_host(store: Arc<dyn Store>, cache: Option<PathBuf>, signing: &Signing) -> Result<Host> {
    host_of(store, cache, HostOptions { signer: signing.signer()?, ..HostOptions::default() })
}

fn host_of(store: Arc<dyn Store>, cache: Option<PathBuf>, options: HostOptions) -> Result<Host> {
    let plugins = Plugins::choose(&runtime(cache)?, &[])?;
    Ok(Host::new(store, Arc::new(System), (plugins, Vec::new()), options)?.with_outside(None))
}

/// A catalogue of the places that can be read, and what is wrong with the others.
pub(crate) fn survey(plugins: &Plugins, places: &[PathBuf]) -> Result<(Catalogue, Vec<FileFault>)> {
    let _progress = print::Progress::of("reading documents");
    let (there, faults) = readable(places);
    Ok((Catalogue::load(plugins, &there, None)?, faults))
}

/// The places that can be read, and what is wrong with the others.
pub(crate) fn readable(places: &[PathBuf]) -> (Vec<PathBuf>, Vec<FileFault>) {
    let (mut there, mut faults) = (Vec::new(), Vec::new());
    for place in places {
        let looked = std::fs::metadata(place)
            .and_then(|m| if m.is_dir() { std::fs::read_dir(place).map(|_| ()) } else { Ok(()) });
        match looked {
            Ok(()) => there.push(place.clone()),
            Err(error) => faults.push(FileFault { place: place.display().to_string(), reason: error.to_string() }),
        }
    }
    (there, faults)
}

/// One line a finding: file, place, what, and what to do.
pub(crate) fn findings(catalogue: &Catalogue) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in catalogue.findings() {
        let d = &finding.diagnostic;
        let place = d.span.as_ref().map(|s| format!(":{}:{}", s.start.line, s.start.column)).unwrap_or_default();
        let kind = severity(d.severity);
        let help = d.help.as_ref().map(|h| format!(" ({h})")).unwrap_or_default();
        let line = format!("{}{place}: {kind}[{}]: {}{help}", finding.file, d.code, d.message);
        lines.push(print::plain(&line));
    }
    for clash in &catalogue.clashes {
        lines.push(findings::clash(clash));
    }
    lines
}

/// A severity's name.
pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// Refuses to go on when there is nothing to serve, or, if strict, when anything is wrong.
pub(crate) fn insist(documents: &Documents, catalogue: &Catalogue, strict: bool) -> Result<()> {
    if catalogue.files.is_empty() {
        bail!("no documents found in {}", documents.shown());
    }
    let bad = catalogue.files.iter().filter(|f| f.is_bad()).count();
    if catalogue.offered.is_empty() {
        bail!("none of the {bad} documents in {} can be served (see above)", documents.shown());
    }
    if strict && (bad > 0 || !catalogue.clashes.is_empty()) {
        bail!("{bad} documents are bad (see above), and `--strict` serves all or none");
    }
    Ok(())
}
