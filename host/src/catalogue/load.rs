//! Makes a catalogue: every document goes to the plugin that recognises it, its findings are collected, and a bad one takes
//! nothing else down. A version that became bad leaves the last good one served.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::definition::Definition;
use super::finding::{Clash, Finding};
use super::folder::{self, FileFault, Found, fits};
use super::plugins::{Chosen, Plugins};
use super::publish::TAKEN;
use crate::plugin::{Plugin, contract};
use crate::session::model::Digest;

/// The finding about an id that another document has already.
const REPEATED: &str = "duplicate-id";

/// Companions that are no files but the host's own word lie under this; no file of a folder has a slash in its path.
const BY_HOST: &str = "upstream/";
/// The companion that names the operator's upstream servers: a JSON list of texts.
const SERVERS: &str = "upstream/servers.json";

/// A document and what became of it.
#[derive(Debug, Clone)]
pub struct File {
    /// As messages show it.
    pub shown: String,
    /// Whose it is.
    pub plugin: Option<String>,
    /// The workflows that it offers, by id; after a change for the worse those of the last good version.
    pub definitions: Vec<Arc<Definition>>,
    /// What is wrong or doubtful in it as it stands now.
    pub findings: Vec<Finding>,
    digest: Digest,
}

impl File {
    /// Whether it has an error as it stands now.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        self.findings.iter().any(|f| f.diagnostic.severity == contract::Severity::Error)
    }

    /// Without what only its neighbours of that time were a reason for: such a finding shows no bytes of the file.
    fn as_it_was_read(&self) -> Self {
        let mut file = self.clone();
        let by_neighbours = |f: &Finding| [REPEATED, TAKEN].contains(&f.diagnostic.code.as_str()) && f.bytes.is_empty();
        file.findings.retain(|f| !by_neighbours(f));
        file
    }
}

/// The workflows of one plugin.
#[derive(Debug)]
pub struct Offered {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// What `tools` and `catalogue` are told, in the order of the files.
    pub workflows: Vec<contract::Workflow>,
    /// Their ids, in the same order.
    pub ids: Vec<String>,
    definitions: HashMap<String, Arc<Definition>>,
}

impl Offered {
    /// The newest definition of a workflow.
    #[must_use]
    pub fn definition(&self, workflow: &str) -> Option<&Arc<Definition>> {
        self.definitions.get(workflow)
    }
}

/// An MCP tool and whose it is.
#[derive(Debug)]
pub struct Tool {
    /// The tool.
    pub tool: contract::Tool,
    /// Whose it is: an index into `Catalogue::offered`.
    pub owner: usize,
}

/// All that is offered.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// By plugin.
    pub offered: Vec<Offered>,
    /// All tools, by name.
    pub tools: BTreeMap<String, Tool>,
    /// All documents, in order.
    pub files: Vec<File>,
    /// Names that two plugins or documents claim.
    pub clashes: Vec<Clash>,
}

impl Catalogue {
    /// Reads the places and makes a catalogue of what is there. `before` is the one that it replaces.
    pub fn load(plugins: &Plugins, places: &[PathBuf], before: Option<&Self>) -> Result<Self, FileFault> {
        Self::load_beside(plugins, places, (before, &|_| None))
    }

    /// The same; `beside` gives for a document, as messages show it, a companion that is no file.
    pub fn load_beside(
        plugins: &Plugins,
        places: &[PathBuf],
        (before, beside): (Option<&Self>, Beside<'_>),
    ) -> Result<Self, FileFault> {
        let mut catalogue = Self::default();
        for place in places {
            let found = folder::read(place, &|name| plugins.want(name))?;
            let folder = if place.is_dir() { place.as_path() } else { place.parent().unwrap_or(Path::new("")) };
            catalogue.files.extend(Reader { plugins, folder, before, beside }.files(&found));
        }
        catalogue.offer(plugins, before);
        Ok(catalogue)
    }

    /// A catalogue of one document that is not on disk, as if it stood in this folder under this name. Files of the folder
    /// that belong to it are read.
    #[must_use]
    pub fn of_draft(plugins: &Plugins, folder: &Path, name: &str, bytes: Vec<u8>) -> Self {
        let found = Found { shown: name.to_owned(), path: name.to_owned(), bytes: Ok(bytes) };
        let mut catalogue = Self {
            files: Reader { plugins, folder, before: None, beside: &|_| None }.files(&[found]),
            ..Self::default()
        };
        catalogue.offer(plugins, None);
        catalogue
    }

    /// What a plugin of this name offers.
    #[must_use]
    pub fn of(&self, interpreter: &str) -> Option<&Offered> {
        self.offered.iter().find(|o| o.plugin.about.name == interpreter)
    }

    /// A workflow of an interpreter.
    #[must_use]
    pub fn workflow(&self, interpreter: &str, workflow: &str) -> Option<&Arc<Definition>> {
        self.of(interpreter)?.definition(workflow)
    }

    /// All findings, in the order of the files; then the clashes.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.files.iter().flat_map(|f| &f.findings)
    }

