//! What ran so far, and the functions by which expressions read it. A place is counted from 0, over all node runs.

use std::cell::RefCell;
use std::rc::Rc;

use wfhost_jsonata::{Data, Native};

/// The node runs of a session, oldest first: each with its node's id and its output.
#[derive(Debug, Default)]
pub(crate) struct Past(Vec<(Rc<str>, Data)>);

/// The past as functions share it.
pub(crate) type Shared = Rc<RefCell<Past>>;

impl Past {
    /// Appends a run.
    pub(crate) fn push(&mut self, id: &str, output: Data) {
        self.0.push((id.into(), output));
    }

    fn of(&self, id: &str) -> impl DoubleEndedIterator<Item = &Data> {
        self.0.iter().filter(move |(node, _)| **node == *id).map(|(_, output)| output)
    }

    /// The output so many runs before the one in hand.
    fn back(&self, count: f64) -> Result<Data, String> {
        let index = whole(count)?;
        let place = i64::try_from(self.0.len()).unwrap_or(i64::MAX).checked_sub(index);
        let place = place.and_then(|place| usize::try_from(place).ok());
        Ok(place.and_then(|place| self.0.get(place)).map_or_else(Data::null, |(_, output)| output.clone()))
    }

    /// A run of one node: from the first one, or with a negative index from the last.
    fn run(&self, id: &str, index: f64) -> Result<Data, String> {
        let index = whole(index)?;
        let found = if let Ok(index) = usize::try_from(index) {
            self.of(id).nth(index)
        } else {
            usize::try_from(-(index + 1)).ok().and_then(|index| self.of(id).rev().nth(index))
        };
        Ok(found.cloned().unwrap_or_else(Data::null))
    }
}

fn whole(number: f64) -> Result<i64, String> {
    if number.fract() != 0.0 || number.abs() > 9e15 {
        return Err(format!("T0410: {number} is no number of a run"));
    }
    #[allow(clippy::cast_possible_truncation, reason = "whole and small")]
    Ok(number as i64)
}

/// The functions, with their signatures.
pub(crate) fn functions(past: &Shared) -> Vec<(&'static str, &'static str, Native)> {
    let share = || Rc::clone(past);
    let text = |args: &[Data]| args.first().and_then(Data::as_text).unwrap_or_default().to_owned();
    let number = |args: &[Data], index: usize| args.get(index).and_then(Data::as_number);
    let (back, count, one, all) = (share(), share(), share(), share());
    vec![
        ("previousNode", "<n?:o>", Box::new(move |args: &[Data]| back.borrow().back(number(args, 0).unwrap_or(1.0)))),
        (
            "executionCount",
            "<s:n>",
            Box::new(move |args: &[Data]| Ok(Data::count(count.borrow().of(&text(args)).count()))),
        ),
        (
            "nodeExecution",
            "<s-n:o>",
            Box::new(move |args: &[Data]| match number(args, 1) {
                Some(index) => one.borrow().run(&text(args), index),
                None => Ok(Data::null()),
            }),
        ),
        (
            "nodeExecutions",
            "<s:a>",
            Box::new(move |args: &[Data]| Ok(Data::list(all.borrow().of(&text(args)).cloned()))),
        ),
    ]
}
