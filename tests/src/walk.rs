//! Cases of the machines' peer: calls, resources, several clients and canned servers, in the format that it was recorded in.
//! What only the peer's own files and commands show (its ledger, its log folder, its command line) is passed over.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use wfhost_guest::model::{Failure, Mishap, ToolCall};

use crate::compare::{Bound, Rules};
use crate::corpus::Case;
use crate::deviations::At;
use crate::driver::Driver;
use crate::runner::Verdict;

/// Names of the peer's language for what an expression, a call or a question came to, and ours.
const KINDS: [(&str, &str); 9] = [
    ("KeyError", "ExpressionError"),
    ("TypeError", "ExpressionError"),
    ("AttributeError", "ExpressionError"),
    ("ZeroDivisionError", "ExpressionError"),
    ("IndexError", "ExpressionError"),
    ("NameError", "ExpressionError"),
    ("RuntimeError", "UpstreamError"),
    ("McpError", "AskError"),
    ("float | None", "number"),
];

/// Members that tell of the peer's log folder.
const TRACKER: [&str; 5] = ["tracker_project", "persisted", "project", "app_dir", "meta_tools"];

/// Documents that are refused: with this code if there is one.
pub(crate) fn refused(case: &Case, code: &str, driver: &mut dyn Driver) -> Result<Verdict> {
    let documents = documents(case);
    let found = driver.findings(&documents)?.unwrap_or_default();
    let errors: Vec<_> = found.iter().filter(|found| found.level == "error").collect();
    let want = format!("machine-{}", code.replace('_', "-"));
    ensure!(!errors.is_empty(), "the documents are accepted");
    ensure!(code.is_empty() || errors.iter().any(|found| found.code == want), "no error is {want}: {errors:?}");
    Ok(Verdict::Met)
}

/// Of a diagram's case the diagram, else the machine; never the program.
fn documents(case: &Case) -> crate::corpus::Files {
    let all = &case.setup.documents;
    let diagram = all.iter().any(|(name, _)| name.ends_with(".mmd"));
    let ours = |name: &str| if diagram { name.ends_with(".mmd") } else { !name.ends_with(".py") };
    all.iter().filter(|(name, _)| ours(name)).cloned().collect()
}

/// Runs the calls of a case.
pub(crate) fn walk(case: &Case, calls: &[Value], at: &BTreeMap<usize, At>, driver: &mut dyn Driver) -> Result<Verdict> {
    let mut setup = case.setup.clone();
    setup.documents = documents(case);
    if setup.upstream.is_some() && !driver.has_upstream() {
        return Ok(Verdict::NotApplicable);
    }
    ensure!(driver.start(&setup)?, "the server does not start on these documents");
    let (mut bound, mut met) = (Bound::default(), 0);
    for (index, call) in calls.iter().enumerate() {
        if let Some(client) = call.get("client").and_then(Value::as_str)
            && !driver.as_client(client)?
        {
            return Ok(Verdict::NotApplicable);
        }
        let own = case.differs.get(&index.to_string());
        let instead = at.get(&index);
        if own.is_some_and(Value::is_string) || instead.is_some_and(|at| at.skip) {
            // Not comparable, but it must be there to be answered.
            act(call, &bound, driver)?;
            continue;
        }
        let mut call = call.clone();
        replace(&mut call, own.and_then(|own| own.get("result")));
        if own.is_some() {
            call.as_object_mut().into_iter().for_each(|call| drop(call.remove("headline")));
            call["result"].as_object_mut().into_iter().for_each(|result| drop(result.remove("next_hint")));
        }
        if let Some(at) = instead {
            let before = call.clone();
            replace(&mut call, at.result.as_ref());
            at.is_error.into_iter().for_each(|flag| call["is_error"] = flag.into());
            at.headline.iter().for_each(|headline| call["headline"] = headline.as_str().into());
            ensure!(before != call, "call {index} is listed as a deviation and names no difference");
        }
        met += one(case, &call, driver, &mut bound).with_context(|| format!("call {index}"))?;
    }
    driver.look_back()?;
    Ok(if met > 0 { Verdict::Met } else { Verdict::NotApplicable })
}

fn replace(call: &mut Value, with: Option<&Value>) {
    match (with, call.get_mut("result")) {
        (Some(Value::Object(members)), Some(Value::Object(result))) => {
            for (key, value) in members {
                if value == "<absent>" {
                    result.remove(key);
                } else {
                    result.insert(key.clone(), value.clone());
                }
            }
        }
        (Some(value), _) => call["result"] = value.clone(),
        (None, _) => {}
    }
}

