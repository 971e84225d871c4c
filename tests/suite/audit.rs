//! `wfhost verify` and `wfhost replay`, by the real program beside the data that a server left.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

const TREE: &str = "mcptree: \"0.2\"\nid: t\ntitle: T\nentry: a\nnodes:\n  a: { type: ask, prompt: One, capture: x, next: b }\n  \
                    b: { type: condition, on: x, branches: [ { when: { eq: go }, then: end } ], default: stop }\n  \
                    end: { type: terminal, outcome: done, summary: Over. }\n  \
                    stop: { type: terminal, outcome: stopped, summary: Not. }\n";

fn walked() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("trees")).unwrap();
    std::fs::write(folder.path().join("trees/t.yaml"), TREE).unwrap();
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    let mut client = Client::start(command.args(["serve", "trees"]), &json!({})).unwrap();
    let start = client.structured("tree_start", &json!({"tree_id": "t"})).unwrap();
    let session = start["session_id"].as_str().unwrap().to_owned();
    let answer = |step: u64| json!({"session_id": session, "step": step, "value": "go"});
    client.structured("tree_answer", &answer(9)).unwrap();
    assert_eq!(client.structured("tree_answer", &answer(1)).unwrap()["outcome"], "done");
    client.close().unwrap();
    (folder, session)
}

fn run(folder: &TempDir, args: &[&str]) -> (Output, String) {
    let output = program_in(Path::new(PROGRAM), folder.path()).args(args).output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output, text)
}

#[test]
fn what_a_server_left_is_whole_and_goes_the_same_way_again() {
    let (folder, session) = walked();
    let (output, text) = run(&folder, &["verify", &session]);
    assert!(output.status.success() && text.starts_with(&format!("OK   {session}: 3 lines, head ")), "{text}");
    let (output, text) = run(&folder, &["replay", &session]);
    assert!(output.status.success(), "{text}");
    assert_eq!(text, format!("OK   {session}: 3 events, the same to the byte\n"));
    let (output, text) = run(&folder, &["verify", "--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert!(output.status.success());
    assert_eq!((report["ok"].clone(), report["sessions"][0]["damages"].clone()), (json!(true), json!([])));
}

#[test]
fn heads_kept_elsewhere_tell_of_sessions_that_are_gone() {
    let (folder, session) = walked();
    let (output, heads) = run(&folder, &["verify", "--export-heads"]);
    assert!(output.status.success());
    let other = heads.replace(&session, "ses_00000000000000000000000000000001");
    std::fs::write(folder.path().join("heads"), heads + &other).unwrap();
    let (output, text) = run(&folder, &["verify", "--heads", "heads"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text, "FAIL ses_00000000000000000000000000000001: the session is gone, and its head was exported\n");
    std::fs::write(folder.path().join("heads"), "nonsense\n").unwrap();
    let (output, _) = run(&folder, &["verify", "--heads", "heads"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn an_edited_procedure_shows_which_runs_it_would_lead_elsewhere() {
    let (folder, session) = walked();
    std::fs::write(folder.path().join("new.yaml"), TREE.replace("eq: go", "eq: come")).unwrap();
    let (output, text) = run(&folder, &["replay", "--with-document", "new.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.starts_with(&format!("DIFF {session}: line 3, entries\n")), "{text}");
    assert!(text.contains("\"end\"") && text.contains("\"stop\""), "{text}");
}

#[test]
fn without_sessions_both_say_so() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["verify", "replay"] {
        assert_eq!(run(&folder, &[command]).0.status.code(), Some(1), "{command}");
    }
}
