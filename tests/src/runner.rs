//! One case against one driver.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use crate::compare::{Bound, Rules, quoted};
use crate::corpus::{Act, Case, Cli, Elicited, Step};
use crate::deviations::At;
use crate::driver::{Asked, Driver};
use crate::{findings, graphs, walk};

/// How a case went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As recorded.
    Met,
    /// This driver has no such thing.
    NotApplicable,
}

/// Runs a case. An error says where it is not met. `at`: calls that give something else on purpose.
pub fn run(case: &Case, at: &BTreeMap<usize, At>, driver: &mut dyn Driver) -> Result<Verdict> {
    match &case.act {
        Act::Calls(steps) => calls(case, steps, driver),
        Act::LoadError(text) if case.dialect == "mcpgraph" => graphs::load_error(case, text, driver),
        Act::LoadError(text) => load_error(case, text, driver),
        Act::Foreign => Ok(Verdict::NotApplicable),
        Act::Refused(problems) => findings::refused(&case.setup.documents, problems, driver),
        Act::Lint(lint) => findings::told(&case.setup.documents, lint, driver),
        Act::LoadCode(code) => walk::refused(case, code, driver),
        Act::Walk(calls) => walk::walk(case, calls, at, driver),
        Act::Cli(cli) => command(case, cli, driver),
        Act::Listing { tools, initialize } => listing(case, (tools, initialize), driver),
    }
}

fn calls(case: &Case, steps: &[Step], driver: &mut dyn Driver) -> Result<Verdict> {
    ensure!(driver.start(&case.setup)?, "the server does not start on these documents");
    let mut bound = Bound::default();
    for (index, step) in steps.iter().enumerate() {
        if let Some(change) = &step.restart {
            driver.restart(change)?;
        }
        call(case, step, driver, &mut bound)
            .map_err(|fault| fault.context(format!("call {} {}", index + 1, step.tool)))?;
    }
    driver.look_back()?;
    Ok(Verdict::Met)
}

fn call(case: &Case, step: &Step, driver: &mut dyn Driver, bound: &mut Bound) -> Result<()> {
    let arguments = step.arguments.as_ref().map(|arguments| bound.fill(arguments));
    let replies: Vec<Value> = step.elicited.iter().map(|asked| asked.reply.clone()).collect();
    driver.upstream(&step.upstream);
    let got = driver.call(&step.tool, arguments.as_ref(), &replies)?;
    ensure!(got.is_error == step.is_error, "is_error is {}: {}", got.is_error, got.value);
    if case.setup.client_capabilities.is_some() {
        asked(&step.elicited, &got.elicited)?;
    }
    if step.is_error && case.dialect == "mcpgraph" {
        return graphs::failure(&step.result, &got.value);
    }
    if step.is_error && !step.result.is_object() {
        return failure(&step.tool, &step.result, &got.value);
    }
    let loose: Vec<String> = case.loose.iter().chain(&step.loose).cloned().collect();
    bound
        .compare(&step.result, &got.value, Rules { subset: case.subset, loose: &loose }, "$")
        .map_err(anyhow::Error::msg)
}

fn asked(want: &[Elicited], got: &[Asked]) -> Result<()> {
    ensure!(want.len() == got.len(), "{} questions reached the person, want {}", got.len(), want.len());
    for (want, got) in want.iter().zip(got) {
        ensure!(want.message == got.message, "the person is asked {:?}, want {:?}", got.message, want.message);
        for key in ["/properties/value/type", "/properties/value/enum", "/required"] {
            let (a, b) = (want.schema.pointer(key), got.schema.pointer(key));
            let single = key.ends_with("enum") && want.schema.pointer("/properties/value/const").is_some();
            ensure!(a == b || single, "the form's {key} is {b:?}, want {a:?}");
        }
    }
    Ok(())
}

/// The text of an error of the peer's own. What its libraries say is not compared.
fn failure(tool: &str, want: &Value, got: &Value) -> Result<()> {
    let Some(body) = want.as_str().and_then(|text| text.strip_prefix(&format!("Error calling tool '{tool}': "))) else {
        return Ok(());
    };
    let text = got.as_str().map_or_else(|| got.to_string(), str::to_owned);
    ensure!(text.contains(body), "the error is {text:?}, want {body:?}");
    Ok(())
}

/// Every finding that the peer tells is among ours: the same file, and some error that holds the names it quotes.
fn load_error(case: &Case, text: &str, driver: &mut dyn Driver) -> Result<Verdict> {
    let got = driver.validate(&case.setup.documents)?;
    ensure!(!got.accepted, "the documents are accepted; the peer says {text}");
    findings(text, &got.errors)?;
    Ok(Verdict::Met)
}

