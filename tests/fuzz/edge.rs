//! The edge of the server: any line on standard input, any HTTP request. The server must still answer afterwards.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use wfhost_tests::client::Client;
use wfhost_tests::http::HttpServer;
use wfhost_tests::served::program_in;

use super::Target;
use super::guests::Maker;

const PROGRAM: &str = env!("CARGO_BIN_EXE_wfhost-under-test");

pub(crate) fn targets() -> Vec<Maker> {
    vec![("edge/stdio".to_owned(), Box::new(stdio)), ("edge/http".to_owned(), Box::new(http))]
}

fn messages() -> Vec<String> {
    let call = |tool: &str, args: serde_json::Value| json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": args}});
    let of = |method: &str, params: serde_json::Value| json!({"jsonrpc": "2.0", "id": "x", "method": method, "params": params});
    let all = [
        call("tree_start", json!({"tree_id": "incident-triage"})),
        call("tree_answer", json!({"session_id": "ses_0", "step": 1, "value": {"a": [1, 2.5, null]}})),
        call("tree_trace", json!({"session_id": "ses_00000000000000000000000000000000"})),
        of("tools/list", json!({"cursor": "x"})),
        of("resources/read", json!({"uri": "wfhost://trees/incident-triage/diagram"})),
        of("prompts/get", json!({"name": "x", "arguments": {}})),
        of(
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "session", "value": "s"}}),
        ),
        of("logging/setLevel", json!({"level": "debug"})),
        of("resources/subscribe", json!({"uri": "a://b"})),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}),
        json!({"jsonrpc": "2.0", "id": 9, "result": {}}),
        json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]),
    ];
    all.iter().map(ToString::to_string).collect()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("trees")).unwrap();
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/incident/trees");
    for entry in std::fs::read_dir(document).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join("trees").join(entry.file_name())).unwrap();
    }
    folder
}

fn stdio() -> Target {
    let folder = folder();
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    let mut client = Client::start(command.args(["serve", "trees", "--ephemeral"]), &json!({})).unwrap();
    Target {
        name: "edge/stdio".to_owned(),
        corpus: messages().into_iter().map(String::into_bytes).collect(),
        run: Box::new(move |input| {
            let _ = &folder;
            let line: Vec<u8> = input.iter().copied().filter(|byte| *byte != b'\n' && *byte != b'\r').collect();
            client.send_bytes(&line).map_err(|error| error.to_string())?;
            // Whatever came of it: the next one is answered.
            client.request("ping", &json!({})).map(drop).map_err(|error| format!("the server does not answer: {error}"))
        }),
    }
}

fn http() -> Target {
    let folder = folder();
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    let server = HttpServer::start(command.args(["serve", "trees", "--ephemeral"])).unwrap();
    let head = |body: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    Target {
        name: "edge/http".to_owned(),
        corpus: messages().iter().map(|body| head(body).into_bytes()).collect(),
        run: Box::new(move |input| {
            let _ = &folder;
            let asked = TcpStream::connect(&server.address).and_then(|mut stream| {
                stream.set_read_timeout(Some(Duration::from_millis(20)))?;
                stream.write_all(input)?;
                stream.shutdown(std::net::Shutdown::Write)?;
                // It may answer, wait for more, or close.
                let _ = stream.read(&mut [0; 512]);
                Ok(())
            });
            // A server that closes early is within its rights.
            drop(asked);
            let health = server.send("GET /health", &[("host", "localhost")], "");
            let health = health.map_err(|error| format!("the server does not answer: {error}"))?;
            if health.status == 200 { Ok(()) } else { Err(format!("/health says {}", health.status)) }
        }),
    }
}
