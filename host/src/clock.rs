//! The only callers of the system's clock and of its randomness. Everything else is handed time and entropy.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::session::model::Millis;

/// Where time and entropy come from. Tests bring their own.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Now.
    fn now(&self) -> Millis;
    /// Fresh entropy.
    fn entropy(&self) -> u128;
}

/// Processor time that this thread has used so far.
#[cfg(unix)]
pub(crate) fn worked() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Where threads are not told what they have used: time itself.
#[cfg(not(unix))]
pub(crate) fn worked() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The system's.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Clock for System {
    fn now(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
    }

    #[expect(
        clippy::expect_used,
        reason = "a machine without randomness cannot name sessions so that none can guess them"
    )]
    fn entropy(&self) -> u128 {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has randomness");
        u128::from_ne_bytes(bytes)
    }
}
