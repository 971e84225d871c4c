//! Runs that nobody scripted: tools are called with guessed arguments, requests answered, nonsense thrown in. What comes back is
//! held against the rules; each call is made twice, and must give the same and cost the same.

use serde_json::{Value, json};

use super::report::Report;
use super::{guess, turns};
use crate::plugin::contract::{
    Action, Call, Definition, Event, Failure, Input, Journal, Kept, Memory, Mishap, Need, Refusal, Reply, Request,
    Session, Source, Tool, Turn,
};
use crate::plugin::{CallFault, Plugin, spent};
use crate::session::wire;

/// Turns of one run.
const TURNS_MAX: usize = 40;
/// Arguments that no schema allows, and that come all the same.
const NONSENSE: [&str; 6] = ["{}", "null", "[]", "\"text\"", "{\"a\":{\"b\":[1,2,{}]}}", "{\"\":9007199254740993}"];
/// A moment like any other, milliseconds.
const NOW: u64 = 1_800_000_000_000;

/// Walks each workflow once.
pub(super) fn check(plugin: &Plugin, definitions: &[Definition], tools: &[Tool], report: &mut Report) {
    let ids: Vec<String> = definitions.iter().map(|definition| definition.about.id.clone()).collect();
    nonsense(plugin, tools, &ids, report);
    for definition in definitions {
        let session = Session {
            id: "ses_00000000000000000000000000000001".into(),
            started: NOW,
            definition_hash: "0".repeat(64),
            human_only: false,
        };
        let mut walk = Walk {
            plugin,
            definition,
            tools,
            ids: &ids,
            session,
            state: String::new(),
            open: Vec::new(),
            kept: Vec::new(),
            memories: Vec::new(),
            window: 0,
            over: false,
        };
        walk.run(report);
    }
}

/// Every tool with arguments that nobody should send, and one that there is not.
fn nonsense(plugin: &Plugin, tools: &[Tool], ids: &[String], report: &mut Report) {
    let none = "there-is-no-such-tool";
    for tool in tools.iter().map(|tool| tool.name.as_str()).chain([none]) {
        for args in NONSENSE {
            let call = Call { tool: tool.into(), args: args.into() };
            report.sent = Some(format!("the arguments `{args}`"));
            match plugin.route(&call, ids) {
                Ok(Ok(Action::Start(id))) if !ids.contains(&id) => {
                    let reason = format!("`{args}` starts `{id}`, which is no workflow that the caller may see");
                    report.find("route", tool, reason, "start only what is among `workflows`");
                }
                Ok(Ok(_)) => {}
                Ok(Err(refusal)) => turns::refusal(&refusal, report),
                Err(fault) => report.call_fault("trap", &format!("route {tool}"), &fault),
            }
        }
    }
    report.sent = None;
}

struct Walk<'w> {
    plugin: &'w Plugin,
    definition: &'w Definition,
    tools: &'w [Tool],
    ids: &'w [String],
    session: Session,
    state: String,
    open: Vec<Request>,
    kept: Vec<Kept>,
    memories: Vec<String>,
    window: u32,
    over: bool,
}

/// What became of an event.
enum Went {
    Moved,
    Refused,
    Broke,
}

