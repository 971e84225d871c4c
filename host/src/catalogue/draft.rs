//! Documents that are being written: a text is tried as if it stood in a served folder, and put there when it is good.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::load::{Catalogue, File, Tool};
use super::plugins::Plugins;
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::plugin::contract::Severity;

/// A text, the folder that it is for, and what it comes to there.
#[derive(Debug)]
pub struct Draft {
    folder: PathBuf,
    name: String,
    text: String,
    /// What it comes to.
    pub catalogue: Catalogue,
}

/// Why a text is not taken as a document, or not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveFault {
    /// `../a.yaml`, `.a.yaml`, the empty name.
    #[error(
        "`{0}` is no file name: it must be that of a file directly in the folder, without `/`, `\\` or a dot in front"
    )]
    Name(String),
    /// Only single files are served.
    #[error("no folder is served, so there is nowhere to put a document")]
    NoFolder,
    /// More than a document may have.
    #[error("the text has {0} bytes, the limit is {DOCUMENT_BYTES_MAX}")]
    TooLong(usize),
    /// The text has errors.
    #[error("the document has {0} errors and is not saved; `findings` says which and where")]
    Bad(usize),
    /// The name is taken.
    #[error("there is a file `{0}` already; say `replace` to put this one in its place")]
    Exists(String),
    /// Another document has its id, or a tool of its name.
    #[error("`{name}` is already that of `{other}`; give it another name")]
    Taken {
        /// The id or tool.
        name: String,
        /// Whose it is.
        other: String,
    },
    /// The file cannot be written.
    #[error("`{file}` cannot be written: {reason}")]
    Write {
        /// The file.
        file: String,
        /// What the system said.
        reason: io::Error,
    },
}

impl Draft {
    /// A text under a name, for the served folder that has such a file, else the first.
    pub fn new(plugins: &Plugins, places: &[PathBuf], (name, text): (&str, &str)) -> Result<Self, SaveFault> {
        let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0']);
        if !plain {
            return Err(SaveFault::Name(name.to_owned()));
        }
        if u64::try_from(text.len()).unwrap_or(u64::MAX) > DOCUMENT_BYTES_MAX {
            return Err(SaveFault::TooLong(text.len()));
        }
        let folders: Vec<&PathBuf> = places.iter().filter(|place| place.is_dir()).collect();
        let folder = folders.iter().find(|folder| folder.join(name).exists()).or(folders.first());
        let folder = folder.copied().ok_or(SaveFault::NoFolder)?.clone();
        let catalogue = Catalogue::of_draft(plugins, &folder, name, text.as_bytes().to_vec());
        Ok(Self { folder, name: name.to_owned(), text: text.to_owned(), catalogue })
    }

    /// What is wrong or doubtful in it.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.catalogue.findings()
    }

    /// How many of the findings, and of its tools' names, keep it from being served.
    #[must_use]
    pub fn errors(&self) -> usize {
        let errors = self.findings().filter(|finding| finding.diagnostic.severity == Severity::Error);
        errors.count() + self.catalogue.clashes.len()
    }

    /// Where it would stand.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The first name that a document of `served` has and this one would have as well.
    fn clash(&self, served: &Catalogue) -> Option<SaveFault> {
        let here = self.file().display().to_string();
        let others = || served.files.iter().filter(|file| file.shown != here);
        let ours = self.catalogue.files.iter().flat_map(|file| file.definitions.iter().map(move |d| (&file.plugin, d)));
        let id = ours.into_iter().find_map(|(plugin, definition)| {
            let same = |file: &&File| {
                file.plugin == *plugin && file.definitions.iter().any(|other| other.about.id == definition.about.id)
            };
            let other = others().find(same)?;
            Some(SaveFault::Taken { name: definition.about.id.clone(), other: other.shown.clone() })
        });
        id.or_else(|| self.tool_clash(served))
    }

    /// The first tool that another plugin has.
    fn tool_clash(&self, served: &Catalogue) -> Option<SaveFault> {
        let of = |catalogue: &Catalogue, tool: &Tool| {
            catalogue.offered.get(tool.owner).map(|offered| offered.plugin.about.name.clone())
        };
        self.catalogue.tools.iter().find_map(|(name, tool)| {
            let other = of(served, served.tools.get(name)?)?;
            (Some(&other) != of(&self.catalogue, tool).as_ref()).then(|| SaveFault::Taken { name: name.clone(), other })
        })
    }
}

/// Writes a good draft, byte by byte as it was given: the file is there whole, or as it was before. `served` is what is offered
/// now.
pub fn save(draft: &Draft, served: &Catalogue, replace: bool) -> Result<PathBuf, SaveFault> {
    let errors = draft.errors();
    if errors > 0 {
        return Err(SaveFault::Bad(errors));
    }
    if let Some(fault) = draft.clash(served) {
        return Err(fault);
    }
    let file = draft.file();
    if !replace && file.symlink_metadata().is_ok() {
        return Err(SaveFault::Exists(draft.name.clone()));
    }
    let fault = |reason| SaveFault::Write { file: file.display().to_string(), reason };
    write(&draft.folder, &file, &draft.text).map_err(fault)?;
    Ok(file)
}

/// A new file beside the old one takes its place in one step.
fn write(folder: &Path, file: &Path, text: &str) -> io::Result<()> {
    let (fresh, mut opened) = fresh(folder)?;
    let written = (|| {
        opened.write_all(text.as_bytes())?;
        if let Ok(before) = std::fs::metadata(file) {
            opened.set_permissions(before.permissions())?;
        }
        opened.sync_all()?;
        std::fs::rename(&fresh, file)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
        return written;
    }
    // So that the name is on the disk too. Where folders cannot be opened, the system sees to it.
    #[cfg(unix)]
    std::fs::File::open(folder)?.sync_all()?;
    Ok(())
}

/// A file that was not there, under a name that no plugin reads.
fn fresh(folder: &Path) -> io::Result<(PathBuf, std::fs::File)> {
    let mut number = 0;
    loop {
        let path = folder.join(format!(".wfhost-{}-{number}.new", std::process::id()));
        match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1_000 => number += 1,
            Err(error) => return Err(error),
        }
    }
}
