//! The rules of the house that a test can hold: one foreign crate, one door; no dialect word in the host; small files and
//! functions; a first line that says what a file owns.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// All Rust files below a folder, with their text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Code without comments, and without the tests at the end of a file.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    // A path to a file of the repository is no word of the program's.
    let kept = |l: &&str| !l.trim_start().starts_with("//") && !l.contains("include_str!(");
    text[..end].lines().filter(kept).collect::<Vec<_>>().join("\n")
}

fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(part) && !text[at + word.len()..].chars().next().is_some_and(part)
    })
}

#[test]
fn one_foreign_crate_one_door() {
    let doors: [(&str, &[&str]); 18] = [
        ("toml", &["host/src/plugin/policy.rs"]),
        ("wfhost_pack", &["host/src/plugin/", "host/src/kit/", "host/src/cli/plugin/pack.rs"]),
        ("wasmtime", &["host/src/plugin/"]),
        ("redb", &["host/src/store/"]),
        ("rmcp", &["host/src/mcp/", "host/src/upstream/"]),
        ("sse_stream", &["host/src/upstream/"]),
        ("axum", &["host/src/mcp/http.rs", "host/src/playground/http.rs"]),
        ("clap", &["host/src/cli/"]),
        ("notify", &["host/src/catalogue/watch.rs"]),
        ("reqwest", &["host/src/web.rs", "host/src/upstream/"]),
        ("rustls", &["host/src/web.rs"]),
        ("ring::signature", &["host/src/seal.rs"]),
        ("regex_lite", &["host/src/cli/redact.rs"]),
        ("base64", &["host/src/seal.rs", "host/src/session/transfer.rs"]),
        ("saphyr_parser", &["host/src/cli/test/yaml.rs"]),
        ("process_wrap", &["host/src/upstream/"]),
        ("prometheus_client", &["host/src/observe/metrics.rs"]),
        ("opentelemetry", &["host/src/observe/otlp.rs"]),
    ];
    for (file, text) in sources("host/src") {
        let code = code(&text);
        for (name, allowed) in &doors {
            let used = has_word(&code, &format!("{name}::")) || code.contains(&format!("{name}::"));
            assert!(
                !used || allowed.iter().any(|door| file.starts_with(door)),
                "{file} uses {name}, whose door is {allowed:?}"
            );
        }
        let pure = ["host/src/session/", "host/src/plugin/", "host/src/store/"].iter().any(|f| file.starts_with(f));
        assert!(!pure || !code.contains("tokio::"), "{file} is synchronous or knows no runtime");
    }
}

#[test]
fn jsonata_has_one_door() {
    for (file, text) in ["host", "guests", "tests"].iter().flat_map(|f| sources(f)) {
        let inside = file.starts_with("guests/jsonata/") || file.ends_with("tidy.rs");
        assert!(
            inside || !has_word(&code(&text), "jsonata_core"),
            "{file} uses jsonata_core, whose door is guests/jsonata"
        );
    }
}

#[test]
fn the_host_knows_no_dialect() {
    let words = [
        "mcptree",
        "guidepost",
        "mcpgraph",
        "theodosia",
        "jsonata",
        "tree",
        "trees",
        "slot",
        "guide",
        "guides",
        "graph_node",
    ];
    let is_test = |file: &str| file.ends_with("/tests.rs") || file.contains("/tests/");
    for (file, text) in sources("host/src").into_iter().filter(|(file, _)| !is_test(file)) {
        let code = code(&text).to_lowercase();
        for word in words {
            assert!(!has_word(&code, word), "{file} says `{word}`");
        }
    }
}

#[test]
fn files_are_small_and_say_what_they_own() {
    for (file, text) in ["host/src", "guests"].iter().flat_map(|f| sources(f)) {
        assert!(text.starts_with("//!"), "{file} does not begin with what it owns");
        let lines = code(&text).lines().count();
        assert!(lines <= 500, "{file} has {lines} lines of code");
    }
}

#[test]
fn markers_of_unfinished_work_are_nowhere() {
    // Written apart, so that this file does not hold them.
    let marks =
        [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["unimple", "mented!"].concat(), ["to", "do!("].concat()];
    for (file, text) in ["host", "guests", "tests"].iter().flat_map(|f| sources(f)) {
        for mark in &marks {
            assert!(!text.contains(mark.as_str()), "{file} says `{mark}`");
        }
    }
}

#[test]
fn every_built_in_interpreter_has_its_cases_and_its_readme() {
    for entry in std::fs::read_dir(root().join("guests")).unwrap() {
        let folder = entry.unwrap().path();
        if folder.join("about.json").is_file() {
            assert!(folder.join("README.md").is_file(), "{} has no README.md", folder.display());
            let readme = std::fs::read_to_string(root().join("guests/README.md")).unwrap();
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            assert!(readme.contains(&format!("[{name}]")), "guests/README.md has no row for {name}");
        }
    }
}
