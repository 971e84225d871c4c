//! A host in this process: what a step costs without a wire, by the number of those who take steps, by the length of the
//! session and by the number of sessions in the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use wfhost::catalogue::Plugins;
use wfhost::clock::{Clock as _, System};
use wfhost::plugin::{Runtime, RuntimeOptions};
use wfhost::session::model::{Digest, Head, Line, SessionId};
use wfhost::session::{Caller, Host, HostOptions};
use wfhost::store::{self, Change, Durability, Options};

use super::figures;

/// Steps that are measured at one place of a session.
const MEASURED: u64 = 400;

fn host((data, documents): (&str, &str), durability: Durability) -> Result<Host> {
    let cache = Some(std::env::temp_dir().join("wfhost-bench-native"));
    let plugins = Plugins::choose(
        &Arc::new(Runtime::new(RuntimeOptions { cache, ..RuntimeOptions::default() })?),
        &["trees".into()],
    )?;
    let store = match data {
        "-" => store::open_ephemeral()?,
        data => store::open(Path::new(data), Options { durability, ..Options::default() })?,
    };
    Ok(Host::new(store, Arc::new(System), (plugins, vec![PathBuf::from(documents)]), HostOptions::default())?)
}

fn call(host: &Host, tool: &str, args: &Value) -> Result<Value> {
    let caller = Caller { channel: "bench", ..Caller::default() };
    let value: Value = serde_json::from_str(&host.blocking().call(&caller, tool, &args.to_string())?.output.value)?;
    ensure!(value["error"].is_null(), "{value}");
    Ok(value)
}

fn begin(host: &Host) -> Result<String> {
    let value = call(host, "tree_start", &json!({"tree_id": "ring9"}))?;
    Ok(value["session_id"].as_str().context("no session")?.to_owned())
}

fn step(host: &Host, session: &str, number: u64) -> Result<f64> {
    let args = json!({"session_id": session, "step": number, "value": "on"});
    let began = Instant::now();
    call(host, "tree_answer", &args)?;
    Ok(began.elapsed().as_secs_f64())
}

/// So many threads, each with a session of its own.
pub(super) fn clients(place: (&str, &str), clients: usize, time: Duration) -> Result<Value> {
    let host = host(place, Durability::PowerLoss)?;
    let until = Instant::now() + time;
    let began = Instant::now();
    let all: Result<Vec<Vec<f64>>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| -> Result<Vec<f64>> {
                    let (session, mut times) = (begin(&host)?, Vec::new());
                    while Instant::now() < until {
                        times.push(step(&host, &session, times.len() as u64 + 1)?);
                    }
                    Ok(times)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().map_err(|_| anyhow::anyhow!("a client panicked"))?).collect()
    });
    let mut shown = figures(all?.concat(), began);
    shown["clients"] = json!(clients);
    shown["over"] = json!(if place.0 == "-" { "inside, in memory" } else { "inside" });
    Ok(shown)
}

/// One session, looked at after so many steps.
pub(super) fn length(place: (&str, &str), steps: &[&str]) -> Result<Value> {
    let host = host(place, Durability::PowerLoss)?;
    let (session, mut at) = (begin(&host)?, 0);
    let mut shown = Vec::new();
    for wanted in steps {
        let wanted: u64 = wanted.parse()?;
        while at < wanted {
            at += 1;
            step(&host, &session, at)?;
        }
        let (began, mut times) = (Instant::now(), Vec::new());
        for _ in 0..MEASURED {
            at += 1;
            times.push(step(&host, &session, at)?);
        }
        let mut figures = figures(times, began);
        figures["after_steps"] = json!(wanted);
        shown.push(figures);
    }
    Ok(json!(shown))
}

/// A store that is filled to so many sessions, and a walk in it.
pub(super) fn store(place: (&str, &str), sessions: &[&str]) -> Result<Value> {
    let mut shown = Vec::new();
    let mut filled = 0;
    for wanted in sessions {
        let wanted: u64 = wanted.parse()?;
        let began = Instant::now();
        fill(place.0, filled, wanted)?;
        let filling = began.elapsed().as_secs_f64();
        filled = wanted;
        let opened = Instant::now();
        let host = host(place, Durability::PowerLoss)?;
        let opened = opened.elapsed().as_secs_f64();
        let session = begin(&host)?;
        for number in 1..=200 {
            step(&host, &session, number)?;
        }
        let (began, mut times) = (Instant::now(), Vec::new());
        for number in 201..=200 + 2 * MEASURED {
            times.push(step(&host, &session, number)?);
        }
        let mut figures = figures(times, began);
        figures["sessions"] = json!(wanted);
        figures["fill_s"] = json!(filling.round());
        figures["open_ms"] = json!((opened * 1e3).round());
        figures["bytes"] = json!(host.store().report()?.bytes);
        figures["resident_mib"] = json!(resident());
        shown.push(figures);
        host.store().close();
    }
    Ok(json!(shown))
}

/// Finished sessions with a state and three lines each, as the store sees them.
fn fill(data: &str, from: u64, to: u64) -> Result<()> {
    let options = Options { durability: Durability::Process, ..Options::default() };
    let store = store::open(Path::new(data), options)?;
    let threads = 64;
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|thread| {
                let store = &store;
                scope.spawn(move || -> Result<()> {
                    for number in (from + thread..to).step_by(usize::try_from(threads)?) {
                        store.commit(made_up(number))?;
                    }
                    Ok(())
                })
            })
            .collect();
        all.into_iter().try_for_each(|t| t.join().map_err(|_| anyhow::anyhow!("a thread panicked"))?)
    })?;
    store.close();
    Ok(())
}

fn made_up(number: u64) -> Change {
    let lines: Vec<Line> =
        (1..=3).map(|n| Line::from(format!("{{\"n\":{n},\"at\":{number},{}", "x".repeat(350)).into_bytes())).collect();
    let head = Head {
        session: SessionId::from_bits(System.entropy()),
        owner: String::new(),
        interpreter: "trees".into(),
        plugin: Digest::default(),
        definition: Digest::default(),
        workflow: "made-up".into(),
        parent: None,
        fork: None,
        seal: None,
        started: 1_700_000_000_000 + number,
        changed: 1_700_000_000_000 + number,
        human_only: false,
        lines: 3,
        chain: Digest::of(&number.to_le_bytes()),
        entries: 3,
        memories: 0,
        window: 0,
        state: "s".repeat(300),
        requests: Vec::new(),
        current: Vec::new(),
        outcome: (!number.is_multiple_of(10)).then(|| Ok("null".into())),
    };
    Change { expected: 0, head, inherit: None, lines, memories: Vec::new(), due: None }
}

/// The process's memory at its highest, MiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}
