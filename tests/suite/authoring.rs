//! Writing documents: `eval` and `run` at the command line, and the tools with which a client checks, tries and saves them.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost::catalogue::{Catalogue, Plugins};
use wfhost::plugin::contract::{Diagnostic, Document};
use wfhost_tests::client::Client;
use wfhost_tests::lab::{PROBE, runtime};
use wfhost_tests::served::program_in;
use wfhost_tests::upstream::Bench;

use crate::PROGRAM;

const VISIT: &str = include_str!("../interop/documents/visit.yaml");

/// A working directory with the probe as a plugin and one document for each of two dialects.
struct Desk(TempDir);

/// How a run ended.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("documents")).unwrap();
        std::fs::write(folder.path().join("documents/visit.yaml"), VISIT).unwrap();
        std::fs::write(folder.path().join("probe.wasm"), PROBE).unwrap();
        std::fs::write(folder.path().join("a.probe"), "probe a").unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = program_in(Path::new(PROGRAM), self.0.path());
        command.args(args);
        command
    }

    fn run(&self, args: &[&str], input: &str) -> Ran {
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn eval(&self, args: &[&str], input: &str) -> Ran {
        let args: Vec<&str> = ["eval"].iter().chain(args).chain(&["--plugin", "probe.wasm"]).copied().collect();
        self.run(&args, input)
    }

    fn serve(&self, more: &[&str]) -> Client {
        let mut command = self.command(&["serve", "documents", "--ephemeral"]);
        command.args(more);
        Client::start(&mut command, &json!({})).unwrap()
    }

    fn author(&self) -> Client {
        self.serve(&["--authoring"])
    }

    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.0.path().join("documents")).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn an_expression_is_evaluated_over_a_file_or_standard_input() {
    let desk = Desk::new();
    desk.write("order.json", r#"{"total": "12.5", "lines": [{"n": 1}, {"n": 2}]}"#);
    desk.write(
        "rule.json",
        r#"{"reduce": [{"var": "lines"}, {"+": [{"var": "accumulator"}, {"var": "current.n"}]}, 0]}"#,
    );
    let ran = desk.eval(&["jsonlogic", r#"{">": [{"var": "total"}, 10]}"#, "--data", "order.json"], "");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "true\n", ""));
    assert_eq!(desk.eval(&["jsonlogic", "@rule.json", "--data", "-"], r#"{"lines": [{"n": 7}]}"#).out, "7\n");
    assert_eq!(desk.eval(&["jsonlogic", "{\"var\": \"\"}"], "").out, "{}\n");
}

#[test]
fn what_is_wrong_with_an_expression_is_told_with_its_place() {
    let desk = Desk::new();
    let ran = desk.eval(&["jsonlogic", "{\"and\": [1,\n  {\"substring\": \"a\"}]}"], "");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    for part in [
        "error[logic-unknown-operation]",
        "`substring`",
        "expression:2:17",
        "2 |   {\"substring\": \"a\"}]}",
        "`substr`",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    desk.write("bad.json", "{\"==\": [1 2]}");
    let ran = desk.eval(&["jsonlogic", "@bad.json"], "");
    assert!(ran.code == Some(1) && ran.err.contains("bad.json:1:11"), "{}", ran.err);
    let ran = desk.eval(&["jsonlogic", "1", "--data", "-"], "{\"a\":\n 1,}");
    assert!(ran.code == Some(1) && ran.err.contains("line 2"), "{}", ran.err);
    let ran = desk.eval(&["prolog", "1"], "");
    assert!(ran.code == Some(1) && ran.err.contains("`jsonlogic` (probe)"), "{}", ran.err);
    assert_eq!(desk.eval(&["jsonlogic"], "").code, Some(2));
}

/// A plugin that loops or traps while it evaluates costs this call and says so.
#[test]
fn an_expression_that_never_ends_is_stopped() {
    let desk = Desk::new();
    for what in ["evaluate loop", "evaluate trap", "evaluate memory"] {
        let ran = desk.eval(&["harm", what], "");
        assert!(ran.code == Some(1) && ran.err.contains("`probe`"), "{what}: {}", ran.err);
    }
}

fn run(desk: &Desk, args: &[&str], input: &str) -> Ran {
    let all: Vec<&str> = ["run"].iter().chain(args).copied().collect();
    desk.run(&all, input)
}

#[test]
fn a_run_shows_every_entry_and_keeps_nothing() {
    let desk = Desk::new();
    let args = r#"{"tree_id": "visit"}"#;
    let ran = run(&desk, &["documents/visit.yaml", "tree_start", "--args", args], "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for part in ["#1 ", "+0 ms", "tree_start {\"tree_id\":\"visit\"}", "asks [", "Which way?", "result", "it waits for"]
    {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(!desk.0.path().join("data").exists());
    // A person at the terminal answers, and the run goes on to the tool that only an agent has.
    let ran = run(&desk, &["documents", "tree_start", "--args", args, "--json"], "sideways\n");
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["history"].as_array().unwrap().len(), 2, "{told:#}");
    assert!(told["history"][1]["refusal"].is_object(), "{told:#}");
    let ran = run(&desk, &["documents", "tree_start", "--args", args, "--json"], "left\n");
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&told["ok"], &told["ended"], &told["workflow"]),
        (&json!(true), &json!(false), &json!("visit")),
        "{told:#}"
    );
    let reply = &told["history"][1];
    assert_eq!((&reply["source"], &reply["event"]["value"]), (&json!("human"), &json!("left")), "{told:#}");
    assert!(reply["event"]["took_ms"].is_u64() && reply["after_ms"].is_u64(), "{told:#}");
    assert_eq!(reply["entries"][0]["node"], "where", "{told:#}");
    assert!(told["waits"][0].as_str().unwrap().contains("look_around"), "{told:#}");
}

#[test]
fn a_run_can_be_stepped_through() {
    let desk = Desk::new();
    let args = ["documents", "tree_start", "--args", r#"{"tree_id": "visit"}"#, "--step"];
    // One line lets the question stand, the next answers it, and at the end of the input it goes on alone.
    let ran = run(&desk, &args, "\nleft\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.matches("-- Enter goes on").count() >= 2, "{}", ran.err);
    assert!(ran.out.contains("\"left\"") || ran.out.contains(" left"), "{}", ran.out);
    let free = run(&desk, &args, "c\nleft\n");
    assert_eq!(free.err.matches("-- Enter goes on").count(), 1, "{}", free.err);
}

#[test]
fn a_run_that_cannot_begin_says_what_to_do() {
    let desk = Desk::new();
    desk.write("bad.yaml", "mcptree: \"0.2\"\nid: bad\ntitle: Bad\nentry: gone\nnodes: {}\n");
    for (args, part) in [
        (vec!["documents", "tree_stop"], "there are tree_answer"),
        (vec!["documents", "tree_start", "--args", "[1]"], "must be a JSON object"),
        (vec!["documents", "tree_start", "--args", "{"], "--args are no JSON"),
        (vec!["documents", "tree_start", "--args", "@nowhere.json"], "`nowhere.json` cannot be read"),
        (vec!["bad.yaml", "tree_start"], "bad.yaml:"),
        (vec!["nothing.yaml", "tree_start"], "nothing.yaml"),
        (vec!["a.probe", "probe_do", "--plugin", "probe.wasm", "--args", "{\"do\": \"trap\"}"], "`probe`"),
    ] {
        let ran = run(&desk, &args, "");
        assert!(ran.code == Some(1) && ran.err.contains(part), "{args:?}: {} {}", ran.err, ran.out);
    }
    let ended =
        run(&desk, &["a.probe", "probe_start", "--plugin", "probe.wasm", "--args", "{\"do\": \"end\"}", "--json"], "");
    let told: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&told["ended"], &told["waits"]), (&json!(true), &json!([])), "{told:#}");
    assert_eq!(told["history"][0]["outcome"]["value"], "done", "{told:#}");
}

#[test]
fn a_run_waits_for_its_timers() {
    let desk = Desk::new();
    let args = ["a.probe", "probe_do", "--plugin", "probe.wasm", "--json", "--args", "{\"do\": \"timer\", \"n\": 60}"];
    let ran = run(&desk, &args, "");
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let lines = told["history"].as_array().unwrap();
    let last = lines.last().unwrap();
    assert_eq!((&last["source"], &last["event"]["reply"]), (&json!("clock"), &json!("r")), "{told:#}");
    assert!(last["event"]["took_ms"].as_u64().unwrap() >= 60, "{told:#}");
}

/// What the host lays beside a document when its servers have been asked.
#[test]
fn a_document_is_checked_against_what_its_servers_offer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.probe");
    std::fs::write(&file, "probe a\ncalls fs read_fle\ncalls gone anything").unwrap();
    std::fs::write(folder.path().join("probe.wasm"), PROBE).unwrap();
    let plugin = folder.path().join("probe.wasm").to_str().unwrap().to_owned();
    let plugins = Plugins::choose(&runtime().unwrap(), &[plugin]).unwrap();
    let offers =
        r#"{"fs": {"tools": [{"name": "read_file"}]}, "gone": {"failure": {"kind": "unavailable", "message": "no"}}}"#;
    let beside = |shown: &str| {
        assert!(shown.ends_with("a.probe"), "{shown}");
        Some(Document { path: "upstream/tool-list.json".into(), bytes: offers.into() })
    };
    let places = [folder.path().to_owned()];
    let catalogue = Catalogue::load_beside(&plugins, &places, (None, &beside)).unwrap();
    let found: Vec<&Diagnostic> = catalogue.findings().map(|finding| &finding.diagnostic).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].message, "the server `fs` has no tool `read_fle`");
    assert_eq!(found[0].help.as_deref(), Some("did you mean `read_file`?"));
    // Without it nothing is known, and nothing is said.
    assert_eq!(Catalogue::load(&plugins, &places, None).unwrap().findings().count(), 0);
}

#[test]
fn upstream_tools_that_are_not_there_are_told_when_they_can_be_asked() {
    let worker = env!("CARGO_BIN_EXE_upstream-worker");
    let document = format!(
        "probe a\nserver own {}\ncalls own echoo\ncalls own echo\ncalls up nothing\ncalls dead anything",
        json!({"command": worker})
    );
    let bench = Bench::new((PROGRAM, worker), &[("a.probe", &document)], &[("up", json!({}))]).unwrap();
    let mut mcp: Value = serde_json::from_slice(&std::fs::read(bench.folder.path().join("mcp.json")).unwrap()).unwrap();
    mcp["mcpServers"]["dead"] = json!({"command": "no-such-program-anywhere"});
    bench.mcp(&mcp).unwrap();
    let run = |args: &[&str]| {
        let mut command = program_in(Path::new(PROGRAM), bench.folder.path());
        let output =
            command.args(["validate", "documents", "--plugin", "probe.wasm", "--mcp", "mcp.json"]).args(args).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(run(&[]).0, Some(0));
    let (code, out) = run(&["--online", "--json"]);
    let told: Value = serde_json::from_str(&out).unwrap();
    let messages: Vec<&str> =
        told["documents"][0]["findings"].as_array().unwrap().iter().map(|f| f["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["the server `own` has no tool `echoo`", "the server `up` has no tool `nothing`"], "{told:#}");
    assert_eq!((code, &told["unavailable"][0]["server"]), (Some(1), &json!("dead")), "{told:#}");
}

#[test]
fn a_run_calls_upstream_servers_and_shows_how_long_each_took() {
    let worker = env!("CARGO_BIN_EXE_upstream-worker");
    let bench = Bench::new((PROGRAM, worker), &[("a.probe", "probe a")], &[("up", json!({}))]).unwrap();
    let args = json!({"do": "call", "calls": [{"server": "up", "tool": "echo", "args": {"text": "hello"}}]});
    let mut command = program_in(Path::new(PROGRAM), bench.folder.path());
    command.args(["run", "documents/a.probe", "probe_do", "--plugin", "probe.wasm", "--mcp", "mcp.json", "--json"]);
    let output = command.args(["--args", &args.to_string()]).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let reply = &told["history"].as_array().unwrap().iter().find(|line| line["event"]["reply"].is_string()).unwrap();
    assert_eq!(reply["source"], "upstream", "{told:#}");
    assert!(reply["event"]["took_ms"].is_u64() && reply["event"]["value"].to_string().contains("hello"), "{told:#}");
}

/// A graph over an upstream server that does what it is told.
fn graph(worker: &str, tool: &str) -> String {
    let server = json!({"command": worker, "args": []});
    format!(
        "version: \"1.0\"\nserver: {{name: g, version: \"1\"}}\nmcpServers: {{\"up\": {server}}}\ntools:\n- name: shout\n  description: d\n  \
         inputSchema: {{type: object}}\n  outputSchema: {{type: object}}\n  nodes:\n  - {{id: entry, type: entry, next: up}}\n  \
         - {{id: up, type: mcp, server: up, tool: {tool}, args: {{text: {{expr: $.entry.word}}}}, next: said}}\n  \
         - {{id: said, type: transform, transform: {{expr: '{{\"said\": $uppercase($.up)}}'}}, next: exit}}\n  - {{id: exit, type: exit}}\n"
    )
}

#[test]
fn a_graph_is_checked_online_and_run_with_the_built_in_plugins() {
    let worker = env!("CARGO_BIN_EXE_upstream-worker");
    let desk = Desk::new();
    desk.write("good.yaml", &graph(worker, "echo"));
    desk.write("bad.yaml", &graph(worker, "ecko"));
    assert_eq!(desk.run(&["validate", "bad.yaml"], "").code, Some(0));
    let checked = desk.run(&["validate", "bad.yaml", "--online"], "");
    assert_eq!(checked.code, Some(1), "{}", checked.err);
    for part in ["the server `up` has no tool `ecko`", "bad.yaml:11:", "did you mean `echo`?"] {
        assert!(checked.err.contains(part), "{part}: {}", checked.err);
    }
    let good = desk.run(&["validate", "good.yaml", "--online"], "");
    assert_eq!(good.code, Some(0), "{}", good.err);
    let ran = desk.run(&["run", "good.yaml", "shout", "--args", r#"{"word": "hello"}"#, "--json"], "");
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&told["ok"], &told["ended"]), (&json!(true), &json!(true)), "{told:#}");
    assert_eq!(told["result"]["said"], "HELLO", "{told:#}");
    let nodes: Vec<&str> = told["history"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|line| line["entries"].as_array().into_iter().flatten())
        .map(|entry| entry["node"].as_str().unwrap())
        .collect();
    assert!(nodes.len() >= 4 && nodes.last() == Some(&"exit"), "{nodes:?}");
}

#[test]
fn the_built_in_languages_are_there_by_name() {
    let desk = Desk::new();
    let data = r#"{"lines": [{"price": 2, "n": 3}, {"price": 5, "n": 1}]}"#;
    let ran = desk.run(&["eval", "jsonata", "$sum(lines.(price * n))", "--data", "-"], data);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "11\n"), "{}", ran.err);
    let ran = desk.run(
        &["eval", "jsonlogic", r#"{"in": [5, {"map": [{"var": "lines"}, {"var": "price"}]}]}"#, "--data", "-"],
        data,
    );
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "true\n"), "{}", ran.err);
    let ran = desk.run(&["eval", "jsonata", "lines[", "--data", "-"], data);
    assert!(ran.code == Some(1) && ran.err.contains("expression:1:"), "{}", ran.err);
    let ran = desk.run(&["eval", "none", "1"], "");
    assert!(ran.err.contains("`jsonata` (graphs)") && ran.err.contains("`jsonlogic` (graphs)"), "{}", ran.err);
}

fn tool_names(client: &mut Client) -> Vec<String> {
    let listed = client.request("tools/list", &json!({})).unwrap();
    listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// A refused tool call's structured content.
fn refused(client: &mut Client, tool: &str, args: &Value) -> Value {
    let result = client.tool(tool, args).unwrap();
    assert_eq!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

#[test]
fn nobody_writes_documents_unless_the_operator_says_so() {
    let desk = Desk::new();
    let mut client = desk.serve(&[]);
    assert!(tool_names(&mut client).iter().all(|name| !name.starts_with("document_")));
    let args = json!({"file": "new.yaml", "text": VISIT});
    let error = client.tool("document_save", &args).unwrap_err().to_string();
    assert!(error.contains("Unknown tool"), "{error}");
    assert_eq!(desk.names(), ["visit.yaml"]);
    let mut author = desk.author();
    let names = tool_names(&mut author);
    for name in ["document_validate", "document_run", "document_read", "document_save", "tree_start"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
}

#[test]
fn a_text_is_checked_with_the_place_of_every_finding() {
    let desk = Desk::new();
    let mut client = desk.author();
    let good = client.structured("document_validate", &json!({"file": "visit.yaml", "text": VISIT})).unwrap();
    assert_eq!(
        (&good["ok"], &good["plugin"], &good["workflows"][0]["id"]),
        (&json!(true), &json!("trees"), &json!("visit"))
    );
    let text = VISIT.replace("then: look }", "then: lok }");
    let bad = client.structured("document_validate", &json!({"file": "visit.yaml", "text": text})).unwrap();
    assert_eq!(bad["ok"], false);
    let finding = &bad["findings"][0];
    assert_eq!((&finding["severity"], &finding["span"]["start"]["line"]), (&json!("error"), &json!(12)), "{bad:#}");
    let strange = client.structured("document_validate", &json!({"file": "notes.txt", "text": "hello"})).unwrap();
    assert_eq!(strange["findings"][0]["code"], "unknown-document", "{strange:#}");
    for (args, part) in [
        (json!({"file": "visit.yaml"}), "missing field `text`"),
        (json!({"file": "../visit.yaml", "text": VISIT}), "is no file name"),
        (json!({"file": "visit.yaml", "text": VISIT, "where": 1}), "unknown field `where`"),
    ] {
        let told = refused(&mut client, "document_validate", &args);
        assert!(told["error"].as_str().unwrap().contains(part), "{told}");
    }
}

#[test]
fn a_text_is_tried_without_a_trace() {
    let desk = Desk::new();
    let mut client = desk.author();
    let text = VISIT.replace("id: visit", "id: trial");
    let answer = |step: u32, value: Value| json!({"tool": "tree_answer", "arguments": {"session_id": "<session>", "step": step, "value": value}});
    let calls = json!([{"tool": "tree_start", "arguments": {"tree_id": "trial"}}, answer(1, json!("left")), answer(9, json!("late")),
        answer(2, json!({"far": true})), {"tool": "no_such_tool"}]);
    let told = client.structured("document_run", &json!({"file": "trial.yaml", "text": text, "calls": calls})).unwrap();
    let results = told["results"].as_array().unwrap();
    assert_eq!(results.len(), 5, "{told:#}");
    assert_eq!(results[3]["result"]["node"], "weigh", "{told:#}");
    assert!(results[4]["error"].as_str().unwrap().contains("no_such_tool"), "{told:#}");
    let run = &told["runs"][0];
    assert_eq!(
        (&run["workflow"], &run["ended"], &run["at"][0]),
        (&json!("trial"), &json!(false), &json!("weigh")),
        "{told:#}"
    );
    let lines = run["history"].as_array().unwrap();
    assert_eq!(lines.iter().filter(|line| line.get("refusal").is_some()).count(), 1, "{told:#}");
    // Neither document nor session is there afterwards.
    assert_eq!(desk.names(), ["visit.yaml"]);
    let listed = client.structured("tree_list", &json!({})).unwrap();
    assert_eq!(listed["result"].as_array().unwrap().len(), 1, "{listed}");
    let session = run["session"].clone();
    let status = client.tool("tree_status", &json!({"session_id": session})).unwrap();
    assert_eq!(status["isError"], true, "{status}");
    let bad = refused(
        &mut client,
        "document_run",
        &json!({"file": "t.yaml", "text": "mcptree: \"0.2\"\n", "calls": [{"tool": "tree_list"}]}),
    );
    assert!(bad["findings"].as_array().is_some_and(|all| !all.is_empty()), "{bad}");
    let none = refused(&mut client, "document_run", &json!({"file": "trial.yaml", "text": text, "calls": []}));
    assert!(none["error"].as_str().unwrap().contains("`calls`"), "{none}");
}

#[test]
fn a_good_document_is_saved_as_it_was_given_and_served() {
    let desk = Desk::new();
    let mut client = desk.author();
    let text = format!(
        "# Kept: comments, blank lines, CRLF.\r\n\n{}  # and this\n",
        VISIT.replace("id: visit", "id: other").trim_end()
    );
    let saved = client.structured("document_save", &json!({"file": "other.yaml", "text": text})).unwrap();
    assert_eq!(saved["ok"], true, "{saved}");
    assert_eq!(std::fs::read_to_string(desk.0.path().join("documents/other.yaml")).unwrap(), text);
    assert_eq!(desk.names(), ["other.yaml", "visit.yaml"]);
    let listed = client.structured("tree_list", &json!({})).unwrap();
    assert!(listed["result"].as_array().unwrap().iter().any(|tree| tree["id"] == "other"), "{listed}");
    let read = client.structured("document_read", &json!({"file": "other.yaml"})).unwrap();
    assert_eq!(read["text"], text);
    let told = refused(&mut client, "document_read", &json!({"file": "../probe.wasm"}));
    assert!(told["error"].as_str().unwrap().contains("visit.yaml"), "{told}");
    // In the place of another only if that is said.
    let newer = text.replace("Which way?", "Which way now?");
    let told = refused(&mut client, "document_save", &json!({"file": "other.yaml", "text": newer}));
    assert!(told["error"].as_str().unwrap().contains("`replace`"), "{told}");
    client.structured("document_save", &json!({"file": "other.yaml", "text": newer, "replace": true})).unwrap();
    assert_eq!(std::fs::read_to_string(desk.0.path().join("documents/other.yaml")).unwrap(), newer);
}

#[test]
fn what_must_not_be_saved_changes_nothing() {
    let desk = Desk::new();
    let mut client = desk.author();
    let fine = VISIT.replace("id: visit", "id: fine");
    let bad = fine.replace("next: weigh", "next: nowhere");
    std::fs::create_dir(desk.0.path().join("outside")).unwrap();
    for (file, text, part) in [
        ("fine.yaml", bad.as_str(), "is not saved"),
        ("twin.yaml", VISIT, "already that of"),
        ("../outside/fine.yaml", &fine, "is no file name"),
        ("/etc/fine.yaml", &fine, "is no file name"),
        ("a/fine.yaml", &fine, "is no file name"),
        ("..\\fine.yaml", &fine, "is no file name"),
        (".fine.yaml", &fine, "is no file name"),
        ("", &fine, "is no file name"),
        ("fine.exe", &fine, "is not saved"),
    ] {
        let told = refused(&mut client, "document_save", &json!({"file": file, "text": text, "replace": true}));
        assert!(told["error"].as_str().unwrap().contains(part), "{file}: {told}");
        assert_eq!(desk.names(), ["visit.yaml"], "{file}");
    }
    assert_eq!(std::fs::read_dir(desk.0.path().join("outside")).unwrap().count(), 0);
    assert_eq!(std::fs::read_to_string(desk.0.path().join("documents/visit.yaml")).unwrap(), VISIT);
}

/// A link in the folder is replaced, not followed.
#[cfg(unix)]
#[test]
fn a_save_does_not_write_through_a_link() {
    let desk = Desk::new();
    desk.write("outside.yaml", &VISIT.replace("id: visit", "id: linked"));
    std::os::unix::fs::symlink("../outside.yaml", desk.0.path().join("documents/linked.yaml")).unwrap();
    let mut client = desk.author();
    let text = VISIT.replace("id: visit", "id: linked").replace("Which way?", "Where?");
    client.structured("document_save", &json!({"file": "linked.yaml", "text": text, "replace": true})).unwrap();
    assert!(!std::fs::read_to_string(desk.0.path().join("outside.yaml")).unwrap().contains("Where?"));
    assert_eq!(std::fs::read_to_string(desk.0.path().join("documents/linked.yaml")).unwrap(), text);
}

/// Whoever reads the file while it is saved again and again sees the one version or the other, whole.
#[test]
fn a_save_is_there_whole_or_not_at_all() {
    let desk = Desk::new();
    let mut client = desk.author();
    let version = |word: &str| format!("{}# {}\n", VISIT, word.repeat(20_000));
    let (one, two) = (version("one "), version("two "));
    let path = desk.0.path().join("documents/visit.yaml");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(text == VISIT || text == one || text == two, "{} bytes", text.len());
                seen += 1;
            }
            seen
        });
        for index in 0..30 {
            let text = if index % 2 == 0 { &one } else { &two };
            client.structured("document_save", &json!({"file": "visit.yaml", "text": text, "replace": true})).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(reader.join().unwrap() > 10);
    });
    assert_eq!(desk.names(), ["visit.yaml"]);
}
