//! From node to node, until a node waits for others or the run ends.

use std::cell::RefCell;
use std::rc::Rc;

use wfhost_guest::json;
use wfhost_guest::model::{Entry, Event};
use wfhost_guest::packed::Broken;
use wfhost_guest::schema;
use wfhost_guest::value::{Map, Value};
use wfhost_jsonata::{Data, Moment};

use crate::calls;
use crate::code::{Call, Callee, Code, Node, NodeNumber, Step};
use crate::past::{Past, Shared};
use crate::scope::{self, Scope};
use crate::state::{State, Waiting, whole};
use crate::trouble::Trouble;

/// LIMIT: node runs of one turn. After so many a long computation takes a breath, so that each call stays short.
const RUNS_A_TURN: u32 = 2_000;

/// A run in hand.
#[derive(Debug)]
pub(crate) struct Walk<'c> {
    pub(crate) code: Code<'c>,
    pub(crate) state: State,
    pub(crate) scope: Scope<'c>,
    /// When this turn began; it is always the host's time.
    pub(crate) now: u64,
    past: Shared,
    context: Option<Data>,
    pub(crate) entries: Vec<Entry>,
    /// Node runs of this turn, for the memory.
    pub(crate) remember: Vec<String>,
}

impl<'c> Walk<'c> {
    /// A run as this event finds it; `memory` holds its node runs, if the tool reads its past.
    pub(crate) fn new(code: Code<'c>, state: State, event: &Event, memory: &[String]) -> Result<Self, Broken> {
        let mut past = Past::default();
        for item in memory {
            let value = json::read(item).map_err(|_| Broken)?;
            let Some([number, rest @ ..]) = value.as_list() else { return Err(Broken) };
            let number = number.as_i64().and_then(|number| u32::try_from(number).ok()).ok_or(Broken)?;
            past.push(code.node(number)?.id, rest.first().map_or_else(Data::nothing, Data::from));
        }
        let past = Rc::new(RefCell::new(past));
        let scope = Scope::new(Moment { now: event.at, seed: event.seed }, Rc::clone(&past));
        let (entries, remember) = (Vec::new(), Vec::new());
        Ok(Self { code, state, scope, now: event.at, past, context: None, entries, remember })
    }

    /// Goes on until the run waits or ends. `args` are those of the call that began it.
    pub(crate) fn go(&mut self, args: Option<Data>) -> Result<(), Broken> {
        let mut args = args;
        for _ in 0..RUNS_A_TURN {
            if self.state.end.is_some() || self.state.waiting.is_some() {
                return Ok(());
            }
            let node = self.code.node(self.state.at)?;
            match self.limit() {
                Some(trouble) => self.end(node, trouble),
                None => self.run(node, args.take())?,
            }
        }
        if self.state.end.is_none() && self.state.waiting.is_none() {
            self.state.waiting = Some(Waiting { since: self.now, breath: true, ..Waiting::default() });
        }
        Ok(())
    }

    fn limit(&self) -> Option<Trouble> {
        let limits = self.code.limits;
        if self.state.runs >= limits.runs {
            let message = format!("the tool has run {} nodes, as many as `maxNodeExecutions` allows", limits.runs);
            return Some(Trouble::new("limit_runs", message).with("limit", limits.runs));
        }
        let elapsed = self.now.saturating_sub(self.state.started).saturating_sub(self.state.apart);
        if elapsed >= u64::from(limits.time_ms) {
            let message = format!("the tool has run for {elapsed} ms; `maxExecutionTimeMs` allows {}", limits.time_ms);
            return Some(Trouble::new("limit_time", message).with("limit", limits.time_ms));
        }
        None
    }

    fn run(&mut self, node: Node<'c>, args: Option<Data>) -> Result<(), Broken> {
        match node.step {
            Step::Entry { next } => {
                let output = args.or_else(|| self.state.output(node.number).cloned()).unwrap_or_else(Data::null);
                self.done(node, output, next);
            }
            Step::Transform { expr, next } => {
                let context = self.context()?;
                match self.scope.expression(expr, &context) {
                    Ok(output) => self.done(node, output, next),
                    Err(trouble) => self.fail(node, trouble, None),
                }
            }
            Step::Switch { ways, default } => {
                let context = self.context()?;
                for way in ways.iter() {
                    let (rule, target) = way?;
                    match self.scope.rule(rule, &context) {
                        Ok(false) => {}
                        Ok(true) => return self.switched(node, target),
                        Err(trouble) => {
                            self.fail(node, trouble, None);
                            return Ok(());
                        }
                    }
                }
                match default {
                    Some(target) => self.switched(node, target)?,
                    None => {
                        self.fail(node, Trouble::new("no_way", "no condition holds, and there is no default"), None)
                    }
                }
            }
            Step::Call(call) => calls::begin(self, node, call)?,
            Step::Exit => self.exit(node),
        }
        Ok(())
    }

