//! What goes beyond the recorded cases, natively.

mod beyond;
mod documents;
mod runs;

use std::collections::BTreeMap;

use wfhost_guest::model::{Document, Failure, Mishap, Need, Request, Source};
use wfhost_guest::native::{Host, World};
use wfhost_guest::value::Value;
use wfhost_guest::{json, python};

use crate::Graphs;

/// Upstream servers and workflows by script: what each is to say, one after the other; the last one for good.
#[derive(Debug, Default)]
struct Script {
    answers: BTreeMap<String, Vec<Result<String, Failure>>>,
    asked: Vec<String>,
}

impl Script {
    fn says(mut self, whom: &str, answer: &str) -> Self {
        self.answers.entry(whom.to_owned()).or_default().push(Ok(answer.to_owned()));
        self
    }

    fn fails(mut self, whom: &str, kind: Mishap, message: &str) -> Self {
        let failure = Failure { kind, message: message.to_owned(), detail: None };
        self.answers.entry(whom.to_owned()).or_default().push(Err(failure));
        self
    }
}

impl World for Script {
    fn carry_out(&mut self, request: &Request) -> Option<(Source, Result<String, Failure>)> {
        let (whom, args) = match &request.need {
            Need::Tool(call) => (call.tool.clone(), call.args.clone()),
            Need::Workflow(call) => (call.workflow.clone(), call.args.clone()),
            Need::Timer(_) => {
                self.asked.push("pause".to_owned());
                return Some((Source::Clock, Ok("null".to_owned())));
            }
            Need::Answer(_) | Need::ToolList(_) | Need::Completion(_) => return None,
        };
        self.asked.push(format!("{whom} {args}"));
        let answers = self.answers.get_mut(&whom)?;
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers.first().cloned()? };
        Some((Source::Upstream, answer))
    }
}

/// A tool `t` with these nodes between `entry` and `exit`.
fn document(nodes: &str) -> String {
    let nodes: String = nodes.lines().map(|line| format!("      {}\n", line.trim())).collect();
    format!(
        "version: \"1\"\nserver: {{name: s, version: \"1\"}}\nmcpServers: {{up: {{command: up, args: []}}}}\ntools:\n  - name: t\n    description: d\n    inputSchema: {{type: object}}\n    outputSchema: {{type: object}}\n    nodes:\n{nodes}      - {{id: exit, type: exit}}\n"
    )
}

fn host(text: &str) -> Host<Graphs> {
    let mut host = Host::default();
    let told = host.load(&[Document { path: "g.yaml".to_owned(), bytes: text.as_bytes().to_vec() }]);
    assert!(!host.definitions.is_empty(), "{told:#?}");
    host
}

fn call(host: &mut Host<Graphs>, args: &str, world: &mut dyn World) -> (bool, String) {
    let output = host.call("t", args, world).unwrap();
    let value = json::read(&output.value).unwrap();
    (output.is_error, value.as_str().map_or_else(|| json::text(&value), str::to_owned))
}

fn check(nodes: &str, args: &str, world: &mut Script, want: &str) {
    let got = call(&mut host(&document(nodes)), args, world);
    assert_eq!(got, (false, want.to_owned()), "{nodes}");
}

fn fails(nodes: &str, args: &str, world: &mut Script) -> Value {
    let (is_error, text) = call(&mut host(&document(nodes)), args, world);
    assert!(is_error, "{text}");
    json::read(&text).unwrap()
}

/// The findings about a document, as lines.
fn findings(text: &str) -> Vec<String> {
    let told = Host::<Graphs>::default().load(&[Document { path: "g.yaml".to_owned(), bytes: text.into() }]);
    let line = |finding: &wfhost_guest::model::Diagnostic| {
        let place = finding.span.map(|span| format!("{}:{}", span.start.line, span.start.column)).unwrap_or_default();
        format!("{place} {} {}", finding.code, finding.message)
    };
    told.iter().flat_map(|(_, findings)| findings.iter().map(line)).collect()
}

fn member(value: &Value, key: &str) -> String {
    value.get(key).map(python::str).unwrap_or_default()
}
