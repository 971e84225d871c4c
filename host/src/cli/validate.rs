//! `wfhost validate`: every finding of every document. No data folder is needed or made.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::findings::{self, counted};
use super::upstreams::Upstreams;
use super::{Documents, code, online, place, print};
use crate::catalogue::{Catalogue, Clash, FileFault};

/// What `validate` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 no errors (warnings are allowed), 1 errors or no documents, 2 wrong command line.\n\
    A line a document goes to standard output; findings with their source go to standard error."
)]
pub(super) struct Validate {
    #[command(flatten)]
    documents: Documents,
    /// Ask the upstream servers that the documents name, and check that the tools are there. Starts them as `serve` would.
    #[arg(long)]
    online: bool,
    #[command(flatten)]
    upstreams: Upstreams,
    /// Print one JSON document instead, with all findings in it.
    #[arg(long)]
    json: bool,
}

impl Validate {
    pub(super) fn run(mut self) -> Result<ExitCode> {
        self.documents = self.documents.with_servers(self.upstreams.names()?);
        let plugins = self.documents.plugins(place::cache())?;
        let (read, faults) = place::survey(&plugins, self.documents.places())?;
        let (catalogue, unavailable) = if self.online {
            let asked = online::ask(&plugins, &read, (self.documents.places(), &self.upstreams))?;
            (asked.catalogue, asked.unavailable)
        } else {
            (read, Vec::new())
        };
        let clashes = tool_clashes(&catalogue);
        let (errors, _) = findings::counts(catalogue.findings());
        let well = errors == 0 && faults.is_empty() && clashes.is_empty() && !catalogue.files.is_empty();
        if self.json {
            let mut report = report(&catalogue, &faults, &clashes);
            if let Some(fields) = report.as_object_mut().filter(|_| self.online) {
                let shown = unavailable.iter().map(|(server, reason)| json!({"server": server, "reason": reason}));
                fields.insert("unavailable".into(), shown.collect());
            }
            print::json(&report);
            return Ok(code(well));
        }
        for fault in &faults {
            print::note(format_args!("error: {}", print::plain(&fault.to_string())));
        }
        for (server, reason) in &unavailable {
            let line = format!("the server `{server}` cannot be asked, so its tools are not checked: {reason}");
            print::note(print::plain(&line));
        }
        tell(&catalogue);
        for clash in &clashes {
            print::line(format_args!("FAIL {}", findings::clash(clash)));
        }
        if catalogue.files.is_empty() {
            print::line(format_args!("no documents found in {}", print::plain(&self.documents.shown())));
        } else {
            print::aside(summary(&catalogue));
        }
        Ok(code(well))
    }
}

/// Each document's findings, then its verdict.
fn tell(catalogue: &Catalogue) {
    for file in &catalogue.files {
        for finding in &file.findings {
            print::aside(format_args!("{}\n", findings::text(finding)));
        }
        print::line(findings::verdict(file));
    }
}

fn summary(catalogue: &Catalogue) -> String {
    let (errors, others) = findings::counts(catalogue.findings());
    let workflows = catalogue.offered.iter().map(|o| o.ids.len()).sum();
    format!(
        "{} with {}: {}, {}",
        counted(catalogue.files.len(), "document"),
        counted(workflows, "workflow"),
        counted(errors, "error"),
        counted(others, "warning")
    )
}

/// Clashes that no document's findings tell: two plugins with a tool of one name.
pub(super) fn tool_clashes(catalogue: &Catalogue) -> Vec<Clash> {
    let of_document = |clash: &&Clash| catalogue.files.iter().any(|f| f.shown == clash.second);
    catalogue.clashes.iter().filter(|clash| !of_document(clash)).cloned().collect()
}

/// All of it, for machines.
pub(super) fn report(catalogue: &Catalogue, faults: &[FileFault], clashes: &[Clash]) -> Value {
    let (errors, warnings) = findings::counts(catalogue.findings());
    let documents: Vec<Value> = catalogue
        .files
        .iter()
        .map(|file| {
            let workflows = file.definitions.iter().map(|d| json!({"id": d.about.id, "title": d.about.title}));
            json!({
                "file": file.shown,
                "ok": !file.is_bad(),
                "plugin": file.plugin,
                "workflows": workflows.collect::<Vec<_>>(),
                "findings": file.findings.iter().map(findings::json).collect::<Vec<_>>(),
            })
        })
        .collect();
    let unreadable = faults.iter().map(|f| json!({"place": f.place, "reason": f.reason})).collect::<Vec<_>>();
    let clashes_shown = clashes
        .iter()
        .map(|c| json!({"name": c.name, "first": c.first, "second": c.second, "reason": c.reason}))
        .collect::<Vec<_>>();
    json!({
        "ok": errors == 0 && faults.is_empty() && clashes.is_empty() && !catalogue.files.is_empty(),
        "errors": errors,
        "warnings": warnings,
        "documents": documents,
        "unreadable": unreadable,
        "clashes": clashes_shown,
    })
}
