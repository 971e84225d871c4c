//! Documents change while they are served: new ones are found, bad versions leave the last good one, runs end on what they
//! began with, and clients are told.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::lab::built;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

fn tree(id: &str, prompt: &str) -> String {
    format!(
        "mcptree: \"0.2\"\nid: {id}\ntitle: T\nentry: a\nnodes:\n  a: {{ type: ask, prompt: \"{prompt}\", capture: x, next: b }}\n  \
         b: {{ type: ask, prompt: \"second of {prompt}\", capture: y, next: end }}\n  end: {{ type: terminal, outcome: done, summary: Over. }}\n"
    )
}

fn folder(documents: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("trees")).unwrap();
    for (name, text) in documents {
        std::fs::write(folder.path().join("trees").join(name), text).unwrap();
    }
    folder
}

fn start(folder: &Path) -> Client {
    Client::start(program_in(Path::new(PROGRAM), folder).args(["serve", "trees"]), &json!({})).unwrap()
}

fn listed(client: &mut Client) -> Vec<String> {
    let list = client.structured("tree_list", &json!({})).unwrap();
    list["result"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap().to_owned()).collect()
}

/// What is asked first in a new run.
fn prompt(client: &mut Client, id: &str) -> Value {
    client.structured("tree_start", &json!({"tree_id": id})).map_or(Value::Null, |e| e["instruction"].clone())
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(15);
    while !holds() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(25));
    }
}

#[test]
fn every_way_of_saving_is_noticed() {
    let folder = folder(&[("t.yaml", &tree("t", "one"))]);
    let path = folder.path().join("trees/t.yaml");
    let mut client = start(folder.path());
    assert_eq!(prompt(&mut client, "t"), "one");
    std::fs::write(&path, tree("t", "written over")).unwrap();
    eventually("truncate and write", || prompt(&mut client, "t") == "written over");
    let beside = folder.path().join("t.new");
    std::fs::write(&beside, tree("t", "renamed over")).unwrap();
    std::fs::rename(&beside, &path).unwrap();
    eventually("rename over", || prompt(&mut client, "t") == "renamed over");
    std::fs::remove_file(&path).unwrap();
    eventually("removed", || listed(&mut client).is_empty());
    std::fs::write(&path, tree("t", "made again")).unwrap();
    eventually("made again", || prompt(&mut client, "t") == "made again");
    #[cfg(unix)]
    {
        // As a mounted configuration is exchanged: the file is a link through a folder that is swapped.
        let data = |name: &str, text: &str| {
            let folder = folder.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("t.yaml"), text).unwrap();
            folder
        };
        let swap = folder.path().join("trees/..data");
        std::os::unix::fs::symlink(data("v1", &tree("t", "linked")), &swap).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("..data/t.yaml", &path).unwrap();
        eventually("a link", || prompt(&mut client, "t") == "linked");
        let next = folder.path().join("trees/..next");
        std::os::unix::fs::symlink(data("v2", &tree("t", "swapped")), &next).unwrap();
        std::fs::rename(&next, &swap).unwrap();
        eventually("a swapped link", || prompt(&mut client, "t") == "swapped");
    }
}

#[test]
fn a_bad_version_leaves_the_last_good_one() {
    let folder = folder(&[("t.yaml", &tree("t", "good")), ("u.yaml", &tree("u", "other"))]);
    let path = folder.path().join("trees/t.yaml");
    let mut client = start(folder.path());
    std::fs::write(&path, "mcptree: \"0.2\"\nid: t\nnodes: {").unwrap();
    std::fs::write(folder.path().join("trees/v.yaml"), tree("v", "new")).unwrap();
    eventually("the new document", || listed(&mut client).contains(&"v".to_owned()));
    assert_eq!(prompt(&mut client, "t"), "good");
    std::fs::write(&path, tree("t", "mended")).unwrap();
    eventually("the mended document", || prompt(&mut client, "t") == "mended");
}

#[test]
fn a_run_ends_on_what_it_began_with() {
    let folder = folder(&[("t.yaml", &tree("t", "old")), ("u.yaml", &tree("u", "other"))]);
    let mut client = start(folder.path());
    let session = client.structured("tree_start", &json!({"tree_id": "t"})).unwrap()["session_id"].clone();
    let hash = client.structured("tree_trace", &json!({"session_id": session})).unwrap()["tree_hash"].clone();
    std::fs::remove_file(folder.path().join("trees/t.yaml")).unwrap();
    eventually("the removal", || listed(&mut client) == ["u"]);
    let next = client.structured("tree_answer", &json!({"session_id": session, "step": 1, "value": "x"})).unwrap();
    assert_eq!(next["instruction"], "second of old");
    assert!(client.close().unwrap().success());
    // After a restart without the document, too.
    let mut client = start(folder.path());
    let end = client.structured("tree_answer", &json!({"session_id": session, "step": 2, "value": "y"})).unwrap();
    assert_eq!(end["outcome"], "done");
    assert_eq!(client.structured("tree_trace", &json!({"session_id": session})).unwrap()["tree_hash"], hash);
}

