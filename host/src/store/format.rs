//! The stored records as bytes. Each begins with its format's version and a checksum, so that a record of a newer wfhost
//! and a damaged one are told apart, by name, and hide no other. Which table a record lies in is no matter of this file.

use std::sync::Arc;

use super::Fault;
use super::codec::{Broken, Reader, Writer};
use super::provenance::{put_fork, put_seal, take_fork, take_seal};
use crate::session::model::{
    Digest, Failure, Head, Line, Millis, OpenRequest, Outcome, Parent, Sent, SessionId, Standing,
};

/// The version that every record is written in. Version 1 had neither parents, forks and seals nor more than a time for a
/// sent request.
pub(super) const VERSION: u8 = 2;
/// The version of the file as a whole: which tables there are and what their keys mean. Since version 2 it goes by a log.
/// Since version 3 it counts who is pinned to what, and knows of pruned sessions.
pub(super) const FILE_VERSION: u32 = 3;
/// Since this version the file says how far it has come in its log.
pub(super) const LOGGED_VERSION: u32 = 2;
/// Since this version the file counts who is pinned to what.
pub(super) const COUNTED_VERSION: u32 = 3;
/// How many bytes of the SHA-256 guard a record. It is against decay, not against an attacker: the chain is for that.
const SUM_BYTES: usize = 4;

/// A session's row: its head, and when it must be looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) head: Head,
    pub(super) due: Option<Millis>,
}

/// The front of a session's row: all that a compare-and-set and the indexes need, read without the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stub {
    pub(super) due: Option<Millis>,
    pub(super) session: SessionId,
    pub(super) started: Millis,
    pub(super) lines: u64,
    pub(super) chain: Digest,
    pub(super) memories: u32,
    pub(super) finished: bool,
}

/// What an index row tells of a session, so that a listing reads the heads it shows and no others. It never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label<'a> {
    pub(super) owner: &'a str,
    pub(super) interpreter: &'a str,
    pub(super) workflow: &'a str,
}

fn sum(version: u8, body: &[u8]) -> [u8; SUM_BYTES] {
    let digest = Digest::of_parts(&[&[version], body]);
    let mut sum = [0; SUM_BYTES];
    for (to, from) in sum.iter_mut().zip(digest.0) {
        *to = from;
    }
    sum
}

/// A record around these bytes.
pub(super) fn wrap(body: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(1 + SUM_BYTES + body.len());
    record.push(VERSION);
    record.extend_from_slice(&sum(VERSION, body));
    record.extend_from_slice(body);
    record
}

/// The bytes within a record. `what` names the record if it is not readable.
pub(super) fn unwrap<'a>(record: &'a [u8], what: &dyn Fn() -> String) -> Result<&'a [u8], Fault> {
    let broken = |reason: &str| Fault::Unreadable { what: what(), reason: reason.to_owned() };
    let (version, rest) = record.split_first().ok_or_else(|| broken("the record is empty"))?;
    if *version > VERSION {
        return Err(Fault::Newer { what: what(), found: u32::from(*version), known: u32::from(VERSION) });
    }
    if *version == 0 {
        return Err(broken("the record has no format version"));
    }
    let (found, body) = rest.split_first_chunk::<SUM_BYTES>().ok_or_else(|| broken("the record ends too early"))?;
    if *found != sum(*version, body) {
        return Err(broken("its checksum does not match: the file was damaged or changed by something else"));
    }
    Ok(body)
}

fn named<T>(result: Result<T, Broken>, what: &dyn Fn() -> String) -> Result<T, Fault> {
    result.map_err(|broken| Fault::Unreadable { what: what(), reason: broken.to_string() })
}

/// A session's name in a fault.
pub(super) fn session_name(session: SessionId) -> String {
    format!("the session {session}")
}

/// A session's row as a record.
pub(super) fn row(head: &Head, due: Option<Millis>) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.maybe(due, Writer::number);
    put_head(&mut writer, head);
    wrap(&writer.0)
}

/// A session's row from its record.
pub(super) fn read_row(record: &[u8], session: SessionId) -> Result<Row, Fault> {
    let what = || session_name(session);
    let mut reader = Reader(unwrap(record, &what)?);
    let version = record.first().copied().unwrap_or(VERSION);
    let row = named(take_row(&mut reader, version), &what)?;
    own(row.head.session, session)?;
    Ok(row)
}

