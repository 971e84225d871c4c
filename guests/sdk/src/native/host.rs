//! The host in memory: documents in, calls answered, requests carried out one after the other.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use super::session::Held;
use super::{World, check};
use crate::diagnostic;
use crate::dialect::Dialect;
use crate::model::{
    Action, Audience, Bundle, Call, Definition, Diagnostic, Document, Event, Failure, Input, Moment, Need, Output,
    Recalled, Refusal, Reply, Session, Source, Target, Turn, Workflow,
};
use crate::reply;

/// A promise that the dialect broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

/// LIMIT: requests carried out within one call.
const ROUNDS_MAX: usize = 100;

/// A host of one dialect.
#[derive(Debug)]
pub struct Host<D> {
    /// What is served.
    pub definitions: Vec<Definition>,
    /// All sessions by id.
    pub sessions: BTreeMap<String, Held>,
    /// The operator's word about questions.
    pub human_only: bool,
    order: Vec<String>,
    now: u64,
    dialect: PhantomData<D>,
}

impl<D: Dialect> Default for Host<D> {
    fn default() -> Self {
        Self {
            definitions: Vec::new(),
            sessions: BTreeMap::new(),
            human_only: false,
            order: Vec::new(),
            now: 1_800_000_000_000,
            dialect: PhantomData,
        }
    }
}

impl<D: Dialect> Host<D> {
    /// Serves these documents instead of those before; sessions stay with what they began with. The findings are told by
    /// document. Documents of other dialects are passed over.
    pub fn load(&mut self, documents: &[Document]) -> Vec<(String, Vec<Diagnostic>)> {
        self.definitions.clear();
        let mut told = Vec::new();
        for document in documents {
            let Some(globs) = D::recognise(document) else { continue };
            let beside =
                |other: &&Document| other.path != document.path && globs.iter().any(|glob| fits(glob, &other.path));
            let companions = documents.iter().filter(beside).cloned().collect();
            let compiled = D::compile(&Bundle { main: document.clone(), companions });
            let mut findings = compiled.diagnostics;
            for definition in compiled.definitions {
                if self.definitions.iter().any(|other| other.about.id == definition.about.id) {
                    let message = format!("duplicate id '{}'", definition.about.id);
                    findings.push(diagnostic::error("duplicate-id", message).done());
                } else {
                    self.definitions.push(definition);
                }
            }
            told.push((document.path.clone(), findings));
        }
        told
    }

    /// What the workflows say of themselves.
    pub fn workflows(&self) -> Vec<Workflow> {
        self.definitions.iter().map(|definition| definition.about.clone()).collect()
    }

    /// Answers a tool call of the agent.
    pub fn call(&mut self, tool: &str, args: &str, world: &mut dyn World) -> Result<Output, Fault> {
        let call = Call { tool: tool.to_owned(), args: args.to_owned() };
        let ids: Vec<String> = self.definitions.iter().map(|definition| definition.about.id.clone()).collect();
        let output = match D::route(&call, &ids) {
            Err(refusal) => self.refused(None, &refusal, Source::Agent)?,
            Ok(action) => self.act(call, action, world)?,
        };
        check::output(&output).map_err(Fault)?;
        Ok(output)
    }

    /// Hands the answer to an open request over, as an operator or a late reply would.
    pub fn reply(
        &mut self,
        session: &str,
        request: &str,
        value: Result<String, Failure>,
        source: Source,
    ) -> Result<Output, Fault> {
        let reply = Reply { request: request.to_owned(), value };
        self.event(session, Input::Reply(reply), source)
    }

