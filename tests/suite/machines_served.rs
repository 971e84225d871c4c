//! Machines through the program: several in one host, personas as prompts from the live session, and an assembly that bundles
//! machine, personas, servers and instructions.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

const STAND_IN: &str = env!("CARGO_BIN_EXE_recorded-upstream");

const COFFEE: &str = "machine: coffee\nentry: order\nstate: {item: null}\nactions:\n  order: {inputs: {item: string}, writes: [item], \
                      set: {item: \"{{ item }}\"}}\n  pay: {}\ntransitions:\n  - {from: order, to: pay}\n\
                      server: {personas: barista.md}\n";
const LIFT: &str = "machine: lift\nentry: up\nstate: {floor: 0}\nactions:\n  up: {writes: [floor], set: {floor: \"{{ floor + 1 }}\"}}\n\
                    transitions:\n  - {from: up, to: up}\n";
const BARISTA: &str = "---\nname: barista\ndescription: Pours.\nvoice: warm\n---\nServe {state.item} in {session.session_id}. Last: \
                       {action.name}. Next: {action.reachable}. Of {graph.total_actions}.{nothing.here}\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join("all").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn serve(folder: &TempDir) -> Client {
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    Client::start(command.args(["serve", "all", "--strict"]), &json!({})).unwrap()
}

fn resource(client: &mut Client, uri: &str) -> Value {
    let read = client.request("resources/read", &json!({"uri": uri})).unwrap();
    serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap()
}

fn prompt(client: &mut Client, name: &str, arguments: &Value) -> String {
    let got = client.request("prompts/get", &json!({"name": name, "arguments": arguments})).unwrap();
    got["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
}

#[test]
fn each_call_names_its_machine_and_a_connection_has_a_session_of_each() {
    let folder = folder(&[("coffee.yaml", COFFEE), ("lift.yaml", LIFT), ("barista.md", BARISTA)]);
    let mut client = serve(&folder);
    let unnamed = client.tool("step", &json!({"action": "up"})).unwrap().to_string();
    assert!(unnamed.contains("coffee") && unnamed.contains("lift"), "{unnamed}");
    let unknown = client.tool("step", &json!({"action": "up", "machine": "tram"})).unwrap().to_string();
    assert!(unknown.contains("no machine `tram`") && unknown.contains("lift"), "{unknown}");
    let step = |client: &mut Client, args: Value| client.structured("step", &args).unwrap();
    let coffee = step(&mut client, json!({"machine": "coffee", "action": "order", "inputs": {"item": "tea"}}));
    let lift = step(&mut client, json!({"machine": "lift", "action": "up"}));
    assert_ne!(coffee["session"], lift["session"]);
    assert_eq!(step(&mut client, json!({"machine": "lift", "action": "up"}))["state"], json!({"floor": 2}));
    // The session alone says which machine it is of.
    let paid = step(&mut client, json!({"session": coffee["session"], "action": "pay"}));
    assert_eq!((paid["session"].clone(), paid["valid_next_actions"].clone()), (coffee["session"].clone(), json!([])));
    for uri in ["wfhost://machines/coffee/state", "wfhost://machines/lift/state"] {
        let read = client.tool("read_resource", &json!({"uri": uri})).unwrap();
        let told: Value = serde_json::from_str(read["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(told, resource(&mut client, uri));
    }
    assert_eq!(resource(&mut client, "wfhost://machines/lift/state"), json!({"floor": 2}));
}

#[test]
fn a_persona_speaks_from_the_live_session() {
    let folder = folder(&[("coffee.yaml", COFFEE), ("barista.md", BARISTA)]);
    let mut client = serve(&folder);
    let listed = client.request("prompts/list", &json!({})).unwrap();
    let names: Vec<&str> = listed["prompts"].as_array().unwrap().iter().filter_map(|p| p["name"].as_str()).collect();
    assert!(names.contains(&"persona/barista"), "{names:?}");
    let before = prompt(&mut client, "persona/barista", &json!({}));
    assert!(before.contains("Voice: warm") && before.contains("Last: order. Next: order. Of 2."), "{before}");
    let ordered = client.structured("step", &json!({"action": "order", "inputs": {"item": "tea"}})).unwrap();
    let session = ordered["session"].as_str().unwrap();
    // What was shown before the first call named the session that then began.
    assert!(before.contains(session), "{before} is not of {session}");
    let after = prompt(&mut client, "persona/barista", &json!({}));
    assert!(after.contains(&format!("Serve tea in {session}. Last: order. Next: pay.")), "{after}");
    // Of another session, by its name, on another connection.
    let mut other = serve(&folder);
    assert_eq!(prompt(&mut other, "persona/barista", &json!({"session": session})), after);
    assert!(!prompt(&mut other, "persona/barista", &json!({})).contains(session));
}

#[test]
fn an_assembly_is_served_in_place_of_its_machine() {
    let machine = "machine: inner\nentry: look\nstate: {seen: null}\nactions:\n  look: {writes: [seen], call: {server: up, tool: echo, \
                   arguments: {a: 1}, into: got}, set: {seen: \"{{ got }}\"}}\n";
    let assembly = "name: desk\nworkflow: inner.yaml\npersonas: people\ndefault_persona: barista\ninstructions: Serve one guest.\n\
                    upstream: {up: {command: STAND_IN, args: [SCRIPT, up]}}\n";
    let folder = folder(&[("inner.yaml", machine), ("people/barista.md", BARISTA)]);
    let script = folder.path().join("script.json");
    let answer = json!({"content": [{"type": "text", "text": "{\"n\": 7}"}]});
    let call = json!({"server": "up", "tool": "echo", "arguments": {"a": 1}, "result": answer});
    std::fs::write(&script, json!({"turn": 1, "calls": [call]}).to_string()).unwrap();
    let assembly = assembly.replace("STAND_IN", STAND_IN).replace("SCRIPT", &script.display().to_string());
    std::fs::write(folder.path().join("all/desk.yaml"), assembly).unwrap();
    let mut client = serve(&folder);
    let told = client.initialized["instructions"].as_str().unwrap().to_owned();
    assert!(told.contains("Serve one guest.") && told.contains("You are acting as the persona 'barista'."), "{told}");
    let resources = client.request("resources/list", &json!({})).unwrap().to_string();
    assert!(resources.contains("wfhost://machines/desk/state") && !resources.contains("machines/inner"), "{resources}");
    let servers = resource(&mut client, "wfhost://machines/desk/upstreams").to_string();
    assert!(servers.contains("\"up\""), "{servers}");
    let looked = client.structured("step", &json!({"action": "look"})).unwrap();
    assert_eq!(looked["state"], json!({"seen": {"n": 7}}));
    assert!(prompt(&mut client, "persona/barista", &json!({})).contains("Last: look."));
}
