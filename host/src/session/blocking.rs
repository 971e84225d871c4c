//! What moves sessions, for callers that await nothing: command lines, and tests.

use super::advance::Advanced;
use super::caller::Caller;
use super::fault::Fault;
use super::host::Host;
use super::line::NoteRow;
use super::model::{OpenRequest, SessionId};
use crate::plugin::contract::{Reply, Source};
use crate::waiting::{now, working};

/// A host whose calls return when they are done.
#[derive(Debug, Clone, Copy)]
pub struct Blocking<'h>(&'h Host);

impl Host {
    /// The same host, for callers that await nothing.
    #[must_use]
    pub fn blocking(&self) -> Blocking<'_> {
        Blocking(self)
    }
}

impl Blocking<'_> {
    /// As [`Host::call`].
    pub fn call(&self, caller: &Caller, tool: &str, args: &str) -> Result<Advanced, Fault> {
        counted(self.0.call(caller, tool, args))
    }

    /// As [`Host::reply`].
    pub fn reply(
        &self,
        caller: &Caller,
        asked: (SessionId, &str),
        reply: &Reply,
        source: Source,
    ) -> Result<Option<Advanced>, Fault> {
        counted(self.0.reply(caller, asked, reply, source))
    }

    /// As [`Host::note`].
    pub fn note(&self, caller: &Caller, session: SessionId, note: &NoteRow) -> Result<(), Fault> {
        counted(self.0.note(caller, session, note))
    }

    /// As [`Host::send_again`].
    pub fn send_again(&self, caller: &Caller, session: SessionId, request: &OpenRequest) -> Result<bool, Fault> {
        counted(self.0.send_again(caller, session, request))
    }
}

fn counted<T>(work: impl Future<Output = T>) -> T {
    let _working = working();
    now(work)
}
