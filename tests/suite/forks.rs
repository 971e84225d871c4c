//! Forks of sessions: any entry of any session, whole by itself, and nothing sent that nobody asked for.

use serde_json::{Value, json};
use wfhost::session::model::{Head, OpenRequest, SessionId};
use wfhost::session::{Caller, ForkAt, Instead};
use wfhost_tests::lab::Lab;

fn lab() -> Lab {
    Lab::probe(&[("a.probe", "probe a")]).unwrap()
}

fn walked(lab: &Lab, steps: &[&str]) -> SessionId {
    let session = lab.value("probe_start", &json!({})).unwrap()["session"].clone();
    for what in steps {
        let _ = lab.call("probe_do", &json!({"do": what, "n": 1000, "session": session}));
    }
    session.as_str().unwrap().parse().unwrap()
}

fn fork(lab: &Lab, session: SessionId, seq: u32) -> Head {
    lab.host.fork(&lab.caller, ForkAt { session, seq: Some(seq), sends: false }).unwrap()
}

/// Whole, the same when it is run again, and where its last event left it.
#[track_caller]
fn is_whole(lab: &Lab, session: SessionId) {
    let damages = lab.host.verify(&lab.caller, session, None).unwrap().damages;
    assert_eq!(damages, []);
    let replayed = lab.host.replay(&lab.caller, session, &Instead::default()).unwrap();
    assert_eq!(replayed.difference, None);
}

fn state(head: &Head) -> Value {
    serde_json::from_str(&head.state).unwrap()
}

#[test]
fn every_entry_can_be_forked_from_and_the_fork_is_whole() {
    let lab = lab();
    let session = walked(&lab, &["x", "refuse", "remember", "trap", "y", "back", "z", "end"]);
    let all = lab.host.store().head(session).unwrap().unwrap();
    let states: Vec<Value> =
        lab.host.steps(&lab.caller, session).unwrap().into_iter().filter_map(|step| step.state).collect();
    for seq in 1..=all.entries {
        let head = fork(&lab, session, seq);
        is_whole(&lab, head.session);
        assert_eq!((head.entries, head.fork.unwrap().seq), (seq, seq));
        assert_eq!(state(&head), states[seq as usize - 1], "entry {seq}");
        assert_eq!(lab.host.store().head(head.session).unwrap().as_ref(), Some(&head));
        // It goes on by itself.
        let next = lab.value("probe_do", &json!({"do": "on", "session": head.session.to_string()})).unwrap();
        assert_eq!(next["session"], head.session.to_string());
        is_whole(&lab, head.session);
    }
    assert_eq!(lab.host.store().head(session).unwrap(), Some(all), "the parent is as it was");
}

#[test]
fn a_fork_of_a_fork_names_all_that_it_comes_from() {
    let lab = lab();
    let first = walked(&lab, &["x", "remember", "y"]);
    let second = fork(&lab, first, 3);
    lab.clock.pass(5);
    lab.call("probe_do", &json!({"do": "second", "session": second.session.to_string()})).unwrap();
    let third = fork(&lab, second.session, 4);
    lab.call("probe_do", &json!({"do": "third", "session": third.session.to_string()})).unwrap();
    is_whole(&lab, third.session);
    let fork = third.fork.unwrap();
    assert_eq!((fork.from, fork.root, fork.seq), (second.session, first, 4));
    let lines: Vec<(String, bool)> = lab
        .host
        .steps(&lab.caller, third.session)
        .unwrap()
        .into_iter()
        .map(|step| (step.line.session, step.line.fork.is_some()))
        .collect();
    let [a, b, c] = [first, second.session, third.session].map(|id| id.to_string());
    let expected = [(&a, false), (&a, false), (&a, false), (&b, true), (&b, false), (&c, true), (&c, false)];
    assert_eq!(lines, expected.map(|(id, forked)| (id.clone(), forked)));
}

#[test]
fn a_fork_outlives_the_session_that_it_comes_from() {
    let lab = lab();
    let session = walked(&lab, &["x", "remember", "end"]);
    let head = fork(&lab, session, 2);
    let parent = lab.host.store().head(session).unwrap().unwrap();
    assert_eq!(lab.host.prune(&[parent]).unwrap(), [session]);
    is_whole(&lab, head.session);
    let pages = lab.host.trace_pages(&lab.caller, head.session).unwrap();
    assert!(pages[0].value.contains("\"x\""), "{}", pages[0].value);
}

#[test]
fn what_was_open_is_sent_only_if_that_was_said() {
    let lab = lab();
    let session = walked(&lab, &["timer"]);
    let kept = fork(&lab, session, 2);
    assert_eq!(kept.requests[0].standing, OpenRequest::WITHHELD);
    let sent = lab.host.fork(&lab.caller, ForkAt { session, seq: None, sends: true }).unwrap();
    assert_eq!(sent.requests[0].standing, wfhost::session::model::Standing::Waiting);
    lab.clock.pass(2_000);
    assert_eq!(lab.host.sweep().unwrap().0, 2, "the session and the fork that sends");
    let open = |id| lab.host.store().head(id).unwrap().unwrap().requests.len();
    assert_eq!([open(session), open(sent.session), open(kept.session)], [0, 0, 1]);
    is_whole(&lab, sent.session);
}

#[test]
fn a_question_that_was_inherited_can_be_answered() {
    use wfhost::plugin::contract::{Reply, Source};
    let lab = lab();
    let session = walked(&lab, &["ask"]);
    let head = fork(&lab, session, 2);
    let reply = Reply { request: "r".into(), value: Ok("\"yes\"".into()) };
    let asked = (head.session, head.requests[0].need.as_str());
    assert!(lab.host.blocking().reply(&Caller::operator(), asked, &reply, Source::Operator).unwrap().is_some());
    is_whole(&lab, head.session);
    assert_eq!(lab.host.store().head(session).unwrap().unwrap().requests.len(), 1, "the parent still asks");
}

#[test]
fn what_cannot_be_forked_is_told() {
    let lab = lab();
    let session = walked(&lab, &["x"]);
    for (seq, told) in [(0, "has the entries 1 to 2, and no entry 0"), (3, "no entry 3")] {
        let fault = lab.host.fork(&lab.caller, ForkAt { session, seq: Some(seq), sends: false }).unwrap_err();
        assert!(fault.to_string().contains(told), "{fault}");
    }
    let nobody = SessionId::from_bits(7);
    assert!(lab.host.fork(&lab.caller, ForkAt { session: nobody, seq: None, sends: false }).is_err());
}
