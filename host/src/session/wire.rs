//! The contract's records as JSON: the form in which the journal and the head keep them. One place for both directions, so
//! that what is written can be read back and replayed.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::plugin::contract;
use crate::session::model::{Failure, OpenRequest, Outcome, Standing};

/// A JSON text that is kept byte for byte.
pub type Raw = Box<RawValue>;

/// The text is no JSON.
pub fn raw(text: &str) -> Result<Raw, serde_json::Error> {
    // Without blanks around it, so that a value reads the same wherever it came from.
    RawValue::from_string(text.trim_matches([' ', '\t', '\n', '\r']).to_owned())
}

fn optional(text: Option<&String>) -> Result<Option<Raw>, serde_json::Error> {
    text.map(|t| raw(t)).transpose()
}

/// A text that is there, also when it says `null`: left to itself serde takes that for none.
pub(super) fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Raw>, D::Error> {
    Raw::deserialize(deserializer).map(Some)
}

/// An event, as it was handed to the interpreter.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventRow {
    /// Where the value came from.
    pub source: String,
    /// Fresh entropy, in hex.
    pub seed: String,
    /// The number that the first entry got.
    pub seq: u32,
    /// What it brought.
    pub input: InputRow,
}

/// Exactly one of these is there.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct InputRow {
    /// Arguments of a start without a call.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub open: Option<Raw>,
    /// A tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallRow>,
    /// A tool call with the past laid out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recalled: Option<RecalledRow>,
    /// The answer to a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<ReplyRow>,
}

/// A tool call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallRow {
    /// Its tool.
    pub tool: String,
    /// Its arguments, as they came.
    pub args: Raw,
}

/// A tool call with the past laid out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecalledRow {
    /// The call.
    pub call: CallRow,
    /// What was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub past: Option<PastRow>,
}

/// An old entry, laid out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PastRow {
    /// Whose it is.
    pub session: String,
    /// When that session began.
    pub started: u64,
    /// What it runs.
    pub definition_hash: String,
    /// Whether its questions are for people only.
    pub human_only: bool,
    /// Its number.
    pub seq: u32,
    /// When it was written.
    pub at: u64,
    /// Where its event came from.
    pub source: String,
    /// The entry.
    pub entry: EntryRow,
    /// The state after it.
    pub state: Raw,
    /// The memories there were.
    pub remembered: u32,
}

/// The answer to a request: a value or a failure.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplyRow {
    /// The request's id.
    pub request: String,
    /// The value.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Raw>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRow>,
}

/// Why something came to nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FailureRow {
    /// The mishap.
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// What the other side said.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub detail: Option<Raw>,
}

/// A line of the audit trail.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EntryRow {
    /// The node.
    pub node: String,
    /// The dialect's word for what happened.
    pub kind: String,
    /// What came in.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub input: Option<Raw>,
    /// Which way it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What else the dialect notes.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub detail: Option<Raw>,
}

/// An open request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RequestRow {
    /// Unique among the open ones.
    pub id: String,
    /// What is needed.
    pub need: Raw,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<u64>,
}

/// How a session ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OutcomeRow {
    /// Well.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Raw>,
    /// Badly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRow>,
}

/// What is needed, for the host's own use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeedKind {
    /// An answer: who may give it, what is asked, which schema it fits.
    Answer {
        /// `human`, `agent` or `either`.
        audience: String,
        /// What a person is shown.
        prompt: String,
        /// JSON Schema of the value, JSON text.
        schema: String,
    },
    /// A tool that the agent has.
    AgentTool {
        /// Its name.
        tool: String,
        /// The arguments, JSON text.
        args: String,
    },
    /// A model's next message: the parameters of `sampling/createMessage`, JSON text.
    Completion(String),
    /// A tool of an upstream server.
    Tool {
        /// The server's name.
        server: String,
        /// Its tool.
        tool: String,
        /// The arguments, JSON text.
        args: String,
    },
    /// What these upstream servers offer.
    ToolList(Vec<String>),
    /// The outcome of another workflow.
    Workflow {
        /// Whose it is; none: of the same interpreter.
        interpreter: Option<String>,
        /// Which.
        workflow: String,
        /// What it begins with, JSON text.
        args: String,
    },
    /// A moment.
    Timer(u64),
}

