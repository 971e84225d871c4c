//! The life of a session under the contract's rules, seen from outside through the probe.

use serde_json::{Value, json};
use wfhost::plugin::contract::{Reply, Source};
use wfhost::session::model::SessionId;
use wfhost::session::{Caller, OwnSessions};
use wfhost_tests::lab::Lab;

fn lab() -> Lab {
    Lab::probe(&[("a.probe", "probe a"), ("b.probe", "probe b")]).unwrap()
}

fn started(lab: &Lab) -> String {
    lab.value("probe_start", &json!({})).unwrap()["session"].as_str().unwrap().to_owned()
}

fn seen(lab: &Lab, session: &str) -> Value {
    lab.value("probe_look", &json!({"session": session})).unwrap()["state"]["seen"].clone()
}

#[test]
fn an_answer_without_a_session_opens_one_of_the_connections_own() {
    let lab = lab();
    let first = lab.value("probe_do", &json!({"do": "x"})).unwrap();
    // Opened and moved in one transaction: two events, one session.
    assert_eq!(first["state"], json!({"count": 2, "seen": ["open", "x"]}));
    let second = lab.value("probe_do", &json!({"do": "y"})).unwrap();
    assert_eq!(second["session"], first["session"]);
    assert_eq!(second["state"]["count"], 3);
    let other = Caller { channel: "test", own: Some(OwnSessions::default()), ..Caller::default() };
    let third: Value =
        serde_json::from_str(&lab.host.blocking().call(&other, "probe_do", r#"{"do":"z"}"#).unwrap().output.value)
            .unwrap();
    assert_ne!(third["session"], first["session"]);
    // Without a connection each answer opens a session.
    let none = Caller { channel: "test", ..Caller::default() };
    let ids: Vec<Value> = (0..2)
        .map(|_| {
            serde_json::from_str::<Value>(&lab.host.blocking().call(&none, "probe_do", "{}").unwrap().output.value)
                .unwrap()["session"]
                .clone()
        })
        .collect();
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_read_opens_nothing() {
    let lab = lab();
    let looked = lab.value("probe_look", &json!({})).unwrap();
    assert_eq!(looked["state"]["seen"], json!(["open"]));
    assert!(lab.host.list(&wfhost::store::Query { limit: 10, ..Default::default() }).unwrap().is_empty());
}

#[test]
fn a_refusal_is_journalled_and_changes_nothing() {
    let lab = lab();
    let session = started(&lab);
    let before = lab.value("probe_look", &json!({"session": session})).unwrap();
    assert_eq!(lab.value("probe_do", &json!({"do": "refuse", "session": session})).unwrap()["refused"], "told-to");
    assert_eq!(lab.value("probe_look", &json!({"session": session})).unwrap(), before);
    let steps = lab.host.steps(&lab.caller, session.parse().unwrap()).unwrap();
    assert_eq!(steps.last().unwrap().line.refusal.as_ref().unwrap().code, "told-to");
    assert!(lab.value("probe_start", &json!({"do": "refuse"})).is_ok());
    assert_eq!(lab.host.list(&wfhost::store::Query { limit: 10, ..Default::default() }).unwrap().len(), 1);
}

#[test]
fn timers_and_deadlines_come_due_with_and_without_a_call() {
    let lab = lab();
    let session = started(&lab);
    lab.call("probe_do", &json!({"do": "timer", "n": 1000, "session": session})).unwrap();
    assert_eq!(lab.host.sweep().unwrap().0, 0);
    lab.clock.pass(999);
    assert_eq!(lab.host.sweep().unwrap().0, 0);
    lab.clock.pass(1);
    assert_eq!(lab.host.sweep().unwrap().0, 1);
    assert_eq!(seen(&lab, &session).as_array().unwrap().last().unwrap(), "reply r null");
    assert_eq!(lab.host.sweep().unwrap().0, 0, "fired once");
    // A deadline that has passed comes before the call that finds it.
    lab.call("probe_do", &json!({"do": "deadline", "n": 50, "session": session})).unwrap();
    lab.clock.pass(60);
    lab.call("probe_do", &json!({"do": "late", "session": session})).unwrap();
    let seen = seen(&lab, &session);
    assert_eq!(seen.as_array().unwrap()[2..], [json!("reply r Mishap::TimedOut"), json!("late")]);
}

#[test]
fn memories_are_handed_over_as_far_as_the_window_reaches() {
    let lab = lab();
    let session = started(&lab);
    lab.call("probe_do", &json!({"do": "remember", "n": 5, "session": session})).unwrap();
    let next = lab.value("probe_do", &json!({"do": "window", "n": 100, "session": session})).unwrap();
    assert_eq!((next["memory"].clone(), next["remembered"].clone()), (json!(["2", "3", "4"]), json!(5)));
    let all = lab.value("probe_do", &json!({"do": "nothing", "session": session})).unwrap();
    assert_eq!(all["memory"].as_array().unwrap().len(), 5);
    let none = lab.value("probe_do", &json!({"do": "nothing", "session": session})).unwrap();
    assert_eq!((none["memory"].clone(), none["remembered"].clone()), (json!([]), json!(5)));
}

#[test]
fn the_state_after_any_entry_can_be_laid_out() {
    let lab = lab();
    let session = started(&lab);
    for step in 2..=80 {
        lab.call("probe_do", &json!({"do": format!("step {step}"), "session": session})).unwrap();
    }
    for seq in [1_u64, 2, 31, 32, 33, 64, 79, 80] {
        let fresh = started(&lab);
        let back = lab.value("probe_do", &json!({"do": "back", "n": seq, "from": session, "session": fresh})).unwrap();
        assert_eq!(back["state"]["count"], seq + 1, "entry {seq}");
    }
    let fresh = started(&lab);
    for nothing in [
        json!({"do": "back", "n": 81, "from": session, "session": fresh}),
        json!({"do": "back", "from": "ses_x", "session": fresh}),
    ] {
        assert_eq!(lab.value("probe_do", &nothing).unwrap()["refused"], "nothing-there");
    }
}

#[test]
fn a_trace_comes_in_pages() {
    let lab = lab();
    let session = started(&lab);
    for step in 2..=300 {
        let what = if step % 7 == 0 { "refuse" } else { "x" };
        lab.call("probe_do", &json!({"do": what, "session": session})).unwrap();
    }
    let page = |args: Value| lab.value("probe_trace", &args).unwrap();
    let all = page(json!({"session": session, "after": 0}));
    let total = all["total"].as_u64().unwrap();
    assert_eq!(total, 300 - 300 / 7);
    assert_eq!(all["entries"].as_array().unwrap().len() as u64, total);
    for after in [0, 1, 5, 6, 7, 100, total - 1, total, total + 5] {
        let got = page(json!({"session": session, "after": after, "n": 10}))["entries"].clone();
        let numbers: Vec<u64> = got.as_array().unwrap().iter().map(|e| e[0].as_u64().unwrap()).collect();
        assert_eq!(numbers, (after + 1..=total.min(after + 10)).collect::<Vec<_>>(), "after {after}");
    }
    let newest = page(json!({"session": session, "n": 3}))["entries"].clone();
    assert_eq!(newest.as_array().unwrap()[2][0].as_u64().unwrap(), total);
}

#[test]
fn a_reply_closes_its_request_once() {
    let lab = lab();
    let session = started(&lab);
    lab.call("probe_do", &json!({"do": "ask", "session": session})).unwrap();
    let id: SessionId = session.parse().unwrap();
    let reply = Reply { request: "r".into(), value: Ok("\"yes\"".into()) };
    let need = lab.host.store().head(id).unwrap().unwrap().requests[0].need.clone();
    // The answer to another question that bore the same id closes nothing.
    assert!(lab.host.blocking().reply(&lab.caller, (id, "another"), &reply, Source::Human).unwrap().is_none());
    assert!(lab.host.blocking().reply(&lab.caller, (id, &need), &reply, Source::Human).unwrap().is_some());
    assert!(lab.host.blocking().reply(&lab.caller, (id, &need), &reply, Source::Human).unwrap().is_none());
    assert_eq!(seen(&lab, &session).as_array().unwrap().last().unwrap(), "reply r \"yes\"");
}

#[test]
fn what_nobody_can_carry_out_is_unavailable() {
    struct Nobody;
    impl wfhost::session::Effects for Nobody {
        async fn given_up(&self) {
            std::future::pending::<()>().await;
        }
        async fn pause(&self, time: std::time::Duration) {
            tokio::time::sleep(time).await;
        }
        fn can(&self, _: &wfhost::session::Ask) -> bool {
            false
        }
        async fn tell(&self, _: &[String]) {}
        async fn ask(&self, _: &wfhost::session::Ask, _: std::time::Duration) -> wfhost::session::Answered {
            wfhost::session::Answered::Cannot
        }
    }
    let lab = lab();
    let session = started(&lab);
    let first = lab.call("probe_do", &json!({"do": "upstream", "session": session})).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(lab.host.drive(&lab.caller, first, &Nobody)).unwrap();
    assert_eq!(seen(&lab, &session).as_array().unwrap().last().unwrap(), "reply r Mishap::Unavailable");
}

#[test]
fn ids_are_accepted_in_their_exact_form_only() {
    let lab = lab();
    let session = started(&lab);
    for wrong in [
        "",
        "ses_",
        "../../etc/passwd",
        "ses_\0",
        &session.to_uppercase(),
        &format!("{session}0"),
        &format!(" {session}"),
        &"x".repeat(10_000),
    ] {
        let got = lab.call("probe_look", &json!({"session": wrong})).unwrap();
        assert!(got.output.is_error && got.output.value.contains("unknown session"), "{wrong:.60}");
    }
}

#[test]
fn twenty_answers_at_once_come_one_after_the_other() {
    let lab = lab();
    let session = started(&lab);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                for _ in 0..10 {
                    lab.call("probe_do", &json!({"do": "x", "session": session})).unwrap();
                }
            });
        }
    });
    let looked = lab.value("probe_look", &json!({"session": session})).unwrap();
    assert_eq!(looked["state"]["count"], 201);
    let steps = lab.host.steps(&lab.caller, session.parse().unwrap()).unwrap();
    let numbers: Vec<u64> = steps.iter().map(|s| s.line.n).collect();
    assert_eq!(numbers, (1..=201).collect::<Vec<_>>());
}

