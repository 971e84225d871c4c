//! What a plugin makes of documents: its own, right and wrong ones, and such as nobody would write.

use std::path::Path;

use serde_json::Value;

use super::cases::Case;
use super::report::Report;
use crate::catalogue::could_own;
use crate::plugin::contract::{Bundle, Compiled, Definition, Diagnostic, Document, Severity};
use crate::plugin::{Plugin, spent};

/// The documents of a folder and of the cases.
pub(super) fn gather(folder: Option<&Path>, cases: &[Case], report: &mut Report) -> Vec<Document> {
    let mut documents: Vec<Document> = Vec::new();
    if let Some(folder) = folder {
        match crate::catalogue::read(folder, &|_| true) {
            Ok(found) => documents
                .extend(found.into_iter().filter_map(|f| Some(Document { path: f.path, bytes: f.bytes.ok()? }))),
            Err(fault) => report.find("documents", folder.display().to_string(), fault.to_string(), "name a folder"),
        }
    }
    for (path, bytes) in cases.iter().flat_map(|case| &case.documents) {
        let document = Document { path: path.clone(), bytes: bytes.clone() };
        if !documents.contains(&document) {
            documents.push(document);
        }
    }
    documents
}

/// Compiles all of them, and gives what can be run.
pub(super) fn check(plugin: &Plugin, documents: &[Document], report: &mut Report) -> Vec<Definition> {
    let mut definitions = Vec::new();
    let mut claimed = 0;
    for document in documents {
        if !could_own(&plugin.about, document) {
            passed_over(plugin, document, "it holds none of `marks`", report);
            continue;
        }
        let companions = match plugin.recognise(document) {
            Ok(None) => {
                passed_over(plugin, document, "`recognise` does not take it", report);
                continue;
            }
            Ok(Some(globs)) => globs,
            Err(fault) => {
                report.call_fault("trap", "recognise", &fault);
                continue;
            }
        };
        claimed += 1;
        let companions = documents.iter().filter(|other| {
            other.path != document.path && companions.iter().any(|g| crate::catalogue::fits(g, &other.path))
        });
        let bundle = Bundle { main: document.clone(), companions: companions.cloned().collect() };
        if let Some(compiled) = compiled(plugin, &bundle, report) {
            report.figures.documents += 1;
            report.figures.bad_documents += usize::from(is_bad(&compiled));
            diagnostics(&compiled, &bundle, report);
            definitions.extend(served(compiled, &document.path, report));
        }
        hostile(plugin, document, report);
    }
    if documents.is_empty() {
        report.left_out.push("documents, tools and runs: no documents were given (`--documents DIR`)".into());
    } else if claimed == 0 {
        let reason = format!("none of the {} documents is recognised", documents.len());
        report.find("claims-none", "recognise", reason, "see that `files`, `marks` and `recognise` fit your documents");
    } else if definitions.is_empty() {
        let reason = format!("none of the {claimed} documents that it recognises compiles without an error");
        report.find("claims-none", "compile", reason, "give at least one document that is right");
    }
    definitions
}

/// A document that may well be meant for the plugin: its name says so.
fn passed_over(plugin: &Plugin, document: &Document, why: &str, report: &mut Report) {
    let name = document.path.rsplit('/').next().unwrap_or_default();
    if plugin.about.files.iter().any(|glob| crate::catalogue::fits(glob, name)) {
        report.left_out.push(format!("{}: its name fits `files`, but {why}", document.path));
    }
}

/// Compiles twice: the same input must give the same answer and use the same fuel.
fn compiled(plugin: &Plugin, bundle: &Bundle, report: &mut Report) -> Option<Compiled> {
    let path = &bundle.main.path;
    let first = plugin.compile(bundle);
    let cost = spent();
    let again = if first.is_ok() { plugin.compile(bundle) } else { first.clone() };
    match (first, again) {
        (Ok(first), Ok(again)) => {
            if first != again || cost.fuel != spent().fuel {
                let reason = "compiled twice, the same document gives two answers";
                report.find("not-pure", path, reason, "take nothing from outside the arguments");
            }
            Report::dearest(&mut report.figures.compile, cost);
            Some(first)
        }
        (Err(fault), _) | (_, Err(fault)) => {
            report.call_fault("trap", &format!("compile {path}"), &fault);
            None
        }
    }
}

fn is_bad(compiled: &Compiled) -> bool {
    compiled.diagnostics.iter().any(|d| d.severity == Severity::Error)
}

fn diagnostics(compiled: &Compiled, bundle: &Bundle, report: &mut Report) {
    for one in &compiled.diagnostics {
        if one.code.is_empty() || one.message.is_empty() {
            let reason = "a diagnostic has no code or no message";
            report.find("diagnostic", &bundle.main.path, reason, "say what is wrong, under a code that stays");
        }
        if let Some(reason) = misplaced(one, bundle) {
            report.find(
                "diagnostic",
                &bundle.main.path,
                reason,
                "lines and columns count from 1, columns in characters",
            );
        }
    }
}