/// What a need says, as JSON.
pub fn need(need: &contract::Need) -> Result<Raw, serde_json::Error> {
    use contract::Need as N;
    let object = match need {
        N::Answer(q) => {
            serde_json::json!({"answer": {"audience": audience(q.audience), "prompt": q.prompt, "schema": raw(&q.schema)?}})
        }
        N::Tool(t) => serde_json::json!({"tool": {"server": t.server, "tool": t.tool, "args": raw(&t.args)?}}),
        N::ToolList(servers) => serde_json::json!({"tool-list": servers}),
        N::Completion(params) => serde_json::json!({"completion": raw(params)?}),
        N::Timer(at) => serde_json::json!({"timer": at}),
        N::Workflow(w) => {
            serde_json::json!({"workflow": {"interpreter": w.interpreter, "workflow": w.workflow, "args": raw(&w.args)?}})
        }
    };
    raw(&object.to_string())
}

/// A need as it is kept: what `need` writes.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KeptNeed {
    Answer { audience: String, prompt: String, schema: Raw },
    Tool { server: Option<String>, tool: String, args: Raw },
    ToolList(Vec<String>),
    Completion(Raw),
    Timer(u64),
    Workflow { interpreter: Option<String>, workflow: String, args: Raw },
}

/// What a kept need asks for.
#[must_use]
pub fn need_kind(text: &str) -> Option<NeedKind> {
    let own = |raw: Raw| raw.get().to_owned();
    Some(match serde_json::from_str(text).ok()? {
        KeptNeed::Answer { audience, prompt, schema } => NeedKind::Answer { audience, prompt, schema: own(schema) },
        KeptNeed::Tool { server: Some(server), tool, args } => NeedKind::Tool { server, tool, args: own(args) },
        KeptNeed::Tool { server: None, tool, args } => NeedKind::AgentTool { tool, args: own(args) },
        KeptNeed::ToolList(servers) => NeedKind::ToolList(servers),
        KeptNeed::Completion(params) => NeedKind::Completion(own(params)),
        KeptNeed::Timer(at) => NeedKind::Timer(at),
        KeptNeed::Workflow { interpreter, workflow, args } => {
            NeedKind::Workflow { interpreter, workflow, args: own(args) }
        }
    })
}

/// The tool that a kept need calls, in words.
#[must_use]
pub fn upstream(need: &str) -> Option<String> {
    match need_kind(need)? {
        NeedKind::Tool { server, tool, .. } => Some(format!("`{tool}` of `{server}`")),
        NeedKind::AgentTool { tool, .. } => Some(format!("`{tool}`")),
        NeedKind::Answer { .. }
        | NeedKind::Completion(_)
        | NeedKind::ToolList(_)
        | NeedKind::Workflow { .. }
        | NeedKind::Timer(_) => None,
    }
}

/// Whether a kept need is for a host to carry out, whoever the operator is.
#[must_use]
pub fn for_a_host(need: &str) -> bool {
    matches!(need_kind(need), Some(NeedKind::Tool { .. } | NeedKind::ToolList(_) | NeedKind::Workflow { .. }))
}

/// The schema of the value that a kept need asks for, if it asks for an answer.
#[must_use]
pub fn answer_schema(need: &str) -> Option<String> {
    match need_kind(need)? {
        NeedKind::Answer { schema, .. } => Some(schema),
        NeedKind::AgentTool { .. }
        | NeedKind::Completion(_)
        | NeedKind::Tool { .. }
        | NeedKind::ToolList(_)
        | NeedKind::Workflow { .. }
        | NeedKind::Timer(_) => None,
    }
}

fn audience(audience: contract::Audience) -> &'static str {
    match audience {
        contract::Audience::Human => "human",
        contract::Audience::Agent => "agent",
        contract::Audience::Either => "either",
    }
}

/// A source's name in the journal.
#[must_use]
pub fn source(source: contract::Source) -> &'static str {
    match source {
        contract::Source::Agent => "agent",
        contract::Source::Human => "human",
        contract::Source::Host => "host",
        contract::Source::Upstream => "upstream",
        contract::Source::Model => "model",
        contract::Source::Clock => "clock",
        contract::Source::Operator => "operator",
    }
}

/// The source of that name.
#[must_use]
pub fn source_named(name: &str) -> Option<contract::Source> {
    use contract::Source as S;
    [S::Agent, S::Human, S::Host, S::Upstream, S::Model, S::Clock, S::Operator].into_iter().find(|s| source(*s) == name)
}

