//! The table of `host/docs/journal.md`: what is done to a journal, and what `verify` says without a key and with one. And what
//! a seal says when a key came late, went away, or was exchanged.

use std::sync::Arc;

use serde_json::json;
use wfhost::seal::{PublicKey, Signer};
use wfhost::session::model::{Gap, Head, Line, SessionId};
use wfhost::session::{Against, Damage, Host, HostOptions};
use wfhost::store::{self, Limit, Store};
use wfhost_tests::lab::Lab;
use wfhost_tests::tampered::{Tampered, remint};

struct Case {
    lab: Lab,
    store: Arc<Tampered>,
    session: SessionId,
    key: PublicKey,
}

fn signer(number: u8) -> Arc<Signer> {
    Arc::new(Signer::from_entropy([number; 32]).unwrap().0)
}

fn case() -> Case {
    let store = Arc::new(Tampered::over(store::open_ephemeral().unwrap()));
    let mut lab = Lab::with(&[("a.probe", "probe a")], store.clone()).unwrap();
    let signer = signer(1);
    let key = signer.public();
    lab.host = Arc::new(host(&lab, Some(signer)));
    let session = walk(&lab);
    Case { lab, store, session, key }
}

/// Another host on the same store, with another key or none.
fn host(lab: &Lab, signer: Option<Arc<Signer>>) -> Host {
    lab.another(HostOptions { signer, ..HostOptions::default() }).unwrap()
}

fn walk(lab: &Lab) -> SessionId {
    let session = lab.value("probe_start", &json!({})).unwrap()["session"].clone();
    for what in ["x", "refuse", "remember", "y", "z"] {
        lab.call("probe_do", &json!({"do": what, "n": 2, "session": session})).unwrap();
    }
    session.as_str().unwrap().parse().unwrap()
}

impl Case {
    fn says(&self, keys: &[PublicKey]) -> Vec<Damage> {
        let against = Against { keys: keys.to_vec(), exported: None };
        self.lab.host.verify_against(&self.lab.caller, self.session, &against).unwrap().damages
    }

    /// What is said of a journal that was tampered with: without a key, and with the one that sealed it.
    fn of(&self, how: impl Fn(&mut Head, &mut Vec<Line>) + Send + 'static) -> [Vec<Damage>; 2] {
        *self.store.how.lock().unwrap() = Some(Box::new(how));
        let said = [self.says(&[]), self.says(&[self.key])];
        *self.store.how.lock().unwrap() = None;
        said
    }

    fn head(&self) -> Head {
        self.store.head(self.session).unwrap().unwrap()
    }

    fn step(&self, host: &Host, what: &str) {
        let args = json!({"do": what, "session": self.session.to_string()});
        host.blocking().call(&self.lab.caller, "probe_do", &args.to_string()).unwrap();
    }
}

fn edit(line: &mut Line) {
    let text = String::from_utf8(line.to_vec()).unwrap();
    let edited = text.replacen("\"x\"", "\"q\"", 1);
    assert_ne!(text, edited);
    *line = edited.into_bytes().into();
}

/// Found with and without a key alike.
#[track_caller]
fn both(said: [Vec<Damage>; 2], expected: &Damage) {
    let [without, with] = said;
    assert!(without.contains(expected), "{without:?}");
    assert_eq!(without, with);
}

#[test]
fn left_alone() {
    assert_eq!(case().of(|_, _| ()), [vec![], vec![]]);
}

#[test]
fn edit_a_line() {
    both(case().of(|_, lines| edit(&mut lines[1])), &Damage::Altered { line: 2 });
}

#[test]
fn edit_the_head() {
    let ended = |head: &mut Head, _: &mut Vec<Line>| head.outcome = Some(Ok("1".into()));
    both(case().of(ended), &Damage::Head { field: "outcome".into() });
}

#[test]
fn delete_a_line() {
    both(case().of(|_, lines| drop(lines.remove(2))), &Damage::Misplaced { line: 3, bears: 4 });
}

#[test]
fn insert_a_line() {
    both(case().of(|_, lines| lines.insert(2, lines[1].clone())), &Damage::Misplaced { line: 3, bears: 2 });
}

#[test]
fn reorder_lines() {
    both(case().of(|_, lines| lines.swap(2, 3)), &Damage::Misplaced { line: 3, bears: 4 });
}

#[test]
fn truncate_the_tail() {
    both(case().of(|_, lines| lines.truncate(4)), &Damage::Cut { found: 4, counted: 6 });
}

#[test]
fn empty_the_journal() {
    both(case().of(|_, lines| lines.clear()), &Damage::Cut { found: 0, counted: 6 });
}

#[test]
fn copy_a_line_from_another_session() {
    let case = case();
    let other = walk(&case.lab);
    let line = case.store.lines(other, 3, Limit { lines: 1, bytes: usize::MAX }).unwrap().remove(0);
    both(case.of(move |_, lines| lines[2] = line.clone()), &Damage::Foreign { line: 3, session: other.to_string() });
}

#[test]
fn copy_a_whole_journal_from_another_session() {
    let case = case();
    let other = walk(&case.lab);
    let all = Limit { lines: 99, bytes: usize::MAX };
    let (theirs, head) = (case.store.lines(other, 1, all).unwrap(), case.store.head(other).unwrap().unwrap());
    let session = case.session;
    let said = case.of(move |ours, lines| {
        *ours = Head { session, ..head.clone() };
        lines.clone_from(&theirs);
    });
    both(said, &Damage::Foreign { line: 1, session: other.to_string() });
}

#[test]
fn re_mint_the_chain() {
    let forge = |head: &mut Head, lines: &mut Vec<Line>| {
        edit(&mut lines[1]);
        remint(head, lines);
    };
    // Also without knowing the key: whoever sealed it, did not seal this.
    assert_eq!(case().of(forge), [vec![Damage::BadSignature { lines: 6 }], vec![Damage::BadSignature { lines: 6 }]]);
}

