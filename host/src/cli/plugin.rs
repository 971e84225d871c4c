//! `wfhost plugin inspect`: what a file is, and whether this host would run it.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{code, place, print};
use crate::limits::{CallLimits, PLUGIN_BYTES_MAX};
use crate::plugin::{self, Inspection, Runtime, builtins, contract::Interpreter};
use crate::session::model::Digest;

/// What `plugin` is told.
#[derive(Debug, Args)]
pub(super) struct Plugin {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what a plugin is: digest, contract, imports, exports, limits, and what it says of itself.
    Inspect(Inspect),
}

/// What `plugin inspect` is told.
#[derive(Debug, Args)]
struct Inspect {
    /// A file, or the name of a built-in plugin.
    #[arg(value_name = "FILE|NAME")]
    plugin: String,
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
    findings: Vec<String>,
}

impl Plugin {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Command::Inspect(command) = self.command;
        let (origin, bytes) = bytes(&command.plugin)?;
        let runtime = place::runtime(place::cache())?;
        let seen = {
            let _progress = print::Progress::of("compiling the plugin");
            look(&runtime, &command.plugin, origin, bytes)
        };
        if command.json {
            print::json(&report(&command.plugin, &seen, &runtime));
        } else {
            tell(&command.plugin, &seen, &runtime);
        }
        Ok(code(seen.findings.is_empty()))
    }
}

fn bytes(plugin: &str) -> Result<(&'static str, Arc<[u8]>)> {
    if let Some(builtin) = builtins().iter().find(|b| b.name == plugin) {
        return Ok(("built in", builtin.wasm.into()));
    }
    let known = || builtins().iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
    let path = Path::new(plugin);
    let size = std::fs::metadata(path)
        .with_context(|| format!("there is no plugin `{plugin}`; the built-in ones are {}", known()))?
        .len();
    if size > PLUGIN_BYTES_MAX {
        bail!("`{plugin}` has {size} bytes, a plugin may have {PLUGIN_BYTES_MAX}");
    }
    let bytes = std::fs::read(path).with_context(|| format!("`{plugin}` cannot be read"))?;
    Ok(("a file", bytes.into()))
}

fn look(runtime: &Arc<Runtime>, name: &str, origin: &'static str, bytes: Arc<[u8]>) -> Seen {
    let (digest, size) = (Digest::of(&bytes), bytes.len());
    let mut seen = Seen { origin, digest, bytes: size, inspection: None, about: None, findings: Vec::new() };
    match plugin::inspect(runtime, name, &bytes) {
        Ok(inspection) => {
            seen.findings = inspection.findings.iter().map(ToString::to_string).collect();
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

fn tell(name: &str, seen: &Seen, runtime: &Runtime) {
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
    let limits = runtime.limits();
    rows.extend([("a call gets", limits_shown(limits.call)), ("to load, it gets", limits_shown(limits.load))]);
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

fn limits_shown(limits: CallLimits) -> String {
    format!(
        "{} of memory, {} ms, {} units of instructions, {} in and out",
        size(limits.memory_bytes as u64),
        limits.time_ms,
        limits.fuel,
        size(limits.copied_bytes as u64)
    )
}

/// Bytes in a unit that suits them.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} bytes"),
        10_000..=10_485_759 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        _ => format!("{} MiB", bytes.div_ceil(1 << 20)),
    }
}

fn report(name: &str, seen: &Seen, runtime: &Runtime) -> Value {
    let limits = |l: CallLimits| json!({"memory_bytes": l.memory_bytes, "time_ms": l.time_ms, "fuel": l.fuel, "copied_bytes": l.copied_bytes});
    let about = seen.about.as_ref().map(|about| {
        json!({
            "name": about.name, "version": about.version, "title": about.title, "files": about.files, "marks": about.marks,
            "languages": about.languages, "has_schema": about.schema.is_some(),
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
        "limits": {"call": limits(runtime.limits().call), "load": limits(runtime.limits().load)},
        "ok": seen.findings.is_empty(),
        "findings": seen.findings,
    })
}
