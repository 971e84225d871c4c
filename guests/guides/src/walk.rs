//! Moving through a flow: a node is left for a reason, and then all is passed that is known already.

use wfhost_guest::json;
use wfhost_guest::model::Entry;
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};

use crate::code::{Ask, Code, Collect, NodeNumber, Step, StepKind};
use crate::document::model::UNKNOWN;
use crate::state::{Mode, State};

/// Why a node is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// This call answered it.
    Answer,
    /// It was answered before.
    Value,
    /// By `__other__` or `__unknown__`.
    Escape,
    /// All its branches were told.
    Fold,
}

impl By {
    /// The word that the trace uses.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Value => "value",
            Self::Escape => "escape",
            Self::Fold => "fold",
        }
    }
}

/// A run during one call.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    pub(crate) code: Code<'a>,
    pub(crate) state: State<'a>,
    /// Nodes passed in this call without asking.
    pub(crate) skipped: Vec<String>,
    /// A line for every node left, and for the end.
    pub(crate) entries: Vec<Entry>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(code: Code<'a>, state: State<'a>) -> Self {
        Self { code, state, skipped: Vec::new(), entries: Vec::new() }
    }

    /// Leaves the node in hand for another.
    pub(crate) fn leave(&mut self, target: NodeNumber, by: By, label: Option<&str>) -> Result<(), Broken> {
        let next = self.code.node(target)?;
        let detail = Some(json::text(&[("by", by.word().into())].into()));
        let input = match self.state.at.kind {
            StepKind::Collect(collect) => Some(json::text(&gathered(collect, &self.state)?.into())),
            StepKind::Ask(_) | StepKind::Tell { .. } | StepKind::End { .. } => label.map(json::quoted),
        };
        self.entries.push(entry(self.state.at, input, Some(next.id), detail));
        self.state.leave();
        self.state.at = next;
        self.state.misses = 0;
        self.state.visit = self.state.visit.saturating_add(1);
        Ok(())
    }

    /// Passes all that is known already, and stops where something has to be asked or said, or at the end.
    pub(crate) fn settle(&mut self) -> Result<(), Broken> {
        let mut collects = 0;
        loop {
            let (target, by, label) = match self.state.at.kind {
                StepKind::End { outcome } => {
                    let detail = Some(json::text(&[("outcome", outcome.into())].into()));
                    self.entries.push(entry(self.state.at, None, None, detail));
                    self.state.mode = Mode::Completed;
                    return Ok(());
                }
                StepKind::Tell { .. } => return Ok(()),
                StepKind::Ask(ask) => match self.known(ask)? {
                    Some(way) => {
                        collects = 0;
                        way
                    }
                    None => {
                        self.state.forget(self.state.at.id);
                        return Ok(());
                    }
                },
                StepKind::Collect(collect) => {
                    if !self.filled(collect)? {
                        return Ok(());
                    }
                    // Each question is passed at most once, and a ring of collects alone has no end: `document` refuses it.
                    collects += 1;
                    if collects > self.code.len() {
                        return Err(Broken);
                    }
                    (collect.next, By::Value, None)
                }
            };
            self.skipped.push(self.state.at.id.to_owned());
            self.state.skipped.push(self.state.at.id.to_owned());
            self.leave(target, by, label.as_deref())?;
        }
    }

    /// Where the answer leads that the question in hand was given before it was asked. An answer serves one visit.
    fn known(&self, ask: Ask<'a>) -> Result<Option<(NodeNumber, By, Option<String>)>, Broken> {
        let id = self.state.at.id;
        let Some(answer) = self.state.answer(id).filter(|_| !self.state.visited(id)) else { return Ok(None) };
        let way = way(ask, answer)?;
        Ok(way.map(|(target, by)| (target, if by == By::Answer { By::Value } else { by }, Some(answer.to_owned()))))
    }

    /// Whether every slot is filled. That a required one is not known does not fill it.
    fn filled(&mut self, collect: Collect<'a>) -> Result<bool, Broken> {
        let mut filled = true;
        for slot in collect.slots() {
            let slot = slot?;
            if slot.required && self.state.answer(slot.name) == Some(UNKNOWN) {
                self.state.forget(slot.name);
            }
            filled &= self.state.answer(slot.name).is_some();
        }
        Ok(filled)
    }
}

/// Where an answer leads. None: nowhere.
pub(crate) fn way(ask: Ask<'_>, answer: &str) -> Result<Option<(NodeNumber, By)>, Broken> {
    if let Some(label) = ask.label(answer)? {
        return Ok(Some((label.target, By::Answer)));
    }
    let escape = if answer == UNKNOWN { ask.unknown } else { ask.other };
    Ok(escape.map(|target| (target, By::Escape)))
}

/// What is known of the slots of a collect.
fn gathered(collect: Collect<'_>, state: &State<'_>) -> Result<Map, Broken> {
    let mut known = Vec::new();
    for slot in collect.slots() {
        let name = slot?.name;
        known.extend(state.answer(name).map(|text| (name.to_owned(), Value::from(text))));
    }
    Ok(known.into_iter().collect())
}

/// A line of the audit trail.
pub(crate) fn entry(at: Step<'_>, input: Option<String>, branch: Option<&str>, detail: Option<String>) -> Entry {
    Entry { node: at.id.to_owned(), kind: kind(at).to_owned(), input, branch: branch.map(str::to_owned), detail }
}

/// The node's kind, by the word that documents use.
pub(crate) fn kind(at: Step<'_>) -> &'static str {
    match at.kind {
        StepKind::Ask(_) => "ask",
        StepKind::Tell { .. } => "tell",
        StepKind::Collect(_) => "collect",
        StepKind::End { .. } => "end",
    }
}
