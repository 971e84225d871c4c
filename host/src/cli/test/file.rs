//! A walk as a YAML file: written so that a difference reads well, read with the line of each step.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use super::yaml::{self, Node};
use crate::cli::time;
use crate::session::{Came, Walk, WalkStep};

/// The form of the files, the newest that is read.
const FORM: u64 = 1;

/// A walk, and the line of each of its steps.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) walk: Walk,
    pub(super) lines: Vec<usize>,
}

/// The file's text.
pub(in crate::cli) fn text(walk: &Walk) -> Result<String> {
    let mut out = String::new();
    let name = Value::from(walk.workflow.as_str());
    let at = time::utc(walk.started);
    writeln!(
        out,
        "# A walk through {name}, recorded {at}. `wfhost test` runs it again; what a step leaves out is not compared."
    )?;
    writeln!(out, "walk: {FORM}\ninterpreter: {}\nworkflow: {name}", Value::from(walk.interpreter.as_str()))?;
    writeln!(out, "session: {}\nstarted: {}\nhuman_only: {}\nsteps:", walk.session, walk.started, walk.human_only)?;
    for step in &walk.steps {
        writeln!(out, "  - at: {}", step.at)?;
        match &step.event {
            Came::Fork { session } => writeln!(out, "    fork: {}", Value::from(session.as_str()))?,
            Came::Event { source, seed, input } => {
                writeln!(
                    out,
                    "    source: {}\n    seed: {}",
                    Value::from(source.as_str()),
                    Value::from(seed.as_str())
                )?;
                writeln!(out, "    input: {input}")?;
            }
        }
        for (field, value) in &step.expect {
            put(&mut out, field, value)?;
        }
    }
    // What cannot be read back must not be kept for a test.
    let read = read(&out).context("the walk cannot be written as YAML")?;
    if read.walk != *walk {
        bail!("the walk cannot be written as YAML: it would be read back otherwise");
    }
    Ok(out)
}

/// A field of a step: lists and objects with a line for each item.
fn put(out: &mut String, field: &str, value: &Value) -> std::fmt::Result {
    match value {
        Value::Array(items) if !items.is_empty() => {
            writeln!(out, "    {field}:")?;
            items.iter().try_for_each(|item| writeln!(out, "      - {item}"))
        }
        Value::Object(fields) if !fields.is_empty() => {
            writeln!(out, "    {field}:")?;
            fields.iter().try_for_each(|(name, value)| {
                let long = name.chars().count() > 500;
                let mark = if long { "? " } else { "" };
                let colon = if long { "\n      : " } else { ": " };
                writeln!(out, "      {mark}{}{colon}{value}", Value::from(name.as_str()))
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            writeln!(out, "    {field}: {value}")
        }
    }
}

/// Reads a file's text.
pub(super) fn read(text: &str) -> Result<Read> {
    let root = yaml::load(text)?;
    let form = root.field("walk").and_then(|node| node.value().as_u64());
    match form {
        Some(FORM) => {}
        Some(other) if other > FORM => {
            bail!("it is a walk in form {other}, this wfhost reads {FORM}: use a newer wfhost")
        }
        Some(_) | None => bail!("it is no walk: its first field should be `walk: {FORM}`"),
    }
    let word = |field: &str| -> Result<String> {
        let node = root.field(field).with_context(|| format!("it has no `{field}`"))?;
        let text = node.value().as_str().map(str::to_owned);
        text.with_context(|| format!("line {}: `{field}` should be a text", node.line))
    };
    let session = word("session")?;
    let session = session.parse().ok().with_context(|| format!("`{session}` is no session id"))?;
    let steps = root.field("steps").context("it has no `steps`")?;
    let mut read = Read {
        walk: Walk {
            interpreter: word("interpreter")?,
            workflow: word("workflow")?,
            session,
            started: root.field("started").and_then(|node| node.value().as_u64()).context("it has no `started`")?,
            human_only: root.field("human_only").is_some_and(|node| node.value() == Value::Bool(true)),
            steps: Vec::new(),
        },
        lines: Vec::new(),
    };
    for node in steps.items() {
        read.walk.steps.push(step(node)?);
        read.lines.push(node.line);
    }
    Ok(read)
}

fn step(node: &Node) -> Result<WalkStep> {
    let line = node.line;
    let Value::Object(mut fields) = node.value() else { bail!("line {line}: a step should be a mapping") };
    let text = |fields: &mut Map<String, Value>, name: &str| match fields.shift_remove(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => bail!("line {line}: `{name}` should be a text"),
        None => bail!("line {line}: the step has no `{name}`"),
    };
    let at = fields.shift_remove("at").and_then(|at| at.as_u64());
    let at = at.with_context(|| format!("line {line}: the step has no `at`, in milliseconds since 1970"))?;
    if fields.contains_key("fork") {
        let event = Came::Fork { session: text(&mut fields, "fork")? };
        return Ok(WalkStep { at, event, expect: Map::new() });
    }
    let (source, seed) = (text(&mut fields, "source")?, text(&mut fields, "seed")?);
    let input = fields.shift_remove("input").with_context(|| format!("line {line}: the step has no `input`"))?;
    Ok(WalkStep { at, event: Came::Event { source, seed, input }, expect: fields })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn walk(expect: Value) -> Walk {
        let Value::Object(expect) = expect else { panic!("an object") };
        let event = Came::Event {
            source: "agent".into(),
            seed: "0000000000000007".into(),
            input: json!({"call": {"tool": "t", "args": {"a: b": "# - \u{1}\u{2028}é'\"\n", "n": 1e30, "m": -7}}}),
        };
        Walk {
            interpreter: "i".into(),
            workflow: "w: x".into(),
            session: crate::session::model::SessionId::from_bits(7),
            started: 8,
            human_only: true,
            steps: vec![WalkStep { at: 9, event, expect }],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let long = "k".repeat(2_000);
        for expect in [
            json!({}),
            json!({"entries": [], "reply": "text", "outcome": null, "is_error": true}),
            json!({"entries": [{"node": "yes", "n": "0x10"}, "null", 1.5, []], "reply": {"true": "~", "": {"x": [{}]}, long: 1}}),
        ] {
            let walk = walk(expect);
            let text = text(&walk).unwrap();
            let read = read(&text).unwrap();
            assert_eq!(read.walk, walk, "{text}");
            assert_eq!(text.lines().nth(read.lines[0] - 1), Some("  - at: 9"));
        }
    }

    #[test]
    fn what_is_no_walk_is_told_with_its_line() {
        for (text, told) in [
            ("", "it is no walk"),
            ("walk: 2", "use a newer wfhost"),
            ("walk: 1\nworkflow: [", "line "),
            ("walk: 1\ninterpreter: i\nworkflow: w\nsession: ses_x\nstarted: 1\nsteps: []", "no session id"),
            (
                "walk: 1\ninterpreter: i\nworkflow: w\nsession: ses_00000000000000000000000000000007\nstarted: 1\nsteps:\n- at: 1\n  seed: x",
                "line 7: the step has no `source`",
            ),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
