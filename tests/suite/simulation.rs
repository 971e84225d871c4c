//! Thousands of random walks over several processes that are killed again and again: calls are sent twice, to two
//! processes at once, too early, too late; and after each of them the invariants of host/README.md are looked at.
//!
//! The seed is printed. `WFHOST_SIM_SEED=N` walks the same walks again (which process dies when is the machine's to say),
//! `WFHOST_SIM_WALKS=N` as many as one likes.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cmp_owned,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test; what a JSON value lacks reads as null"
)]

#[path = "../simulation/crew.rs"]
mod crew;
#[path = "../simulation/walk.rs"]
mod walk;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crew::Crew;
use walk::{Dice, Found, Walk};

/// Walks that go on at once.
const HANDS: u64 = 4;

/// What a simulation saw.
struct Seen {
    found: Option<Found>,
    walks: usize,
    calls: usize,
    kills: usize,
    lost: usize,
    settled: usize,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn simulate(plant: &str, walks: u64) -> Seen {
    let seed = number("WFHOST_SIM_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("simulation: plant {plant}, WFHOST_SIM_SEED={seed}, {walks} walks");
    let crew = Crew::hire(plant);
    let (ended, begun) = (AtomicBool::new(false), AtomicUsize::new(0));
    let seen = thread::scope(|scope| {
        let reaper = scope.spawn(|| {
            let mut dice = Dice::new(seed ^ 0xdead);
            while !ended.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(20 + dice.roll(180)));
                crew.kill(dice.roll(3));
            }
        });
        let hands: Vec<_> = (0..HANDS)
            .map(|hand| {
                let (crew, ended, begun) = (&crew, &ended, &begun);
                scope.spawn(move || {
                    let mut all = Seen { found: None, walks: 0, calls: 0, kills: 0, lost: 0, settled: 0 };
                    loop {
                        let number = begun.fetch_add(1, Ordering::Relaxed) as u64;
                        if number >= walks || ended.load(Ordering::Relaxed) {
                            return all;
                        }
                        let mut walk = Walk::new(crew, seed.wrapping_add(number.wrapping_mul(0x9e37_79b9)), hand);
                        let outcome = walk.run();
                        all.walks += 1;
                        all.calls += walk.calls;
                        all.lost += walk.lost;
                        all.settled += walk.settled;
                        if let Err(found) = outcome {
                            ended.store(true, Ordering::Relaxed);
                            all.found = Some(found);
                            return all;
                        }
                    }
                })
            })
            .collect();
        let hands: Vec<Seen> = hands.into_iter().map(|hand| hand.join().unwrap()).collect();
        ended.store(true, Ordering::Relaxed);
        reaper.join().unwrap();
        hands.into_iter().reduce(|a, b| Seen {
            found: a.found.or(b.found),
            walks: a.walks + b.walks,
            calls: a.calls + b.calls,
            kills: 0,
            lost: a.lost + b.lost,
            settled: a.settled + b.settled,
        })
    });
    let seen = Seen { kills: crew.kills(), ..seen.unwrap() };
    println!(
        "simulation: {} walks, {} calls, {} processes killed, {} replies lost with them, {} of those found done: {}",
        seen.walks,
        seen.calls,
        seen.kills,
        seen.lost,
        seen.settled,
        seen.found.as_ref().map_or("all invariants held", |found| found.0.as_str()),
    );
    seen
}

#[test]
fn every_invariant_holds_on_every_walk() {
    let walks = number("WFHOST_SIM_WALKS").unwrap_or(1_200);
    let seen = simulate("none", walks);
    assert!(seen.found.is_none(), "{:?}", seen.found);
    assert_eq!(seen.walks as u64, walks);
    // It would be worth nothing if nothing had happened.
    assert!(seen.kills > 20 && seen.lost > 20, "{} kills, {} replies lost", seen.kills, seen.lost);
}

#[test]
fn a_reply_before_its_commit_is_found() {
    assert!(simulate("early-reply", 5_000).found.is_some());
}

#[test]
fn a_lost_compare_and_set_is_found() {
    assert!(simulate("lost-compare", 5_000).found.is_some());
}
