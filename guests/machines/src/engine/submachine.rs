//! A machine that another one runs to its end: the first action that may come next is taken, again and again.

use wfhost_guest::packed::Broken;
use wfhost_guest::time;
use wfhost_guest::value::{Map, Value};

use super::effects::seconds;
use super::perform::{Done, Frame, No, Place, Run, Stop, error, perform};
use super::ways;
use crate::expr::uuid;

/// LIMIT: actions of sub-machines in one step.
pub(crate) const ACTIONS_MAX: u32 = 1_000;

/// What is to be run.
pub(super) struct Order<'o> {
    pub(super) name: &'o str,
    pub(super) label: String,
    /// Over the initial state.
    pub(super) with: Map,
    /// Of the first action.
    pub(super) inputs: Map,
    /// Actions after which it ends; none: the last one of the document.
    pub(super) halt: Option<Vec<String>>,
}

/// Runs a machine, and gives its last state.
pub(super) fn run(run: &mut Run<'_, '_>, order: Order<'_>, place: &mut Place) -> Result<Value, Stop> {
    let machine = run.code.find(order.name)?.ok_or(Broken)?;
    let mut data = machine.state()?;
    for (key, value) in order.with {
        data.set(&key, value);
    }
    let halt = match order.halt {
        Some(halt) => halt,
        None => machine.actions().last().transpose()?.into_iter().map(|action| action.name.to_owned()).collect(),
    };
    let mut record = Record { label: order.label, started: place.now, history: Vec::new(), at: run.subruns.len() };
    let (mut last, mut inputs) = (None, order.inputs);
    for step in 0u32.. {
        let Some(action) = ways::first(machine, last, &data)? else { break };
        if run.budget == 0 {
            let message = format!("sub-machines ran {ACTIONS_MAX} actions in this step without coming to an end");
            return Err(error("RunError", message));
        }
        run.budget -= 1;
        let inner = Place { path: format!("{}/{step}/", place.path), depth: place.depth + 1, ..place.clone() };
        match perform(run, Frame { machine, data: &data }, (action, &inputs), inner) {
            Ok(Done { data: after, now, .. }) => {
                (data, place.now, last) = (after, place.now.max(now), Some(action));
                inputs = Map::default();
                record.add(action.name, &data);
            }
            Err(Stop::Refused(no)) => {
                let outer = matches!(&no, No::Timeout(deadline) if deadline.depth <= place.depth);
                if outer {
                    return Err(Stop::Refused(no));
                }
                let (kind, message) = words(no, action.name);
                record.keep(run, place, &data, Some((&kind, &message)));
                return Err(error(&kind, message));
            }
            Err(stop) => return Err(stop),
        }
        if halt.iter().any(|name| name == action.name) {
            break;
        }
    }
    record.keep(run, place, &data, None);
    Ok(Value::Map(data))
}

/// What a refusal inside means outside.
fn words(no: No, action: &str) -> (String, String) {
    match no {
        No::Error { kind, message } => (kind, message),
        No::Inputs { reason, .. } => ("ValidationFailed".to_owned(), format!("{action}: {reason}")),
        No::Timeout(deadline) => {
            ("TimeoutError".to_owned(), format!("{action}: more than {}s", seconds(deadline.millis)))
        }
    }
}

/// A run as it is told afterwards.
struct Record {
    label: String,
    started: u64,
    history: Vec<Value>,
    /// How many runs had ended when it began: those after them are inside it.
    at: usize,
}

impl Record {
    fn add(&mut self, action: &str, data: &Map) {
        let seq = i64::try_from(self.history.len()).unwrap_or(i64::MAX);
        let step = [("seq", seq.into()), ("action", action.into()), ("state", data.clone().into())];
        self.history.push(step.into());
    }

    fn keep(self, run: &mut Run<'_, '_>, place: &Place, data: &Map, fault: Option<(&str, &str)>) {
        let id = format!("sub-{}", uuid(&format!("{}/{}{}", run.seed, run.prefix, place.path), 0));
        for inner in run.subruns.iter_mut().skip(self.at) {
            if let Value::Map(map) = inner
                && matches!(map.get("parent_subrun_id"), Some(Value::Null))
            {
                map.set("parent_subrun_id", id.as_str().into());
            }
        }
        let fault = fault.map(|(kind, message)| Value::from([("type", kind.into()), ("message", message.into())]));
        run.subruns.push(Value::from([
            ("id", id.into()),
            ("label", self.label.into()),
            ("started_ts", time::iso(self.started).into()),
            ("ended_ts", time::iso(place.now).into()),
            ("parent_subrun_id", Value::Null),
            ("history", Value::List(self.history)),
            ("final_state", data.clone().into()),
            ("error", fault.into()),
        ]));
    }
}
