//! What a component says of itself: its type, before anything of it runs, and then what `describe` tells.

use serde_json::Value;

use super::report::Report;
use crate::limits::PLUGIN_BYTES_MAX;
use crate::plugin::{Plugin, Version, before_it_runs};

/// Flags that leave the outside out, by what the imports tell of the toolchain.
const FLAGS: &str = "build it without: JavaScript by componentize-js with `disableFeatures: ['random', 'stdio', 'clocks', 'http', \
                     'fetch-event']`, Python by componentize-py with `--stub-wasi`, Rust for wasm32-unknown-unknown (not wasip1 or \
                     wasip2), C with `-nostdlib` for wasm32 freestanding";

/// The component's own type. No instruction of it is run or even compiled.
pub(super) fn check(name: &str, bytes: &[u8], report: &mut Report) {
    if bytes.len() as u64 > PLUGIN_BYTES_MAX {
        let reason = format!("it has {} bytes, a plugin may have {PLUGIN_BYTES_MAX}", bytes.len());
        report.find("too-large", "component", reason, "leave out what is not needed: debug sections, unused packages");
        return;
    }
    let seen = match before_it_runs(name, bytes) {
        Ok(seen) => seen,
        Err(fault) => return report.load_fault(&fault),
    };
    report.contract.clone_from(&seen.contract);
    if !seen.imports.is_empty() {
        let reason = format!("it imports {}; a plugin may import nothing", seen.imports.join(", "));
        report.find("imports", "component", reason, FLAGS);
    }
    let Some(number) = &seen.contract else {
        let exports = if seen.exports.is_empty() { "nothing".to_owned() } else { seen.exports.join(", ") };
        let reason = format!("it exports {exports}, and no interface `engine` of `wfhost:engine`");
        return report.find("contract", "component", reason, "build it for the world `interpreter` of wit/engine.wit");
    };
    let Some(version) = Version::of(number) else {
        let reason = format!("it speaks wfhost:engine {number}, this host speaks {}", Version::spoken());
        return report.find("contract", "component", reason, "build it against a version that is spoken here");
    };
    match wfhost_pack::shape::differences(bytes, &version.interface(), version.wit()) {
        Ok(differences) => {
            for one in differences {
                match one.offered {
                    None => report.find(
                        "missing-export",
                        &one.name,
                        format!("needed `{}: {}`, offered nothing of that name", one.name, one.needed),
                        "export every function of wit/engine.wit, also those that only refuse",
                    ),
                    Some(offered) => report.find(
                        "changed-export",
                        &one.name,
                        format!("needed `{}`, offered `{offered}`", one.needed),
                        "take wit/engine.wit as it is; a version is never changed",
                    ),
                }
            }
        }
        Err(error) => report.find("not-a-component", "component", format!("{error:#}"), "build it again"),
    }
}

/// What `describe` tells.
pub(super) fn about(plugin: &Plugin, report: &mut Report) {
    let about = &plugin.about;
    let mut wrong = |what: &str, reason: &str, cure: &str| report.find("describe", what, reason, cure);
    if about.title.trim().is_empty() || about.version.trim().is_empty() {
        wrong("title", "its title or version is empty", "give both: people read them in listings");
    }
    if about.files.is_empty() || about.files.iter().any(String::is_empty) {
        wrong(
            "files",
            "it names no files, so it is never asked for a document",
            "name the files by globs: `*.mine.yaml`",
        );
    }
    if about.marks.iter().any(String::is_empty) {
        wrong("marks", "a mark is empty and fits every file", "name a text that each document of the dialect holds");
    }
    let schema = about.schema.as_ref().map(|text| serde_json::from_str::<Value>(text));
    if schema.is_some_and(|schema| !schema.is_ok_and(|value| value.is_object() || value.is_boolean())) {
        wrong("schema", "its schema is no JSON Schema", "give one JSON object, or none");
    }
    if about.skill.as_ref().is_some_and(|skill| skill.trim().is_empty()) {
        wrong("skill", "its text is empty", "write one, or give none");
    }
}