impl Walk<'_> {
    fn run(&mut self, report: &mut Report) {
        if !matches!(self.begin(report), Went::Moved) {
            return;
        }
        self.look(report);
        self.failures(report);
        for turn in 0..TURNS_MAX {
            if self.over || !self.step(turn, report) {
                break;
            }
            self.look(report);
        }
        // A call after the end, or after as far as a guess goes, breaks nothing either.
        for args in NONSENSE {
            self.called(args, report);
        }
    }

    /// Starts without a call, as for a caller who went straight to work, and by a tool if one can be guessed.
    fn begin(&mut self, report: &mut Report) -> Went {
        let opened = self.event(Input::Open("{}".into()), Source::Host, report);
        let call = self.tools.iter().filter(|tool| !tool.read_only).find_map(|tool| {
            let schema = serde_json::from_str(&tool.input_schema).unwrap_or_default();
            let args = guess::object(&schema, &self.definition.about.id, 1).to_string();
            let call = Call { tool: tool.name.clone(), args };
            let action = self.plugin.route(&call, self.ids).ok()?.ok()?;
            (action == Action::Start(self.definition.about.id.clone())).then_some(call)
        });
        match call {
            Some(call) => {
                (self.state, self.kept, self.memories, self.over) = (String::new(), Vec::new(), Vec::new(), false);
                self.event(Input::Call(call), Source::Agent, report)
            }
            None => opened,
        }
    }

    /// One step on: an open request is answered, else a tool is tried. False: nothing moves it any more.
    fn step(&mut self, turn: usize, report: &mut Report) -> bool {
        for request in self.open.clone() {
            let Some((value, source)) = reply_to(&request) else { continue };
            let reply = Reply { request: request.id.clone(), value: Ok(value) };
            if matches!(self.event(Input::Reply(reply), source, report), Went::Moved) {
                return true;
            }
        }
        let number = u64::try_from(turn).unwrap_or(0);
        let tries: Vec<(String, Value)> = self
            .tools
            .iter()
            .filter(|tool| !tool.read_only)
            .flat_map(|tool| {
                let schema: Value = serde_json::from_str(&tool.input_schema).unwrap_or_default();
                (1..=number.min(8) + 4).map(move |n| {
                    (tool.name.clone(), guess::object(&schema, "ses_00000000000000000000000000000001", n))
                })
            })
            .collect();
        tries.into_iter().any(|(tool, args)| {
            let call = Call { tool, args: args.to_string() };
            let answers = matches!(self.plugin.route(&call, self.ids), Ok(Ok(Action::Answer(_))));
            answers && matches!(self.event(Input::Call(call), Source::Agent, report), Went::Moved)
        })
    }

    /// Every way in which a request can come to nothing, on the state as it is.
    fn failures(&mut self, report: &mut Report) {
        use Mishap::{Cancelled, Declined, Denied, Failed, Lost, TimedOut, Unavailable};
        for request in self.open.clone() {
            for kind in [Declined, Cancelled, TimedOut, Denied, Unavailable, Failed, Lost] {
                let before = (self.state.clone(), self.open.clone(), self.over, self.kept.len());
                let failure = Failure { kind, message: "it came to nothing".into(), detail: None };
                let reply = Reply { request: request.id.clone(), value: Err(failure) };
                self.event(Input::Reply(reply), Source::Host, report);
                (self.state, self.open, self.over) = (before.0, before.1, before.2);
                self.kept.truncate(before.3);
            }
        }
    }

    /// Nonsense as arguments of every tool that moves a session.
    fn called(&mut self, args: &str, report: &mut Report) {
        for tool in self.tools.iter().filter(|tool| !tool.read_only) {
            let call = Call { tool: tool.name.clone(), args: args.into() };
            let before = (self.state.clone(), self.open.clone(), self.over);
            self.event(Input::Call(call), Source::Agent, report);
            (self.state, self.open, self.over) = before;
        }
    }

    /// Status and trace, and that the state is JSON and nothing but JSON: written otherwise it means the same.
    fn look(&self, report: &mut Report) {
        report.sent = Some(format!("the state `{}` and {} entries", turns::start(&self.state), self.kept.len()));
        self.look_at_all(report);
        report.sent = None;
    }

    fn look_at_all(&self, report: &mut Report) {
        let code = &self.definition.code;
        let status = match self.plugin.status(code, &self.session, &self.state) {
            Ok(status) => status,
            Err(fault) => return report.call_fault("trap", "status", &fault),
        };
        turns::output("a status", &status, report);
        let journal = Journal { total: u32::try_from(self.kept.len()).unwrap_or(0), entries: self.kept.clone() };
        match self.plugin.trace(code, &self.session, &self.state, &journal) {
            Ok(trace) => turns::output("a trace", &trace, report),
            Err(fault) => report.call_fault("trap", "trace", &fault),
        }
        let Ok(state) = serde_json::from_str::<Value>(&self.state) else { return };
        for written in [state.to_string(), format!("{state:#}")] {
            match self.plugin.status(code, &self.session, &written) {
                Ok(same) if same == status => {}
                Ok(_) => report.find(
                    "state",
                    "status",
                    "the same state, written with other spaces, is another state",
                    "read the state as JSON; the host keeps it as JSON",
                ),
                Err(fault) => report.call_fault("state", "status", &fault),
            }
        }
    }

    fn event(&mut self, input: Input, source: Source, report: &mut Report) -> Went {
        let seq = u32::try_from(self.kept.len()).unwrap_or(0) + 1;
        let event = Event { input, source, at: NOW + u64::from(seq), seed: 42, seq };
        let what = if self.state.is_empty() { "start" } else { "answer" };
        report.sent = Some(sent(&event, &self.state));
        let went = self.twice(what, &event, report);
        report.sent = None;
        went
    }

    fn twice(&mut self, what: &str, event: &Event, report: &mut Report) -> Went {
        let first = self.ask(event);
        let cost = spent();
        // A call that broke is not made again: it may have taken all the time it could get.
        let again = if first.is_ok() { self.ask(event) } else { first.clone() };
        Report::dearest(&mut report.figures.call, cost);
        match (first, again) {
            (Ok(first), Ok(again)) => {
                if first != again || cost.fuel != spent().fuel {
                    let reason = "the same call, made twice, gives two answers";
                    report.find("not-pure", what, reason, "take nothing from outside the arguments");
                }
                self.take(first, event, report)
            }
            (Err(fault), _) | (_, Err(fault)) => {
                report.call_fault("trap", what, &fault);
                Went::Broke
            }
        }
    }

    fn ask(&self, event: &Event) -> Result<Result<Turn, Refusal>, CallFault> {
        let code = &self.definition.code;
        if self.state.is_empty() {
            return self.plugin.start(code, &self.session, event);
        }
        let skip = self.memories.len().saturating_sub(usize::try_from(self.window).unwrap_or(usize::MAX));
        let items = self.memories.iter().skip(skip).cloned().collect();
        let memory = Memory { total: u32::try_from(self.memories.len()).unwrap_or(0), items };
        self.plugin.answer(code, &self.session, (&self.state, &memory), event)
    }

    fn take(&mut self, answer: Result<Turn, Refusal>, event: &Event, report: &mut Report) -> Went {
        let turn = match answer {
            Ok(turn) => turn,
            Err(refusal) => {
                report.figures.refusals += 1;
                turns::refusal(&refusal, report);
                return Went::Refused;
            }
        };
        report.figures.turns += 1;
        turns::turn(&turn, &self.definition.graph, turn.state != self.state, report);
        let numbered = (event.seq..).zip(turn.entries);
        self.kept.extend(numbered.map(|(seq, entry)| Kept { seq, at: event.at, source: event.source, entry }));
        self.memories.extend(turn.remember);
        self.window = turn.window;
        let went_on = turn.state != self.state || turn.requests != self.open;
        (self.state, self.open, self.over) = (turn.state, turn.requests, turn.outcome.is_some());
        if went_on { Went::Moved } else { Went::Refused }
    }
}

