//! The compiled form of a tool: a table of nodes in words, with texts that are read where they stand. A call reads the head and
//! the nodes that it comes to, and no others.
//!
//! Head: format, entry, limits, whether expressions read the past, and the places of the node table and of three texts. A
//! node: 24 words, see `Slot`.

use wfhost_guest::json;
use wfhost_guest::packed::{Broken, Reader, Text, Writer};
use wfhost_guest::value::{Map, Value};

use crate::document::model::{Args, Condition, Document, Kind, Limits, NodeDef, Policy, Retry, Target, ToolDef};
use crate::document::rule_text;

const FORMAT: u32 = 1;
const NONE: u32 = u32::MAX;
const HEAD_WORDS: usize = 13;
const NODE_WORDS: u32 = 24;

/// The words of a node.
#[derive(Clone, Copy)]
enum Slot {
    Kind = 0,
    Id = 1,
    Next = 3,
    OnError = 4,
    First = 5,
    Second = 7,
    Third = 9,
    Fourth = 11,
    List = 13,
    ListLen = 14,
    Attempts = 15,
    Delay = 16,
    Backoff = 17,
    Timeout = 18,
    Parallel = 19,
    Flags = 20,
    More = 21,
}

impl Slot {
    fn word(self) -> u32 {
        self as u32
    }

    fn index(self) -> usize {
        self as usize
    }
}

const ENTRY: u32 = 0;
const EXIT: u32 = 1;
const TRANSFORM: u32 = 2;
const SWITCH: u32 = 3;
const CALL: u32 = 4;
const FOREACH: u32 = 5;

const UPSTREAM: u32 = 1;

/// Names of functions by which an expression reads the past. An expression that makes expressions may name any.
const PAST: [&str; 5] = ["$previousNode", "$executionCount", "$nodeExecution", "$nodeExecutions", "$eval"];

/// The number of a node in its tool.
pub(crate) type NodeNumber = u32;

/// Writes the code of a tool.
pub(crate) fn write(document: &Document, tool: &ToolDef) -> Vec<u8> {
    let mut nodes: Vec<&NodeDef> = Vec::new();
    for node in &tool.nodes {
        // Of nodes with one id the last runs.
        match nodes.iter_mut().find(|other| other.id.text == node.id.text) {
            Some(other) => *other = node,
            None => nodes.push(node),
        }
    }
    let number = |id: &str| position(&nodes, id);
    let mut out = Writer::with_head(HEAD_WORDS);
    let records: Vec<Vec<u32>> = nodes.iter().map(|node| record(node, &mut out, &number)).collect();
    let table = out.words(&records.concat());
    let entry = nodes.iter().position(|node| matches!(node.kind, Kind::Entry { .. }));
    let Limits { runs, time_ms } = document.limits;
    let mut head = vec![FORMAT, entry.map_or(NONE, count), runs, time_ms];
    head.extend([u32::from(tool.nodes.iter().any(|node| reads_past(&node.kind))), table, count(nodes.len())]);
    for text in [tool.name.text.as_str(), &json::text(&tool.input), &json::text(&tool.output)] {
        let Text { at, len } = out.text(text);
        head.extend([at, len]);
    }
    out.head(&head);
    out.done()
}

fn position(nodes: &[&NodeDef], id: &str) -> u32 {
    nodes.iter().position(|node| node.id.text == id).map_or(NONE, count)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(NONE)
}

/// The words of one node, being filled.
struct Record<'w> {
    words: Vec<u32>,
    out: &'w mut Writer,
    number: &'w dyn Fn(&str) -> u32,
}

