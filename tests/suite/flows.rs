//! Support flows by real clients over HTTP: 200 runs at the same time, each its own, and one by an agent framework.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use wfhost_tests::http::HttpServer;
use wfhost_tests::served::program_in;

use crate::PROGRAM;
use crate::interop::{finished, here, installed};

fn walks(kind: &str, client: &str, path: &str) -> Option<Value> {
    let python = installed(kind)?.join("bin/python");
    let folder = tempfile::tempdir().unwrap();
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/guide");
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    // Every run is kept on the disk, as in earnest.
    command.arg("serve").arg(&bench).arg("--data").arg(folder.path().join("data"));
    let server = HttpServer::start(&mut command).unwrap();
    let url = format!("http://{}{path}", server.address);
    let say = json!({"url": url, "walk": bench.join("bench_walk.json"), "client": client});
    let script = here().join("python/flows.py");
    let output = finished(Command::new(python).arg(script).arg(say.to_string()).env("HOME", folder.path()));
    let out = String::from_utf8_lossy(&output.stdout);
    let last = out.lines().last().and_then(|line| serde_json::from_str(line).ok());
    Some(last.unwrap_or_else(|| panic!("{}\n{out}\n{}", output.status, String::from_utf8_lossy(&output.stderr))))
}

#[test]
fn two_hundred_runs_at_once_are_each_their_own() {
    if let Some(told) = walks("python-modern", "sdk", "/mcp") {
        assert_eq!(told["walked"], 200);
    }
}

#[test]
fn an_agent_framework_walks_a_flow_at_the_path_with_a_slash() {
    if let Some(told) = walks("python-legacy", "langchain", "/mcp/") {
        assert_eq!(told["walked"], 1);
    }
}
