//! A host in memory that drives a dialect natively through the life of a call: route, event, turn, requests, journal. It
//! keeps the promises of the real one that a dialect can feel, and checks the dialect's own.
//!
//! Not here: durability, limits, tenants, connections. A call without a session id is the caller's only connection.

mod check;
mod host;
mod session;

pub use host::{Fault, Host};
pub use session::Held;

use crate::model::{Failure, Request, Source};

/// What lies outside: the person at the client, upstream servers, models, clocks.
pub trait World {
    /// Carries out a request, and says from where the value came. None: it stays open.
    fn carry_out(&mut self, request: &Request) -> Option<(Source, Result<String, Failure>)>;

    /// How long the last one took, in milliseconds.
    fn took(&self) -> u64 {
        0
    }
}

/// A world in which nobody answers.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl World for Alone {
    fn carry_out(&mut self, _request: &Request) -> Option<(Source, Result<String, Failure>)> {
        None
    }
}
