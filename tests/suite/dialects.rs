//! Several dialects in one host: each document goes to its interpreter, runs do not disturb each other, and a name that two
//! claim is told with both.

use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::lab::PROBE;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

const TREE: &str = "mcptree: \"0.2\"\nid: same\ntitle: T\nentry: a\nnodes:\n  a: { type: ask, prompt: One, capture: x, next: b }\n  \
                    b: { type: ask, prompt: Two, capture: y, next: end }\n  end: { type: terminal, outcome: done, summary: Over. }\n";

fn flow(id: &str) -> String {
    format!(
        "id: {id}\ntitle: F\nentry: first\nnodes:\n  - {{ id: first, kind: ask, say: First?, accepts: {{ good: fine, bad: not fine }}, \
         next: {{ good: end, bad: end }} }}\n  - {{ id: end, kind: end, outcome: done, say: Over }}\n"
    )
}

/// The probe under another name: its bytes are the same but for the words that it says of itself.
fn renamed(words: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = PROBE.to_vec();
    for (from, to) in words {
        assert_eq!(from.len(), to.len());
        let places: Vec<usize> =
            bytes.windows(from.len()).enumerate().filter(|(_, w)| *w == from.as_bytes()).map(|(at, _)| at).collect();
        assert!(!places.is_empty(), "{from}");
        for at in places {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    bytes
}

fn folder(documents: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("all")).unwrap();
    for (name, text) in documents {
        std::fs::write(folder.path().join("all").join(name), text).unwrap();
    }
    folder
}

/// Standard error of `validate` over the folder.
fn findings(folder: &Path, plugins: &[&str]) -> String {
    let mut command = program_in(Path::new(PROGRAM), folder);
    command.args(["validate", "all"]);
    for plugin in plugins {
        command.args(["--plugin", plugin]);
    }
    let output = command.stderr(std::process::Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn every_document_goes_to_its_interpreter_and_walks_interleave() {
    let folder = folder(&[("tree.yaml", TREE), ("flow.yaml", &flow("flow")), ("p.probe", "probe p")]);
    std::fs::write(folder.path().join("probe.wasm"), PROBE).unwrap();
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    command.args(["serve", "all", "--plugin", "trees", "--plugin", "guides", "--plugin", "probe.wasm"]);
    let mut client = Client::start(&mut command, &json!({})).unwrap();
    let tree = client.structured("tree_start", &json!({"tree_id": "same"})).unwrap();
    let guide = client.structured("guide_start", &json!({"flow_id": "flow"})).unwrap();
    let probe = client.structured("probe_start", &json!({})).unwrap();
    let tree_id = tree["session_id"].clone();
    let tree = client.structured("tree_answer", &json!({"session_id": tree_id, "step": 1, "value": "x"})).unwrap();
    assert_eq!(tree["instruction"], "Two");
    let guide = client.structured("guide_answer", &json!({"run_id": guide["run_id"], "choice": "good"})).unwrap();
    assert_eq!((guide["status"].clone(), guide["outcome"].clone()), (json!("completed"), json!("done")));
    let tree = client.structured("tree_answer", &json!({"session_id": tree_id, "step": 2, "value": "y"})).unwrap();
    assert_eq!(tree["outcome"], "done");
    let probe = client.structured("probe_do", &json!({"do": "end", "session": probe["session"]})).unwrap();
    assert_eq!(probe["state"]["count"], 2);
    // One dialect's session is nothing to another's tools.
    let foreign = client.tool("guide_status", &json!({"run_id": tree_id})).unwrap();
    assert!(foreign["isError"] == json!(true) || foreign["structuredContent"].get("path").is_none(), "{foreign}");
}

const GRAPH: &str = "version: \"1\"\nserver: {name: g, version: \"1\"}\ntools:\n  - name: NAME\n    description: d\n    \
                     inputSchema: {type: object, properties: {n: {type: number}}, required: [n]}\n    outputSchema: {type: object}\n    \
                     nodes:\n      - {id: entry, type: entry, next: n}\n      - {id: n, type: transform, transform: {expr: \
                     '{\"n\": $.entry.n * 2}'}, next: exit}\n      - {id: exit, type: exit}\n";
const MACHINE: &str = "machine: count\nentry: add\nstate: {n: 0}\nactions:\n  add: {inputs: {by: integer}, writes: [n], \
                       set: {n: \"{{ n + by }}\"}}\ntransitions:\n  - {from: add, to: add}\n";

#[test]
fn all_built_in_dialects_walk_side_by_side_in_one_process() {
    let graph = GRAPH.replace("NAME", "double");
    let documents =
        [("tree.yaml", TREE), ("flow.yaml", &flow("flow")), ("graph.yaml", &graph), ("machine.yaml", MACHINE)];
    let folder = folder(&documents);
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    let mut client = Client::start(command.args(["serve", "all", "--strict"]), &json!({})).unwrap();
    let tree = client.structured("tree_start", &json!({"tree_id": "same"})).unwrap()["session_id"].clone();
    let guides: Vec<_> = (0..5)
        .map(|_| client.structured("guide_start", &json!({"flow_id": "flow"})).unwrap()["run_id"].clone())
        .collect();
    let machine = client.structured("step", &json!({"action": "add", "inputs": {"by": 1}})).unwrap()["session"].clone();
    for (n, guide) in (1..=5).zip(&guides) {
        let stepped = client.structured("step", &json!({"action": "add", "inputs": {"by": n}, "session": machine}));
        assert_eq!(stepped.unwrap()["state"]["n"], 1 + n * (n + 1) / 2);
        assert_eq!(client.structured("double", &json!({"n": n})).unwrap(), json!({"n": 2 * n}));
        let over = client.structured("guide_answer", &json!({"run_id": guide, "choice": "bad"})).unwrap();
        assert_eq!(over["outcome"], "done");
        let status = client.structured("tree_status", &json!({"session_id": tree})).unwrap();
        assert_eq!(status["step"], 1);
    }
    for (step, value) in [(1, "x"), (2, "y")] {
        let answer = json!({"session_id": tree, "step": step, "value": value});
        client.structured("tree_answer", &answer).unwrap();
    }
    assert_eq!(client.structured("tree_status", &json!({"session_id": tree})).unwrap()["outcome"], "done");
    // Of five graphs, five flows, a tree and a machine only the machine goes on; no dialect sees another's.
    assert_eq!(
        client.structured("graph_runs", &json!({"unfinished": false})).unwrap()["runs"].as_array().unwrap().len(),
        5
    );
    let foreign = client.tool("step", &json!({"action": "add", "session": tree})).unwrap();
    assert!(foreign.to_string().contains("unknown_session"), "{foreign}");
    client.close().unwrap();
    for command in ["verify", "replay"] {
        let output = program_in(Path::new(PROGRAM), folder.path()).args([command, "--json"]).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn a_document_s_tool_that_another_dialect_has_names_both() {
    let folder = folder(&[("graph.yaml", &GRAPH.replace("NAME", "step")), ("machine.yaml", MACHINE)]);
    let told = findings(folder.path(), &[]);
    assert!(told.contains("`step`") && told.contains("graph.yaml") && told.contains("`machines`"), "{told}");
}

#[test]
fn one_id_in_two_dialects_is_two_workflows() {
    let folder = folder(&[("tree.yaml", TREE), ("same.yaml", &flow("same"))]);
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    let mut client = Client::start(command.args(["serve", "all"]), &json!({})).unwrap();
    assert!(client.structured("tree_start", &json!({"tree_id": "same"})).is_ok());
    assert!(client.structured("guide_start", &json!({"flow_id": "same"})).is_ok());
}

#[test]
fn one_id_in_two_documents_of_a_dialect_names_both() {
    let folder = folder(&[("a.yaml", TREE), ("b.yaml", TREE)]);
    let told = findings(folder.path(), &[]);
    assert!(told.contains("all/b.yaml") && told.contains("`all/a.yaml`") && told.contains("`same`"), "{told}");
}

#[test]
fn a_tool_that_two_plugins_offer_names_both() {
    let folder = folder(&[("a.probe", "probe a"), ("b.prove", "probe b")]);
    std::fs::write(folder.path().join("one.wasm"), PROBE).unwrap();
    let other = renamed(&[("\"name\": \"probe\"", "\"name\": \"prove\""), ("*.probe", "*.prove")]);
    std::fs::write(folder.path().join("two.wasm"), other).unwrap();
    let told = findings(folder.path(), &["one.wasm", "two.wasm"]);
    assert!(told.contains("probe_start") && told.contains("`probe`") && told.contains("`prove`"), "{told}");
}

fn graph(server: &str, tool: &str, instructions: &str) -> String {
    format!(
        "version: \"1\"\nserver: {{name: {server}, version: \"2.{server}\", title: The {server}, instructions: {instructions}}}\n\
         tools:\n  - name: {tool}\n    description: D\n    inputSchema: {{type: object}}\n    outputSchema: {{type: object}}\n    \
         nodes:\n      - {{id: entry, type: entry, next: exit}}\n      - {{id: exit, type: exit}}\n"
    )
}

#[test]
fn a_document_cannot_take_a_plugins_own_tool_and_is_told_whose_it_is() {
    let folder = folder(&[("tree.yaml", TREE), ("graph.yaml", &graph("g", "tree_start", "none"))]);
    let told = findings(folder.path(), &[]);
    assert!(told.contains("error[duplicate-tool]") && told.contains("--> all/graph.yaml"), "{told}");
    assert!(told.contains("`tree_start`") && told.contains("one of `trees`"), "{told}");
    assert!(told.contains("OK   all/tree.yaml"), "{told}");
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    let mut client = Client::start(command.args(["serve", "all"]), &json!({})).unwrap();
    let started = client.structured("tree_start", &json!({"tree_id": "same"})).unwrap();
    assert_eq!(started["instruction"], "One", "the trees' own tool is served: {started}");
}

#[test]
fn two_documents_with_a_tool_of_one_name_are_told_both() {
    let folder = folder(&[("a.yaml", &graph("a", "look", "x")), ("b.yaml", &graph("b", "look", "y"))]);
    let told = findings(folder.path(), &[]);
    assert!(told.contains("--> all/b.yaml") && told.contains("`all/a.yaml`") && told.contains("`look`"), "{told}");
}

#[test]
fn a_documents_tool_with_a_name_that_authors_need_is_told() {
    let folder = folder(&[("a.yaml", &graph("a", "document_run", "x"))]);
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    let said = std::fs::File::create(folder.path().join("said")).unwrap();
    let client = Client::start(command.args(["serve", "all", "--authoring"]).stderr(said), &json!({})).unwrap();
    client.close().unwrap();
    let said = std::fs::read_to_string(folder.path().join("said")).unwrap();
    assert!(said.contains("`document_run`") && said.contains("--authoring"), "{said}");
}

#[test]
fn several_documents_keep_their_names_and_instructions() {
    let (a, b) = (graph("alpha", "look", "Look twice."), graph("beta", "see", "See once."));
    let folder = folder(&[("a.yaml", &a), ("b.yaml", &b), ("tree.yaml", TREE)]);
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    let client = Client::start(command.args(["serve", "all", "--name", "tools of mine"]), &json!({})).unwrap();
    assert_eq!(client.initialized["serverInfo"]["name"], "tools of mine", "there is one server");
    let said = client.initialized["instructions"].as_str().unwrap();
    for part in [
        "## alpha 2.alpha: The alpha\nTools: look.\n\nLook twice.",
        "## beta 2.beta: The beta\nTools: see.\n\nSee once.",
    ] {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
    assert!(said.contains("tree_answer"), "the other dialect has its say as well: {said}");
}

#[test]
fn a_document_that_two_plugins_claim_names_both() {
    let folder = folder(&[("a.probe", "probe a")]);
    std::fs::write(folder.path().join("one.wasm"), PROBE).unwrap();
    std::fs::write(folder.path().join("two.wasm"), renamed(&[("\"name\": \"probe\"", "\"name\": \"prove\"")])).unwrap();
    let told = findings(folder.path(), &["one.wasm", "two.wasm"]);
    assert!(told.contains("all/a.probe") && told.contains("`probe`") && told.contains("`prove`"), "{told}");
}

#[test]
fn a_file_that_no_dialect_can_read_is_told_with_its_place() {
    let folder = folder(&[("a.yaml", "x: [1,\ny: }\n"), ("b.yaml", "some: other\nthing: here\n")]);
    let told = findings(folder.path(), &[]);
    assert!(
        told.contains("all/a.yaml:") && told.contains("[yaml-syntax]") && !told.contains("all/a.yaml: no plugin"),
        "{told}"
    );
    assert!(told.contains("no plugin recognises this document"), "{told}");
}
