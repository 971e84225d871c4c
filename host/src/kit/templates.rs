//! Projects to begin with, one a language: a whole dialect, its documents and cases, and one command that builds it. They carry
//! the contract, so nothing of this repository is needed. The files lie under `host/templates`.

use std::path::{Path, PathBuf};

use crate::plugin::Version;

/// A language with a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// By cargo, for `wasm32-unknown-unknown`.
    Rust,
    /// By componentize-js.
    JavaScript,
    /// By componentize-py.
    Python,
    /// By zig or clang.
    C,
}

/// No project was made.
#[derive(Debug, thiserror::Error)]
pub enum NewFault {
    /// `My Dialect!`.
    #[error("`{0}` is no name for a plugin: it is 1 to 24 of a-z, 0-9 and -, and begins with a letter")]
    Name(String),
    /// A folder with something in it.
    #[error("`{0}` is there and not empty: name another folder with `--into`, or empty it")]
    NotEmpty(PathBuf),
    /// A disk that is full, a folder that is not ours.
    #[error("`{path}` cannot be written: {reason}")]
    Write {
        /// What was written.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A bug: the embedded contract gives no C.
    #[error("no C comes of the contract: {0}")]
    Bindings(String),
}

/// What differs in the README.
struct Words {
    build: &'static str,
    needs: &'static str,
    files: &'static str,
}

type Files = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../templates/", $folder, "/", $path)))),+]
    };
}

const COMMON: Files = files!("common": "README.md", "SKILL.md", "gitignore", "cases/findings.json", "cases/refusals.json", "cases/walk.json");
const RIGHT: &str = include_str!("../../templates/common/documents/release.md");
const WRONG: &str = include_str!("../../templates/common/documents/broken.md");

/// `gitignore` is one without its dot: with it, it would hold for this repository.
const GITIGNORE: &str = "gitignore";

impl Language {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rust, Self::JavaScript, Self::Python, Self::C];

    /// As the command line has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::C => "c",
        }
    }

    const fn files(self) -> Files {
        match self {
            Self::Rust => files!(
                "rust": "Cargo.toml", ".cargo/config.toml", "build.sh", "src/lib.rs", "src/document.rs", "src/run.rs", "src/tools.rs"
            ),
            Self::JavaScript => files!("javascript": "package.json", "build.js", "dialect.js"),
            Self::Python => files!("python": "requirements.txt", "build.sh", "dialect.py"),
            Self::C => files!(
                "c": "build.sh", "dialect.c", "text.h", "text.c", "runtime.c", "include/stdlib.h", "include/string.h"
            ),
        }
    }

    const fn words(self) -> Words {
        match self {
            Self::Rust => Words {
                build: "./build.sh",
                needs: "Building needs Rust with the target wasm32-unknown-unknown (rustup adds it). `wit-bindgen` makes the contract's \
                        types out of `wit/` while it compiles.",
                files: "| `src/document.rs` | a document: what its lines mean, and what is wrong with them |\n\
                        | `src/run.rs` | a run: its state, and what a call or an answer makes of it |\n\
                        | `src/tools.rs` | what an agent can call |\n\
                        | `src/lib.rs` | the contract's functions |",
            },
            Self::JavaScript => Words {
                build: "npm install && npm run build",
                needs: "Building needs Node 20 or newer. The component holds a whole JavaScript engine and has about 12 MB.",
                files: "| `dialect.js` | the dialect: documents, runs, tools, and the contract's functions at the end |\n\
                        | `build.js` | makes the component |",
            },
            Self::Python => Words {
                build: "./build.sh",
                needs: "Building needs Python 3.10 or newer. The component holds a whole CPython and has about 18 MB.",
                files: "| `dialect.py` | the dialect: documents, runs, tools, and the contract's functions at the end |\n\
                        | `build.sh` | makes the component |",
            },
            Self::C => Words {
                build: "./build.sh",
                needs: "Building needs zig (`pip install ziglang` gives one), or clang with lld. There is no C library in it.",
                files: "| `dialect.c` | the dialect: documents, runs, tools, and the contract's functions at the end |\n\
                        | `text.c` | texts that grow, and as much of JSON as is needed |\n\
                        | `runtime.c` | memory |\n\
                        | `bindings/` | the contract as C, made from `wit/` by `wfhost plugin new`; not to be edited |",
            },
        }
    }
}

/// Makes a project in a folder that is empty or not there yet. Gives the files, in order.
pub fn make(name: &str, language: Language, folder: &Path) -> Result<Vec<PathBuf>, NewFault> {
    let letters = name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if !letters || name.len() > 24 || !name.starts_with(|c: char| c.is_ascii_lowercase()) || name.ends_with('-') {
        return Err(NewFault::Name(name.to_owned()));
    }
    let something = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if something {
        return Err(NewFault::NotEmpty(folder.to_owned()));
    }
    let mut made = Vec::new();
    for (path, text) in language.files().iter().chain(COMMON) {
        let path = if *path == GITIGNORE { ".gitignore" } else { *path };
        put(folder, path, filled(text, name, language).as_bytes(), &mut made)?;
    }
    for (kind, text) in [("release", RIGHT), ("broken", WRONG)] {
        put(folder, &format!("documents/{kind}.{name}.md"), filled(text, name, language).as_bytes(), &mut made)?;
    }
    let wit = Version::CURRENT.wit();
    put(folder, "wit/engine.wit", wit.as_bytes(), &mut made)?;
    if language == Language::C {
        let bindings = wfhost_pack::c::bindings(wit, "interpreter");
        for (path, bytes) in bindings.map_err(|error| NewFault::Bindings(format!("{error:#}")))? {
            put(folder, &format!("bindings/{path}"), &bytes, &mut made)?;
        }
    }
    Ok(made)
}

/// The command that builds the project.
#[must_use]
pub const fn build(language: Language) -> &'static str {
    language.words().build
}

fn filled(text: &str, name: &str, language: Language) -> String {
    let words = language.words();
    text.replace("{{build}}", words.build)
        .replace("{{needs}}", words.needs)
        .replace("{{files}}", words.files)
        .replace("{{tool}}", &name.replace('-', "_"))
        .replace("{{name}}", name)
}

fn put(folder: &Path, path: &str, bytes: &[u8], made: &mut Vec<PathBuf>) -> Result<(), NewFault> {
    let path = folder.join(path);
    let within = path.parent().unwrap_or(folder);
    let written =
        std::fs::create_dir_all(within).and_then(|()| std::fs::write(&path, bytes)).and_then(|()| runs(&path));
    written.map_err(|error| NewFault::Write { path: path.clone(), reason: error.to_string() })?;
    made.push(path);
    Ok(())
}

/// A script may be run.
fn runs(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    if path.extension().is_some_and(|ext| ext == "sh") {
        use std::os::unix::fs::PermissionsExt;
        return std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755));
    }
    let _ = path;
    Ok(())
}
