//! The built page: embedded if it was there when this program was built, or read from a folder.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

/// The files of the page.
#[derive(Debug, Clone)]
pub enum Page {
    /// Those that the build embedded, by path.
    Built(&'static [(&'static str, &'static [u8])]),
    /// Those of this folder.
    Folder(PathBuf),
}

/// There is no page to serve.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PageFault {
    /// The program was built without it.
    #[error(
        "this wfhost was built without the page: run `npm ci` and `npm run build` in host/playground, then build wfhost again, or \
         name the built page with `--page host/playground/dist`"
    )]
    NotBuilt,
    /// The folder that was named holds none: `--page host/playground`.
    #[error(
        "`{0}` holds no built page: it has no index.html; `npm run build` in host/playground makes one in its dist/"
    )]
    NotThere(String),
}

impl Page {
    /// The page in this folder, or the embedded one.
    pub fn choose(folder: Option<PathBuf>) -> Result<Self, PageFault> {
        let page = folder.map_or(Self::Built(include!(concat!(env!("OUT_DIR"), "/page.rs"))), Self::Folder);
        match (&page, page.file("index.html")) {
            (_, Some(_)) => Ok(page),
            (Self::Built(_), None) => Err(PageFault::NotBuilt),
            (Self::Folder(folder), None) => Err(PageFault::NotThere(folder.display().to_string())),
        }
    }

    /// A file by its path below the page; nothing above it can be named.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<Cow<'static, [u8]>> {
        match self {
            Self::Built(files) => files.iter().find(|(name, _)| *name == path).map(|(_, bytes)| Cow::Borrowed(*bytes)),
            Self::Folder(folder) => {
                let below = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
                if !below {
                    return None;
                }
                std::fs::read(folder.join(path)).ok().map(Cow::Owned)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_above_the_page_can_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page");
        std::fs::create_dir(&page).unwrap();
        std::fs::write(folder.path().join("secret"), "s").unwrap();
        std::fs::write(page.join("index.html"), "i").unwrap();
        let page = Page::choose(Some(page)).unwrap();
        assert_eq!(page.file("index.html").as_deref(), Some(&b"i"[..]));
        let absolute = folder.path().join("secret").display().to_string();
        for path in ["../secret", "./../secret", "x/../../secret", &absolute, "", "."] {
            assert!(page.file(path).is_none(), "{path}");
        }
        assert!(matches!(Page::choose(Some(folder.path().into())), Err(PageFault::NotThere(_))));
    }
}
