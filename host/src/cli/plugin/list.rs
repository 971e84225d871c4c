//! `wfhost plugin list`: the plugins that there are, on one line each.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::{bytes, code, limits_json, limits_shown, place, print, size};
use crate::limits::PluginLimits;
use crate::plugin::{self, Runtime, builtins};
use crate::session::model::Digest;

/// What `plugin list` is told.
#[derive(Debug, Args)]
pub(super) struct List {
    /// Plugins besides the built-in ones: files.
    #[arg(value_name = "FILE")]
    plugins: Vec<String>,
    /// The policy under which they would run.
    #[arg(long, value_name = "FILE", env = "WFHOST_POLICY")]
    policy: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// One plugin.
struct Row {
    plugin: String,
    origin: &'static str,
    digest: Digest,
    bytes: usize,
    contract: Option<String>,
    imports: Vec<String>,
    native_code: bool,
    limits: Option<PluginLimits>,
    findings: Vec<String>,
}

impl List {
    pub(super) fn run(self) -> Result<ExitCode> {
        let runtime = place::runtime_under(place::cache(), self.policy.as_deref())?;
        let named = builtins().iter().map(|builtin| builtin.name.to_owned()).chain(self.plugins.iter().cloned());
        let rows: Vec<Row> = named.map(|plugin| Row::of(&runtime, &plugin)).collect::<Result<_>>()?;
        if self.json {
            print::json(&json!({"plugins": rows.iter().map(Row::as_json).collect::<Vec<_>>()}));
        } else {
            rows.iter().for_each(Row::tell);
        }
        Ok(code(rows.iter().all(|row| row.findings.is_empty())))
    }
}

impl Row {
    fn of(runtime: &Runtime, plugin: &str) -> Result<Self> {
        let (origin, bytes) = bytes(plugin)?;
        let digest = Digest::of(&bytes);
        let mut row = Self {
            plugin: plugin.to_owned(),
            origin,
            digest,
            bytes: bytes.len(),
            contract: None,
            imports: Vec::new(),
            native_code: plugin::is_cached(runtime, digest),
            limits: None,
            findings: Vec::new(),
        };
        match runtime.allowed(plugin, digest) {
            Ok(limits) => row.limits = Some(limits),
            Err(fault) => row.findings.push(fault.to_string()),
        }
        match plugin::inspect(plugin, &bytes) {
            Ok(seen) => {
                row.findings.extend(seen.findings.iter().map(ToString::to_string));
                (row.contract, row.imports) = (seen.contract, seen.imports);
            }
            Err(fault) => row.findings.push(fault.to_string()),
        }
        Ok(row)
    }

    fn tell(&self) {
        let contract = self.contract.as_deref().unwrap_or("not spoken");
        let size = size(self.bytes as u64);
        let name = print::plain(&self.plugin);
        print::line(format_args!("{name} ({}), wfhost:engine {}, {size}", self.origin, print::plain(contract)));
        print::line(format_args!("  sha256:{}", self.digest));
        let gets = self.limits.map_or_else(|| "nothing: it may not run".to_owned(), |limits| limits_shown(limits.call));
        print::line(format_args!("  a call gets {gets}"));
        let imports = if self.imports.is_empty() { "nothing".to_owned() } else { self.imports.join(", ") };
        print::line(format_args!("  imports {}", print::plain(&imports)));
        for finding in &self.findings {
            print::line(format_args!("  FAIL {}", print::plain(finding)));
        }
    }

    fn as_json(&self) -> Value {
        json!({
            "plugin": self.plugin,
            "origin": self.origin,
            "digest": self.digest.to_string(),
            "bytes": self.bytes,
            "contract": self.contract,
            "imports": self.imports,
            "native_code": self.native_code,
            "limits": self.limits.map(limits_json),
            "findings": self.findings,
        })
    }
}