impl Record<'_> {
    fn set(&mut self, slot: Slot, word: u32) {
        if let Some(place) = self.words.get_mut(slot.index()) {
            *place = word;
        }
    }

    fn text(&mut self, slot: Slot, text: &str) {
        let Text { at, len } = self.out.text(text);
        if let Some([place, length]) = self.words.get_mut(slot.index()..slot.index() + 2) {
            (*place, *length) = (at, len);
        }
    }

    fn leads(&mut self, kind: u32, next: &str) {
        self.set(Slot::Kind, kind);
        let number = (self.number)(next);
        self.set(Slot::Next, number);
    }

    fn calls(&mut self, target: &Target, args: &Args, policy: &Policy) {
        let (flags, first, second) = match target {
            Target::Upstream { server, tool } => (UPSTREAM, server.text.as_str(), tool.text.as_str()),
            Target::Workflow { interpreter, workflow } => {
                (0, interpreter.as_ref().map_or("", |name| name.text.as_str()), workflow.text.as_str())
            }
        };
        self.set(Slot::Flags, flags);
        self.text(Slot::First, first);
        self.text(Slot::Second, second);
        self.text(Slot::Third, &json::text(&encoded(args)));
        let on_error = policy.on_error.as_ref().map_or(NONE, |name| (self.number)(&name.text));
        self.set(Slot::OnError, on_error);
        self.set(Slot::Timeout, policy.timeout_ms.unwrap_or(NONE));
        let retry = policy.retry.unwrap_or(Retry { attempts: 1, delay_ms: 0, backoff_percent: 100 });
        self.set(Slot::Attempts, retry.attempts);
        self.set(Slot::Delay, retry.delay_ms);
        self.set(Slot::Backoff, retry.backoff_percent);
    }

    fn ways(&mut self, conditions: &[Condition]) {
        let mut ways = Vec::new();
        for condition in conditions {
            let Some(rule) = &condition.rule else { continue };
            let Text { at, len } = self.out.text(&rule_text(rule));
            ways.extend([at, len, (self.number)(&condition.next.text)]);
        }
        self.set(Slot::ListLen, count(ways.len() / 3));
        let at = self.out.words(&ways);
        self.set(Slot::List, at);
    }
}

fn record(node: &NodeDef, out: &mut Writer, number: &dyn Fn(&str) -> u32) -> Vec<u32> {
    let mut record = Record { words: vec![NONE; NODE_WORDS as usize], out, number };
    record.text(Slot::Id, &node.id.text);
    match &node.kind {
        Kind::Entry { next } => record.leads(ENTRY, &next.text),
        Kind::Exit { .. } => record.set(Slot::Kind, EXIT),
        Kind::Transform { expr, next } => {
            record.leads(TRANSFORM, &next.text);
            record.text(Slot::First, &expr.text);
        }
        Kind::Switch { conditions, next } => {
            let without = || conditions.iter().find(|one| one.rule.is_none()).map(|one| &one.next);
            match next.as_ref().or_else(without) {
                Some(default) => record.leads(SWITCH, &default.text),
                None => record.set(Slot::Kind, SWITCH),
            }
            record.ways(conditions);
        }
        Kind::Call { target, args, policy, next } => {
            record.leads(CALL, &next.text);
            record.calls(target, args, policy);
        }
        Kind::Foreach { items, target, args, policy, fan, next } => {
            record.leads(FOREACH, &next.text);
            record.calls(target, args, policy);
            record.text(Slot::Fourth, &items.text);
            record.set(Slot::Parallel, fan.parallel);
            record.set(Slot::More, u32::from(fan.keep_errors));
        }
    }
    record.words
}

/// Arguments as JSON: an expression is `{"$": text}`, one that is no text `{"!": kind}`, a mapping `{"{": ..}`, what is no
/// expression `{"=": value}`.
fn encoded(args: &Args) -> Value {
    match args {
        Args::Expr(text) => Value::from([("$", text.text.as_str().into())]),
        Args::BadExpr(kind) => Value::from([("!", (*kind).into())]),
        Args::Plain(value, _) => Value::from([("=", value.clone())]),
        Args::List(items) => Value::List(items.iter().map(encoded).collect()),
        Args::Map(members) => {
            let members: Map = members.iter().map(|(key, item)| (key.clone(), encoded(item))).collect();
            Value::from([("{", members.into())])
        }
    }
}

fn reads_past(kind: &Kind) -> bool {
    let names = |text: &str| PAST.iter().any(|name| text.contains(name));
    match kind {
        Kind::Transform { expr, .. } => names(&expr.text),
        Kind::Switch { conditions, .. } => {
            conditions.iter().filter_map(|one| one.rule.as_ref()).any(|rule| names(&rule_text(rule)))
        }
        Kind::Call { args, .. } => names(&json::text(&encoded(args))),
        Kind::Foreach { items, args, .. } => names(&items.text) || names(&json::text(&encoded(args))),
        Kind::Entry { .. } | Kind::Exit { .. } => false,
    }
}

/// The code of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code<'a> {
    bytes: Reader<'a>,
    pub(crate) entry: NodeNumber,
    pub(crate) limits: Limits,
    /// Whether some expression reads the past.
    pub(crate) past: bool,
    table: u32,
    pub(crate) nodes: u32,
    /// The tool's name.
    pub(crate) name: &'a str,
    /// What its arguments must be like, as JSON.
    pub(crate) input: &'a str,
    /// What its result must be like, as JSON.
    pub(crate) output: &'a str,
}