    fn offer(&mut self, plugins: &Plugins, before: Option<&Self>) {
        let mut by_plugin: BTreeMap<usize, Vec<Arc<Definition>>> = BTreeMap::new();
        let mut seen: HashMap<(usize, String), String> = HashMap::new();
        for file in &mut self.files {
            let Some(index) = plugins.chosen.iter().position(|c| Some(&c.name) == file.plugin.as_ref()) else {
                continue;
            };
            for definition in &file.definitions {
                let id = definition.about.id.clone();
                if let Some(first) = seen.get(&(index, id.clone())) {
                    file.findings.push(repeated(&file.shown, &id, first));
                    self.clashes.push(Clash {
                        name: id,
                        first: first.clone(),
                        second: file.shown.clone(),
                        reason: None,
                    });
                    continue;
                }
                seen.insert((index, id), file.shown.clone());
                by_plugin.entry(index).or_default().push(Arc::clone(definition));
            }
        }
        // A plugin whose last document went away still has runs, and its tools go on.
        for (index, chosen) in plugins.chosen.iter().enumerate() {
            if before.is_some_and(|b| b.of(&chosen.name).is_some()) {
                by_plugin.entry(index).or_default();
            }
        }
        for (index, definitions) in by_plugin {
            if let Some(plugin) = plugins.chosen.get(index).and_then(Chosen::loaded) {
                self.offered.push(offered(plugin, definitions));
            }
        }
        self.publish();
    }
}

fn offered(plugin: Arc<Plugin>, definitions: Vec<Arc<Definition>>) -> Offered {
    Offered {
        plugin,
        workflows: definitions.iter().map(|d| d.about.clone()).collect(),
        ids: definitions.iter().map(|d| d.about.id.clone()).collect(),
        definitions: definitions.into_iter().map(|d| (d.about.id.clone(), d)).collect(),
    }
}

/// Reads the documents of one place.
struct Reader<'r> {
    plugins: &'r Plugins,
    folder: &'r Path,
    before: Option<&'r Catalogue>,
    beside: Beside<'r>,
}

/// From a document, as messages show it, to a companion of it that is no file.
pub type Beside<'b> = &'b dyn Fn(&str) -> Option<contract::Document>;

/// Whose a document is, and the globs of its companions.
type Claim = (Arc<Plugin>, Vec<String>);

/// A document that a plugin claims.
struct Claimed {
    shown: String,
    document: contract::Document,
    claim: Result<Claim, contract::Diagnostic>,
}

