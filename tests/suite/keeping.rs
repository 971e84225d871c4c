//! How many sessions a document lets be open, and how long one that nobody moves: those that are not kept are ended with a line
//! that says so, whoever calls them is told, and nothing of them is lost.

use std::path::Path;

use serde_json::{Value, json};
use wfhost::session::model::{Head, SessionId};
use wfhost::session::{Caller, Host, OwnSessions};
use wfhost_tests::client::Client;
use wfhost_tests::lab::Lab;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

fn lab(keeping: &str) -> Lab {
    Lab::probe(&[("a.probe", &format!("probe a\n{keeping}\n")), ("b.probe", "probe b\n")]).unwrap()
}

/// A session of another connection, a millisecond later.
fn started(lab: &Lab, host: &Host) -> SessionId {
    lab.clock.pass(1);
    let caller = Caller { channel: "test", own: Some(OwnSessions::default()), ..Caller::default() };
    host.blocking().call(&caller, "probe_start", "{}").unwrap().session.unwrap()
}

fn head(lab: &Lab, session: SessionId) -> Head {
    lab.host.store().head(session).unwrap().unwrap()
}

/// Why a session was ended by the host.
fn dropped(lab: &Lab, session: SessionId) -> Option<String> {
    let failure = head(lab, session).outcome?.err()?;
    assert_eq!(failure.kind, "dropped");
    Some(failure.message)
}

fn call(lab: &Lab, args: &Value) -> Value {
    serde_json::from_str(&lab.call("probe_do", args).unwrap().output.value).unwrap()
}

fn notes(lab: &Lab, session: SessionId) -> Vec<String> {
    let steps = lab.host.steps(&lab.caller, session).unwrap();
    steps.into_iter().filter_map(|step| step.line.note).map(|note| note.kind).collect()
}

fn whole(lab: &Lab, session: SessionId) {
    assert_eq!(lab.host.verify(&lab.caller, session, None).unwrap().damages, []);
    assert!(lab.host.replay(&lab.caller, session, &Default::default()).unwrap().difference.is_none());
}

#[test]
fn beyond_the_limit_the_session_that_moved_least_recently_is_ended() {
    let lab = lab("limit 2");
    let [first, second] = [started(&lab, &lab.host), started(&lab, &lab.host)];
    lab.clock.pass(1);
    call(&lab, &json!({"do": "ask", "session": first.to_string()}));
    let third = started(&lab, &lab.host);
    assert_eq!(dropped(&lab, first), None);
    let why = dropped(&lab, second).unwrap();
    assert!(why.contains("`a`") && why.contains("2 sessions"), "{why}");
    // One that waits for somebody is ended like any other, and waits no more.
    started(&lab, &lab.host);
    assert!(dropped(&lab, first).is_some() && head(&lab, first).requests.is_empty());
    assert_eq!(dropped(&lab, third), None);
    assert_eq!(notes(&lab, first), ["dropped"]);
    for session in [first, second, third] {
        whole(&lab, session);
    }
}

#[test]
fn other_workflows_and_ended_sessions_do_not_count() {
    let lab = lab("limit 2");
    let kept = started(&lab, &lab.host);
    for _ in 0..3 {
        lab.call("probe_start", &json!({"workflow": "b"})).unwrap();
        let over = started(&lab, &lab.host);
        call(&lab, &json!({"do": "end", "session": over.to_string()}));
    }
    assert_eq!(dropped(&lab, kept), None);
}

#[test]
fn whoever_calls_a_session_that_was_ended_is_told_and_may_begin_anew() {
    let lab = lab("limit 1");
    let own = call(&lab, &json!({"do": "x"}))["session"].clone();
    let session: SessionId = own.as_str().unwrap().parse().unwrap();
    started(&lab, &lab.host);
    let named = lab.call("probe_do", &json!({"do": "y", "session": own})).unwrap().output;
    assert!(named.is_error, "{named:?}");
    let told = call(&lab, &json!({"do": "y"}));
    assert_eq!((told["error"].clone(), told["session"].clone()), (json!("session_dropped"), own.clone()));
    assert!(told["message"].as_str().unwrap().contains("journal is kept"), "{told}");
    // It can be read, and says so there too.
    let looked = lab.call("probe_look", &json!({"session": own})).unwrap().output;
    assert!(looked.headline.unwrap().contains("ended by the host") && looked.value.contains("\"x\""));
    assert_eq!(notes(&lab, session), ["dropped", "turned-away", "turned-away"]);
    whole(&lab, session);
    // Told once, the connection goes on with a new one.
    let anew = call(&lab, &json!({"do": "z"}));
    assert!(anew["session"] != own && anew["state"]["seen"] == json!(["open", "z"]), "{anew}");
    // The past of one that was ended can be gone on from.
    let back = call(&lab, &json!({"do": "back", "n": 2, "from": own}));
    assert_eq!(back["state"]["count"], 3);
    let forked = lab.host.fork(&lab.caller, wfhost::session::ForkAt { session, seq: None, sends: false }).unwrap();
    assert!(forked.outcome.is_none());
    whole(&lab, forked.session);
}

#[test]
fn a_session_that_moved_meanwhile_or_that_a_host_works_for_is_kept() {
    let lab = lab("limit 1");
    let parent = started(&lab, &lab.host);
    let child = json!({"do": "call", "calls": [{"workflow": "a"}], "session": parent.to_string()});
    lab.call("probe_do", &child).unwrap();
    started(&lab, &lab.host);
    assert_eq!(dropped(&lab, parent), None);
}

