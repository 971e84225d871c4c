//! Hooks under all that can go wrong with them.

use super::*;
use crate::observe::facts::Tally;
use crate::session::model::{Digest, SessionId};

fn fact(lines: u64) -> Committed<'static> {
    Committed {
        session: SessionId::from_bits(7),
        interpreter: "probe",
        workflow: "w",
        lines,
        chain: Digest::default(),
        added: Tally { turns: 1, ..Tally::default() },
        began: lines == 1,
        ended: None,
        at: 5,
        took: Duration::ZERO,
    }
}

fn quiet() -> Notice {
    Arc::new(|_| {})
}

#[test]
#[cfg(unix)]
fn a_command_gets_the_event_and_nothing_of_our_environment() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let line = format!("cat >> {0}; echo >> {0}; env >> {0}", out.display());
    let hooks = Hooks::begin(vec![Hook::Command(line)], quiet()).unwrap();
    hooks.committed(&fact(1));
    hooks.close();
    let text = std::fs::read_to_string(out).unwrap();
    let event: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&event["session"], &event["lines"], &event["began"]),
        (&json!(fact(1).session.to_string()), &json!(1), &json!(true))
    );
    // Cargo sets this one for tests, and no program needs it to run.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !text.contains("CARGO_MANIFEST_DIR"), "{text}");
    assert_eq!(hooks.counts(), [("sent", 1), ("failed", 0), ("dropped", 0)]);
}

#[test]
fn a_full_queue_holds_nobody_up_and_is_counted() {
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let post = move |_: &str, _: Duration| gate.lock().unwrap().recv().map_err(|_| "let go".to_owned());
    let told = Arc::new(Mutex::new(Vec::new()));
    let inside = Arc::clone(&told);
    let notice: Notice = Arc::new(move |line: &str| inside.lock().unwrap().push(line.to_owned()));
    let hooks = Hooks::begin(vec![Hook::Post(Arc::new(post))], notice).unwrap();
    let began = Instant::now();
    let most = HOOK_EVENTS_WAITING_MAX as u64;
    for number in 1..=most + 100 {
        hooks.committed(&fact(number));
    }
    assert!(began.elapsed() < Duration::from_secs(5));
    let [_, _, (_, dropped)] = hooks.counts();
    assert!((99..=100).contains(&dropped), "{dropped}");
    assert!(told.lock().unwrap().iter().any(|line| line.contains("not sent")), "{told:?}");
    drop(open);
    hooks.close();
    let [_, (_, failed), _] = hooks.counts();
    assert_eq!(failed + dropped, most + 100);
}

#[test]
#[cfg(unix)]
fn a_command_that_fails_is_told_without_its_words() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let inside = Arc::clone(&told);
    let notice: Notice = Arc::new(move |line: &str| inside.lock().unwrap().push(line.to_owned()));
    let hooks = Hooks::begin(vec![Hook::Command("exit 3 # token=hunter2".to_owned())], notice).unwrap();
    hooks.committed(&fact(1));
    hooks.committed(&fact(2));
    hooks.close();
    let told = told.lock().unwrap().clone();
    assert_eq!(told.len(), 1, "once a minute: {told:?}");
    assert!(told[0].contains("exit status: 3") && !told[0].contains("hunter2"), "{told:?}");
    assert!(!format!("{hooks:?}").contains("hunter2"));
}
