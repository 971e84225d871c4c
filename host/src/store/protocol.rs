//! What two processes on one data directory say to each other: frames with their length in front, a greeting that tells
//! the versions apart, and the store's operations as plain bytes. Both ends are one user's; still no frame is trusted.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use super::codec::{Broken, Reader, Writer};
use super::format::{put_head, take_head};
use super::limits::FRAME_BYTES_MAX;
use super::provenance::{put_inherit, put_pruned, take_inherit, take_pruned};
use super::{Change, Changes, Committed, Fault, Limit, Listed, Mark, Query, Report, Store};
use crate::session::model::{Digest, Head, Line, Millis, Pruned, SessionId};

/// Changes with every change of a frame's meaning.
const VERSION: u64 = 2;
const GREETING: &[u8; 12] = b"wfhost-store";

/// Sends a frame.
pub(super) fn send(mut to: impl Write, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut frame = Vec::with_capacity(4 + body.len());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(body);
    to.write_all(&frame)
}

/// Receives a frame whose first byte has been read already.
pub(super) fn receive_rest(first: u8, mut from: impl Read) -> io::Result<Vec<u8>> {
    let mut rest = [0; 3];
    from.read_exact(&mut rest)?;
    let [second, third, fourth] = rest;
    let length = u32::from_le_bytes([first, second, third, fourth]);
    if usize::try_from(length).is_ok_and(|length| length > FRAME_BYTES_MAX) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // The buffer grows with what arrives, not with what was announced.
    let mut body = Vec::new();
    let received = from.take(u64::from(length)).read_to_end(&mut body)?;
    if received as u64 == u64::from(length) { Ok(body) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Receives a frame.
pub(super) fn receive(mut from: impl Read) -> io::Result<Vec<u8>> {
    let mut first = [0];
    from.read_exact(&mut first)?;
    let [first] = first;
    receive_rest(first, from)
}

/// The first frame of either side: who speaks, and which version.
pub(super) fn greeting() -> Vec<u8> {
    let mut writer = Writer::default();
    writer.exact(GREETING);
    writer.number(VERSION);
    writer.number(u64::from(std::process::id()));
    writer.0
}

/// The process id in a greeting, if it speaks this version.
pub(super) fn read_greeting(frame: &[u8]) -> Result<u64, Stranger> {
    let mut reader = Reader(frame);
    let greeted = reader.exact().is_ok_and(|greeting: [u8; 12]| greeting == *GREETING);
    let (Ok(version), Ok(process)) = (reader.number(), reader.number()) else { return Err(Stranger::Other) };
    match version {
        _ if !greeted => Err(Stranger::Other),
        VERSION => Ok(process),
        version => Err(Stranger::Version { process, version }),
    }
}

/// The other side cannot be talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stranger {
    /// The other side is a wfhost of another time.
    #[error(
        "process {process} is a wfhost that shares stores in version {version}, this one does in version {VERSION}"
    )]
    Version {
        /// Its process id.
        process: u64,
        /// What it speaks.
        version: u64,
    },
    /// The other side is no wfhost.
    #[error("what listens there is no wfhost")]
    Other,
}

/// An operation of the store.
#[derive(Debug, Clone)]
pub(super) enum Call {
    Head(SessionId),
    Lines(SessionId, u64, Limit),
    Memories(SessionId, u32, u32),
    List(Query),
    Due(Millis, usize),
    Blob(Digest),
    Keep(Arc<[u8]>),
    Commit(Box<Change>),
    Report,
    Prune(Vec<Pruned>),
    Pruned(SessionId),
    PrunedAfter(Option<SessionId>, usize),
    Changes(Option<Mark>, u64),
}

/// What an operation gives.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    Head(Option<Box<Head>>),
    Lines(Vec<Line>),
    Memories(Vec<String>),
    List(Vec<Listed>),
    Due(Vec<SessionId>),
    Blob(Option<Arc<[u8]>>),
    Keep(Digest),
    Commit(Committed),
    Report(Report),
    Taken(Vec<SessionId>),
    Pruned(Vec<Pruned>),
    Changes(Changes),
}

impl Call {
    /// Whether it waits for the disk.
    pub(super) fn syncs(&self) -> bool {
        matches!(self, Self::Keep(_) | Self::Commit(_) | Self::Prune(_))
    }