    fn act(&mut self, call: Call, action: Action, world: &mut dyn World) -> Result<Output, Fault> {
        match action {
            Action::Catalogue(query) => {
                let runs = query.map(|query| {
                    let held = self.order.iter().rev().filter_map(|id| self.sessions.get(id));
                    let wanted = held.filter(|held| query.workflow.as_ref().is_none_or(|id| *id == held.workflow));
                    let wanted = wanted.filter(|held| !query.unfinished || held.outcome.is_none());
                    wanted.take(usize::try_from(query.limit).unwrap_or(usize::MAX)).map(Held::run).collect()
                });
                Ok(D::catalogue(&call, &self.workflows(), &runs.unwrap_or_else(Vec::new)))
            }
            Action::Start(workflow) => {
                let (session, output) = self.start(&workflow, Input::Call(call))?;
                session.map_or(Ok(output.clone()), |session| self.drive(&session, output, world))
            }
            Action::Answer(target) => self.answer(&target, Input::Call(call), world),
            Action::Recall(moment) => {
                let past = self.recalled(&moment);
                self.answer(&moment.target, Input::Recalled(Recalled { call, past }), world)
            }
            Action::Status(target) => Ok(self.shown(&target, |held| D::status(held.at()))),
            Action::Trace(page) => {
                Ok(self.shown(&page.target, |held| D::trace(held.at(), &held.page(page.after, page.limit))))
            }
            Action::Render(view) => Ok(self.shown(&view.target, |held| {
                let journal = held.page(None, u32::MAX);
                match D::render(held.at(), &journal, &view.name, &view.args) {
                    Ok(text) => {
                        Output { headline: None, value: crate::json::quoted(&text), content: None, is_error: false }
                    }
                    Err(refusal) => refusal.reply,
                }
            })),
        }
    }

    fn answer(&mut self, target: &Target, input: Input, world: &mut dyn World) -> Result<Output, Fault> {
        let session = match (self.find(target), &target.session, &target.workflow) {
            (Some(session), _, _) => session,
            (None, None, Some(workflow)) => match self.start(workflow, Input::Open("{}".to_owned()))? {
                (Some(session), _) => session,
                (None, output) => return Ok(output),
            },
            (None, _, _) => return Ok(absent(target)),
        };
        let output = self.event(&session, input, Source::Agent)?;
        self.drive(&session, output, world)
    }

    /// The named session; else the newest of that workflow.
    fn find(&self, target: &Target) -> Option<String> {
        match (&target.session, &target.workflow) {
            (Some(id), _) => self.sessions.contains_key(id).then(|| id.clone()),
            (None, Some(workflow)) => self
                .order
                .iter()
                .rev()
                .find(|id| self.sessions.get(*id).is_some_and(|held| held.workflow == *workflow))
                .cloned(),
            (None, None) => None,
        }
    }

    fn shown(&self, target: &Target, show: impl Fn(&Held) -> Output) -> Output {
        let held = self.find(target).and_then(|id| self.sessions.get(&id));
        match (held, &target.session, &target.workflow) {
            (Some(held), _, _) => show(held),
            // Who has no session is shown a start that is thrown away.
            (None, None, Some(workflow)) => {
                self.thrown_away(workflow).map_or_else(|| absent(target), |held| show(&held))
            }
            (None, _, _) => absent(target),
        }
    }

    fn thrown_away(&self, workflow: &str) -> Option<Held> {
        let definition = self.definitions.iter().find(|definition| definition.about.id == workflow)?;
        let definition_hash = digest(&definition.code);
        let session = Session {
            id: format!("ses_{:012x}", self.order.len() + 1),
            started: self.now,
            definition_hash,
            human_only: self.human_only,
        };
        let input = Input::Open("{}".to_owned());
        let event = Event { input, source: Source::Agent, at: self.now, seed: self.now, seq: 1 };
        let turn = D::start(&definition.code, &session, event).ok()?;
        let mut held = Held::new(session, workflow, &definition.code);
        held.take(&turn, self.now, Source::Agent);
        Some(held)
    }

    fn recalled(&self, moment: &Moment) -> Option<crate::model::Past> {
        let id = moment.session.clone().or_else(|| self.find(&moment.target))?;
        self.sessions.get(&id)?.past(moment.seq)
    }

