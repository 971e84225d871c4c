//! What happened, told to whoever counts it, sends it on or acts on it: names, numbers and times, never a value that a
//! document, an agent or a person gave. An observer is told after the commit, must not wait, and can break nothing.

mod facts;
mod hooks;
mod metrics;
mod otlp;

use std::sync::Arc;

pub use facts::{Called, Committed, Ended, Tally};
pub use hooks::{Hook, Hooks, Post};
pub use metrics::{MEDIA_TYPE, Metrics};
pub use otlp::{Exporter, ExporterFault};

/// Is told what happened. It is called on the threads that serve: what takes time goes into a queue of its own.
pub trait Observer: Send + Sync + std::fmt::Debug {
    /// A change of a session is durable.
    fn committed(&self, fact: &Committed<'_>) {
        let _ = fact;
    }
    /// A tool call has been answered.
    fn called(&self, fact: &Called<'_>) {
        let _ = fact;
    }
}

/// All who are told.
#[derive(Debug, Clone, Default)]
pub struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    /// One more.
    pub fn add(&mut self, observer: Arc<dyn Observer>) {
        self.0.push(observer);
    }

    /// Whether anybody is told.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn committed(&self, fact: &Committed<'_>) {
        self.0.iter().for_each(|observer| observer.committed(fact));
    }

    pub(crate) fn called(&self, fact: &Called<'_>) {
        self.0.iter().for_each(|observer| observer.called(fact));
    }
}
