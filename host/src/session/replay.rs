//! A session once more: the recorded events through the plugin and the definition that it is pinned to, or through others,
//! and every entry, reply and state compared.

use std::sync::Arc;

use super::caller::Caller;
use super::fault::Fault;
use super::host::Host;
use super::line::LineRow;
use super::rerun::{self, Difference, Rerun};
use super::wire;
use crate::catalogue::Definition;
use crate::limits::PAGE_BYTES_MAX;
use crate::plugin::Plugin;
use crate::session::model::SessionId;
use crate::store::Limit;

/// What to run a session through instead of what it is pinned to.
#[derive(Debug, Clone, Default)]
pub struct Instead {
    /// Another plugin.
    pub plugin: Option<Arc<Plugin>>,
    /// Another definition.
    pub definition: Option<Arc<Definition>>,
}

impl Instead {
    fn is_nothing(&self) -> bool {
        self.plugin.is_none() && self.definition.is_none()
    }
}

/// What a replay showed.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Replayed {
    /// The session.
    pub session: String,
    /// Its workflow.
    pub workflow: String,
    /// Events that were run again.
    pub events: u64,
    /// The first difference, if there is any. Through something else: the first that leads another way, else the first of all.
    pub difference: Option<Difference>,
}

impl Replayed {
    /// Whether the session goes the same way, whatever it says on it.
    #[must_use]
    pub fn same_way(&self) -> bool {
        self.difference.as_ref().is_none_or(|difference| !difference.way)
    }
}

impl Host {
    /// Runs a session again. The journal and the store are left as they are.
    pub fn replay(&self, caller: &Caller, session: SessionId, instead: &Instead) -> Result<Replayed, Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        let pinned = self.pinned(&head)?;
        let plugin = instead.plugin.as_ref().unwrap_or(&pinned.plugin);
        let definition = instead.definition.as_ref().unwrap_or(&pinned.definition);
        let mut rerun = Rerun::new(&head, plugin, definition);
        let mut replayed =
            Replayed { session: session.to_string(), workflow: head.workflow.clone(), events: 0, difference: None };
        let mut next = 1;
        while next <= head.lines {
            let lines = self.lines(session, next, Limit { lines: 256, bytes: 4 * PAGE_BYTES_MAX })?;
            if lines.is_empty() {
                break;
            }
            for line in lines {
                next += 1;
                if let Some(fork) = &line.fork {
                    rerun.fork(&line.session, fork);
                }
                if line.event.is_none() {
                    continue;
                }
                replayed.events += 1;
                let found = step(&mut rerun, &line);
                // Through something else other words are expected: they do not hide that the way is another one.
                let first = found.into_iter().next().filter(|found| found.way || replayed.difference.is_none());
                let ends = first.as_ref().is_some_and(|first| first.way || instead.is_nothing());
                replayed.difference = first.or(replayed.difference);
                if ends {
                    return Ok(replayed);
                }
            }
        }
        Ok(replayed)
    }
}

fn step(rerun: &mut Rerun<'_>, line: &LineRow) -> Vec<Difference> {
    let event = line.event.as_ref().and_then(|row| wire::event_of(row, line.at));
    let Some(event) = event else {
        return vec![rerun::differs(line.n, "event", ("an event", "a row that is none"), true)];
    };
    // A fault moved nothing, and may have been the machine's: it is not asked to come again.
    if line.fault.is_some() {
        return Vec::new();
    }
    rerun::differences(line, &rerun.run(&event))
}