    fn switched(&mut self, node: Node<'c>, target: NodeNumber) -> Result<(), Broken> {
        let output = Data::text(self.code.node(target)?.id);
        self.done(node, output, target);
        Ok(())
    }

    /// The result is the output of the node before. Nothing, null, false, zero and the empty text are an empty object, as in
    /// mcpGraph (b04).
    fn exit(&mut self, node: Node<'c>) {
        let last = self.state.last().and_then(Data::value);
        let result = match last {
            Some(value @ Value::List(_)) => value,
            Some(value) if value.as_map().is_some() || wfhost_jsonlogic::truthy(&value) => value,
            Some(_) | None => Value::Map(Map::default()),
        };
        let infinite = self.state.last().and_then(Data::as_number).is_some_and(f64::is_infinite);
        let result = if infinite { Value::Float(f64::INFINITY) } else { result };
        if let Some(trouble) = self.refused(&result) {
            self.fail(node, trouble, None);
            return;
        }
        self.note(node, &Data::from(&result), None);
        self.state.runs += 1;
        self.state.end = Some(Ok(result));
    }

    fn refused(&self, result: &Value) -> Option<Trouble> {
        if result.as_map().is_none() {
            let kind = schema::type_name(result);
            let message = format!("the result of a tool is an object, and this one is of type {kind}");
            return Some(Trouble::new("result_not_object", message).with("result", result.clone()));
        }
        let schema = json::read(self.code.output).unwrap_or_default();
        let problems = crate::args::problems(result, &schema);
        (!problems.is_empty()).then(|| {
            let message = format!("the result does not fit `outputSchema`: {}", crate::args::words(&problems));
            Trouble::new("result_schema", message).with("problems", crate::args::listed(&problems))
        })
    }

    /// The context of expressions.
    pub(crate) fn context(&mut self) -> Result<Data, Broken> {
        if let Some(context) = &self.context {
            return Ok(context.clone());
        }
        let mut outputs = Vec::new();
        for (number, output) in &self.state.outputs {
            outputs.push((self.code.node(*number)?.id, output.clone()));
        }
        let context = scope::context(outputs.into_iter());
        self.context = Some(context.clone());
        Ok(context)
    }

    /// A node is done, and another follows.
    pub(crate) fn done(&mut self, node: Node<'c>, output: Data, next: NodeNumber) {
        let branch = self.code.node(next).ok().map(|next| next.id);
        self.note(node, &output, branch);
        self.past.borrow_mut().push(node.id, output.clone());
        if self.code.past {
            let item = std::iter::once(Value::from(node.number)).chain(output.value());
            self.remember.push(json::text(&Value::List(item.collect())));
        }
        self.state.runs += 1;
        self.state.keep(node.number, output);
        self.state.at = next;
        if let (Some(waiting), Step::Call(Call { callee: Callee::Workflow { .. }, .. })) =
            (&self.state.waiting, node.step)
        {
            let waited = self.now.saturating_sub(waiting.since);
            self.state.apart = self.state.apart.saturating_add(waited);
        }
        self.state.waiting = None;
        self.context = None;
    }

    /// A node fails: its error edge is taken, or the run ends.
    pub(crate) fn fail(&mut self, node: Node<'c>, trouble: Trouble, edge: Option<NodeNumber>) {
        match edge {
            Some(next) => {
                let output = Value::from([("error", trouble.with("node", node.id).value())]);
                self.done(node, Data::from(&output), next);
            }
            None => self.end(node, trouble),
        }
    }

    fn end(&mut self, node: Node<'c>, trouble: Trouble) {
        let trouble = trouble.with("node", node.id);
        let detail = Value::from([("index", self.state.runs.into()), ("error", trouble.value())]);
        self.entries.push(entry(node, None, detail));
        self.state.waiting = None;
        self.state.end = Some(Err(trouble));
    }

    fn note(&mut self, node: Node<'c>, output: &Data, branch: Option<&str>) {
        let since = self.state.waiting.as_ref().map_or(self.now, |waiting| waiting.since);
        let mut members = vec![("index", Value::from(self.state.runs)), ("ms", whole(self.now.saturating_sub(since)))];
        members.extend(output.value().map(|value| ("output", value)));
        self.entries.push(entry(node, branch, crate::state::object(members)));
    }
}

fn entry(node: Node<'_>, branch: Option<&str>, detail: Value) -> Entry {
    Entry {
        node: node.id.to_owned(),
        kind: kind(node.step).to_owned(),
        input: None,
        branch: branch.map(str::to_owned),
        detail: Some(json::text(&detail)),
    }
}

/// The kind of a node, as documents name it.
pub(crate) fn kind(step: Step<'_>) -> &'static str {
    match step {
        Step::Entry { .. } => "entry",
        Step::Exit => "exit",
        Step::Transform { .. } => "transform",
        Step::Switch { .. } => "switch",
        Step::Call(call) => match (call.items, call.callee) {
            (Some(_), _) => "foreach",
            (None, Callee::Upstream { .. }) => "mcp",
            (None, Callee::Workflow { .. }) => "call",
        },
    }
}
