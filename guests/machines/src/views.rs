//! What can be read of a machine and of a session: the views of the contract, and their text.

use wfhost_guest::model::{Journal, Refusal, View, Workflow};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};
use wfhost_guest::{At, json, reply as replies};

use crate::code::Code;
use crate::document::model::Book;
use crate::engine::state::State;
use crate::engine::{Now, broken};
use crate::{drawing, history, reply};

/// Views: name, parameter, type, whether they read the journal, what they are.
const VIEWS: [(&str, &str, &str, bool, &str); 15] = [
    ("graph", "", JSON, false, "Actions, inputs and transitions of the machine."),
    ("graph/tag", "tag", JSON, false, "The actions that have a tag."),
    ("graph/mermaid", "", TEXT, false, "The machine as a Mermaid state diagram."),
    ("graph/dot", "", TEXT, false, "The machine as a Graphviz drawing."),
    ("state", "", JSON, false, "The machine's data now."),
    ("next", "", JSON, false, "The actions that may come next. Empty at the end, or where the machine is stuck."),
    ("history", "", JSON, true, "Every attempt of this session, refusals among them, with the state after it."),
    ("trace", "", JSON, true, "The journal's own lines of this session: who, when, what."),
    ("session", "", JSON, false, "Which session this is, and where it stands."),
    ("subruns", "", JSON, true, "Machines that steps of this session ran."),
    ("subruns", "id", JSON, true, "The record of one machine that a step ran."),
    ("source", "action", JSON, false, "The lines of the document that make an action."),
    ("upstreams", "", JSON, false, "Servers whose tools the machine calls."),
    ("apps", "", JSON, false, "The machines of this document."),
    ("personas", "", JSON, false, "Personas that may be taken on."),
];
const JSON: &str = "application/json";
const TEXT: &str = "text/plain";
/// In front of the name of a persona that is a prompt.
const PERSONA: &str = "persona/";

/// The views of a machine.
pub(crate) fn offered(book: &Book) -> Vec<View> {
    let all = VIEWS.iter().filter(|(name, ..)| *name != "personas" || !book.personas.is_empty());
    let views = all.map(|(name, parameter, mime, journal, about)| View {
        name: (*name).to_owned(),
        title: title(name, parameter),
        description: (*about).to_owned(),
        parameters: if parameter.is_empty() { Vec::new() } else { vec![(*parameter).to_owned()] },
        mime: (*mime).to_owned(),
        prompt: false,
        journal: *journal,
    });
    let personas = book.personas.iter().map(|persona| View {
        name: format!("{PERSONA}{}", persona.name),
        title: persona.name.clone(),
        description: if persona.description.is_empty() {
            format!("Act as {}.", persona.name)
        } else {
            persona.description.clone()
        },
        parameters: Vec::new(),
        mime: TEXT.to_owned(),
        prompt: true,
        journal: false,
    });
    views.chain(personas).collect()
}

fn title(name: &str, parameter: &str) -> String {
    if parameter.is_empty() { name.to_owned() } else { format!("{name}/{{{parameter}}}") }
}

/// The resources of a machine, as the tool lists them.
pub(crate) fn listed(workflow: &Workflow) -> Vec<Value> {
    let one = |(name, parameter, mime, _, about): &(&str, &str, &str, bool, &str)| {
        let uri = format!("wfhost://machines/{}/{}", workflow.id, title(name, parameter));
        Value::from([("uri", uri.into()), ("description", (*about).into()), ("mime_type", (*mime).into())])
    };
    VIEWS.iter().map(one).collect()
}

/// A view that is asked for by its URI.
pub(crate) struct Asked {
    pub(crate) view: String,
    pub(crate) args: Map,
    pub(crate) machine: Option<String>,
    pub(crate) session: Option<String>,
}