fn take_row(reader: &mut Reader<'_>, version: u8) -> Result<Row, Broken> {
    let due = reader.maybe(Reader::number)?;
    let head = take_head_of(reader, version)?;
    reader.end()?;
    Ok(Row { head, due })
}

/// The front of a session's row from its record.
pub(super) fn read_stub(record: &[u8], session: SessionId) -> Result<Stub, Fault> {
    let what = || session_name(session);
    let mut reader = Reader(unwrap(record, &what)?);
    let stub = named(take_stub(&mut reader), &what)?;
    own(stub.session, session)?;
    Ok(stub)
}

fn own(found: SessionId, session: SessionId) -> Result<(), Fault> {
    if found == session {
        return Ok(());
    }
    Err(Fault::Unreadable { what: session_name(session), reason: format!("its record is that of {found}") })
}

fn take_stub(reader: &mut Reader<'_>) -> Result<Stub, Broken> {
    Ok(Stub {
        due: reader.maybe(Reader::number)?,
        session: SessionId::from_bytes(reader.exact()?),
        started: reader.number()?,
        lines: reader.number()?,
        chain: Digest(reader.exact()?),
        memories: reader.small()?,
        finished: reader.flag()?,
    })
}

/// A head's bytes: what a [`Stub`] needs comes first.
pub(super) fn put_head(writer: &mut Writer, head: &Head) {
    writer.exact(&head.session.to_bytes());
    writer.number(head.started);
    writer.number(head.lines);
    writer.exact(&head.chain.0);
    writer.number(u64::from(head.memories));
    writer.maybe(head.outcome.as_ref(), put_outcome);
    writer.text(&head.owner);
    writer.text(&head.interpreter);
    writer.text(&head.workflow);
    writer.exact(&head.plugin.0);
    writer.exact(&head.definition.0);
    writer.number(head.changed);
    writer.flag(head.human_only);
    writer.number(u64::from(head.entries));
    writer.number(u64::from(head.window));
    writer.text(&head.state);
    writer.many(&head.requests, put_request);
    writer.many(&head.current, |writer, node| writer.text(node));
    writer.maybe(head.parent.as_ref(), put_parent);
    writer.maybe(head.fork.as_ref(), put_fork);
    writer.maybe(head.seal.as_ref(), put_seal);
}

/// A head from its bytes.
pub(super) fn take_head(reader: &mut Reader<'_>) -> Result<Head, Broken> {
    take_head_of(reader, VERSION)
}

fn take_head_of(reader: &mut Reader<'_>, version: u8) -> Result<Head, Broken> {
    let session = SessionId::from_bytes(reader.exact()?);
    let started = reader.number()?;
    let lines = reader.number()?;
    let chain = Digest(reader.exact()?);
    let memories = reader.small()?;
    let outcome = reader.maybe(take_outcome)?;
    Ok(Head {
        session,
        started,
        lines,
        chain,
        memories,
        outcome,
        owner: reader.text()?,
        interpreter: reader.text()?,
        workflow: reader.text()?,
        plugin: Digest(reader.exact()?),
        definition: Digest(reader.exact()?),
        changed: reader.number()?,
        human_only: reader.flag()?,
        entries: reader.small()?,
        window: reader.small()?,
        state: reader.text()?,
        requests: reader.many(if version < 2 { take_request_1 } else { take_request })?,
        current: reader.many(Reader::text)?,
        parent: if version < 2 { None } else { reader.maybe(take_parent)? },
        fork: if version < 2 { None } else { reader.maybe(take_fork)? },
        seal: if version < 2 { None } else { reader.maybe(take_seal)? },
    })
}

fn put_parent(writer: &mut Writer, parent: &Parent) {
    writer.exact(&parent.session.to_bytes());
    writer.text(&parent.request);
    writer.number(u64::from(parent.depth));
    writer.flag(parent.told);
}

fn take_parent(reader: &mut Reader<'_>) -> Result<Parent, Broken> {
    Ok(Parent {
        session: SessionId::from_bytes(reader.exact()?),
        request: reader.text()?,
        depth: reader.small()?,
        told: reader.flag()?,
    })
}

fn put_outcome(writer: &mut Writer, outcome: &Outcome) {
    writer.flag(outcome.is_ok());
    match outcome {
        Ok(value) => writer.text(value),
        Err(failure) => {
            writer.text(&failure.kind);
            writer.text(&failure.message);
            writer.maybe(failure.detail.as_deref(), Writer::text);
        }
    }
}