/// A mishap's name in the journal.
#[must_use]
pub fn mishap(mishap: contract::Mishap) -> &'static str {
    match mishap {
        contract::Mishap::Declined => "declined",
        contract::Mishap::Cancelled => "cancelled",
        contract::Mishap::TimedOut => "timed-out",
        contract::Mishap::Denied => "denied",
        contract::Mishap::Unavailable => "unavailable",
        contract::Mishap::Failed => "failed",
        contract::Mishap::Lost => "lost",
    }
}

/// The mishap of that name; an unknown one is `lost`.
#[must_use]
pub fn mishap_named(name: &str) -> contract::Mishap {
    use contract::Mishap as M;
    [M::Declined, M::Cancelled, M::TimedOut, M::Denied, M::Unavailable, M::Failed]
        .into_iter()
        .find(|m| mishap(*m) == name)
        .unwrap_or(M::Lost)
}

/// An event as a row.
pub fn event(event: &contract::Event) -> Result<EventRow, serde_json::Error> {
    let mut input = InputRow::default();
    match &event.input {
        contract::Input::Open(args) => input.open = Some(raw(args)?),
        contract::Input::Call(call) => input.call = Some(call_row(call)?),
        contract::Input::Recalled(r) => {
            let past = r.past.as_ref().map(past).transpose()?;
            input.recalled = Some(RecalledRow { call: call_row(&r.call)?, past });
        }
        contract::Input::Reply(reply) => {
            let mut row = ReplyRow { request: reply.request.clone(), value: None, failure: None };
            match &reply.value {
                Ok(value) => row.value = Some(raw(value)?),
                Err(failed) => row.failure = Some(failure(failed)?),
            }
            input.reply = Some(row);
        }
    }
    Ok(EventRow { source: source(event.source).into(), seed: format!("{:016x}", event.seed), seq: event.seq, input })
}

/// An event as it was handed over, from its row and the time on its line.
#[must_use]
pub fn event_of(row: &EventRow, at: u64) -> Option<contract::Event> {
    let input = &row.input;
    let input = if let Some(args) = &input.open {
        contract::Input::Open(args.get().to_owned())
    } else if let Some(call) = &input.call {
        contract::Input::Call(call_of(call))
    } else if let Some(recalled) = &input.recalled {
        let past = match &recalled.past {
            Some(past) => Some(past_of(past)?),
            None => None,
        };
        contract::Input::Recalled(contract::Recalled { call: call_of(&recalled.call), past })
    } else {
        let reply = input.reply.as_ref()?;
        let value = match (&reply.value, &reply.failure) {
            (Some(value), _) => Ok(value.get().to_owned()),
            (None, Some(failure)) => Err(failure_of(failure)),
            (None, None) => return None,
        };
        contract::Input::Reply(contract::Reply { request: reply.request.clone(), value })
    };
    let seed = u64::from_str_radix(&row.seed, 16).ok()?;
    Some(contract::Event { input, source: source_named(&row.source)?, at, seed, seq: row.seq })
}

fn call_of(row: &CallRow) -> contract::Call {
    contract::Call { tool: row.tool.clone(), args: row.args.get().to_owned() }
}

fn past_of(row: &PastRow) -> Option<contract::Past> {
    Some(contract::Past {
        session: contract::Session {
            id: row.session.clone(),
            started: row.started,
            definition_hash: row.definition_hash.clone(),
            human_only: row.human_only,
        },
        entry: contract::Kept {
            seq: row.seq,
            at: row.at,
            source: source_named(&row.source)?,
            entry: entry_of(row.entry.clone()),
        },
        state: row.state.get().to_owned(),
        remembered: row.remembered,
    })
}

/// A failure from its row.
#[must_use]
pub fn failure_of(row: &FailureRow) -> contract::Failure {
    let detail = row.detail.as_ref().map(|d| d.get().to_owned());
    contract::Failure { kind: mishap_named(&row.kind), message: row.message.clone(), detail }
}

fn call_row(call: &contract::Call) -> Result<CallRow, serde_json::Error> {
    Ok(CallRow { tool: call.tool.clone(), args: raw(&call.args)? })
}

fn past(past: &contract::Past) -> Result<PastRow, serde_json::Error> {
    Ok(PastRow {
        session: past.session.id.clone(),
        started: past.session.started,
        definition_hash: past.session.definition_hash.clone(),
        human_only: past.session.human_only,
        seq: past.entry.seq,
        at: past.entry.at,
        source: source(past.entry.source).into(),
        entry: entry(&past.entry.entry)?,
        state: raw(&past.state)?,
        remembered: past.remembered,
    })
}

