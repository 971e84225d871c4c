//! Upstream servers that want a token by OAuth's client credentials, over loopback: it is found out where tokens are given out, one
//! is fetched, sent, fetched again when its time is up or the server refuses it, and neither it nor the secret is ever seen.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use wfhost_tests::client::Client;
use wfhost_tests::upstream::{Bench, calls};

use crate::PROGRAM;

const WORKER: &str = env!("CARGO_BIN_EXE_upstream-worker");
const SECRET: &str = "the-secret-of-this-host/+=";

/// What both servers know.
#[derive(Default)]
struct Known {
    /// Their address.
    at: String,
    /// How long tokens hold.
    seconds: Option<u64>,
    /// Why no token is given out.
    refusing: Option<&'static str>,
    given: Vec<String>,
    /// The token that holds now.
    good: Option<String>,
    /// What was asked of the server with tools: the method, and whether the token was good.
    asked: Vec<(String, bool)>,
    forms: Vec<String>,
}

type Shared = Arc<Mutex<Known>>;

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, Known> {
    shared.lock().unwrap()
}

async fn resource(State(shared): State<Shared>) -> String {
    json!({"resource": format!("{}/mcp", lock(&shared).at), "authorization_servers": [lock(&shared).at]}).to_string()
}

async fn issuer(State(shared): State<Shared>) -> String {
    let at = lock(&shared).at.clone();
    json!({"issuer": at, "token_endpoint": format!("{at}/give")}).to_string()
}

async fn give(State(shared): State<Shared>, headers: HeaderMap, form: String) -> Response {
    let mut known = lock(&shared);
    // base64 of `wfhost:` and the secret as RFC 6749 wants it.
    let shown = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if shown != "Basic d2Zob3N0OnRoZS1zZWNyZXQtb2YtdGhpcy1ob3N0JTJGJTJCJTNE" {
        return (StatusCode::UNAUTHORIZED, json!({"error": "invalid_client"}).to_string()).into_response();
    }
    if let Some(why) = known.refusing {
        return (StatusCode::BAD_REQUEST, json!({"error": why}).to_string()).into_response();
    }
    let token = format!("token-number-{}-of-this-test", known.given.len() + 1);
    known.forms.push(form);
    known.given.push(token.clone());
    known.good = Some(token.clone());
    let mut told = json!({"access_token": token, "token_type": "Bearer"});
    told["expires_in"] = known.seconds.map_or(Value::Null, Value::from);
    told.to_string().into_response()
}

async fn mcp(State(shared): State<Shared>, headers: HeaderMap, body: String) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let mut known = lock(&shared);
    let shown =
        headers.get("authorization").and_then(|value| value.to_str().ok()).and_then(|v| v.strip_prefix("Bearer "));
    let good = shown.is_some() && shown == known.good.as_deref();
    known.asked.push((method.clone(), good));
    if !good {
        return (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer error=\"invalid_token\"")]).into_response();
    }
    let Some(id) = message.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let answer = match method.as_str() {
        "initialize" => json!({"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"}}}),
        "tools/list" => json!({"result": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}}),
        // It gives away what it was shown.
        "tools/call" => {
            json!({"result": {"content": [{"type": "text", "text": format!("shown {}", shown.unwrap_or_default())}]}})
        }
        _ => json!({"error": {"code": -32601, "message": "method not found"}}),
    };
    let mut answer = answer;
    answer["jsonrpc"] = json!("2.0");
    answer["id"] = id.clone();
    ([("content-type", "application/json")], answer.to_string()).into_response()
}

/// The two servers, in a thread of their own until the test ends.
fn guarded(seconds: Option<u64>) -> Shared {
    let shared = Shared::default();
    let (sender, receiver) = std::sync::mpsc::channel();
    let own = Arc::clone(&shared);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            let router = Router::new()
                .route("/.well-known/oauth-protected-resource/mcp", get(resource))
                .route("/.well-known/oauth-authorization-server", get(issuer))
                .route("/give", post(give))
                .route("/mcp", post(mcp))
                .with_state(own);
            axum::serve(listener, router).await.unwrap();
        });
    });
    lock(&shared).at = format!("http://{}", receiver.recv().unwrap());
    lock(&shared).seconds = seconds;
    shared
}

