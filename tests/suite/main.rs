//! What users rely on, seen from outside: one file a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::iter_over_hash_type,
    clippy::wildcard_enum_match_arm,
    reason = "tests"
)]

mod audit;
mod authoring;
mod bad_stores;
mod cli;
mod composed;
mod crash;
mod declared;
mod dialects;
mod endless;
mod flows;
mod forks;
mod graphs;
mod interop;
mod journals;
mod jsonata;
mod keeping;
mod kit;
mod library;
mod logic;
mod machines_served;
mod mcp_http;
mod mcp_more;
mod mcp_stdio;
mod oauth;
mod official;
mod playground;
mod proof;
mod questions;
mod real_servers;
mod reload;
mod sandbox;
mod sessions;
mod skills;
mod tidy;
mod timers;
mod upstream;
mod verify;
mod versions;
mod watched;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_wfhost-under-test");

#[test]
fn no_file_of_the_suite_is_forgotten() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("suite");
    let main = std::fs::read_to_string(here.join("main.rs")).unwrap();
    let manifest = std::fs::read_to_string(here.join("../Cargo.toml")).unwrap();
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let Some(module) = name.strip_suffix(".rs") else { continue };
        let known =
            module == "main" || main.contains(&format!("mod {module};")) || manifest.contains(&format!("suite/{name}"));
        assert!(known, "suite/{name} is run by nobody");
    }
}
