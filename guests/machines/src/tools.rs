//! The tools that an agent sees, and the verb of the contract that each call means.

use wfhost_guest::model::{Action, Call, Moment, Output, Refusal, Run, Target, Tool, ViewCall, Workflow};
use wfhost_guest::value::{Map, Value};
use wfhost_guest::{json, reply as replies};

use crate::args::{self, FORK_AT, FORK_PAST, Fork, LIST, READ, RESET, STEP};
use crate::document::model::{Book, Machine};
use crate::{listing, views};

/// LIMIT: actions of a machine that the listing of tools names.
const LISTED_MAX: usize = 64;

/// What the listing of tools needs of a machine.
pub(crate) fn extra(machine: &Machine) -> Value {
    let one = |action: &crate::document::model::Action| {
        let first = action.description.lines().next().unwrap_or_default();
        let inputs = Value::Map(action.inputs.clone());
        Value::from([
            ("name", action.name.text.as_str().into()),
            ("about", first.into()),
            ("inputs", listing::shorthand(&inputs).into()),
        ])
    };
    let actions: Vec<Value> = machine.actions.iter().take(LISTED_MAX).map(one).collect();
    Value::from([
        ("entry", machine.entry.text.as_str().into()),
        ("actions", Value::List(actions)),
        ("count", i64::try_from(machine.actions.len()).unwrap_or(i64::MAX).into()),
        ("personas", Value::Null),
    ])
}

/// What a model should know before it starts.
pub(crate) fn instructions(book: &Book, machine: &Machine) -> String {
    let mut parts = Vec::new();
    if !book.server.plain_instructions {
        parts.push(PREAMBLE.to_owned());
        let default = book.server.default_persona.as_deref();
        let persona = book
            .personas
            .iter()
            .filter(|one| default.is_none_or(|name| name == one.name))
            .min_by(|a, b| a.name.cmp(&b.name));
        parts.extend(
            persona.map(|persona| listing::persona(&persona.name, &persona.description, &persona.voice, &persona.body)),
        );
    }
    parts.extend(book.server.instructions.clone());
    parts.push(listing::actions(machine, LISTED_MAX));
    parts.push(AFTERWORD.to_owned());
    parts.join("\n\n")
}

const PREAMBLE: &str = "This server runs a state machine. The only way forward is the tool `step`. \
    An answer with `error` is a refusal: read why, and take one of `valid_next_actions` instead. \
    An answer without `error` is a step that was done; its `valid_next_actions` say what may come next, and an empty list \
    means that the machine is at its end, or stuck: `next_hint` says which. \
    Send `inputs` as `next_action_schemas` says. Do not guess names of actions.";
const AFTERWORD: &str = "Every answer holds the new state and the actions that may come next. `reset_session` begins again; \
    `fork_at` goes back to an earlier entry of the history (`read_resource` with `history` shows it). Both are always possible.";

/// All tools for these machines.
pub(crate) fn all(workflows: &[Workflow]) -> Vec<Tool> {
    let many = workflows.len() > 1;
    let machine = if many { machine_property(workflows) } else { None };
    vec![
        step(workflows, machine.as_ref()),
        tool(
            RESET,
            "Reset this session",
            "Puts the machine back to its beginning. The history stays. Always possible.",
            Kind::Destroys,
            object(machine.as_ref(), vec![session()], &[]),
        ),
        fork_at(machine.as_ref()),
        fork_past(machine.as_ref()),
        tool(
            LIST,
            "List resources",
            "Lists what can be read of the machines and of a session: graph, state, history and more.",
            Kind::Reads,
            object(None, Vec::new(), &[]),
        ),
        read(machine.as_ref()),
    ]
}

enum Kind {
    Moves,
    Destroys,
    Reads,
}

fn tool(name: &str, title: &str, description: &str, kind: Kind, schema: Value) -> Tool {
    Tool {
        name: name.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        input_schema: json::text(&schema),
        output_schema: None,
        read_only: matches!(kind, Kind::Reads),
        destructive: !matches!(kind, Kind::Reads),
        idempotent: matches!(kind, Kind::Reads | Kind::Destroys),
        open_world: name == FORK_PAST,
    }
}

