//! Documents on disk: the files of a folder, or single files, as bytes. Nothing here knows what they mean.

use std::io;
use std::path::{Path, PathBuf};

use crate::limits::{DOCUMENT_BYTES_MAX, DOCUMENTS_MAX};

/// How the name of a recorded walk ends. It lies beside the documents and is never taken for one.
pub const WALK_SUFFIX: &str = ".walk.yaml";

/// A file that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// As messages show it: the folder as the operator named it, and the name.
    pub shown: String,
    /// Relative to the folder, with forward slashes.
    pub path: String,
    /// Its bytes, or why there are none.
    pub bytes: Result<Vec<u8>, String>,
}

/// A place that was named and cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{place}` cannot be read: {reason}")]
pub struct FileFault {
    /// As it was named.
    pub place: String,
    /// What the system said.
    pub reason: String,
}

/// All regular files directly in a folder that `wanted` takes, by name; or the one file that is named.
pub fn read(place: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Found>, FileFault> {
    let fault = |error: io::Error| FileFault { place: place.display().to_string(), reason: error.to_string() };
    let meta = std::fs::metadata(place).map_err(fault)?;
    if meta.is_file() {
        let name = place.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok(vec![Found { shown: place.display().to_string(), path: name, bytes: bytes(place) }]);
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(place).map_err(fault)? {
        let name = entry.map_err(fault)?.file_name();
        // A name that is no text cannot be shown, sent or matched.
        if let Some(name) = name.to_str().filter(|n| wanted(n) && !n.ends_with(WALK_SUFFIX)) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    if names.len() > DOCUMENTS_MAX {
        let reason = format!("it holds {} documents, the limit is {DOCUMENTS_MAX}", names.len());
        return Err(FileFault { place: place.display().to_string(), reason });
    }
    Ok(names.into_iter().filter_map(|name| found(place, name)).collect())
}

fn found(folder: &Path, name: String) -> Option<Found> {
    let path: PathBuf = folder.join(&name);
    // Follows links: a mounted configuration is one. What is neither file nor link to one is no document.
    match std::fs::metadata(&path) {
        Ok(meta) if !meta.is_file() => None,
        Ok(_) | Err(_) => Some(Found { shown: path.display().to_string(), path: name, bytes: bytes(&path) }),
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let size = std::fs::metadata(path).map_err(|e| e.to_string())?.len();
    if size > DOCUMENT_BYTES_MAX {
        return Err(format!("it has {size} bytes, the limit is {DOCUMENT_BYTES_MAX}"));
    }
    std::fs::read(path).map_err(|e| e.to_string())
}

/// Whether a file name fits a glob in which `*` stands for any text and `?` for one character.
pub(crate) fn fits(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut g, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, n));
                g += 1;
            }
            Some(c) if *c == '?' || Some(c) == name.get(n) => {
                g += 1;
                n += 1;
            }
            _ => match star {
                // The last star takes one character more.
                Some((at, taken)) => {
                    g = at + 1;
                    n = taken + 1;
                    star = Some((at, taken + 1));
                }
                None => return false,
            },
        }
    }
    glob.get(g..).is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_fit_as_in_a_shell() {
        for (glob, name, expected) in [
            ("*.yaml", "a.yaml", true),
            ("*.yaml", ".yaml", true),
            ("*.yaml", "a.yml", false),
            ("a?c*", "abcd", true),
            ("*a*b", "xaxxb", true),
            ("*a*b", "xaxxbc", false),
            ("", "", true),
            ("*", "", true),
            ("é?.md", "éü.md", true),
        ] {
            assert_eq!(fits(glob, name), expected, "{glob} {name}");
        }
    }
}