/// A node of the code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a> {
    pub(crate) number: NodeNumber,
    pub(crate) id: &'a str,
    pub(crate) step: Step<'a>,
}

/// What a node does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    Entry { next: NodeNumber },
    Exit,
    Transform { expr: &'a str, next: NodeNumber },
    Switch { ways: Ways<'a>, default: Option<NodeNumber> },
    Call(Call<'a>),
}

/// A call, or one for each item of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) callee: Callee<'a>,
    /// Encoded arguments.
    pub(crate) args: &'a str,
    /// A `foreach`: the expression of its items.
    pub(crate) items: Option<&'a str>,
    pub(crate) parallel: u32,
    pub(crate) keep_errors: bool,
    pub(crate) retry: Retry,
    pub(crate) timeout_ms: Option<u32>,
    pub(crate) on_error: Option<NodeNumber>,
    pub(crate) next: NodeNumber,
}

/// Who is called.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callee<'a> {
    Upstream { server: &'a str, tool: &'a str },
    Workflow { interpreter: Option<&'a str>, workflow: &'a str },
}

/// The ways out of a switch, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ways<'a> {
    bytes: Reader<'a>,
    at: u32,
    len: u32,
}

impl<'a> Ways<'a> {
    /// Each rule as JSON, and where it leads.
    pub(crate) fn iter(self) -> impl Iterator<Item = Result<(&'a str, NodeNumber), Broken>> {
        (0..self.len).map(move |index| {
            let at = index * 3;
            Ok((self.bytes.text_at(self.at, at)?, self.bytes.word_at(self.at, at + 2)?))
        })
    }
}

impl<'a> Code<'a> {
    /// Reads the head.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Broken> {
        let bytes = Reader(bytes);
        if bytes.word(0)? != FORMAT {
            return Err(Broken);
        }
        let word = |index| bytes.word_at(0, index);
        Ok(Self {
            bytes,
            entry: word(1)?,
            limits: Limits { runs: word(2)?, time_ms: word(3)? },
            past: word(4)? != 0,
            table: word(5)?,
            nodes: word(6)?,
            name: bytes.text_at(0, 7)?,
            input: bytes.text_at(0, 9)?,
            output: bytes.text_at(0, 11)?,
        })
    }

    /// A node.
    pub(crate) fn node(self, number: NodeNumber) -> Result<Node<'a>, Broken> {
        if number >= self.nodes {
            return Err(Broken);
        }
        let at = number.checked_mul(NODE_WORDS * 4).and_then(|skip| self.table.checked_add(skip)).ok_or(Broken)?;
        let word = |slot: Slot| self.bytes.word_at(at, slot.word());
        let text = |slot: Slot| self.bytes.text_at(at, slot.word());
        let next = word(Slot::Next)?;
        let step = match word(Slot::Kind)? {
            ENTRY => Step::Entry { next },
            EXIT => Step::Exit,
            TRANSFORM => Step::Transform { expr: text(Slot::First)?, next },
            SWITCH => Step::Switch {
                ways: Ways { bytes: self.bytes, at: word(Slot::List)?, len: word(Slot::ListLen)? },
                default: (next != NONE).then_some(next),
            },
            kind @ (CALL | FOREACH) => {
                let flags = word(Slot::Flags)?;
                let (first, second) = (text(Slot::First)?, text(Slot::Second)?);
                let callee = if flags & UPSTREAM != 0 {
                    Callee::Upstream { server: first, tool: second }
                } else {
                    Callee::Workflow { interpreter: Some(first).filter(|name| !name.is_empty()), workflow: second }
                };
                let some = |word: u32| (word != NONE).then_some(word);
                Step::Call(Call {
                    callee,
                    args: text(Slot::Third)?,
                    items: if kind == FOREACH { Some(text(Slot::Fourth)?) } else { None },
                    parallel: if kind == FOREACH { word(Slot::Parallel)? } else { 1 },
                    keep_errors: kind == FOREACH && word(Slot::More)? != 0,
                    retry: Retry {
                        attempts: word(Slot::Attempts)?,
                        delay_ms: word(Slot::Delay)?,
                        backoff_percent: word(Slot::Backoff)?,
                    },
                    timeout_ms: some(word(Slot::Timeout)?),
                    on_error: some(word(Slot::OnError)?),
                    next,
                })
            }
            _ => return Err(Broken),
        };
        Ok(Node { number, id: text(Slot::Id)?, step })
    }
}