/// Every line names the one before through the chain, and the head names the last.
#[test]
fn the_journal_is_one_chain() {
    use wfhost::session::line::{genesis, link};
    let lab = lab();
    let session = started(&lab);
    for what in ["x", "refuse", "remember", "trap", "end"] {
        let _ = lab.call("probe_do", &json!({"do": what, "session": session}));
    }
    let id: SessionId = session.parse().unwrap();
    let store = lab.host.store();
    let head = store.head(id).unwrap().unwrap();
    let lines = store.lines(id, 1, wfhost::store::Limit { lines: 100, bytes: usize::MAX }).unwrap();
    assert_eq!(lines.len() as u64, head.lines);
    assert_eq!(lines.iter().fold(genesis(&head), |chain, line| link(chain, line)), head.chain);
}

#[test]
fn a_plugin_that_breaks_on_a_first_call_leaves_no_session() {
    let lab = lab();
    assert!(lab.call("probe_do", &json!({"do": "trap"})).is_err());
    assert!(lab.host.list(&wfhost::store::Query { limit: 10, ..Default::default() }).unwrap().is_empty());
    assert_eq!(lab.value("probe_do", &json!({"do": "x"})).unwrap()["state"]["count"], 2);
}

#[test]
fn a_timer_on_which_the_plugin_breaks_takes_no_call_with_it() {
    let lab = lab();
    let session = started(&lab);
    lab.call("probe_do", &json!({"do": "bad-timer", "n": 10, "session": session})).unwrap();
    lab.clock.pass(20);
    let (moved, faults) = lab.host.sweep().unwrap();
    assert_eq!((moved, faults.len()), (0, 1));
    // It rests until a call comes, and that call is worked on all the same.
    assert_eq!(lab.host.sweep().unwrap().1.len(), 0);
    lab.call("probe_do", &json!({"do": "later", "session": session})).unwrap();
    assert_eq!(seen(&lab, &session).as_array().unwrap().last().unwrap(), "later");
}

#[test]
fn a_refused_failure_leaves_its_request_open_and_is_not_sent_again() {
    let lab = lab();
    let session = started(&lab);
    lab.call("probe_do", &json!({"do": "stubborn", "session": session})).unwrap();
    for _ in 0..3 {
        lab.call("probe_do", &json!({"do": "keep", "session": session})).unwrap();
    }
    let id: SessionId = session.parse().unwrap();
    assert_eq!(lab.host.store().head(id).unwrap().unwrap().requests[0].id, "refuse");
    let steps = lab.host.steps(&lab.caller, id).unwrap();
    assert_eq!(steps.iter().filter(|s| s.line.refusal.is_some()).count(), 1);
}
