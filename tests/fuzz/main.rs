//! Whatever bytes come, nothing panics and nothing takes long: documents of every interpreter, states of their sessions,
//! expressions and their data, stored records and journal lines, messages at the edge of the server. On stable Rust, without
//! instrumentation: inputs are made from recorded cases by a small mutator.
//!
//! `cargo test` runs each target for two seconds, always with the same inputs in the same order.
//! `WFHOST_FUZZ_SECONDS=60 cargo test -p wfhost-tests --test fuzz -- documents` runs some targets for a minute each, with other
//! inputs every time; `WFHOST_FUZZ_SEED=N` makes the same ones again. What is found is kept beside the test programs, and its
//! path told.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test; what a JSON value lacks reads as null"
)]

mod edge;
mod guests;
mod languages;
mod mutate;
mod records;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use mutate::Mutator;
use wfhost::session::model::Digest;

/// How long one input may take, of a program that was built to be tested and not to be fast.
const ONE_INPUT: Duration = Duration::from_secs(20);
/// How long a target runs unless somebody says otherwise, seconds.
const SHORT: u64 = 2;
/// The stack of a thread that runs a target: a server's threads have no more.
const STACK: usize = 2 << 20;

/// What is done with an input. Says what is wrong, if anything is.
type Run = Box<dyn FnMut(&[u8]) -> Result<(), String> + Send>;

/// A target: its first inputs, and what is done with one.
struct Target {
    name: String,
    corpus: Vec<Vec<u8>>,
    run: Run,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Each has a core to itself, but for one more: those at the edge wait for their server most of the time.
    arguments.test_threads =
        arguments.test_threads.or(Some(std::thread::available_parallelism().map_or(2, usize::from) + 1));
    let makers = guests::targets().into_iter().chain(languages::targets()).chain(records::targets());
    let makers = makers.chain(edge::targets());
    let trials = makers.map(|(name, make)| Trial::test(name, move || fuzz(make()))).collect();
    // A panic is what is looked for: it is told by the target, once.
    std::panic::set_hook(Box::new(|_| {}));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn fuzz(target: Target) -> Result<(), Failed> {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || run(target)).unwrap();
    thread.join().map_err(|_| Failed::from("the target itself panicked"))?
}

fn run(mut target: Target) -> Result<(), Failed> {
    let seconds = number("WFHOST_FUZZ_SECONDS");
    let by_chance = || seconds.map_or(1, |_| u64::from(std::process::id()));
    let seed = number("WFHOST_FUZZ_SEED").unwrap_or_else(by_chance);
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(SHORT));
    assert!(!target.corpus.is_empty(), "{} has nothing to begin with", target.name);
    let mut mutator = Mutator::new(seed, target.corpus.clone());
    let mut tried = 0u64;
    // The first inputs as they are, then what becomes of them.
    let mut firsts = std::mem::take(&mut target.corpus).into_iter();
    while Instant::now() < until {
        let input = firsts.next().unwrap_or_else(|| mutator.input());
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        let wrong = match outcome {
            Ok(Ok(())) if began.elapsed() > ONE_INPUT => format!("it took {:?}", began.elapsed()),
            Ok(Ok(())) => {
                tried += 1;
                continue;
            }
            Ok(Err(wrong)) => wrong,
            Err(panic) => format!("a panic: {}", words(&*panic)),
        };
        let kept = keep(&target.name, &input);
        return Err(Failed::from(format!(
            "WFHOST_FUZZ_SEED={seed}, input {tried}: {wrong}; kept in {}",
            kept.display()
        )));
    }
    eprintln!("fuzz: {}: {tried} inputs", target.name);
    if tried == 0 { Err(Failed::from("no input was tried")) } else { Ok(()) }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

fn keep(name: &str, input: &[u8]) -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().join("fuzz-found");
    let path = folder.join(format!("{}-{:.12}", name.replace('/', "-"), Digest::of(input).to_string()));
    let _ = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, input));
    path
}

/// The recorded cases' folder.
fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}
