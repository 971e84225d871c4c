//! What the recorded cases do not pin: findings with their places, flows in any script, walks by chance, damage.

mod damage;
mod documents;
mod flows;
mod runs;
mod walks;

use wfhost_guest::model::{Bundle, Compiled, Diagnostic, Document};
use wfhost_guest::native::{Alone, Host};
use wfhost_guest::value::Value;
use wfhost_guest::{Dialect, json};

use crate::Guides;

/// A document of that name.
fn document(id: &str, text: &str) -> Document {
    Document { path: format!("{id}.yaml"), bytes: text.as_bytes().to_vec() }
}

/// What becomes of it.
fn compiled(id: &str, text: &str) -> Compiled {
    Guides::compile(&Bundle { main: document(id, text), companions: Vec::new() })
}

/// A host that serves these documents, none of which may have an error.
fn host(documents: &[(&str, &str)]) -> Host<Guides> {
    let mut host = Host::default();
    let documents: Vec<Document> = documents.iter().map(|(id, text)| document(id, text)).collect();
    let told = host.load(&documents);
    assert_eq!(host.definitions.len(), documents.len(), "{told:#?}");
    host
}

/// Calls a tool: whether it failed, and its value.
fn call(host: &mut Host<Guides>, tool: &str, args: &str) -> (bool, Value) {
    let output = host.call(tool, args, &mut Alone).expect("the dialect keeps its promises");
    (output.is_error, json::read(&output.value).unwrap())
}

/// Calls a tool that is not to fail.
fn fine(host: &mut Host<Guides>, tool: &str, args: &str) -> Value {
    let (is_error, value) = call(host, tool, args);
    assert!(!is_error, "{tool} {args}: {}", json::text(&value));
    value
}

/// A member of an object, as JSON.
fn member(value: &Value, key: &str) -> String {
    value.get(key).map(json::text).unwrap_or_default()
}

/// Findings as lines: code, node, place.
fn lines(findings: &[Diagnostic]) -> Vec<String> {
    let place = |finding: &Diagnostic| finding.span.map(|span| format!("{}:{}", span.start.line, span.start.column));
    findings
        .iter()
        .map(|one| {
            let subject = one.subject.clone().unwrap_or_default();
            format!("{} {subject} {}", one.code, place(one).unwrap_or_default())
        })
        .collect()
}
