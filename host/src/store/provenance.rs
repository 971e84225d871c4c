//! The parts of stored records that say where a journal comes from, who vouches for it, and what is gone.

use super::codec::{Broken, Reader, Writer};
use super::format;
use super::{Fault, Inherit};
use crate::session::model::{Digest, Fork, Gap, Pruned, Seal, SessionId};

pub(super) fn put_fork(writer: &mut Writer, fork: &Fork) {
    writer.exact(&fork.from.to_bytes());
    writer.number(u64::from(fork.seq));
    writer.number(fork.lines);
    writer.exact(&fork.root.to_bytes());
    writer.number(fork.root_started);
}

pub(super) fn take_fork(reader: &mut Reader<'_>) -> Result<Fork, Broken> {
    Ok(Fork {
        from: SessionId::from_bytes(reader.exact()?),
        seq: reader.small()?,
        lines: reader.number()?,
        root: SessionId::from_bytes(reader.exact()?),
        root_started: reader.number()?,
    })
}

pub(super) fn put_seal(writer: &mut Writer, seal: &Seal) {
    writer.exact(&seal.key);
    writer.number(seal.lines);
    writer.many(&seal.gaps, |writer, gap| {
        writer.number(gap.from);
        writer.number(gap.to);
    });
    writer.exact(&seal.signature);
}

pub(super) fn take_seal(reader: &mut Reader<'_>) -> Result<Seal, Broken> {
    Ok(Seal {
        key: reader.exact()?,
        lines: reader.number()?,
        gaps: reader.many(|reader| Ok(Gap { from: reader.number()?, to: reader.number()? }))?,
        signature: reader.exact()?,
    })
}

pub(super) fn put_inherit(writer: &mut Writer, inherit: &Inherit) {
    writer.exact(&inherit.from.to_bytes());
    writer.number(inherit.lines);
    writer.number(u64::from(inherit.memories));
}

pub(super) fn take_inherit(reader: &mut Reader<'_>) -> Result<Inherit, Broken> {
    Ok(Inherit { from: SessionId::from_bytes(reader.exact()?), lines: reader.number()?, memories: reader.small()? })
}

pub(super) fn put_pruned(writer: &mut Writer, pruned: &Pruned) {
    writer.exact(&pruned.session.to_bytes());
    [&pruned.owner, &pruned.interpreter, &pruned.workflow, &pruned.standing].iter().for_each(|text| writer.text(text));
    [pruned.started, pruned.changed, pruned.lines, pruned.at].into_iter().for_each(|number| writer.number(number));
    writer.exact(&pruned.chain.0);
    writer.maybe(pruned.seal.as_ref(), put_seal);
}

pub(super) fn take_pruned(reader: &mut Reader<'_>) -> Result<Pruned, Broken> {
    let session = SessionId::from_bytes(reader.exact()?);
    let (owner, interpreter, workflow, standing) = (reader.text()?, reader.text()?, reader.text()?, reader.text()?);
    let (started, changed, lines, at) = (reader.number()?, reader.number()?, reader.number()?, reader.number()?);
    let chain = Digest(reader.exact()?);
    let seal = reader.maybe(take_seal)?;
    Ok(Pruned { session, owner, interpreter, workflow, started, changed, standing, lines, chain, at, seal })
}

/// What is kept of a pruned session, as a record.
pub(super) fn pruned(record: &Pruned) -> Vec<u8> {
    let mut writer = Writer::default();
    put_pruned(&mut writer, record);
    format::wrap(&writer.0)
}

/// What is kept of a pruned session, from its record.
pub(super) fn read_pruned(record: &[u8], session: SessionId) -> Result<Pruned, Fault> {
    let what = || format!("what is kept of the pruned session {session}");
    let mut reader = Reader(format::unwrap(record, &what)?);
    let read = take_pruned(&mut reader).and_then(|read| reader.end().map(|()| read));
    read.map_err(|broken| Fault::Unreadable { what: what(), reason: broken.to_string() })
}