    /// Carries it out.
    pub(super) fn run(self, store: &impl Store) -> Result<Reply, Fault> {
        Ok(match self {
            Self::Head(session) => Reply::Head(store.head(session)?.map(Box::new)),
            Self::Lines(session, from, limit) => Reply::Lines(store.lines(session, from, limit)?),
            Self::Memories(session, from, count) => Reply::Memories(store.memories(session, from, count)?),
            Self::List(query) => Reply::List(store.list(&query)?),
            Self::Due(now, limit) => Reply::Due(store.due(now, limit)?),
            Self::Blob(digest) => Reply::Blob(store.blob(digest)?),
            Self::Keep(bytes) => Reply::Keep(store.keep(&bytes)?),
            Self::Commit(change) => Reply::Commit(store.commit(*change)?),
            Self::Report => Reply::Report(store.report()?),
            Self::Prune(records) => Reply::Taken(store.prune(&records)?),
            Self::Pruned(session) => Reply::Pruned(store.pruned(session)?.into_iter().collect()),
            Self::PrunedAfter(after, limit) => Reply::Pruned(store.pruned_after(after, limit)?),
            Self::Changes(after, wait) => Reply::Changes(store.changes(after, Duration::from_millis(wait))?),
        })
    }

    /// As a frame's body.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        match self {
            Self::Head(session) => {
                writer.byte(1);
                writer.exact(&session.to_bytes());
            }
            Self::Lines(session, from, limit) => {
                writer.byte(2);
                writer.exact(&session.to_bytes());
                writer.number(*from);
                writer.number(limit.lines as u64);
                writer.number(limit.bytes as u64);
            }
            Self::Memories(session, from, count) => {
                writer.byte(3);
                writer.exact(&session.to_bytes());
                writer.number(u64::from(*from));
                writer.number(u64::from(*count));
            }
            Self::List(query) => {
                writer.byte(4);
                put_query(&mut writer, query);
            }
            Self::Due(now, limit) => {
                writer.byte(5);
                writer.number(*now);
                writer.number(*limit as u64);
            }
            Self::Blob(digest) => {
                writer.byte(6);
                writer.exact(&digest.0);
            }
            Self::Keep(bytes) => {
                writer.byte(7);
                writer.bytes(bytes);
            }
            Self::Commit(change) => {
                writer.byte(8);
                put_change(&mut writer, change);
            }
            Self::Report => writer.byte(9),
            Self::Prune(records) => {
                writer.byte(10);
                writer.many(records, put_pruned);
            }
            Self::Pruned(session) => {
                writer.byte(11);
                writer.exact(&session.to_bytes());
            }
            Self::PrunedAfter(after, limit) => {
                writer.byte(12);
                writer.maybe(*after, |writer, session| writer.exact(&session.to_bytes()));
                writer.number(*limit as u64);
            }
            Self::Changes(after, wait) => {
                writer.byte(13);
                writer.maybe(after.as_ref(), put_mark);
                writer.number(*wait);
            }
        }
        writer.0
    }

    /// From a frame's body.
    pub(super) fn read(body: &[u8]) -> Result<Self, Broken> {
        let mut reader = Reader(body);
        let call = match reader.byte()? {
            1 => Self::Head(session(&mut reader)?),
            2 => {
                let (session, from) = (session(&mut reader)?, reader.number()?);
                Self::Lines(session, from, Limit { lines: reader.size()?, bytes: reader.size()? })
            }
            3 => Self::Memories(session(&mut reader)?, reader.small()?, reader.small()?),
            4 => Self::List(take_query(&mut reader)?),
            5 => Self::Due(reader.number()?, reader.size()?),
            6 => Self::Blob(Digest(reader.exact()?)),
            7 => Self::Keep(Arc::from(reader.bytes()?)),
            8 => Self::Commit(Box::new(take_change(&mut reader)?)),
            9 => Self::Report,
            10 => Self::Prune(reader.many(take_pruned)?),
            11 => Self::Pruned(session(&mut reader)?),
            12 => Self::PrunedAfter(reader.maybe(session)?, reader.size()?),
            13 => Self::Changes(reader.maybe(take_mark)?, reader.number()?),
            _ => return Err(Broken("no such operation")),
        };
        reader.end()?;
        Ok(call)
    }
}

fn session(reader: &mut Reader<'_>) -> Result<SessionId, Broken> {
    reader.exact().map(SessionId::from_bytes)
}

fn put_mark(writer: &mut Writer, mark: &Mark) {
    writer.number(mark.epoch);
    writer.number(mark.count);
}

