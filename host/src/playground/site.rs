//! What the page asks for besides its own files: the list of interpreters, their components, and the documents of a folder,
//! read anew each time.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::page::Page;
use crate::catalogue::{self, Chosen, FileFault, Plugins};
use crate::plugin::{Plugin, builtins, contract::Document};
use crate::session::model::Digest;

/// A page, the interpreters that it is given, and the documents that it shows.
#[derive(Debug)]
pub struct Site {
    page: Page,
    plugins: Plugins,
    /// Those that are not built in.
    named: Vec<Arc<Plugin>>,
    documents: Option<PathBuf>,
}

/// The documents that the page shows, and those that it cannot.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Path and text.
    pub files: Vec<(String, String)>,
    /// Path, and why.
    pub left_out: Vec<(String, String)>,
}

impl Site {
    /// A site over plugins that were just chosen.
    #[must_use]
    pub fn new(page: Page, plugins: Plugins, documents: Option<PathBuf>) -> Self {
        // A built-in one is loaded only once a document looks like its own.
        let named = plugins.chosen.iter().filter_map(Chosen::loaded).collect();
        Self { page, plugins, named, documents }
    }

    /// A file by its path, as the page asks for it.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<Cow<'static, [u8]>> {
        match path {
            "" => self.page.file("index.html"),
            "dialects.json" => Some(self.interpreters().to_string().into_bytes().into()),
            "documents.json" => Some(self.documents().to_string().into_bytes().into()),
            _ => self.component(path).or_else(|| self.page.file(path)),
        }
    }

    /// What the page knows of each interpreter. The code around a component that the page was built with fits that component
    /// alone; for any other the page makes its own.
    fn interpreters(&self) -> Value {
        let list = self.page.file("dialects.json").and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let known =
            |name: &str| list.as_ref()?.as_array()?.iter().find(|entry| entry.get("name") == Some(&json!(name)));
        let named = self.named.iter().map(|plugin| {
            let about = &plugin.about;
            json!({"name": about.name, "title": about.title, "files": about.files, "marks": about.marks,
                   "wasm": address(&about.name), "bytes": plugin.bytes.len(), "examples": []})
        });
        let own: BTreeSet<&str> = self.named.iter().map(|plugin| plugin.about.name.as_str()).collect();
        let built = builtins().iter().filter(|b| !own.contains(b.name)).filter_map(|builtin| {
            let mut entry: Value = serde_json::from_str(builtin.about).ok()?;
            let known = known(builtin.name);
            let same = known.and_then(|k| k.get("sha256")) == Some(&json!(Digest::of(builtin.wasm).to_string()));
            let of_page = |key: &str| known.and_then(|k| k.get(key)).cloned();
            let more = entry.as_object_mut()?;
            more.insert("wasm".into(), address(builtin.name).into());
            more.insert("bytes".into(), builtin.wasm.len().into());
            more.insert("examples".into(), of_page("examples").unwrap_or_else(|| json!([])));
            if let Some(glue) = of_page("glue").filter(|_| same) {
                more.insert("glue".into(), glue);
            }
            Some(entry)
        });
        named.chain(built).collect()
    }

    fn component(&self, path: &str) -> Option<Cow<'static, [u8]>> {
        let name = path.strip_prefix("guests/")?.strip_suffix(".wasm")?;
        match self.named.iter().find(|plugin| plugin.about.name == name) {
            Some(plugin) => Some(plugin.bytes.to_vec().into()),
            None => builtins().iter().find(|b| b.name == name).map(|b| b.wasm.into()),
        }
    }

    fn documents(&self) -> Value {
        let shown = self.shown().unwrap_or_default();
        let files: Vec<Value> = shown.files.iter().map(|(path, text)| json!({"path": path, "text": text})).collect();
        json!({"files": files})
    }

    /// The folder's documents with the files that belong to them. What is no text cannot be edited on a page.
    pub fn shown(&self) -> Result<Shown, FileFault> {
        let mut shown = Shown::default();
        let Some(place) = &self.documents else { return Ok(shown) };
        let mains = catalogue::read(place, &|name| self.plugins.want(name))?;
        let mut globs = Vec::new();
        for found in &mains {
            let Ok(bytes) = &found.bytes else { continue };
            let document = Document { path: found.path.clone(), bytes: bytes.clone() };
            globs.extend(self.companions(&document));
        }
        let beside = |name: &str| globs.iter().any(|glob| catalogue::fits(glob, name));
        let all = catalogue::read(place, &|name| self.plugins.want(name) || beside(name))?;
        for found in all {
            match found.bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is no UTF-8 text".into())) {
                Ok(text) => shown.files.push((found.path, text)),
                Err(reason) => shown.left_out.push((found.path, reason)),
            }
        }
        Ok(shown)
    }

    /// The globs of the files that a document reads beside itself, going by whoever recognises it.
    fn companions(&self, document: &Document) -> Vec<String> {
        let owners = self.plugins.chosen.iter().filter(|chosen| chosen.may_own(document));
        owners
            .filter_map(|chosen| self.plugins.load(chosen).ok()?.recognise(document).ok().flatten())
            .flatten()
            .collect()
    }
}

fn address(name: &str) -> String {
    format!("guests/{name}.wasm")
}