/// Makes a call whose outcome nobody looks at.
fn act(call: &Value, bound: &Bound, driver: &mut dyn Driver) -> Result<()> {
    if let Some(tool) = call.get("tool").and_then(Value::as_str) {
        let arguments = call.get("arguments").map(|arguments| bound.fill(arguments));
        driver.call(tool, arguments.as_ref(), &[])?;
    }
    Ok(())
}

/// How much of it was compared.
fn one(case: &Case, call: &Value, driver: &mut dyn Driver, bound: &mut Bound) -> Result<usize> {
    if let Some(path) = call.get("resource").and_then(Value::as_str) {
        return resource(case, call, path.trim_start_matches("theodosia://"), driver, bound);
    }
    // Sent at once they run one after the other; which is first the peer does not say.
    if let Some(calls) = call.get("parallel").and_then(Value::as_array) {
        return calls.iter().map(|call| one(case, call, driver, bound)).sum();
    }
    let Some(tool) = call.get("tool").and_then(Value::as_str) else { return Ok(0) };
    // What the peer lists are its own functions.
    if tool == "list_resources" {
        return Ok(0);
    }
    let arguments = call.get("arguments").map(|arguments| bound.fill(arguments));
    let got = driver.call(tool, arguments.as_ref(), &[])?;
    let failed = call.get("is_error") == Some(&json!(true));
    ensure!(got.is_error == failed, "is_error is {}: {}", got.is_error, got.value);
    if tool == "read_resource" {
        let text = |value: &Value| value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        return match call.pointer("/result/result") {
            Some(want) if !failed => compare(
                case,
                &text(want).unwrap_or_default(),
                &text(&got.value).unwrap_or_else(|| got.value.clone()),
                bound,
            ),
            _ => Ok(1),
        };
    }
    let want = &call["result"];
    if failed && !want.is_object() {
        return Ok(1);
    }
    let stuck = got.headline.as_ref().is_some_and(|headline| headline.ends_with("(stuck)"));
    if let (Some(want), Some(got)) = (call.get("headline").and_then(Value::as_str), &got.headline) {
        // The peer does not tell a machine that is stuck from one that has ended.
        let want = if stuck { want.replace("(terminal)", "(stuck)") } else { want.to_owned() };
        let want = KINDS
            .iter()
            .fold(want.to_owned(), |want, (peer, ours)| want.replace(&format!("({peer})"), &format!("({ours})")));
        ensure!(want.contains('<') || want == *got, "the headline is {got:?}, want {want:?}");
    }
    compare(case, want, &got.value, bound)
}

fn resource(case: &Case, call: &Value, path: &str, driver: &mut dyn Driver, bound: &mut Bound) -> Result<usize> {
    // The trackers of the peer have no counterpart: here every session is kept.
    if matches!(path, "children" | "trace") {
        return Ok(0);
    }
    let got = driver.view(path)?;
    if call.get("protocol_error").is_some() {
        ensure!(got.is_none(), "there is a resource {path}");
        return Ok(1);
    }
    let text = got.with_context(|| format!("there is no resource {path}"))?;
    let got = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text));
    compare(case, &call["result"], &got, bound)
}

fn compare(case: &Case, want: &Value, got: &Value, bound: &mut Bound) -> Result<usize> {
    let mut loose: Vec<String> = case.loose.iter().filter(|name| !name.contains('.')).cloned().collect();
    loose.extend(TRACKER.map(str::to_owned));
    let (mut want, got) = (normal(want, &case.loose), kept(got, &case.loose));
    // A fork names its session here, as a step does.
    if want.get("app_id").is_some() && want.get("session").is_none() && got.get("session").is_some() {
        want["session"] = got["session"].clone();
    }
    let hint = |value: &Value| value["next_hint"].as_str().unwrap_or_default().to_owned();
    if got.get("next_hint").is_some() && want.is_object() && want.get("next_hint").is_none() {
        want["next_hint"] = got["next_hint"].clone();
    }
    if hint(&got).starts_with("Session is stuck") && hint(&want).starts_with("Session is at a terminal") {
        want["next_hint"] = got["next_hint"].clone();
    }
    if let (Some(told), Some(ours)) = (want["message"].as_str(), got["message"].as_str())
        && told.replace("(none, terminal)", "(none, stuck)") == ours
    {
        want["message"] = ours.into();
    }
    let want = if want.get("fastmcp_session_id").is_some() { known(&want, &got) } else { want };
    bound.compare(&want, &got, Rules { subset: false, loose: &loose }, "$").map_err(anyhow::Error::msg)?;
    Ok(1)
}