#[test]
fn re_mint_the_chain_and_take_the_seal_away() {
    let said = case().of(|head, lines| {
        edit(&mut lines[1]);
        remint(head, lines);
        head.seal = None;
    });
    assert_eq!(said, [vec![], vec![Damage::Unsigned { from: 1, to: 6 }]]);
}

#[test]
fn re_mint_the_chain_and_seal_it_with_another_key() {
    let other = signer(2);
    let key = other.public().to_string();
    let said = case().of(move |head, lines| {
        edit(&mut lines[1]);
        remint(head, lines);
        seal(head, &other);
    });
    assert_eq!(said, [vec![], vec![Damage::OtherKey { key }]]);
}

/// The head as it was some steps ago, and no line more than it counts.
fn rolled_back(case: &Case) -> Head {
    let early = case.head();
    case.step(&case.lab.host, "x");
    case.step(&case.lab.host, "y");
    early
}

#[test]
fn cut_the_tail_and_the_head_with_it() {
    let case = case();
    let early = rolled_back(&case);
    let late = case.head().seal;
    let said = case.of(move |head, lines| {
        *head = Head { seal: late.clone(), ..early.clone() };
        lines.truncate(6);
    });
    assert_eq!(said, [vec![Damage::BadSignature { lines: 8 }], vec![Damage::BadSignature { lines: 8 }]]);
}

#[test]
fn put_an_earlier_state_of_everything_back() {
    let case = case();
    let (early, exported) = (rolled_back(&case), case.head());
    let said = case.of(move |head, lines| {
        head.clone_from(&early);
        lines.truncate(6);
    });
    // It is what it says it is: nothing in the store can tell that there was more. A head that was exported can.
    assert_eq!(said, [vec![], vec![]]);
    let early = rolled_back(&case);
    *case.store.how.lock().unwrap() = Some(Box::new(move |head, lines| {
        head.clone_from(&early);
        lines.truncate(8);
    }));
    let against = Against { exported: Some((exported.lines + 1, exported.chain)), keys: vec![case.key] };
    let told = case.lab.host.verify_against(&case.lab.caller, case.session, &against).unwrap().damages;
    assert_eq!(told, [Damage::OtherHead { lines: exported.lines + 1 }]);
}

/// As the seal's bytes are made: the test makes its own.
fn seal(head: &mut Head, signer: &Signer) {
    let mut bytes = b"wfhost seal 1\0".to_vec();
    bytes.extend_from_slice(&head.session.to_bytes());
    bytes.extend_from_slice(&head.lines.to_be_bytes());
    bytes.extend_from_slice(&head.chain.0);
    let seal = wfhost::session::model::Seal {
        key: signer.public().0,
        lines: head.lines,
        gaps: Vec::new(),
        signature: signer.sign(&bytes),
    };
    head.seal = Some(seal);
}

#[test]
fn lines_that_were_written_without_the_key_are_named_for_ever() {
    let case = case();
    let keyless = host(&case.lab, None);
    case.step(&keyless, "x");
    case.step(&keyless, "y");
    assert_eq!(case.says(&[]), []);
    assert_eq!(case.says(&[case.key]), [Damage::Unsigned { from: 7, to: 8 }]);
    // The holder of the key goes on, and vouches for its own lines alone.
    case.step(&case.lab.host, "z");
    assert_eq!(case.says(&[case.key]), [Damage::Unsigned { from: 7, to: 8 }]);
    case.step(&case.lab.host, "z");
    assert_eq!(case.head().seal.unwrap().gaps, [Gap { from: 7, to: 8 }]);
}

#[test]
fn a_key_that_came_late_does_not_vouch_for_what_was_there() {
    let case = case();
    let (keyless, session) = (host(&case.lab, None), case.session);
    let fresh: serde_json::Value =
        serde_json::from_str(&keyless.blocking().call(&case.lab.caller, "probe_start", "{}").unwrap().output.value)
            .unwrap();
    let late = Case { session: fresh["session"].as_str().unwrap().parse().unwrap(), ..case };
    assert_ne!(late.session, session);
    late.step(&late.lab.host, "x");
    assert_eq!(late.says(&[late.key]), [Damage::Unsigned { from: 1, to: 1 }]);
}

#[test]
fn going_on_after_a_forged_journal_vouches_for_nothing_of_it() {
    let case = case();
    *case.store.how.lock().unwrap() = Some(Box::new(|head: &mut Head, lines: &mut Vec<Line>| {
        if head.lines == 6 {
            edit(&mut lines[1]);
            remint(head, lines);
        }
    }));
    // Another process: this one would remember what it sealed itself.
    let other = host(&case.lab, Some(signer(1)));
    case.step(&other, "later");
    let head = case.head();
    assert_eq!(head.seal.unwrap().gaps, [Gap { from: 1, to: 6 }]);
}

#[test]
fn after_an_exchange_of_keys_both_are_named() {
    let case = case();
    let second = signer(2);
    let other = host(&case.lab, Some(second.clone()));
    case.step(&other, "x");
    assert_eq!(case.says(&[case.key]), [Damage::OtherKey { key: second.public().to_string() }]);
    assert_eq!(case.says(&[case.key, second.public()]), [Damage::Unsigned { from: 1, to: 6 }]);
}

#[test]
fn every_row_of_the_table_is_here() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/docs/journal.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next().filter(|row| !row.contains(' ')))
        .collect();
    let here = include_str!("proof.rs");
    assert!(rows.len() >= 14, "{rows:?}");
    for row in rows {
        assert!(here.contains(&format!("\nfn {row}() {{")), "{row}");
    }
}
