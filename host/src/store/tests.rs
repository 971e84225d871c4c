//! Tests of the store within one process, and what they share: made-up sessions, and changes that add up.

mod crash;
mod disk;
mod format;
mod local;
#[cfg(unix)]
mod protocol;
mod prune;
#[cfg(unix)]
mod shared;

use std::sync::Arc;

use super::{Change, Committed, Fault, Limit, Listed, Query, Store};
use crate::session::model::{
    Digest, Failure, Fork, Gap, Head, Line, OpenRequest, Parent, Pruned, Seal, Sent, SessionId, Standing,
};

pub(super) const ALL: Limit = Limit { lines: usize::MAX, bytes: usize::MAX };

pub(super) fn id(number: u128) -> SessionId {
    SessionId::from_bits(number)
}

/// A head with something in every field.
pub(super) fn head(session: SessionId, started: u64) -> Head {
    Head {
        session,
        owner: "ops".to_owned(),
        interpreter: "trees".to_owned(),
        plugin: Digest::of(b"plugin"),
        definition: Digest::of(b"definition"),
        workflow: "restart-database".to_owned(),
        started,
        changed: started,
        human_only: true,
        lines: 0,
        chain: Digest::default(),
        entries: 3,
        memories: 0,
        window: 2,
        state: r#"{"node":"check","answers":{"disk":"full"}}"#.to_owned(),
        requests: vec![OpenRequest {
            id: "q1".to_owned(),
            need: r#"{"kind":"answer"}"#.to_owned(),
            deadline: Some(started + 1000),
            standing: Standing::Waiting,
        }],
        current: vec!["check".to_owned(), "disk".to_owned()],
        outcome: None,
        parent: None,
        fork: None,
        seal: None,
    }
}

pub(super) fn line(text: &str) -> Line {
    Arc::from(text.as_bytes())
}

/// The change that follows this head: these lines, one memory for each.
pub(super) fn next(before: &Head, texts: &[&str]) -> Change {
    let mut head = before.clone();
    let lines: Vec<Line> = texts.iter().map(|text| line(text)).collect();
    head.lines += lines.len() as u64;
    head.memories += u32::try_from(lines.len()).unwrap();
    head.chain = lines.iter().fold(head.chain, |chain, line| Digest::of_parts(&[&chain.0, line]));
    head.changed += 1;
    let memories = texts.iter().map(|text| format!("memory of {text}")).collect();
    Change { expected: before.lines, head, inherit: None, lines, memories, due: None }
}

pub(super) fn commit(store: &dyn Store, change: Change) -> Head {
    let head = change.head.clone();
    assert_eq!(store.commit(change).unwrap(), Committed::Done);
    head
}

pub(super) fn finished(before: &Head) -> Change {
    let mut change = next(before, &["the end"]);
    let failure =
        Failure { kind: "denied".to_owned(), message: "no".to_owned(), detail: Some("{\"code\":1}".to_owned()) };
    change.head.outcome = Some(Err(failure));
    change
}

pub(super) fn sessions(store: &dyn Store, query: &Query) -> Vec<SessionId> {
    let listed = store.list(query).unwrap();
    let session = |item: &Listed| match item {
        Listed::Head(head) => head.session,
        Listed::Unreadable(session, _) => *session,
    };
    listed.iter().map(session).collect()
}

pub(super) fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(|line| String::from_utf8(line.to_vec()).unwrap()).collect()
}

pub(super) fn is_damage(fault: &Fault) -> bool {
    matches!(fault, Fault::Damaged { .. } | Fault::Unreadable { .. })
}

/// What is kept of a session that is gone.
pub(super) fn pruned(session: SessionId) -> Pruned {
    Pruned {
        session,
        owner: "ops".to_owned(),
        interpreter: "trees".to_owned(),
        workflow: "restart-database".to_owned(),
        started: 1_700_000_000_000,
        changed: 1_700_000_000_500,
        standing: "ended".to_owned(),
        lines: 1,
        chain: Digest::of(b"chain"),
        at: 1_700_000_000_900,
        seal: Some(seal()),
    }
}

pub(super) fn seal() -> Seal {
    Seal { key: [7; 32], lines: 9, gaps: vec![Gap { from: 2, to: 300 }], signature: [9; 64] }
}

pub(super) fn fork() -> Fork {
    Fork { from: id(1), seq: 3, lines: 4, root: id(2), root_started: 5 }
}