#[test]
fn legacy_clients_are_told_that_the_list_has_changed() {
    let folder = folder(&[("t.yaml", &tree("t", "old"))]);
    let mut client = start(folder.path());
    std::fs::write(folder.path().join("trees/u.yaml"), tree("u", "new")).unwrap();
    let until = Instant::now() + Duration::from_secs(15);
    let told = loop {
        let message = client.receive(until.saturating_duration_since(Instant::now())).unwrap();
        if message.get("method").is_some() {
            break message;
        }
    };
    assert_eq!(told["method"], "notifications/tools/list_changed");
}

#[test]
fn one_bad_document_among_good_ones_is_told_and_left_out() {
    for bad in ["0.yaml", "m.yaml", "z.yaml"] {
        let folder =
            folder(&[("a.yaml", &tree("a", "x")), ("n.yaml", &tree("n", "y")), (bad, "mcptree: \"0.2\"\nid: bad\n")]);
        let output = program_in(Path::new(PROGRAM), folder.path())
            .args(["serve", "trees"])
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{stderr}");
        assert!(stderr.contains(&format!("trees/{bad}")), "{stderr}");
        let strict = program_in(Path::new(PROGRAM), folder.path())
            .args(["serve", "trees", "--strict"])
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        assert_eq!(strict.status.code(), Some(1));
        assert_eq!(listed(&mut start(folder.path())), ["a", "n"]);
    }
}

#[test]
fn the_missions_own_line_works() {
    let folder = folder(&[("t.yaml", &tree("t", "first"))]);
    let plugin = built(Path::new(PROGRAM), "trees.wasm");
    for name in ["trees.wasm", "renamed.wasm"] {
        std::fs::copy(&plugin, folder.path().join(name)).unwrap();
        let mut command = program_in(Path::new(PROGRAM), folder.path());
        let mut client = Client::start(command.args(["serve", "--plugin", name, "trees/"]), &json!({})).unwrap();
        assert_eq!(prompt(&mut client, "t"), "first");
    }
    std::fs::write(folder.path().join("probe.wasm"), wfhost_tests::lab::PROBE).unwrap();
    std::fs::write(folder.path().join("trees/p.probe"), "probe p").unwrap();
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    command.args(["serve", "--plugin", "trees.wasm", "--plugin", "probe.wasm", "trees/"]);
    let mut client = Client::start(&mut command, &json!({})).unwrap();
    assert_eq!(prompt(&mut client, "t"), "first");
    assert_eq!(client.structured("probe_start", &json!({})).unwrap()["state"]["count"], 1);
    // The same plugin twice is one name twice.
    let twice = program_in(Path::new(PROGRAM), folder.path())
        .args(["serve", "--plugin", "trees.wasm", "--plugin", "renamed.wasm", "trees/"])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .output()
        .unwrap();
    assert!(!twice.status.success());
    assert!(String::from_utf8(twice.stderr).unwrap().contains("`trees`"));
}

#[test]
fn a_question_for_people_only_refuses_the_agents_testimony() {
    let folder = folder(&[("t.yaml", &tree("t", "Did the owner agree?"))]);
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    let mut client = Client::start(command.args(["serve", "trees", "--human-only"]), &json!({})).unwrap();
    let session =
        client.structured("tree_start", &json!({"tree_id": "t"})).unwrap()["session_id"].as_str().unwrap().to_owned();
    let refused = client.structured("tree_answer", &json!({"session_id": session, "step": 1, "value": "yes"})).unwrap();
    assert!(refused["error"].as_str().unwrap().starts_with("human_only"), "{refused}");
    assert_eq!(refused["step"], 1);
    // The operator's word counts, and stands in the trace as such.
    let answered =
        program_in(Path::new(PROGRAM), folder.path()).args(["sessions", "answer", &session, "yes"]).output().unwrap();
    assert!(answered.status.success(), "{}", String::from_utf8_lossy(&answered.stdout));
    let trace = client.structured("tree_trace", &json!({"session_id": session})).unwrap();
    assert_eq!(trace["trace"][0]["source"], "operator");
}
