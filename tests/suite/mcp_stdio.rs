//! The protocol on standard input and output, message by message: what every client may send, in every order that clients
//! are known to send it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

/// How long a message that must not come is waited for.
const QUIET: Duration = Duration::from_millis(400);
/// How long one that must come is.
const SOON: Duration = Duration::from_secs(20);

const DOCUMENT: &str = include_str!("../interop/documents/visit.yaml");

/// A folder with one document, and the command that serves it.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("documents")).unwrap();
        std::fs::write(folder.path().join("documents/visit.yaml"), DOCUMENT).unwrap();
        Self(folder)
    }

    fn command(&self) -> Command {
        let mut command = program_in(Path::new(PROGRAM), self.0.path());
        command.args(["serve", "documents", "--ephemeral"]);
        command
    }

    fn spawn(&self) -> Client {
        Client::spawn(&mut self.command()).unwrap()
    }

    fn start(&self) -> Client {
        Client::start(&mut self.command(), &json!({})).unwrap()
    }
}

fn initialize(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}})
}

/// The parameters of a request of the stateless era.
fn modern(mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

fn notification(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

/// The response to a request, whole.
fn response(client: &mut Client, method: &str, params: &Value) -> Value {
    let id = client.ask(method, params).unwrap();
    client.response(id).unwrap()
}

fn works(client: &mut Client) {
    let listed = client.structured("tree_list", &json!({})).unwrap();
    assert_eq!(listed["result"][0]["id"], "visit", "{listed}");
}

#[test]
fn a_version_that_is_known_is_spoken_and_for_any_other_the_newest() {
    let desk = Desk::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = desk.spawn();
        assert_eq!(client.request("initialize", &initialize(version)).unwrap()["protocolVersion"], version);
        client.send(&notification("notifications/initialized")).unwrap();
        works(&mut client);
    }
    for version in ["9999-01-01", "nonsense", "2026-07-28"] {
        let mut client = desk.spawn();
        assert_eq!(
            client.request("initialize", &initialize(version)).unwrap()["protocolVersion"],
            "2025-11-25",
            "{version}"
        );
        works(&mut client);
    }
    let mut client = desk.spawn();
    let mut without = initialize("");
    without.as_object_mut().unwrap().remove("protocolVersion");
    let refused = response(&mut client, "initialize", &without);
    assert!(refused.get("error").is_some() || refused["result"]["protocolVersion"] == "2025-11-25", "{refused}");
}

#[test]
fn every_opening_that_clients_are_known_for_works() {
    let desk = Desk::new();
    let discover = modern(json!({}), &json!({}));
    let discovered = |client: &mut Client| {
        let found = client.request("server/discover", &discover).unwrap();
        assert!(found["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    };

    let mut discover_then_initialize = desk.spawn();
    discovered(&mut discover_then_initialize);
    discover_then_initialize.request("initialize", &initialize("2025-11-25")).unwrap();
    works(&mut discover_then_initialize);

    let mut with_a_notification_between = desk.spawn();
    discovered(&mut with_a_notification_between);
    with_a_notification_between.send(&notification("notifications/roots/list_changed")).unwrap();
    with_a_notification_between.request("initialize", &initialize("2025-11-25")).unwrap();
    with_a_notification_between.send(&notification("notifications/initialized")).unwrap();
    works(&mut with_a_notification_between);

    let mut notification_first = desk.spawn();
    notification_first.send(&notification("notifications/roots/list_changed")).unwrap();
    notification_first.request("initialize", &initialize("2025-06-18")).unwrap();
    works(&mut notification_first);

    let mut straight_to_work = desk.spawn();
    let call = modern(json!({"name": "tree_list", "arguments": {}}), &json!({}));
    let result = straight_to_work.request("tools/call", &call).unwrap();
    assert_eq!(
        (&result["resultType"], &result["structuredContent"]["result"][0]["id"]),
        (&json!("complete"), &json!("visit"))
    );

    let mut discover_then_work = desk.spawn();
    discovered(&mut discover_then_work);
    assert!(discover_then_work.request("tools/call", &call).is_ok());
}

#[test]
fn what_comes_too_early_is_answered() {
    let desk = Desk::new();
    let mut client = desk.spawn();
    assert_eq!(client.request("ping", &json!({})).unwrap(), json!({}));
    client.request("initialize", &initialize("2025-11-25")).unwrap();
    // Before `initialized`, and without the capability: an editor does that.
    let level = response(&mut client, "logging/setLevel", &json!({"level": "debug"}));
    assert!(level.get("result").is_some() || level["error"]["code"] == json!(-32601), "{level}");
    client.request("ping", &json!({})).unwrap();
    works(&mut client);
}

#[test]
fn arguments_may_be_left_out_and_must_be_an_object() {
    let desk = Desk::new();
    let mut client = desk.start();
    for params in [
        json!({"name": "tree_list"}),
        json!({"name": "tree_list", "arguments": null}),
        json!({"name": "tree_list", "arguments": {}}),
    ] {
        let told = response(&mut client, "tools/call", &params);
        assert_eq!(told["result"]["structuredContent"]["result"][0]["id"], "visit", "{params}: {told}");
    }
    for params in [
        json!({"name": "tree_list", "arguments": "x"}),
        json!({"name": "tree_list", "arguments": []}),
        json!({"arguments": {}}),
        json!({"name": 7}),
    ] {
        let told = response(&mut client, "tools/call", &params);
        assert_eq!(told["error"]["code"], json!(-32602), "{params}: {told}");
    }
    let told = response(&mut client, "tools/call", &json!({"name": "no_such_tool", "arguments": {}}));
    assert_eq!(told["error"]["code"], json!(-32602), "{told}");
    let told = response(&mut client, "no/such/method", &json!({}));
    assert_eq!(told["error"]["code"], json!(-32601), "{told}");
    works(&mut client);
}

#[test]
fn an_identifier_that_is_none_is_told_as_a_tools_error() {
    let desk = Desk::new();
    let mut client = desk.start();
    let long = "x".repeat(10_240);
    let unknown = "ses_00000000000000000000000000000000";
    for id in [unknown, "../../etc/passwd", "ses_\u{0}0000", &long, "", " ", "SES_00000000000000000000000000000000"] {
        for (tool, more) in [
            ("tree_status", json!({})),
            ("tree_answer", json!({"step": 1, "value": "left"})),
            ("tree_trace", json!({})),
        ] {
            let mut arguments = more;
            arguments["session_id"] = id.into();
            let told = client.tool(tool, &arguments).unwrap();
            assert_eq!(told["isError"], true, "{tool} {id:?}: {told}");
        }
    }
    works(&mut client);
}

#[test]
fn pipelined_calls_get_a_reply_each() {
    let desk = Desk::new();
    let mut client = desk.start();
    let ids: Vec<u64> = (0..8)
        .map(|_| client.ask("tools/call", &json!({"name": "tree_start", "arguments": {"tree_id": "visit"}})).unwrap())
        .collect();
    let mut got: Vec<u64> = (0..8).map(|_| client.receive(SOON).unwrap()["id"].as_u64().unwrap()).collect();
    got.sort_unstable();
    assert_eq!(got, ids);
}

#[test]
fn the_end_of_the_input_is_the_end() {
    let desk = Desk::new();
    for greeted in [true, false] {
        let mut client = if greeted { desk.start() } else { desk.spawn() };
        if greeted {
            works(&mut client);
        } else {
            // It must have come as far as reading.
            client.request("ping", &json!({})).unwrap();
        }
        let begun = Instant::now();
        assert_eq!(client.close().unwrap().code(), Some(0), "greeted: {greeted}");
        assert!(begun.elapsed() < Duration::from_secs(1), "greeted: {greeted}, it took {:?}", begun.elapsed());
    }
}

/// The client of these tests fails at any line that is no JSON-RPC.
#[test]
fn nothing_but_the_protocol_is_written_however_much_is_logged() {
    let desk = Desk::new();
    std::fs::write(desk.0.path().join("documents/bad.yaml"), "mcptree: \"0.2\"\nid: bad\n").unwrap();
    let mut client =
        Client::start(desk.command().env("RUST_LOG", "trace").env("RUST_BACKTRACE", "1"), &json!({})).unwrap();
    client.send(&notification("notifications/no_such")).unwrap();
    client.send_text("").unwrap();
    works(&mut client);
    client.tool("tree_start", &json!({"tree_id": "nowhere"})).unwrap();
    assert!(client.close().unwrap().success());
}

#[test]
fn a_progress_token_stops_nothing() {
    let desk = Desk::new();
    let mut client = desk.spawn();
    let mut first = modern(json!({"name": "tree_start", "arguments": {"tree_id": "visit"}}), &json!({}));
    first["_meta"]["progressToken"] = json!("p");
    let id = client.ask("tools/call", &first).unwrap();
    assert_eq!(client.response(id).unwrap()["result"]["structuredContent"]["node"], "where");
    let mut client = desk.start();
    let params = json!({"name": "tree_start", "arguments": {"tree_id": "visit"}, "_meta": {"progressToken": 7}});
    assert_eq!(response(&mut client, "tools/call", &params)["result"]["structuredContent"]["node"], "where");
}

#[test]
fn text_and_structured_content_say_the_same() {
    let desk = Desk::new();
    let mut client = desk.start();
    let told = client.tool("tree_start", &json!({"tree_id": "visit"})).unwrap();
    assert_eq!(told["content"][0]["text"].as_str().unwrap(), told["structuredContent"].to_string());
    let session = told["structuredContent"]["session_id"].clone();
    let named = json!({"session_id": session});
    for (tool, arguments) in
        [("tree_status", &named), ("tree_trace", &named), ("tree_sessions", &json!({})), ("tree_list", &json!({}))]
    {
        let told = client.tool(tool, arguments).unwrap();
        assert_eq!(told["content"][0]["text"].as_str().unwrap(), told["structuredContent"].to_string(), "{tool}");
    }
}

fn add_a_document(desk: &Desk) {
    let another = DOCUMENT.replace("id: visit", "id: another");
    std::fs::write(desk.0.path().join("documents/another.yaml"), another).unwrap();
}

#[test]
fn a_legacy_client_is_told_of_a_new_document() {
    let desk = Desk::new();
    let mut client = desk.start();
    works(&mut client);
    add_a_document(&desk);
    let told = client.receive(SOON).unwrap();
    assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
    assert_eq!(client.structured("tree_list", &json!({})).unwrap()["result"].as_array().unwrap().len(), 2);
}

#[test]
fn a_modern_client_is_told_of_a_new_document_only_if_it_listens() {
    let desk = Desk::new();
    let mut silent = desk.spawn();
    let mut listening = desk.spawn();
    let call = modern(json!({"name": "tree_list", "arguments": {}}), &json!({}));
    silent.request("tools/call", &call).unwrap();
    let wish = modern(json!({"notifications": {"toolsListChanged": true}}), &json!({}));
    let id = listening.ask("subscriptions/listen", &wish).unwrap();
    let subscribed = listening.receive(SOON).unwrap();
    assert_eq!(subscribed["method"], "notifications/subscriptions/acknowledged", "{subscribed}");
    add_a_document(&desk);
    let told = listening.receive(SOON).unwrap();
    assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
    let tag = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert!(*tag == json!(id) || *tag == json!(id.to_string()), "{told}");
    assert!(silent.receive(QUIET).is_err(), "told a client that did not ask");
}

#[test]
fn a_form_is_asked_with_the_reply_and_its_state_cannot_be_changed() {
    let desk = Desk::new();
    let mut client = desk.spawn();
    let person = json!({"elicitation": {"form": {}}});
    let call = json!({"name": "tree_start", "arguments": {"tree_id": "visit"}});
    let asked = client.request("tools/call", &modern(call.clone(), &person)).unwrap();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, request) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(
        (&request["method"], &request["params"]["message"]),
        (&json!("elicitation/create"), &json!("Which way?"))
    );
    let again = |state: &str, answer: Value| {
        let mut call = call.clone();
        call["requestState"] = state.into();
        call["inputResponses"] = json!({key: answer});
        modern(call, &person)
    };
    let state = asked["requestState"].as_str().unwrap();
    let left = json!({"action": "accept", "content": {"value": "left"}});
    let changed = response(&mut client, "tools/call", &again(&format!("{state}x"), left.clone()));
    assert_eq!(changed["error"]["code"], json!(-32602), "{changed}");
    let misfit = json!({"action": "accept", "content": {"value": "up"}});
    let refused = client.request("tools/call", &again(state, misfit)).unwrap();
    assert_eq!(refused["structuredContent"]["node"], "where", "{refused}");
    let taken = client.request("tools/call", &again(state, left.clone())).unwrap();
    assert_eq!(taken["structuredContent"]["node"], "look", "{taken}");
    // The reply may have been lost: the same again says where the session stands, and changes nothing.
    let repeated = client.request("tools/call", &again(state, left)).unwrap();
    assert_eq!(repeated["structuredContent"], taken["structuredContent"], "{repeated}");
}

/// The one test that waits for a form's deadline.
#[test]
fn a_person_who_never_answers_costs_the_call_and_not_the_session() {
    let desk = Desk::new();
    let mut client = Client::start(&mut desk.command(), &json!({"elicitation": {}})).unwrap();
    let begun = Instant::now();
    let id = client.ask("tools/call", &json!({"name": "tree_start", "arguments": {"tree_id": "visit"}})).unwrap();
    let asked = client.receive(SOON).unwrap();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let meanwhile = client.ask("ping", &json!({})).unwrap();
    assert_eq!(client.receive(SOON).unwrap()["id"], json!(meanwhile));
    let reply = loop {
        let message = client.receive(Duration::from_secs(60)).unwrap();
        if message["id"] == json!(id) && message.get("method").is_none() {
            break message;
        }
    };
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
    assert_eq!(reply["result"]["structuredContent"]["state"], "awaiting_answer", "{reply}");
}
