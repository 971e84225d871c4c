//! When a journal is sealed and what a seal says. A host with a key signs the head at every commit; what stood there without
//! a good seal before is named in the seal as a gap, so that signing what follows never vouches for it.

use std::sync::PoisonError;

use super::damage::Damage;
use super::fault::Fault;
use super::host::Host;
use crate::limits::{GAPS_MAX, SEALS_IN_MEMORY_MAX};
use crate::seal::{PublicKey, Signer};
use crate::session::model::{Digest, Gap, Head, Pruned, Seal, SessionId};

/// The bytes that are signed for a journal.
fn of_journal(session: SessionId, lines: u64, chain: Digest, gaps: &[Gap]) -> Vec<u8> {
    let mut bytes = b"wfhost seal 1\0".to_vec();
    bytes.extend_from_slice(&session.to_bytes());
    bytes.extend_from_slice(&lines.to_be_bytes());
    bytes.extend_from_slice(&chain.0);
    for gap in gaps {
        bytes.extend_from_slice(&gap.from.to_be_bytes());
        bytes.extend_from_slice(&gap.to.to_be_bytes());
    }
    bytes
}

/// The bytes that are signed for what is kept of a pruned session.
fn of_pruned(pruned: &Pruned) -> Vec<u8> {
    let mut bytes = b"wfhost pruned 1\0".to_vec();
    bytes.extend_from_slice(&pruned.session.to_bytes());
    [pruned.lines, pruned.started, pruned.changed, pruned.at]
        .iter()
        .for_each(|n| bytes.extend_from_slice(&n.to_be_bytes()));
    bytes.extend_from_slice(&pruned.chain.0);
    for text in [&pruned.owner, &pruned.interpreter, &pruned.workflow, &pruned.standing] {
        bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// The seal on a head.
pub(super) fn seal_on(signer: &Signer, head: &Head, gaps: Vec<Gap>) -> Seal {
    let signature = signer.sign(&of_journal(head.session, head.lines, head.chain, &gaps));
    Seal { key: signer.public().0, lines: head.lines, gaps, signature }
}

/// The seal on what is kept of a pruned session.
pub(super) fn seal_on_pruned(signer: &Signer, pruned: &Pruned) -> Seal {
    let signature = signer.sign(&of_pruned(pruned));
    Seal { key: signer.public().0, lines: pruned.lines, gaps: Vec::new(), signature }
}

/// Whether a seal is good for a journal whose chain stands so after the lines that it covers.
fn is_good(seal: &Seal, session: SessionId, chain: Digest) -> bool {
    PublicKey(seal.key).signed(&of_journal(session, seal.lines, chain, &seal.gaps), &seal.signature)
}

/// What a seal leaves to be said, before the holder of one of these keys; without keys only whether it fits.
pub(super) fn findings(head: &Head, chain: Option<Digest>, keys: &[PublicKey]) -> Vec<Damage> {
    let Some(seal) = &head.seal else {
        return if keys.is_empty() { Vec::new() } else { vec![Damage::Unsigned { from: 1, to: head.lines }] };
    };
    if !chain.is_some_and(|chain| is_good(seal, head.session, chain)) {
        return vec![Damage::BadSignature { lines: seal.lines }];
    }
    if keys.is_empty() {
        return Vec::new();
    }
    if !keys.iter().any(|key| key.0 == seal.key) {
        return vec![Damage::OtherKey { key: PublicKey(seal.key).to_string() }];
    }
    let after = (seal.lines < head.lines).then_some(Gap { from: seal.lines + 1, to: head.lines });
    seal.gaps.iter().chain(&after).map(|gap| Damage::Unsigned { from: gap.from, to: gap.to }).collect()
}

/// What is wrong with the record of a pruned session, before the holder of one of these keys.
#[must_use]
pub fn pruned_findings(pruned: &Pruned, keys: &[PublicKey]) -> Option<Damage> {
    let lines = pruned.lines;
    match &pruned.seal {
        None => (!keys.is_empty()).then_some(Damage::Unsigned { from: 1, to: lines }),
        Some(seal) if !PublicKey(seal.key).signed(&of_pruned(pruned), &seal.signature) => {
            Some(Damage::BadSignature { lines })
        }
        Some(seal) if !keys.is_empty() && !keys.iter().any(|key| key.0 == seal.key) => {
            Some(Damage::OtherKey { key: PublicKey(seal.key).to_string() })
        }
        Some(_) => None,
    }
}

impl Host {
    /// Seals a head that is about to be committed, if this host has a key. `start` is how many lines there were before the
    /// change, and the chain as far as they go.
    pub(super) fn seal(&self, start: (u64, Digest), head: &mut Head) -> Result<(), Fault> {
        let Some(signer) = &self.options.signer else { return Ok(()) };
        let gaps = self.gaps(signer.public(), start, head)?;
        let seal = seal_on(signer, head, gaps);
        let mut sealed = self.sealed.lock().unwrap_or_else(PoisonError::into_inner);
        if sealed.len() >= SEALS_IN_MEMORY_MAX {
            sealed.clear();
        }
        sealed.insert(head.session, (head.chain, seal.clone()));
        drop(sealed);
        head.seal = Some(seal);
        Ok(())
    }

    /// Which lines before a change bear no good seal of this key.
    fn gaps(&self, key: PublicKey, (lines, chain): (u64, Digest), head: &Head) -> Result<Vec<Gap>, Fault> {
        if lines == 0 {
            return Ok(Vec::new());
        }
        let whole = || Ok(vec![Gap { from: 1, to: lines }]);
        let Some(seal) = head.seal.as_ref().filter(|seal| seal.key == key.0 && (1..=lines).contains(&seal.lines))
        else {
            return whole();
        };
        let chain_then = if seal.lines == lines {
            chain
        } else {
            // The line after the last one that is covered names the chain as it was then.
            self.line(head.session, seal.lines + 1)?.prev.parse().unwrap_or_default()
        };
        if !self.sealed_itself(head.session, chain_then, seal) && !is_good(seal, head.session, chain_then) {
            return whole();
        }
        let after = (seal.lines < lines).then_some(Gap { from: seal.lines + 1, to: lines });
        Ok(joined(seal.gaps.iter().copied().chain(after)))
    }

    fn sealed_itself(&self, session: SessionId, chain: Digest, seal: &Seal) -> bool {
        let sealed = self.sealed.lock().unwrap_or_else(PoisonError::into_inner);
        sealed.get(&session).is_some_and(|(then, ours)| *then == chain && ours == seal)
    }
}

/// Gaps in order, those that touch as one; too many are one large one: it is safe to vouch for less.
fn joined(gaps: impl Iterator<Item = Gap>) -> Vec<Gap> {
    let mut joined: Vec<Gap> = Vec::new();
    for gap in gaps {
        match joined.last_mut() {
            Some(last) if last.to + 1 >= gap.from => last.to = last.to.max(gap.to),
            Some(_) | None => joined.push(gap),
        }
    }
    match (joined.first(), joined.last()) {
        (Some(first), Some(last)) if joined.len() > GAPS_MAX => vec![Gap { from: first.from, to: last.to }],
        _ => joined,
    }
}
