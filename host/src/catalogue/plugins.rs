//! Which plugins there are: those that the operator named, or the built-in ones, each loaded only once a document looks
//! like its own.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::folder::fits;
use crate::limits::PLUGIN_BYTES_SLOW;
use crate::plugin::{Builtin, LoadFault, Plugin, Runtime, builtins, contract, is_cached};
use crate::session::model::Digest;

/// A plugin that may own documents: what it says of its documents is known before it is loaded.
#[derive(Debug)]
pub struct Chosen {
    /// Its name.
    pub name: String,
    /// Languages whose expressions it evaluates.
    pub languages: Vec<String>,
    files: Vec<String>,
    marks: Vec<String>,
    source: Source,
    loaded: Mutex<Option<Result<Arc<Plugin>, LoadFault>>>,
}

#[derive(Debug)]
enum Source {
    Loaded,
    Builtin(Builtin),
}

#[derive(serde::Deserialize)]
struct About {
    files: Vec<String>,
    #[serde(default)]
    marks: Vec<String>,
    #[serde(default)]
    languages: Vec<String>,
}

/// The plugins of this host.
#[derive(Debug)]
pub struct Plugins {
    runtime: Arc<Runtime>,
    /// In the order in which documents are offered to them.
    pub chosen: Vec<Chosen>,
    /// Upstream servers that documents may use without declaring them, by name.
    pub servers: Vec<String>,
}

impl Plugins {
    /// The plugins that are named, by path or as a built-in; all built-in ones if none is.
    pub fn choose(runtime: &Arc<Runtime>, named: &[String]) -> Result<Self, LoadFault> {
        let mut plugins = Self { runtime: Arc::clone(runtime), chosen: Vec::new(), servers: Vec::new() };
        if named.is_empty() {
            plugins.chosen = builtins().iter().map(Chosen::builtin).collect::<Result<_, _>>()?;
        }
        for name in named {
            let chosen = plugins.one(name)?;
            if let Some(other) = plugins.chosen.iter().find(|c| c.name == chosen.name) {
                return Err(LoadFault::Describe {
                    plugin: name.clone(),
                    reason: format!(
                        "its name `{}` is already that of another plugin ({})",
                        chosen.name,
                        other.origin()
                    ),
                });
            }
            plugins.chosen.push(chosen);
        }
        Ok(plugins)
    }

    /// Those of the named ones that can be loaded at once, and the names of the others: large files whose native code was never
    /// made here, which takes seconds.
    pub fn choose_ready(runtime: &Arc<Runtime>, named: &[String]) -> Result<(Self, Vec<String>), LoadFault> {
        let (slow, ready): (Vec<String>, Vec<String>) = named.iter().cloned().partition(|name| is_slow(runtime, name));
        if ready.is_empty() && !slow.is_empty() {
            return Ok((Self { runtime: Arc::clone(runtime), chosen: Vec::new(), servers: Vec::new() }, slow));
        }
        Ok((Self::choose(runtime, &ready)?, slow))
    }

    /// This one plugin, loaded already.
    #[must_use]
    pub fn of(runtime: &Arc<Runtime>, plugin: &Arc<Plugin>) -> Self {
        let chosen = vec![Chosen::of(Arc::clone(plugin))];
        Self { runtime: Arc::clone(runtime), chosen, servers: Vec::new() }
    }

    /// With upstream servers that documents may use without declaring them.
    #[must_use]
    pub fn with_servers(self, servers: Vec<String>) -> Self {
        Self { servers, ..self }
    }

    fn one(&self, name: &str) -> Result<Chosen, LoadFault> {
        if let Some(builtin) = builtins().iter().find(|b| b.name == name) {
            return Chosen::builtin(builtin);
        }
        let path = Path::new(name);
        if !path.exists() {
            let known = builtins().iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
            let reason = format!("there is no such file, and the built-in plugins are: {known}");
            return Err(LoadFault::File { plugin: name.into(), reason });
        }
        Ok(Chosen::of(Arc::new(Plugin::from_file(&self.runtime, path)?)))
    }

    /// The plugin itself, loaded now if it was not before.
    pub fn load(&self, chosen: &Chosen) -> Result<Arc<Plugin>, LoadFault> {
        let mut loaded = chosen.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*loaded {
            return known.clone();
        }
        let plugin = match chosen.source {
            Source::Builtin(builtin) => {
                Plugin::from_bytes(&self.runtime, builtin.name, builtin.wasm.into()).map(Arc::new)
            }
            Source::Loaded => {
                Err(LoadFault::File { plugin: chosen.name.clone(), reason: "it was never loaded".into() })
            }
        };
        *loaded = Some(plugin.clone());
        plugin
    }

    /// Whether any plugin reads files of this name.
    #[must_use]
    pub fn want(&self, file: &str) -> bool {
        self.chosen.iter().any(|c| c.reads(file))
    }

    /// The runtime that they share.
    #[must_use]
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }
}

fn is_slow(runtime: &Runtime, name: &str) -> bool {
    let large = std::fs::metadata(name).is_ok_and(|file| file.is_file() && file.len() >= PLUGIN_BYTES_SLOW);
    let builtin = builtins().iter().any(|builtin| builtin.name == name);
    large && !builtin && std::fs::read(name).is_ok_and(|bytes| !is_cached(runtime, Digest::of(&bytes)))
}

/// Whether a plugin that says this of itself is asked for the document: its name fits, and it holds a mark.
pub(crate) fn could_own(about: &contract::Interpreter, document: &contract::Document) -> bool {
    may_own((&about.files, &about.marks), document)
}

fn may_own((files, marks): (&[String], &[String]), document: &contract::Document) -> bool {
    let name = document.path.rsplit('/').next().unwrap_or_default();
    let marked = |mark: &String| memchr::memmem::find(&document.bytes, mark.as_bytes()).is_some();
    files.iter().any(|glob| fits(glob, name)) && (marks.is_empty() || marks.iter().any(marked))
}

impl Chosen {
    fn of(plugin: Arc<Plugin>) -> Self {
        Self {
            name: plugin.about.name.clone(),
            languages: plugin.about.languages.clone(),
            files: plugin.about.files.clone(),
            marks: plugin.about.marks.clone(),
            source: Source::Loaded,
            loaded: Mutex::new(Some(Ok(plugin))),
        }
    }

    fn builtin(builtin: &Builtin) -> Result<Self, LoadFault> {
        let about: About = serde_json::from_str(builtin.about)
            .map_err(|e| LoadFault::Describe { plugin: builtin.name.into(), reason: format!("its about.json: {e}") })?;
        Ok(Self {
            name: builtin.name.into(),
            languages: about.languages,
            files: about.files,
            marks: about.marks,
            source: Source::Builtin(*builtin),
            loaded: Mutex::new(None),
        })
    }

    /// The plugin, if it is loaded.
    #[must_use]
    pub fn loaded(&self) -> Option<Arc<Plugin>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone()?.ok()
    }

    fn origin(&self) -> String {
        self.loaded().map_or_else(|| "built in".into(), |p| p.origin.clone())
    }

    /// Whether this plugin reads files of this name.
    pub(super) fn reads(&self, file: &str) -> bool {
        self.files.iter().any(|glob| fits(glob, file))
    }

    /// Whether the document may be one of this plugin's: its name fits, and it holds a mark.
    #[must_use]
    pub fn may_own(&self, document: &contract::Document) -> bool {
        may_own((&self.files, &self.marks), document)
    }
}