fn take_outcome(reader: &mut Reader<'_>) -> Result<Outcome, Broken> {
    if reader.flag()? {
        return Ok(Ok(reader.text()?));
    }
    Ok(Err(Failure { kind: reader.text()?, message: reader.text()?, detail: reader.maybe(Reader::text)? }))
}

fn put_request(writer: &mut Writer, request: &OpenRequest) {
    writer.text(&request.id);
    writer.text(&request.need);
    writer.maybe(request.deadline, Writer::number);
    let (kind, sent) = match request.standing {
        Standing::Waiting => (0, None),
        Standing::Sent(sent) => (1, Some(sent)),
        Standing::Begun(sent) => (2, Some(sent)),
        Standing::Doubtful(sent) => (3, Some(sent)),
        Standing::Refused(at) => (4, Some(Sent { at, by: 0, nonce: 0 })),
    };
    writer.byte(kind);
    if let Some(sent) = sent {
        [sent.at, sent.by, sent.nonce].into_iter().for_each(|number| writer.number(number));
    }
}

fn take_request(reader: &mut Reader<'_>) -> Result<OpenRequest, Broken> {
    Ok(OpenRequest {
        id: reader.text()?,
        need: reader.text()?,
        deadline: reader.maybe(Reader::number)?,
        standing: take_standing(reader)?,
    })
}

fn take_standing(reader: &mut Reader<'_>) -> Result<Standing, Broken> {
    let kind = reader.byte()?;
    if kind == 0 {
        return Ok(Standing::Waiting);
    }
    let sent = Sent { at: reader.number()?, by: reader.number()?, nonce: reader.number()? };
    match kind {
        1 => Ok(Standing::Sent(sent)),
        2 => Ok(Standing::Begun(sent)),
        3 => Ok(Standing::Doubtful(sent)),
        4 => Ok(Standing::Refused(sent.at)),
        _ => Err(Broken("a request stands as none can")),
    }
}

/// As version 1 wrote it: a time alone, and that only for one whose answer was refused.
fn take_request_1(reader: &mut Reader<'_>) -> Result<OpenRequest, Broken> {
    let (id, need, deadline) = (reader.text()?, reader.text()?, reader.maybe(Reader::number)?);
    let standing = reader.maybe(Reader::number)?.map_or(Standing::Waiting, Standing::Refused);
    Ok(OpenRequest { id, need, deadline, standing })
}

/// A journal line from its record.
pub(super) fn read_line(record: &[u8], session: SessionId, number: u64) -> Result<Line, Fault> {
    unwrap(record, &|| format!("line {number} of the session {session}")).map(Arc::from)
}

/// A memory from its record.
pub(super) fn read_memory(record: &[u8], session: SessionId, index: u32) -> Result<String, Fault> {
    let what = || format!("memory {index} of the session {session}");
    let body = unwrap(record, &what)?;
    named(std::str::from_utf8(body).map(str::to_owned).map_err(|_| Broken("it is not UTF-8")), &what)
}

/// An index row's record. It has no checksum: it only says which heads a listing skips.
pub(super) fn label(label: Label<'_>) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.byte(VERSION);
    writer.text(label.owner);
    writer.text(label.interpreter);
    writer.text(label.workflow);
    writer.0
}

/// An index row from its record; none if it cannot be read, and then the head itself must tell.
pub(super) fn read_label(record: &[u8]) -> Option<Label<'_>> {
    let mut reader = Reader(record);
    let version = reader.byte().ok()?;
    let label = Label { owner: reader.str().ok()?, interpreter: reader.str().ok()?, workflow: reader.str().ok()? };
    (1..=VERSION).contains(&version).then_some(label)
}

/// A blob's record. Its digest is its checksum.
pub(super) fn blob(bytes: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(1 + bytes.len());
    record.push(VERSION);
    record.extend_from_slice(bytes);
    record
}

/// A blob from its record.
pub(super) fn read_blob(record: &[u8], digest: Digest) -> Result<Arc<[u8]>, Fault> {
    let what = || format!("the content {digest}");
    let (version, body) = record
        .split_first()
        .ok_or_else(|| Fault::Unreadable { what: what(), reason: "the record is empty".to_owned() })?;
    if *version > VERSION {
        return Err(Fault::Newer { what: what(), found: u32::from(*version), known: u32::from(VERSION) });
    }
    if Digest::of(body) != digest {
        let reason = "its digest does not match: the file was damaged or changed by something else";
        return Err(Fault::Unreadable { what: what(), reason: reason.to_owned() });
    }
    Ok(Arc::from(body))
}
