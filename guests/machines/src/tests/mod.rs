//! Machines walked in memory: what an author writes and what an agent gets.

#![allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that is wrong about its own data fails"
)]

mod better;
mod bundles;
mod diagrams;
mod documents;
mod effects;
mod guards;
mod large;
mod steps;
mod twins;

use wfhost_guest::json;
use wfhost_guest::model::{Document, Failure, Mishap, Need, Request, Severity, Source};
use wfhost_guest::native::{Host, World};
use wfhost_guest::value::Value;

use crate::Machines;

/// A host that serves one document.
pub(super) struct Bench {
    pub(super) host: Host<Machines>,
    pub(super) world: Script,
}

/// Who answers, by script: calls by `server.tool`, a person with one answer after another, a clock that is always there.
#[derive(Default)]
pub(super) struct Script {
    pub(super) tools: Vec<(&'static str, Value)>,
    pub(super) person: Vec<Result<Value, Mishap>>,
    pub(super) asked: Vec<String>,
    /// Calls whose time runs out.
    pub(super) slow: bool,
}

impl World for Script {
    fn carry_out(&mut self, request: &Request) -> Option<(Source, Result<String, Failure>)> {
        let late = || Failure { kind: Mishap::TimedOut, message: "too late".to_owned(), detail: None };
        match &request.need {
            Need::Timer(at) => {
                let late = request.deadline.filter(|deadline| deadline < at).map(|_| late());
                Some((Source::Clock, late.map_or(Ok("null".to_owned()), Err)))
            }
            Need::Tool(call) => {
                let name = format!("{}.{}", call.server.as_deref().unwrap_or_default(), call.tool);
                self.asked.push(format!("{name} {}", call.args));
                if self.slow {
                    return request.deadline.map(|_| (Source::Clock, Err(late())));
                }
                let (_, value) = self.tools.iter().find(|(known, _)| *known == name)?;
                let result = Value::from([("structuredContent", Value::from([("result", value.clone())]))]);
                Some((Source::Upstream, Ok(json::text(&result))))
            }
            Need::Answer(question) => {
                self.asked.push(question.prompt.clone());
                if self.person.is_empty() {
                    return None;
                }
                let answer = self.person.remove(0);
                let failed = |kind| Failure { kind, message: "no".to_owned(), detail: None };
                Some((Source::Human, answer.map(|value| json::text(&value)).map_err(failed)))
            }
            Need::Completion(_) => {
                let content = Value::from([("type", "text".into()), ("text", "a model's words".into())]);
                Some((Source::Model, Ok(json::text(&Value::from([("content", content)])))))
            }
            Need::Workflow(call) => {
                self.asked.push(format!("workflow {} {}", call.workflow, call.args));
                Some((Source::Host, Ok("{\"done\":true}".to_owned())))
            }
            Need::ToolList(_) => None,
        }
    }
}

/// The findings of a document, as `code line:column`, errors before a bar.
pub(super) fn findings(text: &str) -> Vec<String> {
    let told = Host::<Machines>::default().load(&[document("m.yaml", text)]);
    let all = told.into_iter().flat_map(|(_, findings)| findings);
    let place = |finding: &wfhost_guest::model::Diagnostic| {
        finding.span.map(|span| format!("{}:{}", span.start.line, span.start.column)).unwrap_or_default()
    };
    let mark = |severity| match severity {
        Severity::Error => "",
        Severity::Warning => "?",
        Severity::Note => "i",
    };
    all.map(|finding| {
        format!("{}{} {}", mark(finding.severity), finding.code.trim_start_matches("machine-"), place(&finding))
    })
    .collect()
}

pub(super) fn document(path: &str, text: &str) -> Document {
    Document { path: path.to_owned(), bytes: text.as_bytes().to_vec() }
}

impl Bench {
    /// Serves a document that has no errors.
    pub(super) fn new(text: &str) -> Self {
        Self::of(&[document("m.yaml", text)])
    }

    pub(super) fn of(documents: &[Document]) -> Self {
        let mut host = Host::<Machines>::default();
        let told = host.load(documents);
        let errors: Vec<_> =
            told.iter().flat_map(|(_, all)| all).filter(|one| one.severity == Severity::Error).collect();
        assert!(errors.is_empty() && !host.definitions.is_empty(), "{errors:?}");
        Self { host, world: Script::default() }
    }

    pub(super) fn call(&mut self, tool: &str, args: &str) -> Value {
        let output = self.host.call(tool, args, &mut self.world).unwrap();
        json::read(&output.value).unwrap()
    }

    /// A step, and of its answer the members that are asked for.
    pub(super) fn step(&mut self, action: &str, inputs: &str, show: &[&str]) -> String {
        let got = self.call("step", &format!("{{\"action\":{},\"inputs\":{inputs}}}", json::quoted(action)));
        if show.is_empty() {
            return json::text(&got);
        }
        show.iter().map(|key| got.get(key).map_or_else(|| "-".to_owned(), json::text)).collect::<Vec<_>>().join(" ")
    }

    /// A view as text.
    pub(super) fn view(&mut self, path: &str) -> String {
        let got = self.call("read_resource", &format!("{{\"uri\":{}}}", json::quoted(path)));
        got.as_str().unwrap_or_default().to_owned()
    }
}