/// A host with that server as its upstream, and its client; what it says on standard error lies in the folder.
fn host(shared: &Shared) -> (Bench, Client) {
    let bench = Bench::new((PROGRAM, WORKER), &[("a.probe", "probe a")], &[]).unwrap();
    let auth =
        json!({"type": "oauth", "client_id": "wfhost", "client_secret": "${WFHOST_TEST_SECRET}", "scope": "look"});
    let url = format!("{}/mcp", lock(shared).at);
    bench.mcp(&json!({"mcpServers": {"guarded": {"url": url, "auth": auth}}})).unwrap();
    let mut command = bench.serve(&[]);
    command.env("WFHOST_TEST_SECRET", SECRET).stderr(std::fs::File::create(bench.folder.path().join("said")).unwrap());
    let client = Client::start(&mut command, &json!({})).unwrap();
    (bench, client)
}

fn look(client: &mut Client) -> Value {
    let wanted = json!([{"server": "guarded", "tool": "look", "args": {}}]);
    calls(client, None, &wanted).unwrap()["got"]["c0"].clone()
}

/// Every file below a folder that holds one of these texts.
fn holding(folder: &Path, texts: &[String], found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holding(&path, texts, found);
        } else if let Ok(bytes) = std::fs::read(&path) {
            let has = |text: &String| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            found.extend(texts.iter().filter(|text| has(text)).map(|text| format!("{}: {text}", path.display())));
        }
    }
}

/// Neither the secret nor a token lies in any file of the host: its store, its log, its standard error.
fn nothing_is_seen(shared: &Shared, bench: &Bench, client: Client) {
    client.close().unwrap();
    let mut texts = lock(shared).given.clone();
    assert!(!texts.is_empty());
    texts.extend([SECRET.to_owned(), "the-secret-of-this-host%2F".to_owned()]);
    let mut found = Vec::new();
    holding(bench.folder.path(), &texts, &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

fn tool_calls(shared: &Shared) -> Vec<bool> {
    lock(shared).asked.iter().filter(|(method, _)| method == "tools/call").map(|(_, good)| *good).collect()
}

#[test]
fn a_token_is_found_fetched_and_sent_once() {
    let shared = guarded(None);
    let (bench, mut client) = host(&shared);
    for _ in 0..3 {
        let came = look(&mut client);
        assert_eq!(came["content"][0]["text"], "shown ${access_token}", "{came}");
    }
    let forms = lock(&shared).forms.clone();
    assert_eq!(forms.len(), 1, "one token for all: {forms:?}");
    assert!(forms[0].contains("grant_type=client_credentials") && forms[0].contains("scope=look"), "{forms:?}");
    assert!(forms[0].contains("resource=http%3A%2F%2F127.0.0.1"), "{forms:?}");
    assert!(lock(&shared).asked.iter().all(|(_, good)| *good), "{:?}", lock(&shared).asked);
    nothing_is_seen(&shared, &bench, client);
}

#[test]
fn a_token_that_is_refused_is_fetched_again_and_the_call_made_once() {
    let shared = guarded(None);
    let (bench, mut client) = host(&shared);
    look(&mut client);
    // Taken back by whoever gave it out.
    lock(&shared).good = None;
    let came = look(&mut client);
    assert_eq!(came["content"][0]["text"], "shown ${access_token}", "{came}");
    assert_eq!(tool_calls(&shared), [true, false, true]);
    assert_eq!(lock(&shared).given.len(), 2);
    nothing_is_seen(&shared, &bench, client);
}

#[test]
fn a_token_whose_time_is_up_is_fetched_again_before_it_is_refused() {
    let shared = guarded(Some(1));
    let (bench, mut client) = host(&shared);
    look(&mut client);
    std::thread::sleep(Duration::from_millis(1_100));
    let came = look(&mut client);
    assert_eq!(came["content"][0]["text"], "shown ${access_token}", "{came}");
    assert_eq!(tool_calls(&shared), [true, true]);
    assert!(lock(&shared).given.len() >= 2);
    nothing_is_seen(&shared, &bench, client);
}

#[test]
fn a_server_that_lets_nobody_in_is_unavailable_and_says_why() {
    let shared = guarded(None);
    let (bench, mut client) = host(&shared);
    look(&mut client);
    {
        let mut known = lock(&shared);
        (known.good, known.refusing) = (None, Some("unauthorized_client"));
    }
    let came = look(&mut client);
    assert_eq!(came["kind"], "Mishap::Unavailable", "nothing was done, and that is known: {came}");
    assert!(came["message"].as_str().unwrap().contains("unauthorized_client"), "{came}");
    // As soon as it may again, it does.
    lock(&shared).refusing = None;
    let came = look(&mut client);
    assert_eq!(came["content"][0]["text"], "shown ${access_token}", "{came}");
    nothing_is_seen(&shared, &bench, client);
}
