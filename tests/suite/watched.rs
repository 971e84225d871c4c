//! What an operator sees from outside: `/metrics`, hooks after a commit, a collector of OpenTelemetry. Names and numbers,
//! and never a value.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::http::HttpServer;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

const DOCUMENT: &str = r#"mcptree: "0.2"
id: one
title: One question
entry: ask
nodes:
  ask: { type: ask, prompt: "Which word?", capture: word, next: end }
  end: { type: terminal, outcome: stopped, summary: Stopped. }
"#;
/// What nobody outside may see.
const SECRET: &str = "hunter2-the-value";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("trees")).unwrap();
    std::fs::write(folder.path().join("trees/one.yaml"), DOCUMENT).unwrap();
    folder
}

fn serve(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = program_in(Path::new(PROGRAM), folder);
    command.args(["serve", "trees"]).args(arguments);
    command
}

/// A walk with a refusal, from start to end.
fn walk(client: &mut Client) -> String {
    let begun = client.structured("tree_start", &json!({"tree_id": "one"})).unwrap();
    let session = begun["session_id"].as_str().unwrap().to_owned();
    for step in [7, 1] {
        let args = json!({"session_id": session, "step": step, "value": SECRET});
        client.structured("tree_answer", &args).unwrap();
    }
    session
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no {what}");
}

#[test]
#[cfg(unix)]
fn a_hook_is_run_after_each_commit() {
    let folder = folder();
    let out = folder.path().join("events");
    let line = format!("cat >> {0}; echo >> {0}", out.display());
    let mut client = Client::start(&mut serve(folder.path(), &["--hook", &line]), &json!({})).unwrap();
    let session = walk(&mut client);
    let events: Vec<Value> = wait_for("events", || {
        let text = std::fs::read_to_string(&out).ok()?;
        let events: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        (events.len() == 3).then_some(events)
    });
    assert!(events.iter().all(|event| event["session"] == json!(session) && event["workflow"] == "one"));
    let picked: Vec<Value> =
        events.iter().map(|e| json!([e["lines"], e["began"], e["refusals"], e["ended"]])).collect();
    assert_eq!(picked, [json!([1, true, 0, null]), json!([2, false, 1, null]), json!([3, false, 0, "done"])]);
    assert!(!std::fs::read_to_string(&out).unwrap().contains(SECRET));
}

/// An HTTP server that takes everything and remembers it: path, head, body.
fn collector() -> (String, Receiver<(String, String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let mut stream = stream;
                while let Some(request) = take(&mut stream) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
                    if sender.send(request).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, receiver)
}

fn take(stream: &mut TcpStream) -> Option<(String, String, Vec<u8>)> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?.to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1)?.split("\r\n").next()?.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head.split(' ').nth(1)?.to_owned(), head.clone(), body))
}

#[test]
fn an_address_is_called_with_the_token_from_the_environment() {
    let folder = folder();
    let (address, received) = collector();
    let mut command = serve(folder.path(), &["--hook-url", &format!("http://{address}/hook?x=1")]);
    command.env("WFHOST_HOOK_TOKEN", "abc");
    let mut client = Client::start(&mut command, &json!({})).unwrap();
    walk(&mut client);
    for lines in 1..=3 {
        let (path, head, body) = received.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(path == "/hook?x=1" && head.contains("authorization: bearer abc"), "{head}");
        let event: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(event["lines"], json!(lines));
    }
}

#[test]
fn a_hook_that_is_no_address_is_refused_at_the_start() {
    let folder = folder();
    let mut command = serve(folder.path(), &["--hook-url", "example.com/hook"]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && told.contains("--hook-url"), "{told}");
}

#[test]
fn traces_and_metrics_reach_a_collector() {
    let folder = folder();
    let (address, received) = collector();
    let mut command = serve(folder.path(), &["--otlp", &format!("http://{address}")]);
    let mut client = Client::start(&mut command, &json!({})).unwrap();
    let session = walk(&mut client);
    assert!(client.close().unwrap().success());
    let trace: Vec<u8> =
        (0..16).map(|n| u8::from_str_radix(&session["ses_".len()..][2 * n..2 * n + 2], 16).unwrap()).collect();
    let (mut traces, mut metrics) = (Vec::new(), Vec::new());
    while let Ok((path, _, body)) = received.recv_timeout(Duration::from_secs(2)) {
        match path.as_str() {
            "/v1/traces" => traces.extend(body),
            "/v1/metrics" => metrics.extend(body),
            other => panic!("{other}"),
        }
    }
    let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(holds(&traces, b"tools/call tree_answer") && holds(&traces, b"commit"));
    // A session is a trace.
    assert!(holds(&traces, &trace));
    assert!(holds(&metrics, b"wfhost.calls") && holds(&metrics, b"wfhost.sessions.ended"));
    assert!(![&traces, &metrics].iter().any(|bytes| holds(bytes, SECRET.as_bytes())));
}

#[test]
fn metrics_are_there_over_http_and_hold_no_value() {
    let folder = folder();
    let server = HttpServer::start(&mut serve(folder.path(), &[])).unwrap();
    let begun = server.modern("tools/call", json!({"name": "tree_start", "arguments": {"tree_id": "one"}})).unwrap();
    let session = begun["result"]["structuredContent"]["session_id"].clone();
    for step in [7, 1] {
        let args = json!({"session_id": session, "step": step, "value": SECRET});
        server.modern("tools/call", json!({"name": "tree_answer", "arguments": args})).unwrap();
    }
    let response = server.send("GET /metrics", &[("host", "localhost")], "").unwrap();
    assert_eq!(response.status, 200);
    for line in [
        "wfhost_calls_total{tool=\"tree_answer\",outcome=\"ok\"} 2",
        "wfhost_journal_lines_total{interpreter=\"trees\",workflow=\"one\",kind=\"refusal\"} 1",
        "wfhost_sessions_ended_total{interpreter=\"trees\",workflow=\"one\",outcome=\"done\"} 1",
        "wfhost_store_sessions 1",
        "# EOF",
    ] {
        assert!(response.body.lines().any(|l| l == line), "no `{line}` in {}", response.body);
    }
    assert!(!response.body.contains(SECRET) && !response.body.contains(session.as_str().unwrap()));
    // Foreign pages see nothing of it either.
    let foreign = server.send("GET /metrics", &[("host", "localhost"), ("origin", "http://evil.example")], "").unwrap();
    assert_eq!(foreign.status, 403);
}
