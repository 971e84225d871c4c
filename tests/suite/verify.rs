//! What a check of the journal says of each way to tamper with it, and that a session run again gives the same.

use std::sync::Arc;

use serde_json::{Value, json};
use wfhost::session::line::{LineRow, genesis, link};
use wfhost::session::model::{Digest, Head, Line, SessionId};
use wfhost::session::{Damage, Instead};
use wfhost::store::{self, Limit, Store};
use wfhost_tests::lab::Lab;
use wfhost_tests::tampered::{Tampered, remint};

struct Case {
    lab: Lab,
    store: Arc<Tampered>,
    session: SessionId,
}

fn case() -> Case {
    let store = Arc::new(Tampered::over(store::open_ephemeral().unwrap()));
    let lab = Lab::with(&[("a.probe", "probe a")], store.clone()).unwrap();
    let session = walked(&lab);
    Case { lab, store, session }
}

/// A session with turns, a refusal, a fault, memories and an old entry looked at.
fn walked(lab: &Lab) -> SessionId {
    let session = lab.value("probe_start", &json!({})).unwrap()["session"].clone();
    for what in ["x", "refuse", "remember", "trap", "y", "back", "z", "end", "after"] {
        let _ = lab.call("probe_do", &json!({"do": what, "n": 2, "session": session}));
    }
    session.as_str().unwrap().parse().unwrap()
}

impl Case {
    fn after(&self, how: impl Fn(&mut Head, &mut Vec<Line>) + Send + 'static) -> Vec<Damage> {
        *self.store.how.lock().unwrap() = Some(Box::new(how));
        let damages = self.lab.host.verify(&self.lab.caller, self.session, None).unwrap().damages;
        *self.store.how.lock().unwrap() = None;
        damages
    }
}

fn edit(line: &mut Line) {
    let text = String::from_utf8(line.to_vec()).unwrap();
    *line = text.replacen("\"x\"", "\"q\"", 1).into_bytes().into();
}

#[test]
fn a_journal_that_was_left_alone_is_whole() {
    let case = case();
    assert_eq!(case.after(|_, _| ()), []);
}