/// A failure as a row.
pub fn failure(failure: &contract::Failure) -> Result<FailureRow, serde_json::Error> {
    Ok(FailureRow {
        kind: mishap(failure.kind).into(),
        message: failure.message.clone(),
        detail: optional(failure.detail.as_ref())?,
    })
}

/// An entry as a row.
pub fn entry(entry: &contract::Entry) -> Result<EntryRow, serde_json::Error> {
    Ok(EntryRow {
        node: entry.node.clone(),
        kind: entry.kind.clone(),
        input: optional(entry.input.as_ref())?,
        branch: entry.branch.clone(),
        detail: optional(entry.detail.as_ref())?,
    })
}

/// A row as an entry.
#[must_use]
pub fn entry_of(row: EntryRow) -> contract::Entry {
    let text = |raw: Raw| raw.get().to_owned();
    contract::Entry {
        node: row.node,
        kind: row.kind,
        input: row.input.map(text),
        branch: row.branch,
        detail: row.detail.map(text),
    }
}

/// An outcome as the head keeps it.
pub fn outcome(outcome: &Result<String, contract::Failure>) -> Result<(OutcomeRow, Outcome), serde_json::Error> {
    Ok(match outcome {
        Ok(value) => {
            let value = raw(value)?;
            let text = value.get().to_owned();
            (OutcomeRow { value: Some(value), failure: None }, Ok(text))
        }
        Err(failed) => {
            let row = failure(failed)?;
            let kept = Failure { kind: row.kind.clone(), message: row.message.clone(), detail: failed.detail.clone() };
            (OutcomeRow { value: None, failure: Some(row) }, Err(kept))
        }
    })
}

/// A kept outcome in the contract's form.
pub fn outcome_of(outcome: &Outcome) -> Result<String, contract::Failure> {
    outcome.clone().map_err(|f| contract::Failure { kind: mishap_named(&f.kind), message: f.message, detail: f.detail })
}

/// A request of a journal line, as a head keeps it.
#[must_use]
pub fn open_of(row: &RequestRow, standing: Standing) -> OpenRequest {
    let timer = if let Some(NeedKind::Timer(at)) = need_kind(row.need.get()) { Some(at) } else { None };
    let deadline = timer.into_iter().chain(row.deadline).min();
    OpenRequest { id: row.id.clone(), need: row.need.get().to_owned(), deadline, standing }
}

/// An outcome of a head, as a journal line says it.
pub fn outcome_row(kept: &Outcome) -> Result<OutcomeRow, serde_json::Error> {
    Ok(match kept {
        Ok(value) => OutcomeRow { value: Some(raw(value)?), failure: None },
        Err(failed) => {
            let detail = optional(failed.detail.as_ref())?;
            let row = FailureRow { kind: failed.kind.clone(), message: failed.message.clone(), detail };
            OutcomeRow { value: None, failure: Some(row) }
        }
    })
}

/// An outcome of a journal line, as a head keeps it.
pub fn kept_outcome(row: &OutcomeRow) -> Outcome {
    match (&row.value, &row.failure) {
        (_, Some(failed)) => Err(Failure {
            kind: failed.kind.clone(),
            message: failed.message.clone(),
            detail: failed.detail.as_ref().map(|detail| detail.get().to_owned()),
        }),
        (Some(value), None) => Ok(value.get().to_owned()),
        (None, None) => Ok("null".to_owned()),
    }
}

/// Requests as the journal and the head keep them.
pub fn requests(requests: &[contract::Request]) -> Result<Vec<(RequestRow, OpenRequest)>, serde_json::Error> {
    requests
        .iter()
        .map(|r| {
            let need = need(&r.need)?;
            let timer = if let contract::Need::Timer(at) = r.need { Some(at) } else { None };
            let deadline = timer.into_iter().chain(r.deadline).min();
            let open =
                OpenRequest { id: r.id.clone(), need: need.get().to_owned(), deadline, standing: Standing::Waiting };
            Ok((RequestRow { id: r.id.clone(), need, deadline: r.deadline }, open))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_is_a_value_and_not_none() {
        let value = Ok("null".to_owned());
        let input = contract::Input::Reply(contract::Reply { request: "r".into(), value });
        let came = contract::Event { input, source: contract::Source::Clock, at: 7, seed: 1, seq: 2 };
        let text = serde_json::to_string(&event(&came).unwrap()).unwrap();
        let row: EventRow = serde_json::from_str(&text).unwrap();
        assert!(event_of(&row, 7) == Some(came), "{text}");
    }
}
