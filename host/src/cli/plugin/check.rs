//! `wfhost plugin check`: everything that an author can get wrong, each with its code, its reason and its cure.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::{code, place, print, size};
use crate::kit::{self, Options, Report};
use crate::plugin::{Spent, builtins};

/// What `plugin check` is told.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// The component, or the name of a built-in plugin.
    #[arg(value_name = "FILE|NAME")]
    plugin: String,
    /// Documents of the dialect: at least one that is right; wrong ones are welcome.
    #[arg(long, value_name = "DIR")]
    documents: Option<PathBuf>,
    /// Recorded cases, one JSON file each.
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(self) -> Result<ExitCode> {
        let known = builtins().iter().any(|builtin| builtin.name == self.plugin);
        let bytes = if known || std::fs::metadata(&self.plugin).is_err() {
            super::bytes(&self.plugin)?.1
        } else {
            // One that is too large is a finding, not a failure.
            std::fs::read(&self.plugin)?.into()
        };
        let runtime = place::runtime(place::cache())?;
        let report = {
            let _progress = print::Progress::of("checking the plugin");
            let options = Options { documents: self.documents, cases: self.cases };
            kit::check(&runtime, &self.plugin, bytes, &options)
        };
        if self.json {
            print::json(&as_json(&report));
        } else {
            tell(&report);
        }
        Ok(code(report.findings.is_empty()))
    }
}

fn tell(report: &Report) {
    for finding in &report.findings {
        print::line(format_args!(
            "FAIL [{}] {}: {}",
            finding.code,
            print::plain(&finding.subject),
            print::plain(&finding.reason)
        ));
        print::line(format_args!("     {}", print::plain(&finding.cure)));
    }
    for what in &report.left_out {
        print::line(format_args!("left out: {}", print::plain(what)));
    }
    let figures = &report.figures;
    let name =
        report.about.as_ref().map_or_else(|| "-".to_owned(), |about| format!("{} {}", about.name, about.version));
    let rows = [
        ("plugin", print::plain(&name)),
        ("digest", format!("sha256:{}", report.digest)),
        ("contract", format!("wfhost:engine {}", print::plain(report.contract.as_deref().unwrap_or("not spoken")))),
        ("size", size(report.bytes as u64)),
        ("documents", format!("{}, {} of them with errors", figures.documents, figures.bad_documents)),
        (
            "walked",
            format!(
                "{} tools, {} turns, {} refusals, {} cases",
                figures.tools, figures.turns, figures.refusals, figures.cases
            ),
        ),
        ("dearest compile", used(figures.compile)),
        ("dearest call", used(figures.call)),
    ];
    for (field, value) in rows {
        print::line(format_args!("{field:<17} {value}"));
    }
    match report.findings.len() {
        0 => print::line("OK   nothing was found"),
        1 => print::line("FAIL 1 finding"),
        n => print::line(format_args!("FAIL {n} findings")),
    }
}

fn used(spent: Spent) -> String {
    format!("{} us, {} units of instructions, {} of memory", spent.micros, spent.fuel, size(spent.memory_bytes as u64))
}

fn as_json(report: &Report) -> Value {
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|f| json!({"code": f.code, "subject": f.subject, "reason": f.reason, "cure": f.cure}))
        .collect();
    let spent = |s: Spent| json!({"micros": s.micros, "fuel": s.fuel, "memory_bytes": s.memory_bytes});
    let figures = &report.figures;
    json!({
        "plugin": report.plugin,
        "name": report.about.as_ref().map(|about| &about.name),
        "version": report.about.as_ref().map(|about| &about.version),
        "digest": report.digest.to_string(),
        "bytes": report.bytes,
        "contract": report.contract,
        "ok": report.findings.is_empty(),
        "findings": findings,
        "left_out": report.left_out,
        "figures": {
            "documents": figures.documents, "bad_documents": figures.bad_documents, "tools": figures.tools, "turns": figures.turns,
            "refusals": figures.refusals, "cases": figures.cases, "call": spent(figures.call), "compile": spent(figures.compile),
        },
    })
}
