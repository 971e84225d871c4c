//! Upstream servers that others wrote: the reference servers of the protocol, over all three transports. They are installed with
//! the clients by `tests/interop/setup.sh`; where they are not, they are left out with a line that says so.

#![cfg(unix)]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wfhost_tests::client::Client;
use wfhost_tests::http::HttpServer;
use wfhost_tests::served::program_in;
use wfhost_tests::upstream::{Bench, calls};

use crate::PROGRAM;
use crate::interop::{here, installed, node};

const WORKER: &str = env!("CARGO_BIN_EXE_upstream-worker");

fn bench(servers: &[(&str, Value)]) -> Bench {
    Bench::new((PROGRAM, WORKER), &[("a.probe", "probe a")], servers).unwrap()
}

fn script(folder: &Path, server: &str) -> PathBuf {
    folder.join(format!("node_modules/@modelcontextprotocol/server-{server}/dist/index.js"))
}

fn text(came: &Value) -> &str {
    came["content"][0]["text"].as_str().unwrap_or_default()
}

/// A server of somebody else over HTTP, on loopback, ended with the test.
struct Listening(Child, u16);

impl Listening {
    fn start(folder: &Path, transport: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(node(folder))
            .args(["--import", here().join("loopback.mjs").to_str().unwrap()])
            .arg(script(folder, "everything"))
            .arg(transport)
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "it never listened");
            std::thread::sleep(Duration::from_millis(50));
        }
        Self(child, port)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_reference_servers_are_called_over_standard_input_and_output() {
    let Some(folder) = installed("node") else { return };
    let (data, notes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["one.txt", "two.txt", "three.md"] {
        std::fs::write(data.path().join(name), name).unwrap();
    }
    let own = |server: &str, more: Value| {
        let mut args = vec![json!(script(&folder, server))];
        args.extend(more.as_array().cloned().unwrap_or_default());
        // The worker's variables mean nothing to these.
        json!({"command": node(&folder), "args": args})
    };
    let memory = json!({"command": node(&folder), "args": [script(&folder, "memory")], "env": {"MEMORY_FILE_PATH": notes.path().join("m.json")}});
    let bench = bench(&[
        ("files", own("filesystem", json!([data.path()]))),
        ("everything", own("everything", json!([]))),
        ("memory", memory),
    ]);
    let mut client = bench.client().unwrap();
    let entity = json!({"entities": [{"name": "disk", "entityType": "part", "observations": ["full"]}]});
    let state = calls(
        &mut client,
        None,
        &json!([
            {"id": "list", "server": "files", "tool": "list_directory", "args": {"path": data.path()}},
            {"id": "outside", "server": "files", "tool": "read_text_file", "args": {"path": "/etc/passwd"}},
            {"id": "sum", "server": "everything", "tool": "get-sum", "args": {"a": 2, "b": 3}},
            {"id": "remember", "server": "memory", "tool": "create_entities", "args": entity},
        ]),
    )
    .unwrap();
    let got = &state["got"];
    assert_eq!(text(&got["list"]).lines().filter(|l| l.starts_with("[FILE]")).count(), 3, "{got}");
    assert_eq!(got["outside"]["isError"], true, "{got}");
    assert!(text(&got["sum"]).contains('5'), "{got}");
    let state = calls(&mut client, None, &json!([{"server": "memory", "tool": "read_graph", "args": {}}])).unwrap();
    assert_eq!(state["got"]["c0"]["structuredContent"]["entities"][0]["name"], "disk", "{state}");
    client.close().unwrap();
    let output = bench.command(&["tools", "--mcp", "mcp.json"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && shown.contains("files: ") && shown.contains("read-only"), "{shown}");
}

/// The sample of the graphs, with the server's program as it is installed here.
#[test]
fn a_graph_counts_files_through_the_reference_server() {
    let Some(folder) = installed("node") else { return };
    let work = tempfile::tempdir().unwrap();
    let data = work.path().join("data-of-mine");
    for name in ["one/a.txt", "one/b.txt", "one/deeper/c.txt", "two/d.txt", "none/"] {
        let path = data.join(name);
        std::fs::create_dir_all(if name.ends_with('/') { &path } else { path.parent().unwrap() }).unwrap();
        if !name.ends_with('/') {
            std::fs::write(path, name).unwrap();
        }
    }
    let sample = include_str!("../../guests/graphs/samples/files.yaml");
    let own = [r#"args: [-y, "@modelcontextprotocol/server-filesystem", .]"#, "command: npx"];
    assert!(own.iter().all(|line| sample.contains(line)), "the sample has changed");
    let document = sample
        .replace(own[0], &format!("args: {}", json!([script(&folder, "filesystem"), data])))
        .replace(own[1], &format!("command: {}", json!(node(&folder))));
    std::fs::write(work.path().join("files.yaml"), document).unwrap();
    let mut command = program_in(PROGRAM.as_ref(), work.path());
    let mut client = Client::start(command.args(["serve", "files.yaml"]), &json!({})).unwrap();
    let at = |name: &str| data.join(name).display().to_string();
    assert_eq!(client.structured("count_files", &json!({"path": at("one")})).unwrap(), json!({"count": 2}));
    assert_eq!(client.structured("count_files", &json!({"path": at("none")})).unwrap(), json!({"count": 0}));
    // What the server refuses is tried again as the document asks, and then takes the error edge.
    let outside = client.structured("count_files", &json!({"path": "/etc"})).unwrap();
    assert!(outside["count"] == 0 && outside["why"].as_str().unwrap().contains("/etc"), "{outside}");
    let all = client.structured("count_all", &json!({"paths": [at("one"), at("two"), at("none")]})).unwrap();
    assert_eq!(all, json!({"counts": [2, 1, 0], "sum": 3}));
    let runs = client.structured("graph_runs", &json!({"unfinished": false})).unwrap();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 3 + 1 + 3, "each call is a run: {runs}");
    let counted = runs["runs"].as_array().unwrap().last().unwrap()["run_id"].clone();
    let trace = client.structured("graph_trace", &json!({"run_id": counted})).unwrap();
    let listed = &trace["trace"][1];
    assert_eq!((&listed["node"], &listed["kind"], &listed["next"]), (&json!("list"), &json!("mcp"), &json!("count")));
    assert!(listed["output"].to_string().contains("[FILE] a.txt"), "{listed}");
    client.close().unwrap();
    let again = ["verify", "replay"].map(|word| {
        let mut command = program_in(PROGRAM.as_ref(), work.path());
        command.arg(word).args(counted.as_str()).output().unwrap()
    });
    assert!(again.iter().all(|output| output.status.success()), "{again:?}");
}

#[test]
fn a_reference_server_is_called_over_both_http_transports() {
    let Some(folder) = installed("node") else { return };
    for (transport, path, kind) in [("streamableHttp", "mcp", "http"), ("sse", "sse", "sse")] {
        let server = Listening::start(&folder, transport);
        let url = format!("http://127.0.0.1:{}/{path}", server.1);
        let bench = bench(&[]);
        bench.mcp(&json!({"mcpServers": {"everything": {"type": kind, "url": url}}})).unwrap();
        let mut client = bench.client().unwrap();
        let wanted: Vec<Value> = (0..8)
            .map(|n| json!({"server": "everything", "tool": "echo", "args": {"message": format!("m{n}")}}))
            .collect();
        let state = calls(&mut client, None, &json!(wanted)).unwrap();
        for n in 0..8 {
            assert_eq!(text(&state["got"][format!("c{n}")]), format!("Echo: m{n}"), "{transport}: {state}");
        }
    }
}

#[test]
fn a_wfhost_over_http_is_an_upstream_server_as_well() {
    let below = bench(&[]);
    let mut command = below.serve(&[]);
    let server = HttpServer::start(&mut command).unwrap();
    let above = bench(&[]);
    above
        .mcp(&json!({"mcpServers": {"below": {"url": format!("http://{}/mcp", server.address), "auth": "a-token"}}}))
        .unwrap();
    let mut client = above.client().unwrap();
    let state = calls(&mut client, None, &json!([{"server": "below", "tool": "probe_start", "args": {}}])).unwrap();
    let came = &state["got"]["c0"];
    assert!(came["structuredContent"]["session"].as_str().unwrap_or_default().starts_with("ses_"), "{came}");
    drop(server);
    let state = calls(&mut client, None, &json!([{"server": "below", "tool": "probe_start", "args": {}}])).unwrap();
    let kind = state["got"]["c0"]["kind"].as_str().unwrap_or_default().to_owned();
    assert!(kind.ends_with("Lost") || kind.ends_with("Unavailable"), "{state}");
}
