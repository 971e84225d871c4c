//! A question that an upstream server has in the midst of a call goes to the person behind the call, if one can be asked there;
//! otherwise the server is told no. Either way it stands in the journal.

use serde_json::{Value, json};
use wfhost_tests::client::Client;
use wfhost_tests::upstream::{Bench, calls};

use crate::PROGRAM;

const WORKER: &str = env!("CARGO_BIN_EXE_upstream-worker");

fn bench() -> Bench {
    Bench::new((PROGRAM, WORKER), &[("a.probe", "probe a")], &[("up", json!({}))]).unwrap()
}

fn asking() -> Value {
    json!([{"server": "up", "tool": "ask", "args": {"text": "Are you sure?"}}])
}

/// What the server says that it was told, and the session. The call that asks is the last one.
fn asked(client: &mut Client, wanted: &Value) -> (Value, String) {
    let started = client.structured("probe_start", &json!({})).unwrap();
    let session = started["session"].as_str().unwrap().to_owned();
    let state = calls(client, Some(&session), wanted).unwrap();
    let last = format!("c{}", wanted.as_array().unwrap().len() - 1);
    let text = state["got"][last]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{state}"));
    (serde_json::from_str(text).unwrap(), session)
}

/// The note about the question.
fn note(bench: &Bench, session: &str) -> Value {
    let output = bench.command(&["sessions", "show", session, "--json"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lines = shown["journal"].as_array().unwrap();
    let note = lines.iter().map(|line| &line["line"]["note"]).find(|note| note["kind"] == "asked");
    note.cloned().unwrap_or_default()
}

#[test]
fn a_servers_question_goes_to_the_person_and_the_answer_back() {
    let bench = bench();
    let mut client = Client::start(&mut bench.serve(&[]), &json!({"elicitation": {}})).unwrap();
    client.replies.push_back(json!({"action": "accept", "content": {"sure": true}}));
    let (told, session) = asked(&mut client, &asking());
    assert_eq!(told, json!({"action": "accept", "content": {"sure": true}}));
    assert_eq!(client.elicited.len(), 1);
    assert_eq!(client.elicited[0].message, "Are you sure?");
    assert_eq!(client.elicited[0].schema["properties"]["sure"]["type"], "boolean");
    let note = note(&bench, &session);
    assert_eq!((&note["request"], &note["detail"]["prompt"]), (&json!("c0"), &json!("Are you sure?")), "{note}");
    assert_eq!(
        (&note["detail"]["how"], &note["detail"]["value"]),
        (&json!("answered"), &json!({"sure": true})),
        "{note}"
    );
    client.close().unwrap();
    for word in ["verify", "replay"] {
        let output = bench.command(&[word, &session]).output().unwrap();
        assert!(output.status.success(), "{word}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn a_person_may_say_no_and_an_answer_that_does_not_fit_is_none() {
    let bench = bench();
    let mut client = Client::start(&mut bench.serve(&[]), &json!({"elicitation": {}})).unwrap();
    for (says, told, how) in [
        (json!({"action": "decline"}), "decline", "declined"),
        (json!({"action": "cancel"}), "cancel", "unanswered"),
        (json!({"action": "accept", "content": {"sure": "perhaps"}}), "cancel", "unanswered"),
    ] {
        client.replies.push_back(says);
        let (got, session) = asked(&mut client, &asking());
        assert_eq!(got["action"], told);
        assert_eq!(note(&bench, &session)["detail"]["how"], how);
    }
}

#[test]
fn where_nobody_can_be_asked_the_server_is_told_no() {
    let bench = bench();
    for more in [&[][..], &["--no-elicit"]] {
        let capabilities = if more.is_empty() { json!({}) } else { json!({"elicitation": {}}) };
        let mut client = Client::start(&mut bench.serve(more), &capabilities).unwrap();
        let (told, session) = asked(&mut client, &asking());
        assert_eq!(told, json!({"action": "decline"}));
        assert!(client.elicited.is_empty());
        let note = note(&bench, &session);
        assert!(note["detail"]["why"].as_str().unwrap().contains("nobody can be asked"), "{note}");
        client.close().unwrap();
    }
}

#[test]
fn with_several_calls_at_once_nobody_can_tell_whose_question_it_is() {
    let bench = bench();
    let mut client = Client::start(&mut bench.serve(&[]), &json!({"elicitation": {}})).unwrap();
    let wanted = json!([
        {"server": "up", "tool": "slow", "args": {"text": "w", "ms": 1500}},
        {"server": "up", "tool": "ask", "args": {"text": "Whose?"}},
    ]);
    let (told, _) = asked(&mut client, &wanted);
    assert_eq!(told, json!({"action": "decline"}));
    assert!(client.elicited.is_empty());
}
