//! kill -9 at any instant, and several processes on one data folder: what was acknowledged is there, once.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

/// A question that leads to itself: every accepted answer is a step.
const LOOP: &str = r#"mcptree: "0.2"
id: loop
title: A loop
max_steps: 100000
entry: again
nodes:
  again: { type: ask, prompt: "Which number?", capture: number, next: more }
  more:
    type: condition
    on: number
    branches: [ { when: { eq: "stop" }, then: end } ]
    default: again
  end: { type: terminal, outcome: stopped, summary: Stopped. }
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("trees")).unwrap();
    std::fs::write(folder.path().join("trees/loop.yaml"), LOOP).unwrap();
    folder
}

fn serve(folder: &Path) -> Command {
    let mut command = program_in(Path::new(PROGRAM), folder);
    command.args(["serve", "trees"]);
    command
}

fn start(folder: &Path) -> Client {
    Client::start(&mut serve(folder), &json!({})).unwrap()
}

fn begin(client: &mut Client) -> String {
    let envelope = client.structured("tree_start", &json!({"tree_id": "loop"})).unwrap();
    envelope["session_id"].as_str().unwrap().to_owned()
}

fn step(client: &mut Client, session: &str) -> u64 {
    client.structured("tree_status", &json!({"session_id": session})).unwrap()["step"].as_u64().unwrap()
}

fn answer(session: &str, step: u64, value: &str) -> Value {
    json!({"name": "tree_answer", "arguments": {"session_id": session, "step": step, "value": value}})
}

/// A small generator: the seed is printed with a failure, so that a run can be had again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

#[test]
fn killed_at_any_instant_the_session_is_before_or_after_the_step() {
    let folder = folder();
    let seed = u64::from(std::process::id());
    let mut dice = Dice(seed);
    let mut client = start(folder.path());
    let session = begin(&mut client);
    let (mut at, mut acknowledged, mut after) = (1, 0, 0);
    for round in 0..150 {
        let id = client.ask("tools/call", &answer(&session, at, &format!("round {round}"))).unwrap();
        // From before the request is read until after its reply.
        let reply = match dice.roll(4) {
            0 => None,
            1 => client.response(id).ok(),
            _ => {
                std::thread::sleep(Duration::from_micros(dice.roll(4_000)));
                client.receive(Duration::ZERO).ok()
            }
        };
        client.kill().unwrap();
        client = start(folder.path());
        let now = step(&mut client, &session);
        assert!(now == at || now == at + 1, "seed {seed} round {round}: at {now} after {at}");
        if reply.is_some() {
            assert_eq!(now, at + 1, "seed {seed} round {round}: an acknowledged answer is lost");
            acknowledged += 1;
        }
        // A client without its reply sends again, and is told where the session stands.
        let again = client.structured("tree_answer", &answer(&session, at, "again")["arguments"]).unwrap();
        if now == at {
            assert_eq!(again["error"], Value::Null, "seed {seed} round {round}");
        } else {
            after += 1;
            assert!(again["error"].as_str().unwrap().starts_with("step_mismatch"), "seed {seed} round {round}");
        }
        assert_eq!(again["step"].as_u64().unwrap(), at + 1);
        at += 1;
    }
    let trace = client.structured("tree_trace", &json!({"session_id": session})).unwrap();
    let answers = trace["trace"].as_array().unwrap().iter().filter(|e| e["source"] == "tree_answer").count();
    assert_eq!(answers, 150, "seed {seed}");
    assert!(acknowledged > 10 && after > acknowledged / 2, "seed {seed}: {acknowledged} acknowledged, {after} after");
}

/// Many calls at once: their commits wait in one queue and go to the disk together.
#[test]
fn killed_in_the_midst_of_many_calls_every_session_is_before_or_after_its_step() {
    let folder = folder();
    let seed = u64::from(std::process::id());
    let mut dice = Dice(seed);
    let mut client = start(folder.path());
    let sessions: Vec<String> = (0..12).map(|_| begin(&mut client)).collect();
    let mut at = vec![1; sessions.len()];
    let (mut acknowledged, mut lost) = (0, 0);
    for round in 0..60 {
        let ids: Vec<u64> = sessions
            .iter()
            .zip(&at)
            .map(|(session, at)| client.ask("tools/call", &answer(session, *at, &format!("round {round}"))).unwrap())
            .collect();
        std::thread::sleep(Duration::from_micros(dice.roll(20_000)));
        client.kill().unwrap();
        let mut told = Vec::new();
        while let Ok(message) = client.receive(Duration::from_secs(5)) {
            told.extend(message["id"].as_u64());
        }
        client = start(folder.path());
        for ((session, at), id) in sessions.iter().zip(&mut at).zip(ids) {
            let now = step(&mut client, session);
            assert!(now == *at || now == *at + 1, "seed {seed} round {round}: at {now} after {at}");
            if told.contains(&id) {
                assert_eq!(now, *at + 1, "seed {seed} round {round}: an acknowledged answer is lost");
                acknowledged += 1;
            }
            lost += u64::from(now == *at);
            *at = now;
        }
    }
    drop(client);
    let verified = program_in(Path::new(PROGRAM), folder.path()).args(["verify", "--json"]).output().unwrap();
    let verdict: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(verdict["ok"], json!(true), "seed {seed}: {verdict}");
    assert!(acknowledged > 20 && lost > 20, "seed {seed}: {acknowledged} acknowledged, {lost} not begun");
}

