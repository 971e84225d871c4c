//! Tools with which a client writes documents: check a text, run it, read a served document, save one. They are there only if
//! the operator says so, and see nothing but the served folder.

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::server::Server;
use crate::catalogue::{Draft, SaveFault, save};
use crate::limits::{AUTHORED_CALLS_MAX, CALL_TIME_MAX};
use crate::plugin::contract;
use crate::session::model::SessionId;
use crate::session::{Caller, Fault, Host, OwnSessions, Unattended, history};

/// One of the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Validate,
    Run,
    Read,
    Save,
}

const ALL: [Work; 4] = [Work::Validate, Work::Run, Work::Read, Work::Save];

/// A document that is not saved.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    file: String,
    text: String,
    #[serde(default)]
    replace: bool,
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    #[serde(default)]
    arguments: JsonObject,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    file: String,
}

/// The tools, as they are listed.
pub(super) fn tools() -> Vec<contract::Tool> {
    ALL.iter().map(|work| work.tool()).collect()
}

impl Work {
    /// The tool of this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        ALL.into_iter().find(|work| work.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Validate => "document_validate",
            Self::Run => "document_run",
            Self::Read => "document_read",
            Self::Save => "document_save",
        }
    }

    fn tool(self) -> contract::Tool {
        let (title, description) = match self {
            Self::Validate => (
                "Check a document",
                "Checks the text of a workflow document without saving it: every finding with its code, line, column and cure.",
            ),
            Self::Run => (
                "Try a document",
                "Runs tool calls of a document that is not saved, in memory, one after the other, and returns each result and the \
                 history entry by entry. Nothing is kept, and so nothing outside is touched: a call of an upstream server's tool comes to nothing, \
                 as unavailable. Save the document to have it made.",
            ),
            Self::Read => (
                "Read a document",
                "The text of a served document, byte for byte, so that a change can keep its comments.",
            ),
            Self::Save => (
                "Save a document",
                "Saves a document into the served folder exactly as given, comments and all, in one step. A document with errors, \
                 or one whose id another file has, is refused and nothing changes. It is served at once.",
            ),
        };
        contract::Tool {
            name: self.name().into(),
            title: title.into(),
            description: description.into(),
            input_schema: self.schema().to_string(),
            output_schema: None,
            read_only: matches!(self, Self::Validate | Self::Read),
            destructive: self == Self::Save,
            idempotent: self != Self::Run,
            open_world: false,
        }
    }

    fn schema(self) -> Value {
        let file = json!({"type": "string", "description": "file name in the served folder, such as triage.yaml; it says which language it is"});
        let text = json!({"type": "string", "description": "the whole document"});
        match self {
            Self::Read => {
                json!({"type": "object", "properties": {"file": file}, "required": ["file"], "additionalProperties": false})
            }
            Self::Validate => {
                json!({"type": "object", "properties": {"file": file, "text": text}, "required": ["file", "text"],
                "additionalProperties": false})
            }
            Self::Save => json!({"type": "object", "properties": {"file": file, "text": text,
                "replace": {"type": "boolean", "description": "put it in the place of a file that is there", "default": false}},
                "required": ["file", "text"], "additionalProperties": false}),
            Self::Run => json!({"type": "object", "properties": {"file": file, "text": text,
                "calls": {"type": "array", "minItems": 1, "maxItems": AUTHORED_CALLS_MAX, "items": {"type": "object",
                    "properties": {"tool": {"type": "string"}, "arguments": {"type": "object",
                        "description": "the text `<session>` stands for the session that the calls before have opened"}},
                    "required": ["tool"], "additionalProperties": false}}},
                "required": ["file", "text", "calls"], "additionalProperties": false}),
        }
    }

    /// Does it. What goes wrong is told in the result.
    pub(super) async fn carry_out(self, server: &Server, caller: &Caller, args: JsonObject) -> contract::Output {
        let done = match self {
            Self::Validate => text(args).and_then(|text| validated(server.host(), &text)),
            Self::Read => read(server.host(), args),
            Self::Save => match text(args).and_then(|text| saved(server.host(), &text)) {
                Ok(saved) => {
                    server.tell_changed().await;
                    Ok(saved)
                }
                Err(refused) => Err(refused),
            },
            Self::Run => match text(args) {
                Ok(text) => tried(server.host(), caller, text).await,
                Err(refused) => Err(refused),
            },
        };
        let is_error = done.is_err();
        let value = done.unwrap_or_else(|refused| refused);
        contract::Output { headline: None, value: value.to_string(), content: None, is_error }
    }
}

/// What is told: the good and the bad are JSON objects alike.
type Told = Result<Value, Value>;

fn wrong(message: impl ToString) -> Value {
    json!({"ok": false, "error": message.to_string()})
}

fn text(args: JsonObject) -> Result<Text, Value> {
    serde_json::from_value(Value::Object(args)).map_err(|error| wrong(format!("the arguments do not fit: {error}")))
}

fn draft(host: &Host, text: &Text) -> Result<Draft, Value> {
    Draft::new(&host.plugins(), host.places(), (&text.file, &text.text)).map_err(wrong)
}

