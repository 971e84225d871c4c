//! Which upstream servers a document may use, and which programs it may start: what it declares itself, what the operator has, and
//! what is written by clients.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

const WORKER: &str = env!("CARGO_BIN_EXE_upstream-worker");

/// A graph that calls a tool of `up`, with this declaration of it.
fn graph(declared: &str, tool: &str) -> String {
    format!(
        "version: \"1\"\nserver: {{name: g, version: \"1\"}}\n{declared}tools:\n- name: shout\n  description: d\n  inputSchema: {{type: object}}\n  \
         outputSchema: {{type: object}}\n  nodes:\n  - {{id: entry, type: entry, next: up}}\n  - {{id: up, type: mcp, server: up, tool: {tool}, \
         args: {{text: hi}}, next: out}}\n  - {{id: out, type: transform, transform: {{expr: '{{\"said\": $.up}}'}}, next: exit}}\n  \
         - {{id: exit, type: exit}}\n"
    )
}

fn own() -> String {
    format!("mcpServers: {{up: {{command: {}, args: []}}}}\n", json!(WORKER))
}

/// A folder with this document in `documents`, and the operator's file.
fn folder(document: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("documents")).unwrap();
    std::fs::write(folder.path().join("documents/g.yaml"), document).unwrap();
    std::fs::write(folder.path().join("mcp.json"), json!({"mcpServers": {"up": {"command": WORKER}}}).to_string())
        .unwrap();
    folder
}

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    command.args(arguments);
    command
}

fn serve(folder: &TempDir, more: &[&str]) -> Client {
    let mut command = command(folder, &["serve", "documents", "--ephemeral"]);
    Client::start(command.args(more), &json!({})).unwrap()
}

fn validated(folder: &TempDir, more: &[&str]) -> (bool, Value) {
    let output = command(folder, &["validate", "documents", "--json"]).args(more).output().unwrap();
    (output.status.success(), serde_json::from_slice(&output.stdout).unwrap_or_default())
}

fn finding(report: &Value) -> &Value {
    &report["documents"][0]["findings"][0]
}

#[test]
fn a_server_of_the_operators_needs_no_declaration() {
    let folder = folder(&graph("", "echo"));
    let (well, report) = validated(&folder, &[]);
    assert!(!well && finding(&report)["code"] == "graph-unknown-server", "nobody has it: {report}");
    assert!(finding(&report)["help"].as_str().unwrap().contains("--mcp"), "{report}");
    let (well, report) = validated(&folder, &["--mcp", "mcp.json"]);
    assert!(well, "the operator has it: {report}");
    let (well, report) = validated(&folder, &["--mcp", "mcp.json", "--online"]);
    assert!(well, "and it has the tool: {report}");
    let mut client = serve(&folder, &["--mcp", "mcp.json"]);
    assert_eq!(client.structured("shout", &json!({})).unwrap(), json!({"said": "hi"}));
}

#[test]
fn a_tool_that_the_operators_server_lacks_is_told_when_it_can_be_asked() {
    let folder = folder(&graph("", "eccho"));
    assert!(validated(&folder, &["--mcp", "mcp.json"]).0, "nobody has asked");
    let (well, report) = validated(&folder, &["--mcp", "mcp.json", "--online"]);
    let told = finding(&report);
    assert!(
        !well && told["code"] == "graph-no-such-upstream-tool" && told["help"].as_str().unwrap().contains("echo"),
        "{report}"
    );
    assert!(told["span"]["start"]["line"].is_u64(), "{report}");
}

#[test]
fn the_operators_servers_do_not_make_a_document_another_one() {
    let folder = folder(&graph(&own(), "echo"));
    let hash = |more: &[&str]| {
        let output = command(&folder, &["run", "documents", "shout", "--json"]).args(more).output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["ok"], true, "{told:#}");
        let data = folder.path().join(if more.is_empty() { "one" } else { "two" });
        let with_data = |arguments: &[&str]| {
            let mut command = command(&folder, arguments);
            command.env("XDG_DATA_HOME", &data);
            command
        };
        let mut client = Client::start(with_data(&["serve", "documents"]).args(more), &json!({})).unwrap();
        client.structured("shout", &json!({})).unwrap();
        client.close().unwrap();
        let listed = with_data(&["sessions", "list", "--all", "--json"]).output().unwrap();
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        listed.to_string().split("\"definition\":\"").nth(1).unwrap_or_default().get(..64).map(str::to_owned)
    };
    let alone = hash(&[]);
    assert!(alone.is_some());
    assert_eq!(alone, hash(&["--mcp", "mcp.json"]));
}

#[test]
fn what_a_client_writes_starts_no_program_unless_the_operator_says_so() {
    let quiet = graph("", "echo").replace("name: shout", "name: quiet");
    let quiet =
        quiet.replace("type: mcp, server: up, tool: echo, args: {text: hi}", "type: transform, transform: {expr: '1'}");
    let folder = folder(&quiet);
    let text = graph(&own(), "echo");
    let save = json!({"file": "w.yaml", "text": text});
    let mut client = serve(&folder, &["--authoring"]);
    // A trial touches nothing outside, and says so.
    let calls = json!([{"tool": "shout", "arguments": {}}]);
    let told = client.structured("document_run", &json!({"file": "w.yaml", "text": text, "calls": calls})).unwrap();
    let result = told["results"][0].to_string();
    assert!(
        told["results"][0]["is_error"] == true && result.contains("only tried") && result.contains("wfhost run"),
        "{told:#}"
    );
    // Saved and served, it may still not start a program.
    client.structured("document_save", &save).unwrap();
    let refused = client.tool("shout", &json!({})).unwrap();
    assert!(refused["isError"] == true && refused.to_string().contains("--allow-spawn"), "{refused}");
    client.close().unwrap();
    let mut client = serve(&folder, &["--authoring", "--allow-spawn"]);
    assert_eq!(client.structured("shout", &json!({})).unwrap(), json!({"said": "hi"}));
    client.close().unwrap();
    // Where nobody but the local user writes documents, the local user has named it.
    let mut client = serve(&folder, &[]);
    assert_eq!(client.structured("shout", &json!({})).unwrap(), json!({"said": "hi"}));
}
