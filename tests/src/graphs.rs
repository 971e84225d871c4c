//! What is particular in the cases of mcpGraph: results as MCP has them, failures as JSON-RPC errors of which the facts count and
//! not the words, load errors of several libraries, and recorded answers of upstream servers.

use std::collections::VecDeque;

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};
use wfhost_guest::model::{Failure, Mishap, ToolCall};

use crate::compare::{Bound, Rules};
use crate::corpus::{Act, Case, Step, text_of};
use crate::driver::Driver;
use crate::runner::Verdict;

/// What a case does. Those of the peer's second server, and its command line, have no counterpart.
pub(crate) fn act(case: &Map<String, Value>) -> Result<Act> {
    if text_of(case, "server") != "mcpgraph" || case.contains_key("cli") {
        return Ok(Act::Foreign);
    }
    if case.contains_key("load_error") {
        // Words of the command line and of files beside the document are the host's matter.
        let text = text_of(case, "load_error");
        let file = text.contains("ENOENT") || text.contains("file not found");
        let issues = case.get("load_error_issues").map(Value::to_string);
        return Ok(if file { Act::Foreign } else { Act::LoadError(issues.unwrap_or(text)) });
    }
    let calls: Vec<Step> = case.get("calls").and_then(Value::as_array).into_iter().flatten().flat_map(steps).collect();
    if calls.is_empty() {
        let tools = case.get("tools_list").cloned().unwrap_or_else(|| json!([]));
        return Ok(Act::Listing { tools, initialize: case.get("initialize").cloned().unwrap_or_default() });
    }
    Ok(Act::Calls(calls))
}

/// Calls at once are made one after the other here; that they do not meet is another test's matter. What is no call of a
/// tool is a matter of the wire.
fn steps(call: &Value) -> Vec<Step> {
    let Some(together) = call.get("parallel").and_then(Value::as_array) else {
        return step(call).into_iter().collect();
    };
    let mut steps: Vec<Step> = together.iter().filter_map(step).collect();
    let answers = call.get("upstream").and_then(Value::as_array).into_iter().flatten();
    for (step, answer) in steps.iter_mut().zip(answers) {
        step.upstream.push(answer.clone());
    }
    steps
}

fn step(call: &Value) -> Option<Step> {
    let tool = call.get("tool")?.as_str()?.to_owned();
    let result = match call.get("error") {
        Some(error) => error.clone(),
        None => call.pointer("/result/structuredContent").cloned().unwrap_or_default(),
    };
    Some(Step {
        tool,
        arguments: call.get("arguments").cloned(),
        is_error: call.get("is_error").and_then(Value::as_bool).unwrap_or(false),
        result,
        elicited: Vec::new(),
        restart: None,
        loose: Vec::new(),
        upstream: call.get("upstream").and_then(Value::as_array).cloned().unwrap_or_default(),
    })
}

/// The facts of a failure: expression, rule, node, limit, the other side's code and result.
pub(crate) fn failure(want: &Value, got: &Value) -> Result<()> {
    let message = want["message"].as_str().unwrap_or_default();
    let fact = |key: &str, value: Value| -> Result<()> {
        ensure!(same(&value, &got[key]), "`{key}` is {}, want {value}; all of it: {got}", got[key]);
        Ok(())
    };
    if let Some((_, expression)) = message.split_once("\nExpression: ") {
        fact("expression", expression.into())?;
    }
    if let Some((_, rule)) = message.split_once("\nRule: ") {
        fact("rule", serde_json::from_str(rule)?)?;
    }
    if let Some((_, result)) = message.split_once("\n\nTool call result:\n") {
        fact("error", "tool_failed".into())?;
        fact("result", serde_json::from_str(result)?)?;
    }
    if let Some(rest) = message.strip_prefix("Switch node ") {
        fact("node", rest.split(':').next().unwrap_or_default().into())?;
    }
    for (words, error) in [("maximum node executions (", "limit_runs"), ("maximum execution time (", "limit_time")] {
        if let Some((_, rest)) = message.split_once(words) {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            fact("error", error.into())?;
            fact("limit", digits.parse::<u64>()?.into())?;
        }
    }
    if message.contains("Invalid tools/call result") {
        fact("error", "result_not_object".into())?;
    } else if let Some(code) = want["code"].as_i64().filter(|code| ![-32603, -32000].contains(code)) {
        fact("code", code.into())?;
        if let Some(data) = want.get("data") {
            ensure!(same(data, &got["detail"]["data"]), "the data are {}, want {data}", got["detail"]["data"]);
        }
    }
    Ok(())
}

