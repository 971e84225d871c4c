//! The load generator of `tests/bench`: many clients on one thread, each with one call in flight. Prints a JSON object.
//!
//! `bench-load http HOST:PORT CLIENTS SECONDS ring|echo`: HTTP, stateless era, a kept connection for each client.
//! `bench-load stdio CLIENTS SECONDS COMMAND..`: that many sessions over the input and output of one process.
//! `bench-load inside DATA|- DOCUMENTS CLIENTS SECONDS`: threads that call a host in this process; `-` keeps in memory.
//! `bench-load length DATA DOCUMENTS STEPS..`: what a step costs after so many steps of its session.
//! `bench-load store DATA DOCUMENTS SESSIONS..`: what a step costs in a store of so many sessions.

#![allow(clippy::print_stdout, clippy::indexing_slicing, clippy::string_slice, reason = "a program of the benchmarks")]

#[path = "../../bench/load/inside.rs"]
mod inside;
#[path = "../../bench/load/wire.rs"]
mod wire;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let shown = match words.as_slice() {
        ["http", address, clients, seconds, what] => wire::http(address, clients.parse()?, time(seconds)?, what)?,
        ["stdio", clients, seconds, command @ ..] => wire::stdio(clients.parse()?, time(seconds)?, command)?,
        ["inside", data, documents, clients, seconds] => {
            inside::clients((data, documents), clients.parse()?, time(seconds)?)?
        }
        ["length", data, documents, steps @ ..] => inside::length((data, documents), steps)?,
        ["store", data, documents, sessions @ ..] => inside::store((data, documents), sessions)?,
        _ => bail!("see the top of tests/src/bin/bench-load.rs"),
    };
    println!("{shown}");
    Ok(())
}

fn time(seconds: &str) -> Result<Duration> {
    Ok(Duration::from_secs_f64(seconds.parse()?))
}

/// What was measured: calls, how long each took in seconds, and how long all of it took.
fn figures(mut times: Vec<f64>, took: Instant) -> Value {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (times.len() as f64 * share) as usize;
        times.get(place.min(times.len().saturating_sub(1))).map_or(0.0, |t| (t * 1e6).round() / 1e3)
    };
    let rate = (times.len() as f64 / took.elapsed().as_secs_f64()).round();
    json!({"calls": times.len(), "per_s": rate, "p50_ms": at(0.5), "p95_ms": at(0.95), "p99_ms": at(0.99), "max_ms": at(1.0)})
}