fn findings(text: &str, errors: &[String]) -> Result<()> {
    let Some((file, text)) = text.split_once(": ").filter(|(file, _)| file.starts_with("trees/")) else {
        return Ok(());
    };
    let file = file.trim_start_matches("trees/");
    let issues = text.strip_prefix("invalid tree: ").map_or_else(|| vec![text], |issues| issues.split("; ").collect());
    for issue in issues {
        let node = issue.strip_prefix('[').and_then(|rest| rest.split(']').next()).filter(|node| *node != "tree");
        let library = issue.starts_with("invalid YAML") || issue.starts_with("tree contains non-JSON");
        let mut names: Vec<&str> =
            if library { Vec::new() } else { quoted(issue.split(" \u{2014} ").next().unwrap_or_default()) };
        names.extend(node);
        names.extend(
            issue
                .split_whitespace()
                .find(|word| word.starts_with(".branches") || word.starts_with("nodes."))
                .map(|word| word.trim_end_matches(':')),
        );
        let told = errors
            .iter()
            .any(|error| error.starts_with(&format!("{file}:")) && names.iter().all(|name| error.contains(name)));
        ensure!(told, "no error of {file} names {names:?}, as the peer does in {issue:?}; ours: {errors:#?}");
    }
    Ok(())
}

fn command(case: &Case, cli: &Cli, driver: &mut dyn Driver) -> Result<Verdict> {
    let Some(got) = driver.cli(&case.setup, &cli.args)? else { return Ok(Verdict::NotApplicable) };
    ensure!(got.exit == cli.exit, "exit {} instead of {}: {}", got.exit, cli.exit, got.stdout);
    if let Some(place) = cli.stdout.strip_prefix("no trees found in ") {
        // The words are ours, the place is the peer's.
        ensure!(
            got.stdout == format!("no documents found in {place}"),
            "want no documents in {place}, got {}",
            got.stdout
        );
        return Ok(Verdict::Met);
    }
    let is_report = cli.stdout.starts_with("OK ") || cli.stdout.starts_with("FAIL ");
    if !is_report {
        ensure!(got.stdout == cli.stdout, "want\n{}got\n{}", cli.stdout, got.stdout);
        return Ok(Verdict::Met);
    }
    let reports = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with("OK ") || line.starts_with("FAIL "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (want, got) = (reports(&cli.stdout), reports(&got.stdout));
    for line in &want {
        match line.strip_prefix("FAIL ") {
            None => ensure!(got.contains(line), "{line:?} is not among {got:?}"),
            Some(failed) => {
                let errors: Vec<String> =
                    got.iter().filter_map(|line| line.strip_prefix("FAIL trees/")).map(str::to_owned).collect();
                findings(failed, &errors)?;
            }
        }
    }
    let all_ok = |lines: &[String]| lines.iter().all(|line| line.starts_with("OK "));
    if all_ok(&want) != all_ok(&got) {
        bail!("want {want:?}, got {got:?}");
    }
    Ok(Verdict::Met)
}

/// Every tool of the peer is there with its arguments, so that a client of the peer is a client of ours.
fn listing(case: &Case, (tools, initialize): (&Value, &Value), driver: &mut dyn Driver) -> Result<Verdict> {
    ensure!(driver.start(&case.setup)?, "the server does not start on these documents");
    let got = driver.list_tools()?;
    let named = |tool: &Value| tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    for want in tools.as_array().into_iter().flatten() {
        let name = named(want);
        let Some(tool) = got.as_array().into_iter().flatten().find(|tool| named(tool) == name) else {
            bail!("there is no tool {name}")
        };
        let names = |tool: &Value| {
            tool.pointer("/inputSchema/properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(key, _)| key.clone())
                .collect::<Vec<_>>()
        };
        let have = names(tool);
        if let Some(missing) = names(want).into_iter().find(|argument| !have.contains(argument)) {
            bail!("{name} has no argument {missing}");
        }
        let required =
            |tool: &Value| tool.pointer("/inputSchema/required").cloned().unwrap_or(Value::Array(Vec::new()));
        ensure!(required(want) == required(tool), "{name} requires {}", required(tool));
    }
    if let Some(got) = driver.initialize()? {
        let name = |value: &Value| value.pointer("/serverInfo/name").cloned();
        let renamed = case.setup.serve_args.iter().any(|word| word == "--name");
        ensure!(!renamed || name(initialize) == name(&got), "the server calls itself {:?}", name(&got));
    }
    Ok(Verdict::Met)
}