/// What a URI asks for: `wfhost://machines/NAME/state`, the same with another scheme, or only `state`.
pub(crate) fn asked(uri: &str, workflows: &[String]) -> Asked {
    let (plain, query) = uri.split_once('?').unwrap_or((uri, ""));
    let session = query.split('&').find_map(|pair| pair.strip_prefix("session=")).map(str::to_owned);
    let path = plain.split_once("://").map_or(plain, |(_, path)| path);
    let inner = path.strip_prefix("machines/").unwrap_or(path);
    let named =
        workflows.iter().find(|name| inner.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('/')));
    let rest =
        named.and_then(|name| inner.strip_prefix(name.as_str())).map_or(path, |rest| rest.trim_start_matches('/'));
    let mut asked = Asked { view: rest.to_owned(), args: Map::default(), machine: named.cloned(), session };
    for (name, parameter, ..) in VIEWS.iter().filter(|(_, parameter, ..)| !parameter.is_empty()) {
        if let Some(value) =
            rest.strip_prefix(name).and_then(|rest| rest.strip_prefix('/')).filter(|value| !value.is_empty())
            && !VIEWS.iter().any(|(other, ..)| *other == rest)
            && !(value.contains('/') && *name == "graph")
        {
            asked.view = (*name).to_owned();
            asked.args.set(parameter, value.into());
        }
    }
    asked
}

/// The text of a view.
pub(crate) fn render(at: At<'_>, journal: &Journal, view: &str, args: &str) -> Result<String, Refusal> {
    let read = || {
        let code = Code::read(at.code)?;
        let machine = code.served()?;
        let state = State::read(machine, at.state)?;
        Ok(Now { code, machine, session: at.session, seq: journal.total, state })
    };
    let now: Now<'_, '_> = read().map_err(|Broken| broken())?;
    let args = json::read(args).unwrap_or_default();
    let text = text(&now, journal, view, &args).map_err(|Broken| broken())?;
    text.ok_or_else(|| {
        let names: Vec<String> = VIEWS.iter().map(|(name, parameter, ..)| title(name, parameter)).collect();
        let message = format!("unknown resource `{view}`; there are {}", names.join(", "));
        replies::refusal("unknown_resource", &message)
    })
}

fn text(now: &Now<'_, '_>, journal: &Journal, view: &str, args: &Value) -> Result<Option<String>, Broken> {
    let word = |key: &str| args.get(key).and_then(Value::as_str);
    let value = match (view, word("tag").or(word("id")).or(word("action"))) {
        ("graph", _) => drawing::graph(now.machine, None)?,
        ("graph/tag", Some(tag)) => drawing::graph(now.machine, Some(tag))?,
        ("graph/mermaid", _) => return drawing::mermaid(now.machine).map(Some),
        ("graph/dot", _) => return drawing::dot(now.machine).map(Some),
        ("state", _) => now.state.data.clone().into(),
        ("next", _) => reply::names(&now.ways()?),
        ("history", _) => history::history(journal),
        ("trace", _) => history::trace(journal),
        ("session", _) => history::session(now)?,
        ("subruns", None) => history::subruns(journal),
        ("subruns", Some(id)) => history::subrun(journal, id),
        ("source", Some(action)) => source(now, action)?,
        ("upstreams", _) => upstreams(now.code.beside("upstream")?),
        ("apps", _) => now.code.beside("apps")?,
        ("personas", _) => crate::persona::list(now.code)?,
        (view, _) => {
            let Some(name) = view.strip_prefix(PERSONA) else { return Ok(None) };
            return crate::persona::text(now, name);
        }
    };
    Ok(Some(json::text(&value)))
}

fn source(now: &Now<'_, '_>, name: &str) -> Result<Value, Broken> {
    Ok(match now.machine.find(name)? {
        Some(action) => Value::from([("action", name.into()), ("source", now.machine.words(action)?.source.into())]),
        None => {
            let known: Vec<&str> = now
                .machine
                .actions()
                .take(1_000)
                .map(|action| action.map(|action| action.name))
                .collect::<Result<_, _>>()?;
            Value::from([("error", "unknown_action".into()), ("action", name.into()), ("known_actions", known.into())])
        }
    })
}

fn upstreams(servers: Value) -> Value {
    let none = servers.as_list().is_none_or(<[Value]>::is_empty);
    Value::from([("mode", if none { "none" } else { "shared" }.into()), ("servers", servers)])
}