impl Reader<'_> {
    fn files(&self, found: &[Found]) -> Vec<File> {
        let claimed: Vec<Claimed> = found.iter().map(|f| self.claim(f)).collect();
        let companions: HashSet<&str> = claimed
            .iter()
            .flat_map(|c| {
                let globs = c.claim.as_ref().map(|(_, globs)| globs.as_slice()).unwrap_or_default();
                claimed
                    .iter()
                    .map(|o| o.document.path.as_str())
                    .filter(move |path| *path != c.document.path && globs.iter().any(|glob| fits(glob, path)))
            })
            .collect();
        claimed.iter().filter(|c| !companions.contains(c.document.path.as_str())).map(|c| self.file(c)).collect()
    }

    fn claim(&self, found: &Found) -> Claimed {
        let (bytes, claim) = match &found.bytes {
            Ok(bytes) => (bytes.clone(), None),
            Err(reason) => {
                let message = format!("the file cannot be read: {reason}");
                (Vec::new(), Some(Err(host_error("unreadable-file", message, None))))
            }
        };
        let document = contract::Document { path: found.path.clone(), bytes };
        let claim = claim.unwrap_or_else(|| self.owner(&document));
        Claimed { shown: found.shown.clone(), document, claim }
    }

    /// The one plugin whose document it is. If only one reads such files, it says itself why it is not its own.
    fn owner(&self, document: &contract::Document) -> Result<Claim, contract::Diagnostic> {
        let name = &document.path;
        let (mut owners, mut broken) = (Vec::new(), None);
        for chosen in self.plugins.chosen.iter().filter(|c| c.may_own(document)) {
            match self.asked(chosen, document) {
                Ok(claim) => owners.extend(claim),
                // One plugin's trouble is the document's only if nobody else claims it.
                Err(fault) => broken = Some(fault),
            }
        }
        if owners.len() > 1 {
            let names = owners.iter().map(|(p, _)| format!("`{}`", p.about.name)).collect::<Vec<_>>().join(" and ");
            let help = "serve it with one `--plugin` only".to_owned();
            return Err(host_error(
                "claimed-twice",
                format!("the plugins {names} both claim this document"),
                Some(help),
            ));
        }
        if let Some(owner) = owners.pop() {
            return Ok(owner);
        }
        if let Some(fault) = broken {
            return Err(fault);
        }
        let reading: Vec<&Chosen> = self.plugins.chosen.iter().filter(|c| c.reads(name)).collect();
        match reading.as_slice() {
            [only] => Ok((self.load(only)?, Vec::new())),
            several => Err(self.unreadable(several, document).unwrap_or_else(|| unknown(several))),
        }
    }

    /// What all plugins that read such files find first, if it is one kind of error at some place: then the document is
    /// broken for each of them, whosever it was meant to be.
    fn unreadable(&self, reading: &[&Chosen], document: &contract::Document) -> Option<contract::Diagnostic> {
        let bundle = contract::Bundle { main: document.clone(), companions: Vec::new() };
        let mut first: Option<contract::Diagnostic> = None;
        for chosen in reading {
            let compiled = self.plugins.load(chosen).ok()?.compile(&bundle).ok()?;
            let error = compiled.diagnostics.into_iter().find(|d| d.severity == contract::Severity::Error)?;
            if error.span.is_none() || first.as_ref().is_some_and(|first| first.code != error.code) {
                return None;
            }
            first.get_or_insert(error);
        }
        first
    }

    fn asked(&self, chosen: &Chosen, document: &contract::Document) -> Result<Option<Claim>, contract::Diagnostic> {
        let plugin = self.load(chosen)?;
        let globs = plugin.recognise(document).map_err(|fault| host_error("plugin-fault", fault.to_string(), None))?;
        Ok(globs.map(|globs| (plugin, globs)))
    }

    fn load(&self, chosen: &Chosen) -> Result<Arc<Plugin>, contract::Diagnostic> {
        self.plugins.load(chosen).map_err(|fault| host_error("plugin-fault", fault.to_string(), None))
    }

    fn file(&self, claimed: &Claimed) -> File {
        let (plugin, globs) = match &claimed.claim {
            Ok(claim) => claim,
            Err(diagnostic) => {
                let digest = Digest::of(&claimed.document.bytes);
                let mut file = File {
                    shown: claimed.shown.clone(),
                    plugin: None,
                    definitions: Vec::new(),
                    findings: vec![finding(&claimed.shown, diagnostic.clone(), &claimed.document.bytes)],
                    digest,
                };
                self.keep_last_good(&mut file);
                return file;
            }
        };
        let mut companions = self.companions(&claimed.document.path, globs);
        companions.extend((self.beside)(&claimed.shown));
        companions.extend(self.servers());
        let bundle = contract::Bundle { main: claimed.document.clone(), companions };
        let digest = digest(plugin, &bundle);
        let mut file = match self.known(&claimed.shown, digest) {
            Some(file) => file.as_it_was_read(),
            None => compile(plugin, &claimed.shown, &bundle, digest),
        };
        self.keep_last_good(&mut file);
        file
    }

    fn companions(&self, main: &str, globs: &[String]) -> Vec<contract::Document> {
        let mut folders: Vec<&str> = globs.iter().map(|glob| split(glob).0).collect();
        folders.sort_unstable();
        folders.dedup();
        let read = folders.into_iter().filter(|folder| inside(folder)).flat_map(|folder| {
            let wanted = |name: &str| {
                let fit = |glob: &String| split(glob).0 == folder && fits(split(glob).1, name);
                !(folder.is_empty() && name == main) && globs.iter().any(fit)
            };
            let found = folder::read(&self.folder.join(folder), &wanted).unwrap_or_default();
            found.into_iter().map(move |file| (folder, file))
        });
        let document = |(folder, file): (&str, folder::Found)| {
            let path = if folder.is_empty() { file.path } else { format!("{folder}/{}", file.path) };
            Some(contract::Document { path, bytes: file.bytes.ok()? })
        };
        read.filter_map(document).collect()
    }

    fn servers(&self) -> Option<contract::Document> {
        let names = &self.plugins.servers;
        let bytes = serde_json::to_vec(names).ok().filter(|_| !names.is_empty())?;
        Some(contract::Document { path: SERVERS.into(), bytes })
    }

    fn known(&self, shown: &str, digest: Digest) -> Option<&File> {
        self.before?.files.iter().find(|f| f.shown == shown && f.digest == digest)
    }

    fn keep_last_good(&self, file: &mut File) {
        let before = self.before.and_then(|b| b.files.iter().find(|f| f.shown == file.shown));
        if let Some(good) = before.filter(|b| file.is_bad() && !b.definitions.is_empty()) {
            file.definitions.clone_from(&good.definitions);
            file.plugin.clone_from(&good.plugin);
        }
    }
}

