//! `wfhost plugin inspect`: what a file is, and whether this host would run it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::{bytes, code, limits_json, limits_shown, place, print};
use crate::limits::PluginLimits;
use crate::plugin::{self, Inspection, Runtime, contract::Interpreter};
use crate::session::model::Digest;

/// What `plugin inspect` is told.
#[derive(Debug, Args)]
pub(super) struct Inspect {
    /// A file, or the name of a built-in plugin.
    #[arg(value_name = "FILE|NAME")]
    plugin: String,
    /// The policy under which it would run.
    #[arg(long, value_name = "FILE", env = "WFHOST_POLICY")]
    policy: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// All that was found out.
struct Seen {
    origin: &'static str,
    digest: Digest,
    bytes: usize,
    inspection: Option<Inspection>,
    about: Option<Interpreter>,
    limits: Option<PluginLimits>,
    findings: Vec<String>,
}

impl Inspect {
    pub(super) fn run(self) -> Result<ExitCode> {
        let (origin, bytes) = bytes(&self.plugin)?;
        let runtime = place::runtime_under(place::cache(), self.policy.as_deref())?;
        let seen = {
            let _progress = print::Progress::of("compiling the plugin");
            look(&runtime, &self.plugin, origin, bytes)
        };
        if self.json {
            print::json(&report(&self.plugin, &seen));
        } else {
            tell(&self.plugin, &seen);
        }
        Ok(code(seen.findings.is_empty()))
    }
}

fn look(runtime: &Arc<Runtime>, name: &str, origin: &'static str, bytes: Arc<[u8]>) -> Seen {
    let (digest, size) = (Digest::of(&bytes), bytes.len());
    let mut seen =
        Seen { origin, digest, bytes: size, inspection: None, about: None, limits: None, findings: Vec::new() };
    match runtime.allowed(name, digest) {
        Ok(limits) => seen.limits = Some(limits),
        Err(fault) => seen.findings.push(fault.to_string()),
    }
    match plugin::inspect(name, &bytes) {
        Ok(inspection) => {
            seen.findings.extend(inspection.findings.iter().map(ToString::to_string));
            seen.inspection = Some(inspection);
        }
        Err(fault) => seen.findings.push(fault.to_string()),
    }
    if seen.findings.is_empty() {
        match plugin::Plugin::from_bytes(runtime, name, bytes) {
            Ok(loaded) => seen.about = Some(loaded.about),
            Err(fault) => seen.findings.push(fault.to_string()),
        }
    }
    seen
}

fn tell(name: &str, seen: &Seen) {
    let listed = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    let mut rows = vec![
        ("plugin", format!("{name} ({})", seen.origin)),
        ("digest", seen.digest.to_string()),
        ("size", size(seen.bytes as u64)),
    ];
    if let Some(inspection) = &seen.inspection {
        let spoken = inspection.contract.as_ref().map_or_else(|| "not spoken".into(), |v| format!("wfhost:engine {v}"));
        rows.extend([
            ("contract", spoken),
            ("imports", listed(&inspection.imports)),
            ("exports", listed(&inspection.exports)),
        ]);
    }
    if let Some(about) = &seen.about {
        rows.extend([
            ("name", about.name.clone()),
            ("version", about.version.clone()),
            ("title", about.title.clone()),
            ("files", listed(&about.files)),
            ("marks", listed(&about.marks)),
            ("languages", listed(&about.languages)),
        ]);
    }
    if let Some(limits) = seen.limits {
        rows.extend([("a call gets", limits_shown(limits.call)), ("to load, it gets", limits_shown(limits.load))]);
    }
    for (field, value) in rows {
        print::line(format_args!("{field:<17} {}", print::plain(&value)));
    }
    for finding in &seen.findings {
        print::line(format_args!("FAIL {}", print::plain(finding)));
    }
    if seen.findings.is_empty() {
        print::line("OK   this host runs it");
    }
}

/// Bytes in a unit that suits them.
pub(in crate::cli) fn size(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} bytes"),
        10_000..=10_485_759 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        _ => format!("{} MiB", bytes.div_ceil(1 << 20)),
    }
}

fn report(name: &str, seen: &Seen) -> Value {
    let about = seen.about.as_ref().map(|about| {
        json!({
            "name": about.name, "version": about.version, "title": about.title, "files": about.files, "marks": about.marks,
            "languages": about.languages, "has_schema": about.schema.is_some(), "has_skill": about.skill.is_some(),
        })
    });
    let inspection = seen.inspection.as_ref();
    json!({
        "plugin": name,
        "origin": seen.origin,
        "digest": seen.digest.to_string(),
        "bytes": seen.bytes,
        "contract": inspection.and_then(|i| i.contract.clone()),
        "imports": inspection.map(|i| &i.imports),
        "exports": inspection.map(|i| &i.exports),
        "about": about,
        "limits": seen.limits.map(limits_json),
        "ok": seen.findings.is_empty(),
        "findings": seen.findings,
    })
}
