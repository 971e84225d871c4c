//! Recorded cases, as they stand under `corpus/DIALECT/*.json`.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::graphs;

/// Files of a folder: path below it, and content.
pub type Files = Vec<(String, Vec<u8>)>;

/// One recorded rule.
#[derive(Clone, Debug)]
pub struct Case {
    /// The rule's name, which is the file's.
    pub name: String,
    /// The dialect of the peer it was recorded from.
    pub dialect: String,
    /// What it pins.
    pub about: String,
    /// What was served.
    pub setup: Setup,
    /// Marks such as `peer_defect`.
    pub tags: Vec<String>,
    /// Members of results that are not compared anywhere.
    pub loose: Vec<String>,
    /// Whether a result may hold more than was recorded.
    pub subset: bool,
    /// Results by the number of their call that differ where the document does.
    pub differs: Map<String, Value>,
    /// What was done.
    pub act: Act,
}

/// How a server is started.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The documents.
    pub documents: Files,
    /// Empty folders beside them.
    pub directories: Vec<String>,
    /// Further words of the command line.
    pub serve_args: Vec<String>,
    /// What servers of others answer, in words.
    pub upstream: Option<Value>,
    /// What the client declares. None: it declares nothing, and what it is asked was not recorded.
    pub client_capabilities: Option<Value>,
}

/// What a case does with the server.
#[derive(Clone, Debug)]
pub enum Act {
    /// Calls tools.
    Calls(Vec<Step>),
    /// Loads documents that are refused, with these words.
    LoadError(String),
    /// Talks with a server that has no counterpart here.
    Foreign,
    /// Loads documents that are refused, with at least these problems.
    Refused(Vec<Value>),
    /// Looks at documents, of which exactly these findings are told.
    Lint(Vec<Value>),
    /// Runs a command line.
    Cli(Cli),
    /// Loads documents that are refused with a finding of this code.
    LoadCode(String),
    /// Calls, reads and more, in the format of the machines' peer: see `walk`.
    Walk(Vec<Value>),
    /// Asks for the tools and the server's name.
    Listing { tools: Value, initialize: Value },
}

/// One tool call.
#[derive(Clone, Debug)]
pub struct Step {
    /// The tool.
    pub tool: String,
    /// Its arguments; none if the member was left out.
    pub arguments: Option<Value>,
    /// Whether the call fails.
    pub is_error: bool,
    /// What it gives.
    pub result: Value,
    /// What the person at the client is asked meanwhile.
    pub elicited: Vec<Elicited>,
    /// What happens before: the server is stopped and started.
    pub restart: Option<Change>,
    /// Members of this result that are not compared.
    pub loose: Vec<String>,
    /// What upstream servers were asked meanwhile, and what they said.
    pub upstream: Vec<Value>,
}

/// A question to the person at the client.
#[derive(Clone, Debug)]
pub struct Elicited {
    /// Its text.
    pub message: String,
    /// The schema of its form.
    pub schema: Value,
    /// The scripted reply: an action with content, or an error.
    pub reply: Value,
}

/// Files that change while the server is down.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Written.
    pub written: Files,
    /// Removed.
    pub removed: Vec<String>,
}

/// A command line and what it prints.
#[derive(Clone, Debug)]
pub struct Cli {
    /// Its words.
    pub args: Vec<String>,
    /// Its exit status.
    pub exit: i64,
    /// Its standard output.
    pub stdout: String,
}

