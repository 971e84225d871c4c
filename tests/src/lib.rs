//! What the tests share: recorded cases and how a server is held against them. A driver is one way to reach a server; the
//! same cases run through every driver, and equal answers prove that nothing is lost on the way.
//!
//! - `corpus`: the format of a case; `compare`: what counts as equal; `deviations`: where we are not as the peer, and why
//! - `driver`: what a driver must do; `runner`: one case against one driver; `findings`: what it says of documents
//! - `graphs`: what is particular in cases of mcpGraph
//! - `walk`: cases of the machines' peer, with views, several clients and canned upstream servers
//! - `client`: raw JSON-RPC with a server process; `http`: the same over HTTP; `served`: the driver that uses it on the program itself
//! - `lab`: a host in the test's own process, with a clock that stands still
//! - `tampered`: a store that somebody else writes to
//! - `native`: the driver that calls an interpreter directly, without wasm

#![allow(
    clippy::indexing_slicing,
    clippy::cmp_owned,
    reason = "what a JSON value lacks reads as null; texts are compared"
)]

pub mod client;
pub mod compare;
pub mod corpus;
pub mod deviations;
pub mod driver;
mod findings;
mod graphs;
pub mod http;
pub mod lab;
pub mod native;
pub mod runner;
pub mod served;
pub mod tampered;
pub mod twisted;
pub mod upstream;
mod walk;
