//! `wfhost test`: recorded walks beside the documents, run again through the documents as they are now.

mod file;
mod junit;
mod yaml;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};

pub(super) use file::text;

use super::upstreams::Own;
use super::{Documents, code, place, print};
use crate::catalogue::{Catalogue, Definition, WALK_SUFFIX};
use crate::plugin::Plugin;
use crate::session::{Mismatch, Walk};

const AFTER: &str = "\
A walk is a YAML file `NAME.walk.yaml` that `wfhost sessions export ID --as-test` writes: the calls and answers of a session, and \
what came of each. A field that a step leaves out is not compared, so a walk may be made as loose as you like. `--bless` writes \
what comes now into the files; read the difference before you keep it.

Exit codes: 0 every walk comes out as it is written, 1 one does not, or there is none, 2 wrong command line.";

/// What `test` is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Test {
    #[command(flatten)]
    documents: Documents,
    #[command(flatten)]
    upstreams: Own,
    /// Write what comes now into the walks that come out otherwise.
    #[arg(long)]
    bless: bool,
    /// Write a report for CI, in JUnit's XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// How a walk came out.
#[derive(Debug)]
enum Outcome {
    Same,
    Otherwise(Vec<Mismatch>),
    Blessed,
    /// It could not be run: why.
    Unfit(String),
}

#[derive(Debug)]
struct Case {
    file: PathBuf,
    workflow: String,
    outcome: Outcome,
    /// The line of the step that came out otherwise.
    line: Option<usize>,
    seconds: f64,
}

impl Test {
    pub(super) fn run(mut self) -> Result<ExitCode> {
        self.documents = self.documents.with_servers(self.upstreams.names()?);
        let plugins = self.documents.plugins(place::cache())?;
        let catalogue = Catalogue::load(&plugins, self.documents.places(), None)?;
        place::findings(&catalogue).iter().for_each(print::note);
        let files = walks(self.documents.places())?;
        let cases: Vec<Case> = files.iter().map(|file| self.case(file, &catalogue)).collect();
        let well =
            !cases.is_empty() && cases.iter().all(|case| matches!(case.outcome, Outcome::Same | Outcome::Blessed));
        if let Some(report) = &self.junit {
            std::fs::write(report, junit::report(&cases))
                .with_context(|| format!("`{}` cannot be written", report.display()))?;
        }
        if self.json {
            print::json(&json!({"ok": well, "walks": cases.iter().map(row).collect::<Vec<_>>()}));
            return Ok(code(well));
        }
        cases.iter().for_each(tell);
        if cases.is_empty() {
            bail!(
                "no walks (`*{WALK_SUFFIX}`) beside {}; `wfhost sessions export ID --as-test -o FILE` writes one",
                self.documents.shown()
            );
        }
        let same = cases.iter().filter(|case| matches!(case.outcome, Outcome::Same)).count();
        print::aside(format_args!("{same} of {} walks come out as they are written", cases.len()));
        Ok(code(well))
    }

    fn case(&self, file: &Path, catalogue: &Catalogue) -> Case {
        let begun = Instant::now();
        let mut case =
            Case { file: file.to_owned(), workflow: String::new(), outcome: Outcome::Same, line: None, seconds: 0.0 };
        let outcome = self.outcome(&mut case, catalogue);
        case.outcome = outcome.unwrap_or_else(|error| Outcome::Unfit(format!("{error:#}")));
        case.seconds = begun.elapsed().as_secs_f64();
        case
    }

    fn outcome(&self, case: &mut Case, catalogue: &Catalogue) -> Result<Outcome> {
        let text = std::fs::read_to_string(&case.file).context("it cannot be read")?;
        let read = file::read(&text)?;
        case.workflow.clone_from(&read.walk.workflow);
        let (plugin, definition) = runs(catalogue, &read.walk)?;
        let now = read.walk.run(&plugin, &definition);
        let mismatches = read.walk.compare(&now);
        let Some(first) = mismatches.first() else { return Ok(Outcome::Same) };
        case.line = read.lines.get(first.step - 1).copied();
        if !self.bless {
            return Ok(Outcome::Otherwise(mismatches));
        }
        std::fs::write(&case.file, file::text(&blessed(&read.walk, now))?).context("it cannot be written")?;
        Ok(Outcome::Blessed)
    }
}

/// What came now, in the fields that the walk speaks of; all of them for a step that came out as another kind.
fn blessed(then: &Walk, mut now: Walk) -> Walk {
    for (before, step) in then.steps.iter().zip(&mut now.steps) {
        let kind = |fields: &serde_json::Map<String, Value>| {
            ["refused", "broken", "outcome"].map(|field| fields.contains_key(field))
        };
        if kind(&before.expect) == kind(&step.expect) && !before.expect.is_empty() {
            step.expect.retain(|field, _| before.expect.contains_key(field));
        }
    }
    now
}

/// What runs a walk among what there is now.
fn runs(catalogue: &Catalogue, walk: &Walk) -> Result<(Arc<Plugin>, Arc<Definition>)> {
    let Some(offered) = catalogue.of(&walk.interpreter) else {
        bail!("it is a walk of {}, and no document of that is here", walk.interpreter);
    };
    let Some(definition) = offered.definition(&walk.workflow) else {
        bail!("it is a walk of `{}`; {} has {}", walk.workflow, walk.interpreter, offered.ids.join(", "));
    };
    Ok((Arc::clone(&offered.plugin), Arc::clone(definition)))
}

/// The walks in these folders, and below.
fn walks(places: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = places.to_vec();
    while let Some(place) = left.pop() {
        let named = place.file_name().is_some_and(|name| name.to_string_lossy().ends_with(WALK_SUFFIX));
        let is_folder =
            std::fs::metadata(&place).with_context(|| format!("`{}` cannot be read", place.display()))?.is_dir();
        if is_folder {
            for entry in std::fs::read_dir(&place).with_context(|| format!("`{}` cannot be read", place.display()))? {
                let path = entry?.path();
                // What stands in the way of nothing is passed over: links into nowhere, hidden folders.
                let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
                if !hidden && (path.is_file() || path.is_dir()) {
                    left.push(path);
                }
            }
        } else if named {
            found.push(place);
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn place_of(case: &Case) -> String {
    let line = case.line.map(|line| format!(":{line}")).unwrap_or_default();
    print::plain(&format!("{}{line}", case.file.display()))
}

fn tell(case: &Case) {
    let place = place_of(case);
    match &case.outcome {
        Outcome::Same => print::line(format_args!("OK   {place}")),
        Outcome::Blessed => print::line(format_args!("NEW  {place}: written anew")),
        Outcome::Unfit(why) => print::line(format_args!("FAIL {place}: {}", print::plain(why))),
        Outcome::Otherwise(mismatches) => {
            for found in mismatches {
                print::line(format_args!("FAIL {place}: step {}, {}", found.step, found.field));
                print::line(format_args!("       expected {}", shown(&found.expected)));
                print::line(format_args!("       got      {}", shown(&found.got)));
            }
        }
    }
}

fn shown(value: &Value) -> String {
    print::cut(&print::plain(&value.to_string()), 300)
}

fn row(case: &Case) -> Value {
    let (outcome, detail) = match &case.outcome {
        Outcome::Same => ("same", Value::Null),
        Outcome::Blessed => ("blessed", Value::Null),
        Outcome::Unfit(why) => ("unfit", why.as_str().into()),
        Outcome::Otherwise(mismatches) => ("otherwise", json!(mismatches)),
    };
    json!({"file": case.file.display().to_string(), "workflow": case.workflow, "outcome": outcome, "line": case.line, "detail": detail})
}