fn take_mark(reader: &mut Reader<'_>) -> Result<Mark, Broken> {
    Ok(Mark { epoch: reader.number()?, count: reader.number()? })
}

fn put_query(writer: &mut Writer, query: &Query) {
    for wish in [&query.owner, &query.interpreter, &query.workflow] {
        writer.maybe(wish.as_deref(), Writer::text);
    }
    writer.flag(query.unfinished);
    writer.maybe(query.after, |writer, (start, session)| {
        writer.number(start);
        writer.exact(&session.to_bytes());
    });
    writer.number(query.limit as u64);
}

fn take_query(reader: &mut Reader<'_>) -> Result<Query, Broken> {
    Ok(Query {
        owner: reader.maybe(Reader::text)?,
        interpreter: reader.maybe(Reader::text)?,
        workflow: reader.maybe(Reader::text)?,
        unfinished: reader.flag()?,
        after: reader.maybe(|reader| Ok((reader.number()?, session(reader)?)))?,
        limit: reader.size()?,
    })
}

fn put_change(writer: &mut Writer, change: &Change) {
    writer.number(change.expected);
    put_head(writer, &change.head);
    writer.maybe(change.inherit.as_ref(), put_inherit);
    writer.many(&change.lines, |writer, line| writer.bytes(line));
    writer.many(&change.memories, |writer, memory| writer.text(memory));
    writer.maybe(change.due, Writer::number);
}

fn take_change(reader: &mut Reader<'_>) -> Result<Change, Broken> {
    Ok(Change {
        expected: reader.number()?,
        head: take_head(reader)?,
        inherit: reader.maybe(take_inherit)?,
        lines: reader.many(|reader| reader.bytes().map(Arc::from))?,
        memories: reader.many(Reader::text)?,
        due: reader.maybe(Reader::number)?,
    })
}

/// What came of a call, as a frame's body.
pub(super) fn outcome_bytes(outcome: &Result<Reply, Fault>) -> Vec<u8> {
    let mut writer = Writer::default();
    match outcome {
        Err(fault) => put_fault(&mut writer, fault),
        Ok(reply) => put_reply(&mut writer, reply),
    }
    if writer.0.len() <= FRAME_BYTES_MAX {
        return writer.0;
    }
    let (bytes, most) = (writer.0.len() as u64, FRAME_BYTES_MAX as u64);
    let mut writer = Writer::default();
    put_fault(&mut writer, &Fault::TooLarge { what: "an answer".to_owned(), bytes, most });
    writer.0
}

/// What came of a call, from a frame's body.
pub(super) fn read_outcome(body: &[u8]) -> Result<Result<Reply, Fault>, Broken> {
    let mut reader = Reader(body);
    let outcome = match reader.byte()? {
        0 => Err(take_fault(&mut reader)?),
        tag => Ok(take_reply(tag, &mut reader)?),
    };
    reader.end()?;
    Ok(outcome)
}

fn put_reply(writer: &mut Writer, reply: &Reply) {
    match reply {
        Reply::Head(head) => {
            writer.byte(1);
            writer.maybe(head.as_deref(), put_head);
        }
        Reply::Lines(lines) => {
            writer.byte(2);
            writer.many(lines, |writer, line| writer.bytes(line));
        }
        Reply::Memories(memories) => {
            writer.byte(3);
            writer.many(memories, |writer, memory| writer.text(memory));
        }
        Reply::List(listed) => {
            writer.byte(4);
            writer.many(listed, put_listed);
        }
        Reply::Due(sessions) => {
            writer.byte(5);
            writer.many(sessions, |writer, session| writer.exact(&session.to_bytes()));
        }
        Reply::Blob(blob) => {
            writer.byte(6);
            writer.maybe(blob.as_deref(), Writer::bytes);
        }
        Reply::Keep(digest) => {
            writer.byte(7);
            writer.exact(&digest.0);
        }
        Reply::Commit(committed) => {
            writer.byte(8);
            writer.byte(match committed {
                Committed::Conflict => 0,
                Committed::Done => 1,
                Committed::Dropped => 2,
            });
        }
        Reply::Report(report) => {
            writer.byte(9);
            writer.text(&report.place);
            writer.text(&report.role);
            writer.number(report.bytes);
            for number in [report.sessions, report.unfinished, report.lines, report.contents, report.pruned] {
                writer.number(number);
            }
        }
        Reply::Taken(sessions) => {
            writer.byte(10);
            writer.many(sessions, |writer, session| writer.exact(&session.to_bytes()));
        }
        Reply::Pruned(records) => {
            writer.byte(11);
            writer.many(records, put_pruned);
        }
        Reply::Changes(changes) => {
            writer.byte(12);
            put_mark(writer, &changes.mark);
            writer.many(&changes.sessions, |writer, session| writer.exact(&session.to_bytes()));
            writer.flag(changes.missed);
        }
    }
}