    fn start(&mut self, workflow: &str, input: Input) -> Result<(Option<String>, Output), Fault> {
        let Some(definition) = self.definitions.iter().find(|definition| definition.about.id == workflow).cloned()
        else {
            return Err(Fault(format!("route named a workflow that is not served: {workflow}")));
        };
        let id = format!("ses_{:012x}", self.order.len() + 1);
        let session = Session {
            id: id.clone(),
            started: self.tick(),
            definition_hash: digest(&definition.code),
            human_only: self.human_only,
        };
        let event = Event { input, source: Source::Agent, at: self.now, seed: self.now, seq: 1 };
        match D::start(&definition.code, &session, event) {
            Ok(turn) => {
                check::turn(&turn, &definition.graph).map_err(Fault)?;
                let mut held = Held::new(session, workflow, &definition.code);
                held.take(&turn, self.now, Source::Agent);
                self.sessions.insert(id.clone(), held);
                self.order.push(id.clone());
                Ok((Some(id), turn.reply))
            }
            Err(refusal) => Ok((None, self.refused(None, &refusal, Source::Agent)?)),
        }
    }

    /// One event: the dialect's turn or refusal, kept.
    fn event(&mut self, session: &str, input: Input, source: Source) -> Result<Output, Fault> {
        let at = self.tick();
        let held = self.sessions.get(session).ok_or_else(|| Fault(format!("there is no session {session}")))?;
        if let Input::Reply(reply) = &input
            && !held.requests.iter().any(|request| request.id == reply.request)
        {
            return Err(Fault(format!("the session does not wait for {}", reply.request)));
        }
        let event = Event { input, source, at, seed: at, seq: held.seq() };
        let moved = D::answer(held.at(), &held.memory(), event);
        match moved {
            Ok(turn) => self.moved(session, turn, source),
            Err(refusal) => self.refused(Some(session), &refusal, source),
        }
    }

    fn moved(&mut self, session: &str, turn: Turn, source: Source) -> Result<Output, Fault> {
        let now = self.now;
        let Some(held) = self.sessions.get_mut(session) else { return Err(Fault("the session is gone".to_owned())) };
        if let Some(definition) = self.definitions.iter().find(|definition| definition.code == held.code) {
            check::turn(&turn, &definition.graph).map_err(Fault)?;
        }
        held.take(&turn, now, source);
        Ok(turn.reply)
    }

    fn refused(&mut self, session: Option<&str>, refusal: &Refusal, source: Source) -> Result<Output, Fault> {
        check::refusal(refusal).map_err(Fault)?;
        let now = self.now;
        if let Some(held) = session.and_then(|id| self.sessions.get_mut(id)) {
            held.refusals.push(refusal.code.clone());
            held.keep(refusal.entries.clone(), now, source);
        }
        Ok(refusal.reply.clone())
    }

    /// Carries out what the session waits for, and what it then waits for. The last reply is the caller's.
    fn drive(&mut self, session: &str, mut output: Output, world: &mut dyn World) -> Result<Output, Fault> {
        for _ in 0..ROUNDS_MAX {
            let Some(held) = self.sessions.get_mut(session) else { break };
            let Some(request) = held
                .requests
                .iter()
                .find(|request| is_for_world(&request.need) && !held.sent.contains(request))
                .cloned()
            else {
                break;
            };
            held.sent.push(request.clone());
            let Some((source, value)) = world.carry_out(&request) else { continue };
            self.now += world.took();
            if let Need::Timer(moment) = request.need {
                self.now = self.now.max(moment);
            }
            output = self.event(session, Input::Reply(Reply { request: request.id, value }), source)?;
        }
        Ok(output)
    }

    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }
}

/// Globs of the form `*.yaml`, for files beside one another.
fn fits(glob: &str, path: &str) -> bool {
    glob.strip_prefix('*').map_or(glob == path, |tail| path.ends_with(tail) && !path.contains('/'))
}

/// Whether a need is met by somebody else than the agent.
fn is_for_world(need: &Need) -> bool {
    match need {
        Need::Answer(question) => !matches!(question.audience, Audience::Agent),
        Need::Tool(call) => call.server.is_some(),
        Need::ToolList(_) | Need::Completion(_) | Need::Timer(_) | Need::Workflow(_) => true,
    }
}

fn absent(target: &Target) -> Output {
    target.absent.clone().unwrap_or_else(|| reply::failed("there is no such session"))
}

/// Stands for SHA-256, which nothing here needs: FNV-1a.
fn digest(code: &[u8]) -> String {
    let hash = code
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:064x}")
}