fn same(want: &Value, got: &Value) -> bool {
    Bound::default().compare(want, got, Rules { subset: false, loose: &[] }, "$").is_ok()
}

/// Every fault that the peer tells is among our errors: by the last name of its path, by the names in quotes, by its line.
pub(crate) fn load_error(case: &Case, text: &str, driver: &mut dyn Driver) -> Result<Verdict> {
    let got = driver.validate(&case.setup.documents)?;
    ensure!(!got.accepted, "the documents are accepted; the peer says {text}");
    for wanted in facts(text) {
        let told = got.errors.iter().any(|error| wanted.iter().all(|word| error.contains(word)));
        ensure!(told, "no error names {wanted:?}; ours: {:#?}", got.errors);
    }
    Ok(Verdict::Met)
}

/// The words that one error each must hold.
fn facts(text: &str) -> Vec<Vec<String>> {
    if let Ok(Value::Array(issues)) = serde_json::from_str(text) {
        let last = |issue: &Value| {
            let path = issue["path"].as_array().cloned().unwrap_or_default();
            path.iter().rev().find_map(Value::as_str).map(str::to_owned).into_iter().collect::<Vec<_>>()
        };
        return issues.iter().map(last).collect();
    }
    if text.starts_with("Configuration validation failed") {
        let node = |line: &str| line.split('"').nth(1).map(str::to_owned).into_iter().collect::<Vec<_>>();
        return text.lines().skip(1).map(node).collect();
    }
    if let Some(faults) = text.strip_prefix("Graph validation failed: ") {
        let names = |fault: &str| fault.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        // Ids of several nodes stand in a list of their own.
        return faults.split(", ").map(names).filter(|names| !names.is_empty()).collect();
    }
    // A library's words about YAML: its line counts.
    let place = text.split_once('(').and_then(|(_, rest)| rest.split(':').next());
    let line = place.filter(|line| !line.is_empty() && line.chars().all(|c| c.is_ascii_digit()));
    vec![line.map(|line| format!(" {line}:")).into_iter().collect()]
}

/// Upstream servers by script.
#[derive(Debug)]
pub(crate) struct Upstream {
    recorded: VecDeque<Value>,
    fault: Option<String>,
    /// How long the last answer took, in milliseconds.
    pub(crate) took: u64,
}

impl Upstream {
    pub(crate) fn new(recorded: Vec<Value>) -> Self {
        Self { recorded: recorded.into(), fault: None, took: 0 }
    }

    /// The recorded answer to a call. A call that was not recorded is a fault; where nothing was, no server was to be had.
    pub(crate) fn answer(&mut self, call: &ToolCall) -> Result<String, Failure> {
        let failure = |kind, message: &str, detail| Err(Failure { kind, message: message.to_owned(), detail });
        let server = call.server.clone().unwrap_or_default();
        let args: Value = serde_json::from_str(&call.args).unwrap_or_default();
        let ours = |one: &Value| one["server"] == server && one["tool"] == call.tool && same(&one["arguments"], &args);
        let Some(place) = self.recorded.iter().position(ours) else {
            if !self.recorded.is_empty() {
                self.fault =
                    Some(format!("{server}.{} was called with {args}; recorded: {:?}", call.tool, self.recorded));
            }
            return failure(Mishap::Unavailable, "there is no such server", None);
        };
        let Some(answer) = self.recorded.remove(place) else { return failure(Mishap::Failed, "gone", None) };
        self.took = args.get("ms").and_then(Value::as_u64).unwrap_or(0);
        match (answer.get("result"), answer.get("error")) {
            (Some(result), _) => Ok(result.to_string()),
            (None, Some(error)) => {
                failure(Mishap::Failed, error["message"].as_str().unwrap_or_default(), Some(error.to_string()))
            }
            (None, None) => failure(Mishap::Lost, "the connection was closed", None),
        }
    }

    /// All that was recorded was asked, and nothing else.
    pub(crate) fn done(&self) -> Result<()> {
        ensure!(self.fault.is_none(), "{}", self.fault.clone().unwrap_or_default());
        ensure!(self.recorded.is_empty(), "not asked: {:?}", self.recorded);
        Ok(())
    }
}
