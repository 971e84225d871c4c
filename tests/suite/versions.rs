//! Versions of the contract: what was released stays as it was, and a guest of each released version still runs.

use std::path::Path;

use serde_json::{Value, json};
use wfhost::plugin::contract as c;
use wfhost::plugin::{LoadFault, Version};
use wfhost::session::model::Digest;
use wfhost_tests::client::Client;
use wfhost_tests::lab::{PROBE, load};
use wfhost_tests::served::program_in;

use crate::PROGRAM;

/// Every released version with the SHA-256 of its file. A line is added at a release; none is ever changed.
const RELEASED: [(&str, &str); 1] = [("0.1.0", "8ac0df057fe193b90866f3d18ab3440064537b61f47bf857c9b8ac038541a05a")];
/// A guest of 0.1.0, as it was built then.
const FROZEN: &[u8] = include_bytes!("../frozen/0.1.0/checklist.wasm");
const DOCUMENT: &str = "# Before a release\n- [ ] All tests pass\n- [?] The manager agrees\n- [ ] It is announced\n";

#[test]
fn what_was_released_is_as_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/released");
    let mut found: Vec<(String, String)> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| {
            let version = entry.unwrap().file_name().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(folder.join(&version).join("engine.wit")).unwrap();
            assert!(text.starts_with(&format!("package wfhost:engine@{version};")), "{version} calls itself otherwise");
            (version, Digest::of(text.as_bytes()).to_string())
        })
        .collect();
    found.sort();
    let want: Vec<(String, String)> = RELEASED.iter().map(|(v, d)| ((*v).to_owned(), (*d).to_owned())).collect();
    assert_eq!(found, want, "a released version never changes: make a new one (wit/README.md)");
    for (version, _) in RELEASED {
        assert!(Version::of(version).is_some(), "{version} was released and is not spoken");
        let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("frozen").join(version);
        assert!(frozen.is_dir(), "there is no guest frozen at {version}");
    }
}

/// Each function of the contract, so that a type which has changed since is noticed where it is not converted.
#[test]
fn a_guest_of_0_1_0_answers_every_function() {
    let plugin = load("frozen", FROZEN).unwrap();
    assert_eq!((plugin.speaks, plugin.about.name.as_str()), (Version::V0_1_0, "checklist"));
    assert_eq!(plugin.about.skill, None);
    let document = c::Document { path: "a.checklist.md".into(), bytes: DOCUMENT.into() };
    assert_eq!(plugin.recognise(&document).unwrap(), Some(Vec::new()));
    let mut compiled = plugin.compile(&c::Bundle { main: document, companions: Vec::new() }).unwrap();
    let definition = compiled.definitions.remove(0);
    let workflows = [definition.about.clone()];
    assert_eq!(plugin.tools(&workflows).unwrap().len(), 5);
    let call = |tool: &str, args: Value| c::Call { tool: tool.into(), args: args.to_string() };
    let listing = plugin.route(&call("checklist_list", json!({})), &["a".into()]).unwrap().unwrap();
    assert!(matches!(listing, c::Action::Catalogue(Some(_))));
    assert!(plugin.catalogue(&call("checklist_list", json!({})), &workflows, &[]).unwrap().value.contains("\"a\""));
    assert_eq!(plugin.evaluate("none", "1", "{}").unwrap().unwrap_err().code, "no-such-language");
    let session = c::Session { id: "s".into(), started: 1, definition_hash: String::new(), human_only: false };
    let event = |input| c::Event { input, source: c::Source::Agent, at: 1, seed: 1, seq: 1 };
    let code = &definition.code;
    let turn = plugin.start(code, &session, &event(c::Input::Open("{}".into()))).unwrap().unwrap();
    let memory = c::Memory { total: 0, items: Vec::new() };
    let check = event(c::Input::Call(call("checklist_check", json!({"item": 1}))));
    let turn = plugin.answer(code, &session, (&turn.state, &memory), &check).unwrap().unwrap();
    assert_eq!(turn.state, r#"["done","open","open"]"#);
    assert!(matches!(turn.requests[0].need, c::Need::Answer(_)));
    let entry = turn.entries[0].clone();
    let journal = c::Journal { total: 1, entries: vec![c::Kept { seq: 1, at: 1, source: c::Source::Agent, entry }] };
    assert!(plugin.status(code, &session, &turn.state).unwrap().value.contains("\"done\":1"));
    assert!(plugin.trace(code, &session, &turn.state, &journal).unwrap().value.contains("checked"));
    let view = plugin.render(code, &session, (&turn.state, &journal), ("x", "{}")).unwrap();
    assert_eq!(view.unwrap_err().code, "no-such-view");
}

#[test]
fn a_guest_of_0_1_0_serves_a_whole_walk() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("lists")).unwrap();
    std::fs::write(folder.path().join("lists/release.checklist.md"), DOCUMENT).unwrap();
    std::fs::write(folder.path().join("frozen.wasm"), FROZEN).unwrap();
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    command.args(["serve", "lists", "--plugin", "frozen.wasm"]);
    let mut client = Client::start(&mut command, &json!({"elicitation": {"form": {}}})).unwrap();
    let start = client.structured("checklist_start", &json!({"checklist": "release"})).unwrap();
    let run = start["run"].clone();
    let told = client.tool("checklist_check", &json!({"run": run, "item": 2})).unwrap();
    assert_eq!((&told["isError"], &told["structuredContent"]["refused"]), (&json!(true), &json!("for-a-person")));
    client.replies.push_back(json!({"action": "accept", "content": {"value": true}}));
    let checked = client.structured("checklist_check", &json!({"run": run, "item": 1})).unwrap();
    assert_eq!((checked["done"].clone(), client.elicited.len()), (json!(2), 1), "{checked}");
    let end = client.structured("checklist_check", &json!({"run": run, "item": 3})).unwrap();
    assert_eq!(end["finished"], true);
    let trace = client.structured("checklist_trace", &json!({"run": run})).unwrap();
    let who: Vec<&str> = trace["entries"].as_array().unwrap().iter().map(|e| e["who"].as_str().unwrap()).collect();
    assert_eq!(who, ["agent", "agent", "person", "agent"]);
    let list = client.structured("checklist_list", &json!({})).unwrap();
    assert_eq!(list["unfinished"], json!([]));
}

#[test]
fn a_version_that_is_not_spoken_is_told_with_all_that_are() {
    for newer in ["0.9.0", "1.0.0"] {
        let fault = load("newer", &as_version(newer)).map(drop).unwrap_err();
        assert!(matches!(fault, LoadFault::Contract { .. }), "{fault}");
        let want = format!("plugin `newer` speaks wfhost:engine {newer}, this host speaks 0.1.0 and 0.2.0");
        assert_eq!(fault.to_string(), want);
    }
}

/// The probe, which says that it speaks another version.
fn as_version(version: &str) -> Vec<u8> {
    let current = Version::ALL.last().unwrap().number();
    let from = format!("wfhost:engine/engine@{current}").into_bytes();
    let to = format!("wfhost:engine/engine@{version}").into_bytes();
    let mut bytes = PROBE.to_vec();
    let places: Vec<usize> =
        bytes.windows(from.len()).enumerate().filter(|(_, w)| *w == from).map(|(i, _)| i).collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place..place + to.len()].copy_from_slice(&to);
    }
    bytes
}