fn misplaced(one: &Diagnostic, bundle: &Bundle) -> Option<String> {
    let document = match &one.path {
        None => &bundle.main,
        Some(path) => match bundle.companions.iter().find(|companion| companion.path == *path) {
            Some(companion) => companion,
            None => return Some(format!("[{}] names the file `{path}`, which is none of the bundle", one.code)),
        },
    };
    let span = one.span?;
    let text = String::from_utf8_lossy(&document.bytes);
    let lines: Vec<usize> = text.split('\n').map(|line| line.chars().count()).collect();
    let there = |line: u32, column: u32| {
        let line = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
        let chars = line.and_then(|line| lines.get(line)).copied();
        // One past the end of a line, and the line after the last, are places as well.
        let after_all = line == Some(lines.len()) && column == 1;
        after_all || column >= 1 && chars.is_some_and(|chars| column as usize <= chars + 1)
    };
    let (start, end) = (span.start, span.end);
    let right = there(start.line, start.column)
        && there(end.line, end.column)
        && (start.line, start.column) <= (end.line, end.column);
    (!right).then(|| {
        let Diagnostic { code, .. } = one;
        format!(
            "[{code}] points at {}:{} to {}:{}, which is no place in it",
            start.line, start.column, end.line, end.column
        )
    })
}

/// The definitions, if they hold together.
fn served(compiled: Compiled, path: &str, report: &mut Report) -> Vec<Definition> {
    if is_bad(&compiled) {
        if !compiled.definitions.is_empty() {
            let reason = "it gives definitions beside an error";
            report.find("serves-bad", path, reason, "give no definitions once a diagnostic is an error");
        }
        return Vec::new();
    }
    if compiled.definitions.is_empty() {
        let reason = "neither a definition nor an error comes of it";
        report.find("silent", path, reason, "a document that it claims is served, or told why not");
    }
    for definition in &compiled.definitions {
        if let Some(reason) = unsound(definition) {
            report.find("definition", path, reason, "see `definition` and `graph` in wit/engine.wit");
        }
    }
    compiled.definitions
}

fn unsound(definition: &Definition) -> Option<String> {
    let graph = &definition.graph;
    let is_node = |id: &str| graph.nodes.iter().any(|node| node.id == id);
    if definition.about.id.is_empty() {
        return Some("its workflow has no id".into());
    }
    if serde_json::from_str::<Value>(&definition.about.extra).is_err() {
        return Some("`extra` is no JSON; write `{}` if there is nothing".into());
    }
    if !is_node(&graph.entry) {
        return Some(format!("the drawing begins at `{}`, which it does not have", graph.entry));
    }
    if let Some(edge) = graph.edges.iter().find(|edge| !is_node(&edge.source) || !is_node(&edge.target)) {
        return Some(format!(
            "the drawing has an arrow from `{}` to `{}`, one of which it lacks",
            edge.source, edge.target
        ));
    }
    let twice =
        graph.nodes.iter().enumerate().find(|(n, node)| graph.nodes.iter().skip(n + 1).any(|o| o.id == node.id));
    twice.map(|(_, node)| format!("two nodes of the drawing have the id `{}`", node.id))
}

/// What happens to files: cut, empty, no text at all, deeply nested, one endless line. Each is told or read, and breaks nothing.
fn hostile(plugin: &Plugin, document: &Document, report: &mut Report) {
    let cut = |part: usize| document.bytes.get(..document.bytes.len() * part / 3).unwrap_or_default().to_vec();
    let noise: Vec<u8> =
        (0_u32..512).map(|n| u8::try_from(n.wrapping_mul(2_654_435_761) >> 24).unwrap_or(0) | 0x80).collect();
    let mut nested = document.bytes.clone();
    nested.extend(std::iter::repeat_n(b'[', 20_000));
    let mut long = document.bytes.clone();
    long.extend(std::iter::repeat_n(b'x', 1 << 20));
    let kinds: [(&str, Vec<u8>); 6] = [
        ("a document cut after a third", cut(1)),
        ("a document cut after two thirds", cut(2)),
        ("an empty document", Vec::new()),
        ("bytes that are no text", noise),
        ("a document that is nested 20,000 deep", nested),
        ("a document with a line of a million characters", long),
    ];
    for (what, bytes) in kinds {
        let is_nothing = what.starts_with("bytes") || what.starts_with("an empty");
        let main = Document { path: document.path.clone(), bytes };
        if let Err(fault) = plugin.recognise(&main) {
            report.call_fault("bad-document", what, &fault);
        }
        match plugin.compile(&Bundle { main, companions: Vec::new() }) {
            Err(fault) => report.call_fault("bad-document", what, &fault),
            Ok(compiled) if is_nothing && !is_bad(&compiled) => {
                report.find(
                    "accepts-nonsense",
                    what,
                    "no diagnostic says that it is no document",
                    "end with an error that says so",
                );
            }
            Ok(_) => {}
        }
    }
}
