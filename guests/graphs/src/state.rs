//! What a turn needs of the one before, as JSON text. Outputs are kept once a node, the latest; a tool whose expressions read
//! the past finds all of them in the session's memory.

use wfhost_guest::json;
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};
use wfhost_jsonata::Data;

use crate::code::NodeNumber;
use crate::trouble::Trouble;

/// Where a run stands.
#[derive(Debug)]
pub(crate) struct State {
    /// When it began.
    pub(crate) started: u64,
    /// How long it waited for other workflows, milliseconds: a person may take a day there.
    pub(crate) apart: u64,
    /// Node runs so far.
    pub(crate) runs: u32,
    /// The node in hand, or at the end the one that ran last.
    pub(crate) at: NodeNumber,
    /// Latest outputs, the one of the node that ran last first.
    pub(crate) outputs: Vec<(NodeNumber, Data)>,
    /// What the node in hand waits for.
    pub(crate) waiting: Option<Waiting>,
    /// The end.
    pub(crate) end: Option<Result<Value, Trouble>>,
}

/// A value, or none.
pub(crate) type Maybe = Option<Value>;

/// A node that waits for others.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Since when.
    pub(crate) since: u64,
    /// A pause in a long computation, and no call.
    pub(crate) breath: bool,
    /// The items of a `foreach`; none: one call.
    pub(crate) items: Option<Vec<Value>>,
    /// What came of each item.
    pub(crate) done: Vec<Option<Maybe>>,
    /// Items that were begun.
    pub(crate) begun: usize,
    /// Calls that are out, or wait for their next try.
    pub(crate) open: Vec<Open>,
}

/// A call that is not done.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) item: usize,
    /// From 1.
    pub(crate) attempt: u32,
    pub(crate) args: Value,
    pub(crate) deadline: Option<u64>,
    /// It waits until then, and is made afterwards.
    pub(crate) due: Option<u64>,
}

impl State {
    /// A run that begins.
    pub(crate) fn new(entry: NodeNumber, started: u64) -> Self {
        Self { started, apart: 0, runs: 0, at: entry, outputs: Vec::new(), waiting: None, end: None }
    }

    /// The latest output of a node.
    pub(crate) fn output(&self, node: NodeNumber) -> Option<&Data> {
        self.outputs.iter().find(|(number, _)| *number == node).map(|(_, output)| output)
    }

    /// The output of the node that ran last.
    pub(crate) fn last(&self) -> Option<&Data> {
        self.outputs.first().map(|(_, output)| output)
    }

    /// Keeps an output as the latest.
    pub(crate) fn keep(&mut self, node: NodeNumber, output: Data) {
        self.outputs.retain(|(number, _)| *number != node);
        self.outputs.insert(0, (node, output));
    }

    pub(crate) fn write(&self) -> String {
        let outputs = self.outputs.iter().map(|(node, output)| {
            let number = Value::from(*node);
            Value::List(std::iter::once(number).chain(output.value()).collect())
        });
        let mut members = vec![
            ("started", whole(self.started)),
            ("runs", self.runs.into()),
            ("at", self.at.into()),
            ("outputs", Value::List(outputs.collect())),
        ];
        members.extend((self.apart > 0).then(|| ("apart", whole(self.apart))));
        members.extend(self.waiting.as_ref().map(|waiting| ("waiting", waiting.value())));
        members.extend(self.end.as_ref().map(|end| match end {
            Ok(result) => ("result", result.clone()),
            Err(trouble) => ("trouble", trouble.value()),
        }));
        json::text(&object(members))
    }

    pub(crate) fn read(text: &str) -> Result<Self, Broken> {
        let value = json::read(text).map_err(|_| Broken)?;
        let list = value.get("outputs").and_then(Value::as_list).ok_or(Broken)?;
        let outputs = list.iter().map(|pair| match pair.as_list() {
            Some([number, rest @ ..]) => Ok((small(number)?, rest.first().map_or_else(Data::nothing, Data::from))),
            Some([]) | None => Err(Broken),
        });
        let end = match (value.get("result"), value.get("trouble")) {
            (Some(result), _) => Some(Ok(result.clone())),
            (None, Some(trouble)) => Some(Err(Trouble::read(trouble).ok_or(Broken)?)),
            (None, None) => None,
        };
        Ok(Self {
            started: long(&value, "started")?,
            apart: if value.get("apart").is_some() { long(&value, "apart")? } else { 0 },
            runs: small(value.get("runs").ok_or(Broken)?)?,
            at: small(value.get("at").ok_or(Broken)?)?,
            outputs: outputs.collect::<Result<_, _>>()?,
            waiting: value.get("waiting").map(Waiting::read).transpose()?,
            end,
        })
    }
}

impl Waiting {
    fn value(&self) -> Value {
        let done = self.done.iter().map(|one| match one {
            None => Value::Null,
            Some(output) => Value::List(output.iter().cloned().collect()),
        });
        let mut members = vec![("since", whole(self.since))];
        members.extend(self.breath.then_some(("breath", true.into())));
        members.extend(self.items.as_ref().map(|items| ("items", Value::List(items.clone()))));
        members.extend([
            ("done", Value::List(done.collect())),
            ("begun", whole_of(self.begun)),
            ("open", Value::List(self.open.iter().map(Open::value).collect())),
        ]);
        object(members)
    }

    fn read(value: &Value) -> Result<Self, Broken> {
        let list = |key: &str| value.get(key).and_then(Value::as_list);
        let done = list("done").ok_or(Broken)?.iter().map(|one| one.as_list().map(|output| output.first().cloned()));
        Ok(Self {
            since: long(value, "since")?,
            breath: value.get("breath").is_some(),
            items: list("items").map(<[Value]>::to_vec),
            done: done.collect(),
            begun: index(value, "begun")?,
            open: list("open").ok_or(Broken)?.iter().map(Open::read).collect::<Result<_, _>>()?,
        })
    }
}

impl Open {
    fn value(&self) -> Value {
        let mut members =
            vec![("item", whole_of(self.item)), ("attempt", self.attempt.into()), ("args", self.args.clone())];
        members.extend(self.deadline.map(|deadline| ("deadline", whole(deadline))));
        members.extend(self.due.map(|due| ("due", whole(due))));
        object(members)
    }

    fn read(value: &Value) -> Result<Self, Broken> {
        let moment = |key: &str| value.get(key).map(|_| long(value, key)).transpose();
        Ok(Self {
            item: index(value, "item")?,
            attempt: small(value.get("attempt").ok_or(Broken)?)?,
            args: value.get("args").cloned().ok_or(Broken)?,
            deadline: moment("deadline")?,
            due: moment("due")?,
        })
    }
}

/// An object of these members.
pub(crate) fn object(members: Vec<(&str, Value)>) -> Value {
    Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map>())
}

/// A moment or a duration, in milliseconds.
pub(crate) fn whole(number: u64) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A count.
pub(crate) fn whole_of(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

fn small(value: &Value) -> Result<u32, Broken> {
    value.as_i64().and_then(|number| u32::try_from(number).ok()).ok_or(Broken)
}

fn long(value: &Value, key: &str) -> Result<u64, Broken> {
    value.get(key).and_then(Value::as_i64).and_then(|number| u64::try_from(number).ok()).ok_or(Broken)
}

fn index(value: &Value, key: &str) -> Result<usize, Broken> {
    value.get(key).and_then(Value::as_i64).and_then(|number| usize::try_from(number).ok()).ok_or(Broken)
}