/// What a draft comes to: whose it is, what it offers, what is wrong with it.
fn report(draft: &Draft) -> Value {
    let definitions = draft.catalogue.files.iter().flat_map(|file| &file.definitions);
    let workflows: Vec<Value> = definitions.map(|d| json!({"id": d.about.id, "title": d.about.title})).collect();
    let clashes = draft.catalogue.clashes.iter();
    let clashes: Vec<Value> = clashes.map(|clash| json!({"name": clash.name, "reason": clash.reason})).collect();
    json!({
        "ok": draft.errors() == 0,
        "plugin": draft.catalogue.files.first().and_then(|file| file.plugin.clone()),
        "workflows": workflows,
        "tools": draft.catalogue.tools.keys().collect::<Vec<_>>(),
        "findings": draft.findings().map(crate::catalogue::Finding::to_json).collect::<Vec<_>>(),
        "clashes": clashes,
    })
}

/// Findings are what was asked for: a bad document is no failure of this tool.
fn validated(host: &Host, text: &Text) -> Told {
    draft(host, text).map(|draft| report(&draft))
}

fn read(host: &Host, args: JsonObject) -> Told {
    let named: Named = serde_json::from_value(Value::Object(args))
        .map_err(|error| wrong(format!("the arguments do not fit: {error}")))?;
    let catalogue = host.catalogue();
    let is_named =
        |shown: &str| std::path::Path::new(shown).file_name().is_some_and(|name| name == named.file.as_str());
    // Only what is served is read, whatever else lies in the folder.
    let Some(file) = catalogue.files.iter().find(|file| is_named(&file.shown)) else {
        let names = catalogue.files.iter().filter_map(|file| std::path::Path::new(&file.shown).file_name()?.to_str());
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(wrong(format!("no document `{}` is served; there are: {names}", named.file)));
    };
    let text = std::fs::read_to_string(&file.shown).map_err(|error| wrong(format!("`{}`: {error}", named.file)))?;
    Ok(json!({"file": named.file, "text": text}))
}

fn saved(host: &Host, text: &Text) -> Told {
    let draft = draft(host, text)?;
    let with_reason = |fault: SaveFault| {
        let mut told = report(&draft);
        if let Some(fields) = told.as_object_mut() {
            fields.insert("ok".into(), false.into());
            fields.insert("error".into(), fault.to_string().into());
        }
        told
    };
    let file = save(&draft, &host.catalogue(), text.replace).map_err(with_reason)?;
    host.reload().map_err(wrong)?;
    let mut told = report(&draft);
    if let Some(fields) = told.as_object_mut() {
        fields.insert("saved".into(), file.display().to_string().into());
    }
    Ok(told)
}

async fn tried(host: &Host, caller: &Caller, text: Text) -> Told {
    let draft = draft(host, &text)?;
    if draft.errors() > 0 {
        return Err(report(&draft));
    }
    if text.calls.is_empty() || text.calls.len() > AUTHORED_CALLS_MAX {
        return Err(wrong(format!("`calls` needs 1 to {AUTHORED_CALLS_MAX} tool calls")));
    }
    let trial = host.trial(draft.catalogue).map_err(wrong)?;
    let caller = Caller { own: Some(OwnSessions::default()), ..caller.clone() };
    let (mut results, mut sessions) = (Vec::new(), Vec::new());
    let began = std::time::Instant::now();
    for call in text.calls {
        if began.elapsed() >= CALL_TIME_MAX {
            results.push(json!({"tool": call.tool, "error": "not called: the time for one trial is up"}));
            continue;
        }
        let args = with_session(&call.arguments, sessions.first());
        let driven = match trial.call(&caller, &call.tool, &args).await {
            Ok(first) => trial.drive(&caller, first, &Unattended).await,
            Err(fault) => Err(fault),
        };
        results.push(match driven {
            Err(fault) => json!({"tool": call.tool, "error": fault.to_string()}),
            Ok(driven) => {
                let output = driven.advanced.output;
                sessions.extend(driven.advanced.session.filter(|session| !sessions.contains(session)));
                let value: Value = serde_json::from_str(&output.value).unwrap_or_else(|_| output.value.into());
                json!({"tool": call.tool, "is_error": output.is_error, "result": value})
            }
        });
    }
    let runs: Result<Vec<Value>, _> = sessions.into_iter().map(|session| run(&trial, &caller, session)).collect();
    Ok(json!({"ok": true, "results": results, "runs": runs.map_err(wrong)?}))
}

/// The text `<session>` in the arguments stands for the first session that the calls before have opened: its id is fresh each
/// time, so that no author can know it.
fn with_session(arguments: &JsonObject, session: Option<&SessionId>) -> String {
    let args = json!(arguments).to_string();
    session.map_or_else(|| args.clone(), |session| args.replace("\"<session>\"", &format!("\"{session}\"")))
}

fn run(trial: &Host, caller: &Caller, session: SessionId) -> Result<Value, Fault> {
    let head = trial.show(caller, session)?.head;
    let waits: Vec<Value> = head
        .requests
        .iter()
        .map(|request| {
            let need: Value = serde_json::from_str(&request.need).unwrap_or_default();
            json!({"id": request.id, "need": need})
        })
        .collect();
    Ok(json!({
        "session": session.to_string(), "workflow": head.workflow, "ended": head.outcome.is_some(), "at": head.current,
        "waits": waits, "history": history(&trial.steps(caller, session)?),
    }))
}