/// The cases of a folder, by name.
pub fn load(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for file in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = file?.path();
        if path.extension().is_some_and(|ext| ext == "json") {
            let text = std::fs::read_to_string(&path)?;
            cases.push(read(&text).with_context(|| path.display().to_string())?);
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

/// A case from its text.
pub fn read(text: &str) -> Result<Case> {
    let value: Value = serde_json::from_str(text)?;
    let Value::Object(case) = expand(value) else { bail!("a case is an object") };
    let setup = Setup {
        documents: files(&case, "documents")?,
        directories: texts(&case, "directories"),
        serve_args: texts(&case, "serve_args"),
        upstream: case.get("upstream").cloned(),
        client_capabilities: case.get("client_capabilities").cloned(),
    };
    Ok(Case {
        name: text_of(&case, "name"),
        dialect: text_of(&case, "dialect"),
        about: text_of(&case, "about"),
        setup,
        tags: texts(&case, "tags"),
        loose: texts(&case, "loose"),
        subset: text_of(&case, "match") == "subset",
        differs: case.get("deviates_at").and_then(Value::as_object).cloned().unwrap_or_default(),
        act: act(&case)?,
    })
}

fn act(case: &Map<String, Value>) -> Result<Act> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    if text_of(case, "dialect") == "mcpgraph" {
        return graphs::act(case);
    }
    if text_of(case, "dialect") == "theodosia" {
        return Ok(match (case.get("load_code").and_then(Value::as_str), case.get("load_error")) {
            (Some(code), _) => Act::LoadCode(code.to_owned()),
            (None, Some(_)) => Act::LoadCode(String::new()),
            (None, None) => Act::Walk(list(case.get("calls").unwrap_or(&Value::Null))),
        });
    }
    if let Some(problems) = case.get("load_error").and_then(|error| error.get("problems")) {
        return Ok(Act::Refused(list(problems)));
    }
    if let Some(lint) = case.get("lint") {
        return Ok(Act::Lint(list(lint)));
    }
    if let Some(prefix) = case.get("load_error_prefix").or_else(|| case.get("load_error")) {
        return Ok(Act::LoadError(prefix.as_str().unwrap_or_default().to_owned()));
    }
    if let Some(Value::Object(cli)) = case.get("cli") {
        return Ok(Act::Cli(Cli {
            args: texts(cli, "args"),
            exit: cli.get("exit").and_then(Value::as_i64).unwrap_or(0),
            stdout: text_of(cli, "stdout"),
        }));
    }
    if let Some(tools) = case.get("tools") {
        return Ok(Act::Listing {
            tools: tools.clone(),
            initialize: case.get("initialize").cloned().unwrap_or_default(),
        });
    }
    let calls = case.get("calls").and_then(Value::as_array).context("a case does something")?;
    Ok(Act::Calls(calls.iter().map(step).collect::<Result<_>>()?))
}

fn step(value: &Value) -> Result<Step> {
    let Value::Object(call) = value else { bail!("a call is an object") };
    let restarts = call.get("restart_before").and_then(Value::as_bool).unwrap_or(false);
    let change = Change { written: files(call, "documents_before")?, removed: texts(call, "documents_removed_before") };
    let elicited = call.get("elicited").and_then(Value::as_array).into_iter().flatten().map(|asked| Elicited {
        message: asked.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        schema: asked.get("requestedSchema").cloned().unwrap_or_default(),
        reply: asked.get("reply").cloned().unwrap_or_default(),
    });
    Ok(Step {
        tool: call
            .get("tool")
            .and_then(Value::as_str)
            .context("a call without a tool is of another format")?
            .to_owned(),
        arguments: call.get("arguments").cloned(),
        is_error: call.get("is_error").and_then(Value::as_bool).unwrap_or(false),
        result: call.get("result").cloned().unwrap_or_default(),
        elicited: elicited.collect(),
        restart: restarts.then_some(change),
        loose: texts(call, "loose"),
        upstream: Vec::new(),
    })
}

pub(crate) fn text_of(map: &Map<String, Value>, key: &str) -> String {
    map.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts(map: &Map<String, Value>, key: &str) -> Vec<String> {
    let items = map.get(key).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn files(map: &Map<String, Value>, key: &str) -> Result<Files> {
    let members = |key: &str| {
        map.get(key)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, text)| (name.clone(), text.as_str().unwrap_or_default().to_owned()))
    };
    let mut files: Files = members(key).map(|(name, text)| (name, text.into_bytes())).collect();
    for (name, text) in members(&format!("{key}_base64")) {
        files.push((name, base64(&text)?));
    }
    Ok(files)
}

/// The bytes of a base64 text.
fn base64(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut sum, mut bits) = (0u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => bail!("not base64"),
        };
        sum = (sum << 6 | u32::from(six)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(sum >> bits & 0xff)?);
        }
    }
    Ok(bytes)
}

/// `{"<repeat>": ["x", 3]}` stands for `xxx`.
fn expand(value: Value) -> Value {
    match value {
        Value::Object(map) => match map.get("<repeat>") {
            Some(Value::Array(pair)) => {
                let text = pair.first().and_then(Value::as_str).unwrap_or_default();
                let count = pair.get(1).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
                Value::String(text.repeat(count.unwrap_or(0)))
            }
            Some(_) | None => Value::Object(map.into_iter().map(|(key, value)| (key, expand(value))).collect()),
        },
        Value::Array(items) => Value::Array(items.into_iter().map(expand).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