/// An event in words.
fn sent(event: &Event, state: &str) -> String {
    let what = match &event.input {
        Input::Call(call) => format!("a call of `{}` with `{}`", call.tool, turns::start(&call.args)),
        Input::Reply(Reply { request, value: Ok(value) }) => {
            format!("the reply `{}` to `{request}`", turns::start(value))
        }
        Input::Reply(Reply { request, value: Err(failure) }) => {
            format!("the failure `{}` of `{request}`", wire::mishap(failure.kind))
        }
        Input::Open(_) | Input::Recalled(_) => "an opening call".to_owned(),
    };
    let state = if state.is_empty() { String::new() } else { format!(", in the state `{}`", turns::start(state)) };
    what + &state
}

/// A good reply to a request, and where it would come from. None: the agent's own tools give it.
fn reply_to(request: &Request) -> Option<(String, Source)> {
    let message = json!({"role": "assistant", "model": "none", "content": {"type": "text", "text": "done"}, "stopReason": "endTurn"});
    Some(match &request.need {
        Need::Answer(question) if question.audience == crate::plugin::contract::Audience::Agent => return None,
        Need::Answer(question) => {
            let schema = serde_json::from_str(&question.schema).unwrap_or_default();
            (guess::value(&schema, "text", 1).to_string(), Source::Human)
        }
        Need::Tool(_) => {
            (json!({"content": [{"type": "text", "text": "{}"}], "isError": false}).to_string(), Source::Upstream)
        }
        Need::ToolList(servers) => {
            let lists = servers.iter().map(|server| (server.clone(), json!({"tools": []})));
            (Value::Object(lists.collect()).to_string(), Source::Upstream)
        }
        Need::Completion(_) => (message.to_string(), Source::Model),
        Need::Timer(_) => ("null".into(), Source::Clock),
        Need::Workflow(_) => ("{}".into(), Source::Host),
    })
}
