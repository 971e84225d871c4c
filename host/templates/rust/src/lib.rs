//! {{name}}: an interpreter for wfhost. `document` reads a checklist, `run` walks it, `tools` are what an agent calls.
//!
//! Every function is pure: there is no clock, no randomness, no file, and nothing is remembered between two calls. What a
//! call needs comes as its arguments.

mod document;
mod run;
mod tools;

mod contract {
    wit_bindgen::generate!({ path: "wit", world: "interpreter" });
    pub use exports::wfhost::engine::engine::*;
}

use contract::*;
use serde_json::json;

struct Dialect;
contract::export!(Dialect with_types_in contract);

impl Guest for Dialect {
    fn describe() -> Interpreter {
        Interpreter {
            name: "{{name}}".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            title: "Checklists".to_owned(),
            files: vec![format!("*{SUFFIX}")],
            marks: vec!["- [ ]".to_owned(), "- [?]".to_owned()],
            languages: Vec::new(),
            schema: None,
            skill: Some(include_str!("../SKILL.md").to_owned()),
        }
    }

    fn recognise(document: Document) -> Option<Vec<String>> {
        (document.path.ends_with(SUFFIX) && document::looks_like_one(&document.bytes)).then(Vec::new)
    }

    fn compile(bundle: Bundle) -> Compiled {
        let (checklist, diagnostics) = document::read(&bundle.main.bytes);
        if !diagnostics.is_empty() {
            return Compiled { definitions: Vec::new(), diagnostics };
        }
        let file = bundle.main.path.rsplit('/').next().unwrap_or_default();
        let id = file.strip_suffix(SUFFIX).unwrap_or(file).to_owned();
        let items = checklist.items.iter().map(|item| json!([item.text, item.person])).collect::<Vec<_>>();
        let definition = Definition {
            about: Workflow {
                id,
                title: checklist.title.clone(),
                description: format!("{} items", items.len()),
                version: None,
                extra: "{}".to_owned(),
            },
            graph: drawing(&checklist),
            views: Vec::new(),
            servers: Vec::new(),
            instructions: None,
            sessions: Keeping { shared: false, idle_seconds: None, limit: None },
            // Handed back at every call. Small here; a large document is better laid out to be read in place.
            code: json!({"title": checklist.title, "items": items}).to_string().into_bytes(),
        };
        Compiled { definitions: vec![definition], diagnostics }
    }

    fn tools(workflows: Vec<Workflow>) -> Vec<Tool> {
        tools::list(&workflows)
    }

    fn route(call: Call, workflows: Vec<String>) -> Result<Action, Refusal> {
        tools::route(&call, &workflows)
    }

    fn catalogue(_call: Call, workflows: Vec<Workflow>, runs: Vec<Run>) -> Output {
        tools::catalogue(&workflows, &runs)
    }

    fn evaluate(language: String, _expression: String, _context: String) -> Result<String, Diagnostic> {
        Err(Diagnostic {
            severity: Severity::Error,
            code: "no-such-language".to_owned(),
            message: format!("checklists evaluate no `{language}`"),
            help: None,
            subject: None,
            path: None,
            span: None,
        })
    }

    fn start(code: Vec<u8>, session: Session, _event: Event) -> Result<Turn, Refusal> {
        run::start(&code, &session)
    }

    fn answer(code: Vec<u8>, session: Session, state: String, _: Memory, event: Event) -> Result<Turn, Refusal> {
        run::answer(&code, &session, &state, &event)
    }

    fn status(code: Vec<u8>, session: Session, state: String) -> Output {
        run::status(&code, &session, &state)
    }

    fn trace(_code: Vec<u8>, session: Session, _state: String, journal: Journal) -> Output {
        run::trace(&session, &journal)
    }

    fn render(_: Vec<u8>, _: Session, _: String, _: Journal, view: String, _: String) -> Result<String, Refusal> {
        Err(refusal("no-such-view", format!("there is no view `{view}`")))
    }
}

/// How the file of a checklist ends.
const SUFFIX: &str = ".{{name}}.md";

/// One box an item, in the order of the file.
fn drawing(checklist: &document::Checklist) -> Graph {
    let ids: Vec<String> = (1..=checklist.items.len()).map(|number| format!("item-{number}")).collect();
    let nodes = ids.iter().zip(&checklist.items).map(|(id, item)| Node {
        id: id.clone(),
        label: item.text.clone(),
        shape: if item.person { Shape::Question } else { Shape::Action },
    });
    let edges = ids.iter().zip(ids.iter().skip(1));
    Graph {
        entry: "item-1".to_owned(),
        nodes: nodes.collect(),
        edges: edges
            .map(|(from, to)| Edge { source: from.clone(), target: to.clone(), label: String::new() })
            .collect(),
    }
}

/// A reply: the value as structured content, and as text.
fn output(value: serde_json::Value) -> Output {
    Output { headline: None, value: value.to_string(), content: None, is_error: false }
}

/// A "no" that says in words what to do instead. It changes nothing.
fn refusal(code: &str, message: String) -> Refusal {
    let value = json!({"refused": code, "message": message}).to_string();
    let reply = Output { headline: None, value, content: None, is_error: true };
    Refusal { code: code.to_owned(), message, entries: Vec::new(), reply }
}
