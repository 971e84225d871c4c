//! Arguments of the tools, as an agent sends them.

use wfhost_guest::json;
use wfhost_guest::model::Call;
use wfhost_guest::value::{Map, Value};

pub(crate) const STEP: &str = "step";
pub(crate) const RESET: &str = "reset_session";
pub(crate) const FORK_AT: &str = "fork_at";
pub(crate) const FORK_PAST: &str = "fork_from_past";
pub(crate) const LIST: &str = "list_resources";
pub(crate) const READ: &str = "read_resource";

/// A step that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) action: String,
    pub(crate) inputs: Map,
}

/// A way back that is asked for.
#[derive(Clone, Debug)]
pub(crate) enum Fork {
    /// To an entry of this session's history; none was named.
    At { seq: i64, given: bool },
    /// To an entry of another session's.
    Past { app_id: String, seq: i64, partition: String },
}

impl Fork {
    /// As the history keeps it.
    pub(crate) fn inputs(&self) -> Map {
        let members: Vec<(&str, Value)> = match self {
            Self::At { seq, .. } => vec![("sequence_id", (*seq).into())],
            Self::Past { app_id, seq, .. } => vec![("app_id", app_id.as_str().into()), ("sequence_id", (*seq).into())],
        };
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// The arguments of a call, by name. Nothing else than what the tool knows.
pub(crate) fn read(call: &Call, known: &[&str]) -> Result<Map, String> {
    let args = match json::read(&call.args) {
        Ok(Value::Map(map)) => map,
        Ok(Value::Null) => Map::default(),
        Ok(_) => return Err(format!("the arguments of `{}` are an object", call.tool)),
        Err(fault) => return Err(format!("the arguments are no JSON: {} at byte {}", fault.what, fault.offset)),
    };
    let unknown = args.keys().find(|name| !known.contains(name)).map(str::to_owned);
    match unknown {
        Some(name) => Err(format!("`{}` has no argument `{name}`; it has {}", call.tool, known.join(", "))),
        None => Ok(args),
    }
}

/// A text among arguments; null counts as left out.
pub(crate) fn text(args: &Map, name: &str) -> Result<Option<String>, String> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{name}` must be a string")),
    }
}

/// A whole number among arguments, also as a text.
fn number(args: &Map, name: &str) -> Result<Option<i64>, String> {
    let wrong = || format!("`{name}` must be an integer");
    match args.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(text)) => text.trim().parse().map(Some).map_err(|_| wrong()),
        Some(Value::Float(float)) if float.fract() == 0.0 => {
            format!("{float:.0}").parse().map(Some).map_err(|_| wrong())
        }
        Some(value) => value.as_i64().map(Some).ok_or_else(wrong),
    }
}

pub(crate) fn step(call: &Call) -> Result<Step, String> {
    let args = read(call, &["action", "inputs", "session", "machine"])?;
    text(&args, "session")?;
    step_in(&args)
}

/// A step as an operator names it.
pub(crate) fn step_of(value: &Value) -> Result<Step, String> {
    match value {
        Value::Map(args) => step_in(args),
        Value::Str(action) => Ok(Step { action: action.clone(), inputs: Map::default() }),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) => {
            Err("a step is {\"action\": NAME, \"inputs\": {..}}".to_owned())
        }
    }
}

fn step_in(args: &Map) -> Result<Step, String> {
    let Some(action) = text(args, "action")? else {
        return Err("`action` is missing: the name of the action to run".to_owned());
    };
    let inputs = match args.get("inputs") {
        None | Some(Value::Null) => Map::default(),
        Some(Value::Map(map)) => map.clone(),
        // Some clients write objects as text. A text that is none counts as no inputs.
        Some(Value::Str(text)) => match json::read(text) {
            Ok(Value::Map(map)) => map,
            Ok(Value::List(_)) => return Err("`inputs` must be an object, not a list".to_owned()),
            Ok(_) | Err(_) => Map::default(),
        },
        Some(_) => return Err("`inputs` must be an object, a JSON object as text, or null".to_owned()),
    };
    Ok(Step { action, inputs })
}

pub(crate) fn fork(call: &Call) -> Result<Fork, String> {
    if call.tool == FORK_PAST {
        let args = read(call, &["app_id", "sequence_id", "partition_key", "session", "machine"])?;
        let Some(app_id) = text(&args, "app_id")? else {
            return Err("`app_id` is missing: the session to fork from".to_owned());
        };
        let partition = text(&args, "partition_key")?.unwrap_or_default();
        return Ok(Fork::Past { app_id, seq: number(&args, "sequence_id")?.unwrap_or(-1), partition });
    }
    let args = read(call, &["sequence_id", "seq", "session", "machine"])?;
    let seq = number(&args, "sequence_id")?.or(number(&args, "seq")?);
    Ok(Fork::At { seq: seq.unwrap_or(-1), given: seq.is_some() })
}