/// A glob's folder, empty for the document's own, and what names in it must fit.
fn split(glob: &str) -> (&str, &str) {
    glob.rsplit_once('/').unwrap_or(("", glob))
}

/// Whether a folder is in that of the document, or below: nothing else is read for a plugin.
fn inside(folder: &str) -> bool {
    Path::new(folder).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn digest(plugin: &Plugin, bundle: &contract::Bundle) -> Digest {
    let parts: Vec<Digest> = std::iter::once(&bundle.main)
        .chain(&bundle.companions)
        .flat_map(|d| [Digest::of(d.path.as_bytes()), Digest::of(&d.bytes)])
        .collect();
    let parts: Vec<&[u8]> = std::iter::once(&plugin.digest).chain(&parts).map(|d| &d.0[..]).collect();
    Digest::of_parts(&parts)
}

fn compile(plugin: &Arc<Plugin>, shown: &str, bundle: &contract::Bundle, digest: Digest) -> File {
    let name = Some(plugin.about.name.clone());
    let bytes = &bundle.main.bytes;
    let fault = |message: String| File {
        shown: shown.to_owned(),
        plugin: name.clone(),
        definitions: Vec::new(),
        findings: vec![finding(shown, host_error("plugin-fault", message, None), bytes)],
        digest,
    };
    let compiled = match plugin.compile(bundle) {
        Ok(compiled) => compiled,
        Err(error) => return fault(error.to_string()),
    };
    // What the host itself lays beside a document is none of its sources: the procedure is the same without it.
    let sources: Vec<(String, Digest)> = std::iter::once(&bundle.main)
        .chain(bundle.companions.iter().filter(|companion| !companion.path.starts_with(BY_HOST)))
        .map(|d| (d.path.clone(), Digest::of(&d.bytes)))
        .collect();
    let definitions: Result<Vec<_>, _> =
        compiled.definitions.into_iter().map(|d| Definition::new(d, sources.clone()).map(Arc::new)).collect();
    let definitions = match definitions {
        Ok(definitions) => definitions,
        Err(error) => return fault(error.to_string()),
    };
    let findings: Vec<Finding> =
        compiled.diagnostics.into_iter().map(|d| companion_finding(shown, d, bundle)).collect();
    let mut file = File { shown: shown.to_owned(), plugin: name, definitions, findings, digest };
    if file.is_bad() {
        file.definitions.clear();
    }
    file
}

fn companion_finding(shown: &str, diagnostic: contract::Diagnostic, bundle: &contract::Bundle) -> Finding {
    let companion = diagnostic.path.as_ref().and_then(|path| bundle.companions.iter().find(|c| c.path == *path));
    match companion {
        Some(companion) => {
            let file = Path::new(shown).with_file_name(&companion.path).display().to_string();
            finding(&file, diagnostic, &companion.bytes)
        }
        None => finding(shown, diagnostic, &bundle.main.bytes),
    }
}

pub(super) fn finding(file: &str, diagnostic: contract::Diagnostic, bytes: &[u8]) -> Finding {
    Finding { file: file.to_owned(), diagnostic, bytes: bytes.into() }
}

fn unknown(asked: &[&Chosen]) -> contract::Diagnostic {
    let names = asked.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join(", ");
    let help = match asked {
        [] => "no plugin that is loaded reads files of this name; name its own with `--plugin`".to_owned(),
        _ => format!("the plugins asked are {names}; a document of another dialect needs its `--plugin`"),
    };
    host_error("unknown-document", "no plugin recognises this document".into(), Some(help))
}

fn repeated(file: &str, id: &str, first: &str) -> Finding {
    let message = format!("the id `{id}` is already that of `{first}`");
    finding(file, host_error(REPEATED, message, Some("give one of them another id".into())), &[])
}

pub(super) fn host_error(code: &str, message: String, help: Option<String>) -> contract::Diagnostic {
    contract::Diagnostic {
        severity: contract::Severity::Error,
        code: code.into(),
        message,
        help,
        subject: None,
        path: None,
        span: None,
    }
}
