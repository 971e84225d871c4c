//! The protocol over HTTP, request by request: who may call, at which address, and what is told to a request that is wrong.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::http::{HttpServer, Response};
use wfhost_tests::served::program_in;

use crate::PROGRAM;

struct Desk {
    server: HttpServer,
    _folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("documents")).unwrap();
        let document = include_str!("../interop/documents/visit.yaml");
        std::fs::write(folder.path().join("documents/visit.yaml"), document).unwrap();
        let mut command = program_in(Path::new(PROGRAM), folder.path());
        let server = HttpServer::start(command.args(["serve", "documents", "--ephemeral"])).unwrap();
        Self { server, _folder: folder }
    }

    fn initialize(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}});
        self.server
            .post(path, headers, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
            .unwrap()
    }

    /// Opens a legacy session, and gives its identifier.
    fn session(&self) -> String {
        let opened = self.initialize("/mcp", &[]);
        let session = opened.header("mcp-session-id").unwrap().to_owned();
        let said = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let told = self.server.post("/mcp", &[("mcp-session-id", &session)], &said).unwrap();
        assert_eq!(told.status, 202, "{told:?}");
        session
    }
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn both_eras_are_spoken_with_and_without_a_slash() {
    let desk = Desk::new();
    for path in ["/mcp", "/mcp/"] {
        let opened = desk.initialize(path, &[]);
        assert_eq!(opened.message().unwrap()["result"]["protocolVersion"], "2025-11-25", "{path}: {opened:?}");
    }
    let started =
        desk.server.modern("tools/call", json!({"name": "tree_start", "arguments": {"tree_id": "visit"}})).unwrap();
    assert_eq!(started["result"]["structuredContent"]["node"], "where", "{started}");
    let session = desk.session();
    let told = desk.server.post("/mcp/", &[("mcp-session-id", &session)], &call("tree_list", json!({}))).unwrap();
    assert_eq!(told.message().unwrap()["result"]["structuredContent"]["result"][0]["id"], "visit");
}

#[test]
fn only_pages_and_names_of_this_machine_may_call() {
    let desk = Desk::new();
    let port = desk.server.address.rsplit_once(':').unwrap().1.to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let own = [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}"), "localhost".into()];
    let foreign = ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", ""];
    let lines = ["GET /health", "GET /mcp", "POST /mcp", "POST /mcp/", "DELETE /mcp", "GET /nowhere"];
    let own_hosts = own.iter().map(|host| (host.clone(), true));
    for (host, welcome) in own_hosts.chain(foreign.iter().map(|host| ((*host).to_owned(), false))) {
        for line in lines {
            let status =
                desk.server.send(line, &[("host", &host), ("content-type", "application/json")], &body).unwrap().status;
            assert_eq!(status != 403, welcome, "{line} from host {host:?}: {status}");
        }
    }
    let host = ("host", desk.server.address.as_str());
    for (origin, welcome) in [
        ("http://localhost:3000", true),
        ("http://127.0.0.1:6274", true),
        ("https://[::1]:8443", true),
        ("http://localhost", true),
        ("http://evil.example", false),
        ("http://localhost.evil.example:3000", false),
        ("null", false),
        ("file://", false),
    ] {
        for line in lines {
            let status = desk.server.send(line, &[host, ("origin", origin)], &body).unwrap().status;
            assert_eq!(status != 403, welcome, "{line} from origin {origin:?}: {status}");
        }
    }
    let without = desk.server.send("GET /health", &[], "").unwrap().status;
    assert!((400..500).contains(&without), "without a host: {without}");
}

#[test]
fn a_body_has_a_limit() {
    let desk = Desk::new();
    let long = call("tree_list", json!({"x": "x".repeat(5 << 20)}));
    for headers in
        [&[][..], &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "tree_list")]]
    {
        assert_eq!(desk.server.post("/mcp", headers, &long).unwrap().status, 413);
    }
    assert!(desk.server.modern("tools/list", json!({})).is_ok());
}

/// Who announces long bodies and sends none takes room for at most 30 seconds and 64 MiB; everybody else is told to come again.
#[test]
fn too_many_bytes_at_once_are_told_to_come_again() {
    let desk = Desk::new();
    let head = format!("POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n", desk.server.address, 4 << 20);
    // One more each time: one that came while a call was in is itself told to come again.
    let mut silent = Vec::new();
    let told = (0..200).find_map(|_| {
        let mut stream = TcpStream::connect(&desk.server.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        silent.push(stream);
        let told = desk.server.post("/mcp", &[], &call("tree_list", json!({}))).unwrap();
        (told.status == 503).then_some(told)
    });
    let told = told.expect("all is room");
    assert_eq!(told.header("retry-after"), Some("1"));
    assert!(told.body.contains("was not begun"), "{told:?}");
    drop(silent);
    let again = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        desk.server.modern("tools/list", json!({})).is_ok()
    });
    assert!(again, "the room of those who left is not given back");
}

#[test]
fn a_session_that_is_not_there_is_not_found() {
    let desk = Desk::new();
    for id in ["nowhere", "00000000-0000-0000-0000-000000000000", "../../etc/passwd"] {
        let told = desk.server.post("/mcp", &[("mcp-session-id", id)], &call("tree_list", json!({}))).unwrap();
        assert_eq!(told.status, 404, "{told:?}");
    }
    let session = desk.session();
    let header = ("mcp-session-id", session.as_str());
    let ended = desk.server.send("DELETE /mcp", &[("host", &desk.server.address), header], "").unwrap();
    assert!((200..300).contains(&ended.status), "{ended:?}");
    let told = desk.server.post("/mcp", &[header], &call("tree_list", json!({}))).unwrap();
    assert_eq!(told.status, 404, "{told:?}");
}

#[test]
fn a_run_outlives_the_connection_that_began_it() {
    let desk = Desk::new();
    let first = desk.session();
    let begun = desk
        .server
        .post("/mcp", &[("mcp-session-id", &first)], &call("tree_start", json!({"tree_id": "visit"})))
        .unwrap();
    let run = begun.message().unwrap()["result"]["structuredContent"]["session_id"].clone();
    let answer = json!({"session_id": run, "step": 1, "value": "left"});
    let told = desk.server.post("/mcp", &[("mcp-session-id", &desk.session())], &call("tree_answer", answer)).unwrap();
    assert_eq!(told.message().unwrap()["result"]["structuredContent"]["node"], "look");
    let seen =
        desk.server.modern("tools/call", json!({"name": "tree_status", "arguments": {"session_id": run}})).unwrap();
    assert_eq!(seen["result"]["structuredContent"]["node"], "look", "{seen}");
}

#[test]
fn an_identifier_that_is_none_is_told_as_a_tools_error() {
    let desk = Desk::new();
    for id in ["ses_00000000000000000000000000000000", "../../etc/passwd", "\u{0}", &"x".repeat(10_240)] {
        let told =
            desk.server.modern("tools/call", json!({"name": "tree_status", "arguments": {"session_id": id}})).unwrap();
        assert_eq!(told["result"]["isError"], true, "{told}");
    }
    let told = desk.server.modern("tools/call", json!({"name": "no_such_tool", "arguments": {}})).unwrap();
    assert_eq!(told["error"]["code"], json!(-32602), "{told}");
}
