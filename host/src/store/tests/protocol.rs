//! The frames between processes: what is sent arrives, and what is no frame is refused without harm.

use super::*;
use crate::store::protocol::{self, Call, Reply};
use crate::store::{Changes, Mark, Report, codec};

fn calls() -> Vec<Call> {
    let query = Query { owner: Some("ops".to_owned()), unfinished: true, limit: 7, ..Query::default() };
    let change = Change { due: Some(9), ..finished(&next(&head(id(3), 1), &["one"]).head) };
    vec![
        Call::Head(id(1)),
        Call::Lines(id(2), 3, Limit { lines: usize::MAX, bytes: 4 }),
        Call::Memories(id(2), 3, u32::MAX),
        Call::List(query),
        Call::Due(u64::MAX, 5),
        Call::Blob(Digest::of(b"x")),
        Call::Keep(Arc::from(&b"content"[..])),
        Call::Commit(Box::new(change)),
        Call::Report,
        Call::Prune(vec![pruned(id(4))]),
        Call::Pruned(id(4)),
        Call::PrunedAfter(Some(id(4)), 5),
        Call::Changes(Some(Mark { epoch: u64::MAX, count: 2 }), 3),
    ]
}

fn outcomes() -> Vec<Result<Reply, Fault>> {
    let text = || "words".to_owned();
    let report =
        Report { place: text(), role: text(), bytes: 1, sessions: 2, unfinished: 3, lines: 4, contents: 5, pruned: 6 };
    vec![
        Ok(Reply::Head(None)),
        Ok(Reply::Head(Some(Box::new(head(id(1), 5))))),
        Ok(Reply::Lines(vec![line("one"), line("")])),
        Ok(Reply::Memories(vec![text()])),
        Ok(Reply::List(vec![Listed::Head(Box::new(head(id(1), 5))), Listed::Unreadable(id(2), text())])),
        Ok(Reply::Due(vec![id(1), id(2)])),
        Ok(Reply::Blob(Some(Arc::from(&b"content"[..])))),
        Ok(Reply::Keep(Digest::of(b"x"))),
        Ok(Reply::Commit(Committed::Done)),
        Ok(Reply::Commit(Committed::Conflict)),
        Ok(Reply::Commit(Committed::Dropped)),
        Ok(Reply::Taken(vec![id(4)])),
        Ok(Reply::Pruned(vec![pruned(id(4))])),
        Ok(Reply::Changes(Changes { mark: Mark::default(), sessions: vec![id(4)], missed: true })),
        Ok(Reply::Report(report)),
        Err(Fault::Directory { path: text(), reason: text() }),
        Err(Fault::Damaged { path: text(), reason: text() }),
        Err(Fault::Newer { what: text(), found: 2, known: 1 }),
        Err(Fault::Unreadable { what: text(), reason: text() }),
        Err(Fault::Io(text())),
        Err(Fault::TooLarge { what: text(), bytes: 2, most: 1 }),
        Err(Fault::Owner(text())),
    ]
}

#[test]
fn what_is_sent_arrives() {
    for call in calls() {
        assert_eq!(format!("{:?}", Call::read(&call.bytes()).unwrap()), format!("{call:?}"));
    }
    for outcome in outcomes() {
        let read = protocol::read_outcome(&protocol::outcome_bytes(&outcome)).unwrap();
        assert_eq!(format!("{read:?}"), format!("{outcome:?}"));
    }
    let mut wire = Vec::new();
    protocol::send(&mut wire, b"a body").unwrap();
    assert_eq!(protocol::receive(&wire[..]).unwrap(), b"a body");
    assert!(protocol::receive(&wire[..8]).is_err());
    assert!(protocol::receive(&[255, 255, 255, 255, 0][..]).is_err());
}

/// Numbers that look random and are the same every time.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[test]
fn no_bytes_make_it_panic() {
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    let read = |bytes: &[u8]| {
        let _ = Call::read(bytes);
        let _ = protocol::read_outcome(bytes);
        let _ = protocol::read_greeting(bytes);
        let _ = crate::store::format::read_row(bytes, id(1));
        let _ = crate::store::format::read_label(bytes);
        let _ = codec::Reader(bytes).many(codec::Reader::text);
    };
    let mut bodies: Vec<Vec<u8>> = calls().iter().map(Call::bytes).collect();
    bodies.extend(outcomes().iter().map(protocol::outcome_bytes));
    for _ in 0..20_000 {
        let length = usize::try_from(noise.next() % 80).unwrap();
        let mut bytes: Vec<u8> = (0..length).map(|_| noise.next().to_le_bytes()[0]).collect();
        if let Some(first) = bytes.first_mut() {
            *first %= 11;
        }
        read(&bytes);
        let pick = usize::try_from(noise.next()).unwrap() % bodies.len();
        let mut changed = bodies[pick].clone();
        let at = usize::try_from(noise.next()).unwrap() % changed.len();
        changed[at] = noise.next().to_le_bytes()[0];
        read(&changed);
        changed.truncate(at);
        read(&changed);
    }
    read(&[0xff; 64]);
}
