//! Every recorded case through every driver of its dialect: `cargo test --test conformance -- mcptree/ask`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use anyhow::{Result, bail};
use libtest_mimic::{Arguments, Failed, Trial};
use wfhost_graphs::Graphs;
use wfhost_guides::Guides;
use wfhost_machines::Machines;
use wfhost_tests::corpus::{self, Case};
use wfhost_tests::deviations::{self, Deviation};
use wfhost_tests::driver::Driver;
use wfhost_tests::native::Native;
use wfhost_tests::runner::{self, Verdict};
use wfhost_tests::served::Served;
use wfhost_trees::Trees;

type Make = fn() -> Result<Box<dyn Driver>>;

const PROGRAM: &str = env!("CARGO_BIN_EXE_wfhost-under-test");

/// The drivers of a dialect's cases, by the name of its folder.
fn drivers(dialect: &str) -> Vec<(&'static str, Make)> {
    match dialect {
        "mcptree" => vec![
            ("native", || Ok(Box::new(Native::<Trees>::new(wfhost_trees::interpreter())))),
            ("served", || Ok(Box::new(Served::new(Path::new(PROGRAM), "trees")?))),
        ],
        "guidepost" => vec![
            ("native", || Ok(Box::new(Native::<Guides>::new(wfhost_guides::interpreter())))),
            ("served", || Ok(Box::new(Served::new(Path::new(PROGRAM), "guides")?))),
        ],
        "mcpgraph" => vec![
            ("native", || Ok(Box::new(Native::<Graphs>::new(wfhost_graphs::interpreter())))),
            ("served", || Ok(Box::new(Served::new(Path::new(PROGRAM), "graphs")?))),
        ],
        "machines" => vec![
            ("native", || Ok(Box::new(Native::<Machines>::new(wfhost_machines::interpreter())))),
            ("served", || Ok(Box::new(Served::new(Path::new(PROGRAM), "machines")?))),
        ],
        _ => Vec::new(),
    }
}

/// How many cases of a driver went which way.
#[derive(Default)]
struct Tally {
    met: usize,
    deviating: usize,
    not_applicable: usize,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut trials = Vec::new();
    let mut tallies = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let entry = entry?;
        let dialect = entry.file_name().to_string_lossy().into_owned();
        let drivers = drivers(&dialect);
        if drivers.is_empty() {
            continue;
        }
        let cases = corpus::load(&entry.path())?;
        let deviations = deviations::load(&entry.path().join("DEVIATIONS.toml"), &cases)?;
        for (driver, make) in drivers {
            let tally = Arc::new(Mutex::new(Tally::default()));
            tallies.push((format!("{dialect} [{driver}]"), Arc::clone(&tally)));
            for case in cases.clone() {
                let deviation = deviations
                    .get(&case.name)
                    .filter(|one| one.drivers.is_empty() || one.drivers.iter().any(|name| name == driver))
                    .cloned();
                let tally = Arc::clone(&tally);
                let name = format!("{dialect}/{} [{driver}]", case.name);
                trials.push(Trial::test(name, move || trial(&case, make, deviation.as_ref(), &tally)));
            }
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    for (name, tally) in tallies {
        if let Ok(tally) = tally.lock() {
            writeln!(
                std::io::stdout(),
                "{name}: {} as the peer, {} deviate as listed, {} not applicable",
                tally.met,
                tally.deviating,
                tally.not_applicable
            )?;
        }
    }
    Ok(conclusion.exit_code())
}

fn trial(case: &Case, make: Make, deviation: Option<&Deviation>, tally: &Mutex<Tally>) -> Result<(), Failed> {
    let at = deviation.map(|one| one.at.clone()).unwrap_or_default();
    let outcome = make().and_then(|mut driver| runner::run(case, &at, driver.as_mut()));
    let verdict = judged(case, outcome, deviation).map_err(|fault| format!("{fault:#}\n  rule: {}", case.about))?;
    let mut tally = tally.lock().map_err(|_| "the tally is poisoned")?;
    match verdict {
        Some(Verdict::Met) => tally.met += 1,
        Some(Verdict::NotApplicable) => tally.not_applicable += 1,
        None => tally.deviating += 1,
    }
    Ok(())
}

/// None: it deviates as listed.
fn judged(case: &Case, outcome: Result<Verdict>, deviation: Option<&Deviation>) -> Result<Option<Verdict>> {
    match (outcome, deviation) {
        (Ok(Verdict::Met), Some(listed)) if !listed.at.is_empty() => Ok(None),
        (Err(fault), Some(listed)) if !listed.at.is_empty() => Err(fault),
        (Ok(Verdict::Met), Some(listed)) => {
            bail!("{} is listed as a deviation and is met: {}", case.name, listed.reason)
        }
        (Ok(verdict), _) => Ok(Some(verdict)),
        (Err(_), Some(_)) => Ok(None),
        (Err(fault), None) => Err(fault),
    }
}