/// Of a session's own facts the peer has fewer.
fn known(want: &Value, got: &Value) -> Value {
    let mut want = want.clone();
    if let (Some(want), Some(got)) = (want.as_object_mut(), got.as_object()) {
        for key in ["machine", "started", "definition_hash"] {
            got.get(key).into_iter().for_each(|value| drop(want.insert(key.to_owned(), value.clone())));
        }
    }
    want
}

/// What was recorded, in our words where the peer's are Python's: the session is the application, identifiers and addresses
/// are any, descriptions have no indentation.
fn normal(value: &Value, loose: &[String]) -> Value {
    match value {
        Value::String(text) if text.starts_with("<app_id") || text.contains("<uuid") => json!("<uuid>"),
        Value::String(text) => {
            let kind = KINDS.iter().find(|(peer, _)| peer == text).map(|(_, ours)| (*ours).to_owned());
            let text = kind.unwrap_or_else(|| unindented(text));
            Value::String(text)
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| normal(item, loose)).collect()),
        Value::Object(map) => {
            // An input of any type has a schema without one.
            let any = |key: &str, value: &Value| key == "type" && value == "any";
            let member = |(key, value): (&String, &Value)| (key.clone(), normal(value, loose));
            Value::Object(
                map.iter().filter(|(key, value)| !inner(key, loose) && !any(key, value)).map(member).collect(),
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// A description without the indentation that Python's have.
fn unindented(text: &str) -> String {
    if !text.contains("\n\n    ") {
        return text.to_owned();
    }
    text.lines().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Members of lists that are not compared, such as `details.errors[].msg`.
fn inner(key: &str, loose: &[String]) -> bool {
    loose.iter().any(|name| name.contains('.') && name.rsplit('.').next() == Some(key))
}

fn kept(value: &Value, loose: &[String]) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(|item| kept(item, loose)).collect()),
        Value::Object(map) => {
            let members: Map<String, Value> = map
                .iter()
                .filter(|(key, _)| !inner(key, loose))
                .map(|(key, value)| (key.clone(), kept(value, loose)))
                .collect();
            Value::Object(members)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// A clock that has come to its moment, or first to the end of the time.
pub(crate) fn timer(at: u64, deadline: Option<u64>) -> Result<String, Failure> {
    if deadline.is_some_and(|deadline| deadline < at) { Err(late()) } else { Ok("null".to_owned()) }
}

fn late() -> Failure {
    Failure { kind: Mishap::TimedOut, message: "the time is over".to_owned(), detail: None }
}

/// What a canned server answers.
pub(crate) fn canned(servers: Option<&Value>, call: &ToolCall, deadline: Option<u64>) -> Result<String, Failure> {
    let server = call.server.as_deref().unwrap_or_default();
    let failed = |kind: Mishap, message: String| Failure { kind, message, detail: None };
    let Some(tools) = servers.and_then(|servers| servers.get(server)) else {
        let message = format!("FakeUpstream: unknown server '{server}'; registered: ['files']");
        return Err(failed(Mishap::Unavailable, message));
    };
    let Some(answer) = tools.get(&call.tool) else {
        return Err(failed(Mishap::Failed, format!("unknown tool '{}' on '{server}'", call.tool)));
    };
    let result = |value: Value| Ok(json!({"content": [], "structuredContent": {"result": value}}).to_string());
    match answer.as_str() {
        Some(text) if text.starts_with("raises ") => {
            let said = text.trim_start_matches("raises ");
            Ok(json!({"content": [{"type": "text", "text": said}], "isError": true}).to_string())
        }
        Some(text) if text.starts_with("after ") && deadline.is_some() => {
            let _ = text;
            Err(late())
        }
        Some(text) if text.contains("+ name") => {
            let args: Value = serde_json::from_str(&call.args).unwrap_or_default();
            result(json!({"text": format!("hello {}", args["name"].as_str().unwrap_or_default())}))
        }
        _ if answer.is_null() => Ok(json!({"content": []}).to_string()),
        _ => result(answer.clone()),
    }
}