fn take_reply(tag: u8, reader: &mut Reader<'_>) -> Result<Reply, Broken> {
    Ok(match tag {
        1 => Reply::Head(reader.maybe(take_head)?.map(Box::new)),
        2 => Reply::Lines(reader.many(|reader| reader.bytes().map(Arc::from))?),
        3 => Reply::Memories(reader.many(Reader::text)?),
        4 => Reply::List(reader.many(take_listed)?),
        5 => Reply::Due(reader.many(session)?),
        6 => Reply::Blob(reader.maybe(Reader::bytes)?.map(Arc::from)),
        7 => Reply::Keep(Digest(reader.exact()?)),
        8 => Reply::Commit(match reader.byte()? {
            0 => Committed::Conflict,
            1 => Committed::Done,
            2 => Committed::Dropped,
            _ => return Err(Broken("no such answer to a change")),
        }),
        9 => Reply::Report(Report {
            place: reader.text()?,
            role: reader.text()?,
            bytes: reader.number()?,
            sessions: reader.number()?,
            unfinished: reader.number()?,
            lines: reader.number()?,
            contents: reader.number()?,
            pruned: reader.number()?,
        }),
        10 => Reply::Taken(reader.many(session)?),
        11 => Reply::Pruned(reader.many(take_pruned)?),
        12 => Reply::Changes(Changes {
            mark: take_mark(reader)?,
            sessions: reader.many(session)?,
            missed: reader.flag()?,
        }),
        _ => return Err(Broken("no such answer")),
    })
}

fn put_listed(writer: &mut Writer, listed: &Listed) {
    match listed {
        Listed::Head(head) => {
            writer.flag(true);
            put_head(writer, head);
        }
        Listed::Unreadable(session, why) => {
            writer.flag(false);
            writer.exact(&session.to_bytes());
            writer.text(why);
        }
    }
}

fn take_listed(reader: &mut Reader<'_>) -> Result<Listed, Broken> {
    if reader.flag()? {
        return Ok(Listed::Head(Box::new(take_head(reader)?)));
    }
    Ok(Listed::Unreadable(session(reader)?, reader.text()?))
}

fn put_fault(writer: &mut Writer, fault: &Fault) {
    writer.byte(0);
    let (kind, words, numbers): (u8, [&str; 2], [u64; 2]) = match fault {
        Fault::Directory { path, reason } => (1, [path, reason], [0, 0]),
        Fault::Damaged { path, reason } => (2, [path, reason], [0, 0]),
        Fault::Newer { what, found, known } => (3, [what, ""], [u64::from(*found), u64::from(*known)]),
        Fault::Unreadable { what, reason } => (4, [what, reason], [0, 0]),
        Fault::Io(reason) => (5, [reason, ""], [0, 0]),
        Fault::TooLarge { what, bytes, most } => (6, [what, ""], [*bytes, *most]),
        Fault::Owner(reason) => (7, [reason, ""], [0, 0]),
    };
    writer.byte(kind);
    words.into_iter().for_each(|words| writer.text(words));
    numbers.into_iter().for_each(|number| writer.number(number));
}

fn take_fault(reader: &mut Reader<'_>) -> Result<Fault, Broken> {
    let (kind, what, reason) = (reader.byte()?, reader.text()?, reader.text()?);
    let (first, second) = (reader.number()?, reader.number()?);
    let small = |number: u64| u32::try_from(number).map_err(|_| Broken("a number is too large"));
    Ok(match kind {
        1 => Fault::Directory { path: what, reason },
        2 => Fault::Damaged { path: what, reason },
        3 => Fault::Newer { what, found: small(first)?, known: small(second)? },
        4 => Fault::Unreadable { what, reason },
        5 => Fault::Io(what),
        6 => Fault::TooLarge { what, bytes: first, most: second },
        7 => Fault::Owner(what),
        _ => return Err(Broken("no such fault")),
    })
}