#[test]
fn all_hosts_of_a_store_count_together() {
    let lab = lab("limit 3");
    let other = lab.another(Default::default()).unwrap();
    let sessions: Vec<SessionId> = (0..6).map(|n| started(&lab, if n % 2 == 0 { &lab.host } else { &other })).collect();
    let open = |lab: &Lab| sessions.iter().filter(|session| dropped(lab, **session).is_none()).count();
    assert_eq!(open(&lab), 3);
    assert!(sessions[..3].iter().all(|session| dropped(&lab, *session).is_some()));
    let more: Vec<SessionId> = std::thread::scope(|scope| {
        let begun = |host| (0..20).map(|_| started(&lab, host)).collect::<Vec<_>>();
        let threads = [&*lab.host, &other].map(|host| scope.spawn(move || begun(host)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(open(&lab), 0);
    assert_eq!(more.iter().filter(|session| dropped(&lab, **session).is_none()).count(), 3);
    more.iter().for_each(|session| whole(&lab, *session));
}

#[test]
fn a_session_that_nobody_moves_is_ended_by_the_clock() {
    let lab = lab("idle 60");
    let session = started(&lab, &lab.host);
    lab.clock.pass(59_000);
    call(&lab, &json!({"do": "x", "session": session.to_string()}));
    lab.clock.pass(59_999);
    assert_eq!(lab.host.sweep().unwrap().0, 0);
    lab.clock.pass(1);
    assert_eq!(lab.host.sweep().unwrap().0, 1);
    assert!(dropped(&lab, session).unwrap().contains("60 s"));
    assert_eq!(lab.host.sweep().unwrap().0, 0);
    whole(&lab, session);
}

#[test]
fn a_session_that_nobody_moved_is_ended_at_the_next_call() {
    let lab = lab("idle 60");
    let session = started(&lab, &lab.host);
    lab.clock.pass(60_000);
    let told = call(&lab, &json!({"do": "x", "session": session.to_string()}));
    assert_eq!(told["error"], "session_dropped");
    assert_eq!(notes(&lab, session), ["dropped", "turned-away"]);
    whole(&lab, session);
}

#[test]
fn a_session_that_the_clock_will_move_is_not_idle() {
    let lab = lab("idle 60");
    let session = started(&lab, &lab.host);
    call(&lab, &json!({"do": "timer", "n": 100_000, "session": session.to_string()}));
    lab.clock.pass(99_000);
    assert_eq!(lab.host.sweep().unwrap().0, 0);
    lab.clock.pass(1_000);
    assert_eq!(lab.host.sweep().unwrap().0, 1);
    assert_eq!(dropped(&lab, session), None);
    lab.clock.pass(60_000);
    assert_eq!(lab.host.sweep().unwrap().0, 1);
    assert!(dropped(&lab, session).is_some());
}

#[test]
fn what_is_shown_before_the_first_call_bears_the_name_of_the_session_that_then_begins() {
    let lab = lab("");
    let shown = lab.value("probe_look", &json!({})).unwrap()["session"].clone();
    assert_eq!(lab.value("probe_look", &json!({})).unwrap()["session"], shown);
    assert!(lab.host.list(&wfhost::store::Query { limit: 10, ..Default::default() }).unwrap().is_empty());
    // A start that is refused leaves the name to the next one.
    call(&lab, &json!({"do": "x", "session": "ses_x"}));
    lab.call("probe_start", &json!({"do": "refuse"})).unwrap();
    assert_eq!(call(&lab, &json!({"do": "x"}))["session"], shown);
    // And no other session bears it.
    let other = lab.value("probe_start", &json!({})).unwrap();
    assert_ne!(other["session"], shown);
    let workflow = lab.value("probe_look", &json!({"workflow": "b"})).unwrap();
    assert_ne!(workflow["session"], shown);
}

const MACHINE: &str = "machine: one\nentry: go\nstate: {n: 0}\nactions:\n  go: {writes: [n], set: {n: \"{{ n + 1 }}\"}}\n\
                       transitions:\n  - {from: go, to: go}\nserver: {sessions: {max: 1, ttl: 1h}}\n";

#[test]
fn a_limit_holds_after_a_restart_and_the_operator_sees_what_was_ended() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("all")).unwrap();
    std::fs::write(folder.path().join("all/one.yaml"), MACHINE).unwrap();
    let run = |arguments: &[&str]| {
        let output = program_in(Path::new(PROGRAM), folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let client =
        || Client::start(program_in(Path::new(PROGRAM), folder.path()).args(["serve", "all"]), &json!({})).unwrap();
    let mut first = client();
    let session = first.structured("step", &json!({"action": "go"})).unwrap()["session"].clone();
    first.close().unwrap();
    let mut second = client();
    second.structured("step", &json!({"action": "go"})).unwrap();
    let told = second.tool("step", &json!({"action": "go", "session": session})).unwrap();
    assert!(told["isError"] == json!(true) && told.to_string().contains("session_dropped"), "{told}");
    second.close().unwrap();
    let id = session.as_str().unwrap();
    assert!(run(&["sessions", "list", "--all"]).contains("dropped: `one` keeps 1 session open"));
    assert!(run(&["sessions", "show", id]).contains("dropped"));
    run(&["verify"]);
    run(&["replay"]);
}
