//! Sessions are taken out of the store, and what is kept of each says that it was there, how long its journal was, and what
//! its newest line hashed to: nothing goes without a trace, and a head that was exported can still be compared.

use super::fault::Fault;
use super::host::Host;
use super::sealing;
use crate::session::model::{Head, Pruned, SessionId};

impl Host {
    /// Takes these sessions out, as they stand. One that went on meanwhile is left; returns those that were taken.
    pub fn prune(&self, heads: &[Head]) -> Result<Vec<SessionId>, Fault> {
        let at = self.clock.now();
        let records: Vec<Pruned> = heads
            .iter()
            .map(|head| {
                let mut record = Pruned {
                    session: head.session,
                    owner: head.owner.clone(),
                    interpreter: head.interpreter.clone(),
                    workflow: head.workflow.clone(),
                    started: head.started,
                    changed: head.changed,
                    standing: standing(head).to_owned(),
                    lines: head.lines,
                    chain: head.chain,
                    at,
                    seal: None,
                };
                record.seal = self.options.signer.as_ref().map(|signer| sealing::seal_on_pruned(signer, &record));
                record
            })
            .collect();
        Ok(self.store.prune(&records)?)
    }
}

/// How a session stands, in a word.
fn standing(head: &Head) -> &str {
    match &head.outcome {
        None => "open",
        Some(Ok(_)) => "ended",
        Some(Err(failure)) => &failure.kind,
    }
}
