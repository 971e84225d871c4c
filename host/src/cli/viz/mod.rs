//! `wfhost viz`: a workflow drawn from the neutral graph that every plugin gives.

mod dot;
mod mermaid;
mod terminal;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use super::{code, findings, place, print, tidied};
use crate::catalogue::{self, Catalogue, Finding, Plugins};
use crate::plugin::contract::{Bundle, Diagnostic, Document, Graph, Severity};

/// What `viz` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Without an option the drawing is a Mermaid flowchart. Exit codes: 0 drawn, 1 the document has errors \
    (they go to standard error), 2 wrong command line."
)]
pub(super) struct Viz {
    /// The document, under any file name.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(tidied))]
    file: PathBuf,
    /// The workflow to draw, if the document holds several.
    #[arg(long, value_name = "ID")]
    workflow: Option<String>,
    /// Draw for Graphviz.
    #[arg(long, conflicts_with = "terminal")]
    dot: bool,
    /// Draw with lines of text, for a terminal.
    #[arg(long)]
    terminal: bool,
    /// A plugin that reads it: a file, or the name of a built-in one. Repeatable; none means all built-in ones.
    #[arg(long = "plugin", value_name = "FILE|NAME")]
    plugins: Vec<String>,
}

/// The drawings in a document, by the workflow's id, and what is wrong with it.
struct Drawn {
    graphs: Vec<(String, Graph)>,
    findings: Vec<Finding>,
}

impl Viz {
    pub(super) fn run(self) -> Result<ExitCode> {
        let plugins = Plugins::choose(&place::runtime(place::cache())?, &self.plugins)?;
        let drawn = self.drawn(&plugins)?;
        let (errors, _) = findings::counts(drawn.findings.iter());
        if errors > 0 {
            drawn.findings.iter().for_each(|finding| print::aside(format_args!("{}\n", findings::text(finding))));
            print::line(findings::failed(&print::plain(&self.file.display().to_string()), &drawn.findings));
            return Ok(code(false));
        }
        let (id, graph) = self.picked(&drawn.graphs)?;
        print::raw(match (self.dot, self.terminal) {
            (true, _) => dot::drawing(id, graph),
            (false, true) => terminal::drawing(graph),
            (false, false) => mermaid::drawing(graph),
        });
        Ok(code(true))
    }

    fn picked<'g>(&self, graphs: &'g [(String, Graph)]) -> Result<(&'g str, &'g Graph)> {
        let ids = || graphs.iter().map(|(id, _)| format!("`{}`", print::plain(id))).collect::<Vec<_>>().join(", ");
        let found = match (&self.workflow, graphs) {
            (None, [only]) => Some(only),
            (None, []) => bail!("`{}` holds no workflow", self.file.display()),
            (None, _) => {
                bail!("`{}` holds several workflows: pick one of {} with `--workflow`", self.file.display(), ids())
            }
            (Some(id), _) => graphs.iter().find(|(known, _)| known == id),
        };
        match found {
            Some((id, graph)) => Ok((id, graph)),
            None => bail!("`{}` holds no such workflow; it holds {}", self.file.display(), ids()),
        }
    }

    fn drawn(&self, plugins: &Plugins) -> Result<Drawn> {
        let _progress = print::Progress::of("reading the document");
        let name = self.file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if self.file.is_dir() {
            return Ok(self.failed("the document cannot be read: it is a folder; name one file in it"));
        }
        if !plugins.want(&name) {
            return self.by_content(plugins, name);
        }
        let catalogue = match Catalogue::load(plugins, std::slice::from_ref(&self.file), None) {
            Ok(catalogue) => catalogue,
            Err(fault) => return Ok(self.failed(&format!("the document cannot be read: {}", fault.reason))),
        };
        let graphs = catalogue.files.iter().flat_map(|f| &f.definitions);
        let graphs = graphs.map(|d| (d.about.id.clone(), d.graph.clone())).collect();
        Ok(Drawn { graphs, findings: catalogue.files.into_iter().flat_map(|f| f.findings).collect() })
    }

    /// No plugin reads files of this name, so each is asked about the content.
    fn by_content(&self, plugins: &Plugins, path: String) -> Result<Drawn> {
        let found = match catalogue::read(&self.file, &|_| true) {
            Ok(found) => found.into_iter().next(),
            Err(fault) => return Ok(self.failed(&format!("the document cannot be read: {}", fault.reason))),
        };
        let bytes = match found.map(|f| f.bytes) {
            Some(Ok(bytes)) => bytes,
            Some(Err(reason)) => return Ok(self.failed(&format!("the document cannot be read: {reason}"))),
            None => return Ok(self.failed("the document cannot be read: it is no file")),
        };
        let document = Document { path, bytes };
        let mut owners = Vec::new();
        for chosen in &plugins.chosen {
            let plugin = plugins.load(chosen)?;
            if plugin.recognise(&document)?.is_some() || plugins.chosen.len() == 1 {
                owners.push(plugin);
            }
        }
        let owner = match owners.as_slice() {
            [owner] => owner,
            [] => return Ok(self.failed("no plugin recognises this document")),
            [..] => return Ok(self.failed("several plugins claim this document: name one with `--plugin`")),
        };
        let compiled = owner.compile(&Bundle { main: document.clone(), companions: Vec::new() })?;
        let finding = |diagnostic| self.finding(diagnostic, &document.bytes);
        Ok(Drawn {
            graphs: compiled.definitions.into_iter().map(|d| (d.about.id, d.graph)).collect(),
            findings: compiled.diagnostics.into_iter().map(finding).collect(),
        })
    }

    fn finding(&self, diagnostic: Diagnostic, bytes: &[u8]) -> Finding {
        Finding { file: self.file.display().to_string(), diagnostic, bytes: bytes.into() }
    }

    fn failed(&self, message: &str) -> Drawn {
        let diagnostic = Diagnostic {
            severity: Severity::Error,
            code: "unreadable-file".into(),
            message: message.into(),
            help: None,
            subject: None,
            path: None,
            span: None,
        };
        Drawn { graphs: Vec::new(), findings: vec![self.finding(diagnostic, &[])] }
    }
}