#[test]
fn each_way_of_tampering_is_told_for_what_it_is() {
    let case = case();
    let count = case.store.head(case.session).unwrap().unwrap().lines;
    assert_eq!(case.after(|_, lines| edit(&mut lines[1])), [Damage::Altered { line: 2 }]);
    assert_eq!(case.after(move |_, lines| drop(lines.pop())), [Damage::Cut { found: count - 1, counted: count }]);
    assert_eq!(case.after(|_, lines| lines.clear()), [Damage::Cut { found: 0, counted: count }]);
    let last = usize::try_from(count).unwrap() - 1;
    let altered_last = case.after(move |_, lines| {
        let text = String::from_utf8(lines[last].to_vec()).unwrap();
        lines[last] = text.replacen("\"after\"", "\"later\"", 1).into_bytes().into();
    });
    assert_eq!(altered_last, [Damage::Altered { line: count }]);
    let reordered = case.after(|_, lines| lines.swap(3, 4));
    assert!(reordered.contains(&Damage::Misplaced { line: 4, bears: 5 }), "{reordered:?}");
    let deleted = case.after(|_, lines| drop(lines.remove(4)));
    assert!(deleted.contains(&Damage::Misplaced { line: 5, bears: 6 }), "{deleted:?}");
    assert!(deleted.contains(&Damage::Cut { found: count - 1, counted: count }), "{deleted:?}");
    let inserted = case.after(|_, lines| lines.insert(4, lines[3].clone()));
    assert!(inserted.contains(&Damage::Misplaced { line: 5, bears: 4 }), "{inserted:?}");
    let garbled = case.after(|_, lines| lines[2] = b"{".to_vec().into());
    assert!(matches!(&garbled[0], Damage::Unreadable { line: 3, .. }), "{garbled:?}");
    let state = case.after(|head, _| head.state = r#"{"count":99}"#.into());
    assert!(matches!(state[..], [Damage::State { .. }]), "{state:?}");
    let ended = case.after(|head, _| head.outcome = Some(Ok("\"well\"".into())));
    assert_eq!(ended, [Damage::Head { field: "outcome".into() }]);
    let counted = case.after(|head, _| head.entries += 1);
    assert_eq!(counted, [Damage::Head { field: "entries".into() }]);
    let moved = case.after(|head, _| head.started += 1);
    assert_eq!(moved, [Damage::OtherBeginning]);
    let pinned = case.after(|head, _| head.plugin = Digest::of(b"another"));
    assert!(pinned.contains(&Damage::Pinned { what: "plugin".into() }), "{pinned:?}");
}

#[test]
fn a_line_copied_from_another_session_is_told_with_its_owner() {
    let case = case();
    let other = walked(&case.lab);
    let foreign = case.store.lines(other, 3, Limit { lines: 1, bytes: usize::MAX }).unwrap().remove(0);
    let told = case.after(move |_, lines| lines[2] = foreign.clone());
    assert!(told.contains(&Damage::Foreign { line: 3, session: other.to_string() }), "{told:?}");
}

#[test]
fn a_chain_written_anew_shows_only_against_a_head_that_was_kept_elsewhere() {
    let case = case();
    let head = case.store.head(case.session).unwrap().unwrap();
    let forge = |head: &mut Head, lines: &mut Vec<Line>| {
        edit(&mut lines[1]);
        remint(head, lines);
    };
    // The plain statement of the documents: who may write the store can write a whole new chain.
    assert_eq!(case.after(forge), []);
    *case.store.how.lock().unwrap() = Some(Box::new(forge));
    let exported = Some((head.lines, head.chain));
    let told = case.lab.host.verify(&case.lab.caller, case.session, exported).unwrap().damages;
    assert_eq!(told, [Damage::OtherHead { lines: head.lines }]);
    // So does a session that was cut together with its head.
    *case.store.how.lock().unwrap() = Some(Box::new(|head, lines| {
        lines.truncate(5);
        remint(head, lines);
    }));
    let told = case.lab.host.verify(&case.lab.caller, case.session, exported).unwrap().damages;
    assert!(told.contains(&Damage::OtherHead { lines: head.lines }), "{told:?}");
    // A head that was exported earlier is still one that the session went through.
    *case.store.how.lock().unwrap() = None;
    let early = case.store.lines(case.session, 1, Limit { lines: 4, bytes: usize::MAX }).unwrap();
    let chain = early.iter().fold(genesis(&head), |chain, line| link(chain, line));
    assert_eq!(case.lab.host.verify(&case.lab.caller, case.session, Some((4, chain))).unwrap().damages, []);
}

#[test]
fn a_session_run_again_gives_the_same_to_the_byte() {
    let case = case();
    let replayed = case.lab.host.replay(&case.lab.caller, case.session, &Instead::default()).unwrap();
    assert_eq!((replayed.difference, replayed.events), (None, 10));
}

#[test]
fn a_planted_change_is_found_and_named() {
    let case = case();
    let plant = |_: &mut Head, lines: &mut Vec<Line>| {
        let mut row = LineRow::decode(&lines[5]).unwrap();
        row.turn.as_mut().unwrap().entries[0].node = "elsewhere".into();
        lines[5] = row.encode().unwrap();
    };
    *case.store.how.lock().unwrap() = Some(Box::new(plant));
    let difference =
        case.lab.host.replay(&case.lab.caller, case.session, &Instead::default()).unwrap().difference.unwrap();
    assert_eq!((difference.line, difference.field.as_str()), (6, "entries"));
    let expected: Value = serde_json::from_str(&difference.expected).unwrap();
    assert_eq!(expected[0]["node"], "elsewhere");
    assert!(difference.got.contains("\"here\""));
}