type Property = (&'static str, Value);

/// A schema of arguments.
fn object(machine: Option<&Value>, properties: Vec<Property>, required: &[&str]) -> Value {
    let machine = machine.map(|schema| ("machine", schema.clone()));
    let properties: Map =
        properties.into_iter().chain(machine).map(|(name, schema)| (name.to_owned(), schema)).collect();
    let mut schema = vec![("type", Value::from("object")), ("properties", properties.into())];
    if !required.is_empty() {
        schema.push(("required", required.to_vec().into()));
    }
    schema.push(("additionalProperties", false.into()));
    Value::Map(schema.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn maybe(types: &[&str], description: &str) -> Value {
    let types: Vec<&str> = types.iter().copied().chain(["null"]).collect();
    Value::from([("type", types.into()), ("default", Value::Null), ("description", description.into())])
}

fn session() -> Property {
    let about = "The session to work on. Every answer names it; leave it out on the first call, and on connections that keep a session of their own.";
    ("session", maybe(&["string"], about))
}

fn machine_property(workflows: &[Workflow]) -> Option<Value> {
    let names: Vec<&str> = workflows.iter().take(LISTED_MAX).map(|workflow| workflow.id.as_str()).collect();
    let about = "Which machine. Not needed together with `session`.";
    Some(Value::from([("type", "string".into()), ("description", about.into()), ("examples", names.into())]))
}

fn step(workflows: &[Workflow], machine: Option<&Value>) -> Tool {
    let about = "The action to run: one of the valid_next_actions of the last answer.";
    let mut action = vec![("type", Value::from("string")), ("description", about.into())];
    if let ([workflow], None) = (workflows, machine)
        && let Some(names) = listing::names(workflow)
    {
        action.push(("enum", names.into()));
    }
    let action: Map = action.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let inputs = maybe(
        &["object", "string"],
        "Its inputs by name, as next_action_schemas says. A JSON object; its text is taken as well.",
    );
    let description = format!("{STEP_ABOUT}\n\n{}", listing::workflows(workflows));
    let schema = object(machine, vec![("action", action.into()), ("inputs", inputs), session()], &["action"]);
    tool(STEP, "Take one step", description.trim_end(), Kind::Moves, schema)
}

const STEP_ABOUT: &str = "Runs one action of the machine, if it is reachable now. Every answer holds `valid_next_actions`, what you may \
    call next, and `next_action_schemas`, the inputs that each of those takes. An answer with `error` is a refusal that changed nothing: read it, and \
    call one of `valid_next_actions`.";

fn fork_at(machine: Option<&Value>) -> Tool {
    let seq = maybe(&["integer"], "The `seq` of an entry of the history that is a step.");
    let alias = maybe(&["integer"], "The same as sequence_id.");
    let about = "Goes back to the state after an entry of this session's history. Nothing of the history is lost.";
    let schema = object(machine, vec![("sequence_id", seq), ("seq", alias), session()], &[]);
    tool(FORK_AT, "Branch this session from a prior step", about, Kind::Moves, schema)
}

fn fork_past(machine: Option<&Value>) -> Tool {
    let app_id = Value::from([("type", "string".into()), ("description", "The session to take over from.".into())]);
    let seq = Value::from([
        ("type", "integer".into()),
        ("default", (-1i64).into()),
        ("description", "The `seq` of an entry of its history; -1: the newest.".into()),
    ]);
    let partition = Value::from([
        ("type", "string".into()),
        ("default", "".into()),
        ("description", "Leave it empty: sessions of other tenants are never visible.".into()),
    ]);
    let about = "Goes on in this session from the state of another session of the same machine, if you may see it.";
    let schema = object(
        machine,
        vec![("app_id", app_id), ("sequence_id", seq), ("partition_key", partition), session()],
        &["app_id"],
    );
    tool(FORK_PAST, "Resume a different session's past state", about, Kind::Moves, schema)
}

fn read(machine: Option<&Value>) -> Tool {
    let uri = Value::from([("type", "string".into()), ("description", "A URI of list_resources, or only what stands after the machine's name in it, such as `state` or `source/pay`.".into())]);
    let schema = object(machine, vec![("uri", uri), session()], &["uri"]);
    tool(READ, "Read a resource", "Reads a resource as text.", Kind::Reads, schema)
}

/// What a call means.
pub(crate) fn route(call: &Call, workflows: &[String]) -> Result<Action, Refusal> {
    let bad = |why: String| replies::refusal("bad_arguments", &why);
    match call.tool.as_str() {
        STEP => {
            args::step(call).map_err(bad)?;
            Ok(Action::Answer(target(call, workflows)?))
        }
        RESET => {
            args::read(call, &["session", "machine"]).map_err(bad)?;
            Ok(Action::Answer(target(call, workflows)?))
        }
        FORK_AT | FORK_PAST => {
            let fork = args::fork(call).map_err(bad)?;
            let target = target(call, workflows)?;
            Ok(match fork {
                Fork::At { given: false, .. } => Action::Answer(target),
                Fork::At { seq, .. } => Action::Recall(Moment { target, session: None, seq: Some(kept(seq)) }),
                Fork::Past { app_id, seq, .. } => {
                    let seq = (seq >= 0).then(|| kept(seq));
                    Action::Recall(Moment { target, session: Some(app_id), seq })
                }
            })
        }
        LIST => {
            args::read(call, &[]).map_err(bad)?;
            Ok(Action::Catalogue(None))
        }
        READ => {
            let args = args::read(call, &["uri", "session", "machine"]).map_err(bad)?;
            let uri = args::text(&args, "uri").map_err(bad)?.ok_or_else(|| bad("`uri` is missing".to_owned()))?;
            let asked = views::asked(&uri, workflows);
            let mut target = target_of(&args, asked.machine.as_deref(), workflows)?;
            target.session = target.session.or(asked.session);
            Ok(Action::Render(ViewCall { target, name: asked.view, args: json::text(&asked.args.into()) }))
        }
        other => Err(bad(format!("there is no tool `{other}`"))),
    }
}

/// The number of an entry as the host counts: from 1. What cannot be one is 0, which no entry has.
fn kept(seq: i64) -> u32 {
    u32::try_from(seq).ok().and_then(|seq| seq.checked_add(1)).unwrap_or(0)
}

fn target(call: &Call, workflows: &[String]) -> Result<Target, Refusal> {
    let args = match json::read(&call.args) {
        Ok(Value::Map(map)) => map,
        Ok(_) | Err(_) => Map::default(),
    };
    target_of(&args, None, workflows)
}

fn target_of(args: &Map, machine: Option<&str>, workflows: &[String]) -> Result<Target, Refusal> {
    let bad = |why: String| replies::refusal("bad_arguments", &why);
    let session = args::text(args, "session").map_err(bad)?;
    let named = args::text(args, "machine").map_err(bad)?.or_else(|| machine.map(str::to_owned));
    let absent = session.as_ref().map(|id| {
        let message = "there is no such session of a machine here; leave `session` out to begin one";
        let value = Value::from([
            ("error", "unknown_session".into()),
            ("session", id.as_str().into()),
            ("message", message.into()),
        ]);
        Output { headline: None, value: json::text(&value), content: None, is_error: true }
    });
    let workflow = match (named, workflows, &session) {
        (Some(name), _, _) if workflows.contains(&name) => Some(name),
        (Some(name), _, _) => {
            return Err(bad(format!("there is no machine `{name}`; there are {}", workflows.join(", "))));
        }
        (None, [one], _) => Some(one.clone()),
        (None, _, Some(_)) => None,
        (None, _, None) => {
            let message = format!("several machines are served: say `machine`, one of {}", workflows.join(", "));
            return Err(bad(message));
        }
    };
    Ok(Target { session, workflow, absent })
}

/// The reply to a call that concerns no session: the resources.
pub(crate) fn catalogue(_call: &Call, workflows: &[Workflow], _runs: &[Run]) -> Output {
    let list: Vec<Value> = workflows.iter().flat_map(views::listed).collect();
    replies::output(&Value::from([("resources", Value::List(list))]))
}
