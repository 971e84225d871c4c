//! Every interpreter, natively: its loader, its calls, and what it makes of a state that it did not write.

use std::collections::BTreeMap;

use wfhost_guest::Dialect;
use wfhost_guest::model::{Document, Event, Failure, Input, Interpreter, Journal, Memory, Mishap, Reply, Source};
use wfhost_guest::native::{Alone, Held, Host};
use wfhost_tests::corpus::{self, Act};

use super::Target;

pub(crate) type Maker = (String, Box<dyn FnOnce() -> Target + Send>);

/// A session to begin with: its document, and the call that starts it.
type Walk = (Vec<(String, Vec<u8>)>, Vec<(String, String)>);

pub(crate) fn targets() -> Vec<Maker> {
    let mut all = Vec::new();
    all.extend(of::<wfhost_trees::Trees>("mcptree", wfhost_trees::interpreter()));
    all.extend(of::<wfhost_guides::Guides>("guidepost", wfhost_guides::interpreter()));
    all.extend(of::<wfhost_graphs::Graphs>("mcpgraph", wfhost_graphs::interpreter()));
    all.extend(of::<wfhost_machines::Machines>("machines", wfhost_machines::interpreter()));
    all
}

fn of<D: Dialect + 'static>(dialect: &'static str, interpreter: Interpreter) -> [Maker; 2] {
    let path = interpreter.files.first().map_or("a.yaml".to_owned(), |glob| glob.replace('*', "a"));
    let documents = move || Target {
        name: format!("documents/{dialect}"),
        corpus: walks(dialect).into_iter().flat_map(|(files, _)| files).map(|(_, bytes)| bytes).collect(),
        run: Box::new(move |input| document::<D>(&path, input)),
    };
    let states = move || {
        let walks = walks(dialect).into_iter();
        let walks: Vec<Walk> = walks.filter(|walk| walk.0.iter().all(|(_, text)| ends(text))).collect();
        let corpus = walks.iter().filter_map(|walk| state::<D>(walk)).collect();
        let mut number = 0;
        Target {
            name: format!("states/{dialect}"),
            corpus,
            run: Box::new(move |input| {
                number += 1;
                with_state::<D>(&walks[number % walks.len()], input);
                Ok(())
            }),
        }
    };
    [(format!("documents/{dialect}"), Box::new(documents)), (format!("states/{dialect}"), Box::new(states))]
}

/// The recorded cases that walk: their documents and their calls.
fn walks(dialect: &str) -> Vec<Walk> {
    let cases = corpus::load(&super::corpus().join(dialect)).unwrap();
    let mut seen = BTreeMap::new();
    for case in cases {
        let calls = match &case.act {
            Act::Calls(calls) => {
                calls.iter().map(|call| (call.tool.clone(), arguments(call.arguments.as_ref()))).collect()
            }
            Act::Walk(rows) => rows.iter().filter_map(called).collect(),
            _ => Vec::new(),
        };
        let files = case.setup.documents;
        seen.entry(files.clone()).or_insert((files, calls));
    }
    seen.into_values().collect()
}

/// The tool call of a row, if it is one.
fn called(row: &serde_json::Value) -> Option<(String, String)> {
    Some((row.get("tool")?.as_str()?.to_owned(), arguments(row.get("arguments"))))
}

fn arguments(value: Option<&serde_json::Value>) -> String {
    value.map_or_else(|| "{}".to_owned(), ToString::to_string)
}

/// What the loader takes, it must be able to serve; what it refuses, it must refuse with a word.
fn document<D: Dialect>(path: &str, input: &[u8]) -> Result<(), String> {
    let mut host = Host::<D>::default();
    let told = host.load(&[Document { path: path.to_owned(), bytes: input.to_vec() }]);
    if host.definitions.is_empty() {
        let recognised = D::recognise(&Document { path: path.to_owned(), bytes: input.to_vec() }).is_some();
        let silent = told.iter().all(|(_, findings)| findings.is_empty());
        return if recognised && silent { Err("refused without a word".to_owned()) } else { Ok(()) };
    }
    drop(D::tools(&host.workflows()));
    Ok(())
}

fn loaded<D: Dialect>((files, _): &Walk) -> Host<D> {
    let mut host = Host::<D>::default();
    let documents: Vec<Document> =
        files.iter().map(|(path, bytes)| Document { path: path.clone(), bytes: bytes.clone() }).collect();
    host.load(&documents);
    host
}

/// The state that a walk's first calls leave.
fn state<D: Dialect>(walk: &Walk) -> Option<Vec<u8>> {
    let mut host = loaded::<D>(walk);
    for (tool, args) in walk.1.iter().take(3) {
        host.call(tool, args, &mut Alone).ok()?;
    }
    host.sessions.values().next().map(|held| held.state.clone().into_bytes())
}

/// Whether no expression of a document goes on until a host stops it: natively nobody does.
fn ends(document: &[u8]) -> bool {
    let has = |word: &[u8]| document.windows(word.len()).any(|part| part == word);
    !has(b"function($") && !has(b"$pad")
}

/// The same calls on a session whose state is another.
fn with_state<D: Dialect>(walk: &Walk, input: &[u8]) {
    // The host keeps states as JSON texts and gives no others.
    let Ok(text) = std::str::from_utf8(input) else { return };
    if serde_json::from_str::<&serde_json::value::RawValue>(text).is_err() {
        return;
    }
    let mut host = loaded::<D>(walk);
    for (number, (tool, args)) in walk.1.iter().take(4).enumerate() {
        if number > 0 {
            host.sessions.values_mut().for_each(|held| text.clone_into(&mut held.state));
        }
        // Whatever it answers, in order or with a fault.
        drop(host.call(&tool.clone(), &args.clone(), &mut Alone));
    }
    for held in host.sessions.values_mut() {
        text.clone_into(&mut held.state);
        replied::<D>(held);
    }
}

/// What the session waits for comes, well or not, and somebody looks.
fn replied<D: Dialect>(held: &Held) {
    let values = [
        Ok(r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"a":[1,"x",null]}"#.to_owned()),
        Err(Failure { kind: Mishap::Failed, message: "no".to_owned(), detail: None }),
    ];
    for (request, value) in held.requests.iter().flat_map(|request| values.iter().map(move |value| (request, value))) {
        let input = Input::Reply(Reply { request: request.id.clone(), value: value.clone() });
        let event = Event { input, source: Source::Upstream, at: held.session.started + 5, seed: 1, seq: 2 };
        drop(D::answer(held.at(), &Memory { total: 0, items: Vec::new() }, event));
    }
    drop((D::status(held.at()), D::trace(held.at(), &Journal { total: 0, entries: Vec::new() })));
}