#[test]
fn of_two_simultaneous_answers_exactly_one_is_accepted() {
    let folder = folder();
    let mut clients = [start(folder.path()), start(folder.path())];
    let session = begin(&mut clients[0]);
    for round in 1..=300 {
        let ids: Vec<u64> = clients
            .iter_mut()
            .enumerate()
            .map(|(i, c)| c.ask("tools/call", &answer(&session, round, &format!("client {i}"))).unwrap())
            .collect();
        let errors: Vec<Value> = clients
            .iter_mut()
            .zip(ids)
            .map(|(client, id)| {
                let response = client.response(id).unwrap();
                assert_eq!(response["result"]["isError"], json!(false), "round {round}: {response}");
                assert_eq!(
                    response["result"]["structuredContent"]["step"],
                    json!(round + 1),
                    "round {round}: {response}"
                );
                response["result"]["structuredContent"]["error"].clone()
            })
            .collect();
        assert_eq!(errors.iter().filter(|e| e.is_null()).count(), 1, "round {round}: {errors:?}");
    }
    assert_eq!(step(&mut clients[1], &session), 301);
}

#[test]
fn when_one_process_is_killed_the_other_answers_within_two_seconds() {
    let folder = folder();
    let mut first = start(folder.path());
    let session = begin(&mut first);
    for round in 0..10 {
        let mut other = start(folder.path());
        let at = step(&mut other, &session);
        first.ask("tools/call", &answer(&session, at, "from the one that dies")).unwrap();
        first.kill().unwrap();
        let killed = Instant::now();
        let now = step(&mut other, &session);
        assert!(killed.elapsed() < Duration::from_secs(2), "round {round}: {:?}", killed.elapsed());
        assert!(now == at || now == at + 1);
        let accepted = other.structured("tree_answer", &answer(&session, now, "from the other")["arguments"]).unwrap();
        assert_eq!(accepted["error"], Value::Null, "round {round}");
        first = other;
    }
}

#[test]
fn three_processes_started_in_the_same_second_all_serve() {
    let folder = folder();
    let path = folder.path().to_owned();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut client = start(&path);
                let session = begin(&mut client);
                for at in 1..=20 {
                    let envelope = client.structured("tree_answer", &answer(&session, at, "x")["arguments"]).unwrap();
                    assert_eq!(envelope["error"], Value::Null);
                }
                (client, session)
            })
        })
        .collect();
    let mut served: Vec<(Client, String)> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    let sessions: Vec<String> = served.iter().map(|(_, s)| s.clone()).collect();
    // Each sees the sessions of the others.
    for (client, _) in &mut served {
        let listed = client.structured("tree_sessions", &json!({})).unwrap();
        let listed: Vec<&str> =
            listed["sessions"].as_array().unwrap().iter().filter_map(|s| s["session_id"].as_str()).collect();
        assert!(sessions.iter().all(|s| listed.contains(&s.as_str())), "{listed:?}");
    }
}

#[test]
fn one_reads_while_another_writes() {
    let folder = folder();
    let mut writer = start(folder.path());
    let mut reader = start(folder.path());
    let session = begin(&mut writer);
    let writing = {
        let session = session.clone();
        std::thread::spawn(move || {
            for at in 1..=200 {
                let envelope = writer.structured("tree_answer", &answer(&session, at, "x")["arguments"]).unwrap();
                assert_eq!(envelope["error"], Value::Null);
            }
            writer
        })
    };
    let mut last = 1;
    while !writing.is_finished() {
        let now = step(&mut reader, &session);
        assert!(now >= last, "a reader went back from {last} to {now}");
        last = now;
    }
    drop(writing.join().unwrap());
    assert_eq!(step(&mut reader, &session), 201);
}

#[test]
fn a_server_that_ends_by_itself_leaves_the_store_closed() {
    let folder = folder();
    let mut client = start(folder.path());
    begin(&mut client);
    assert!(client.close().unwrap().success());
    let again =
        serve(folder.path()).stdin(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).output().unwrap();
    let told = String::from_utf8(again.stderr).unwrap();
    assert!(again.status.success() && !told.contains("was not closed"), "{told}");
}
