//! The author's kit: projects to begin with, and a check of a finished plugin that needs nothing but the file. It knows no
//! terminal; the command line shows what it finds.

pub mod cases;
mod component;
mod documents;
mod foreign;
mod guess;
mod report;
pub mod templates;
mod turns;
mod walk;

use std::path::PathBuf;
use std::sync::Arc;

pub use report::{Figures, Finding, Report};

use crate::plugin::{Plugin, Runtime};

/// What a check is given besides the file.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Documents of the dialect, right and wrong ones.
    pub documents: Option<PathBuf>,
    /// Recorded cases of the author.
    pub cases: Option<PathBuf>,
}

/// Checks a plugin: first its type, then what it says of itself, then what it does with documents, tools, runs and cases. What
/// cannot be looked at because of a finding before it is left out.
pub fn check(runtime: &Arc<Runtime>, name: &str, bytes: Arc<[u8]>, options: &Options) -> Report {
    let mut report = Report::of(name, &bytes);
    component::check(name, &bytes, &mut report);
    if !report.findings.is_empty() {
        return report;
    }
    let plugin = match Plugin::from_bytes(runtime, name, bytes) {
        Ok(plugin) => Arc::new(plugin),
        Err(fault) => {
            report.load_fault(&fault);
            return report;
        }
    };
    report.about = Some(plugin.about.clone());
    component::about(&plugin, &mut report);
    foreign::check(&plugin, &mut report);
    let cases = options.cases.as_deref().map(|folder| cases::load(folder, &mut report)).unwrap_or_default();
    let documents = documents::gather(options.documents.as_deref(), &cases, &mut report);
    let definitions = documents::check(&plugin, &documents, &mut report);
    let tools = turns::tools(&plugin, &definitions, &mut report);
    if !definitions.is_empty() {
        walk::check(&plugin, &definitions, &tools, &mut report);
    }
    for case in &cases {
        report.figures.cases += 1;
        if let Err(reason) = cases::run(runtime, &plugin, case) {
            report.find("case", &case.name, reason, "make the plugin do what the case says, or put the case right");
        }
    }
    report
}
