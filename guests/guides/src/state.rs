//! What a turn needs of the one before: where the run stands, what is known, and what the last reply told.
//!
//! LIMIT: of the path, the nodes skipped and those folded the newest 500 are kept; a run that goes round longer than that
//! keeps of the older ones only that they were there.

use wfhost_guest::json;
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};

use crate::code::{Code, Step};
use crate::facts::Rejected;
use crate::fold::Reason;

const KEPT_MAX: usize = 500;

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Open,
    Completed,
    Stalled,
}

impl Mode {
    /// The word that replies use.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Completed => "completed",
            Self::Stalled => "stalled",
        }
    }
}

/// What the last call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Advanced,
    Completed,
    Unmatched,
    Branched,
    Stalled,
}

impl Status {
    /// The word that replies use.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Advanced => "advanced",
            Self::Completed => "completed",
            Self::Unmatched => "unmatched",
            Self::Branched => "branched",
            Self::Stalled => "stalled",
        }
    }
}

/// What only the reply to the last call tells.
#[derive(Clone, Debug)]
pub(crate) struct Last {
    pub(crate) status: Status,
    /// It began the run.
    pub(crate) first: bool,
    /// The answer was for something else, or not all of it: the node is as before.
    pub(crate) kept: bool,
    pub(crate) skipped: Vec<String>,
    pub(crate) rejected: Vec<Rejected>,
    /// The question that was folded.
    pub(crate) fold: Option<String>,
    /// Why the run stalled.
    pub(crate) reason: Option<Reason>,
}

impl Last {
    /// A reply of that status with nothing to add.
    pub(crate) fn new(status: Status) -> Self {
        Self { status, first: false, kept: false, skipped: Vec::new(), rejected: Vec::new(), fold: None, reason: None }
    }
}

/// The state of a run.
#[derive(Clone, Debug)]
pub(crate) struct State<'a> {
    /// The node in hand.
    pub(crate) at: Step<'a>,
    pub(crate) mode: Mode,
    /// Names the request that is open: it changes whenever the node in hand does, and when a reply left it as it was.
    pub(crate) visit: u32,
    /// Answers at this node that no label fits.
    pub(crate) misses: u32,
    /// Answers by node or slot.
    pub(crate) collected: Map,
    /// Nodes that were left, oldest first.
    pub(crate) path: Vec<String>,
    pub(crate) skipped: Vec<String>,
    pub(crate) folded: Vec<String>,
    /// Nodes that the path no longer lists.
    pub(crate) before: Vec<String>,
    pub(crate) last: Last,
}

impl<'a> State<'a> {
    /// The state before anything happened.
    pub(crate) fn new(code: Code<'a>) -> Result<Self, Broken> {
        Ok(Self {
            at: code.node(code.entry)?,
            mode: Mode::Open,
            visit: 1,
            misses: 0,
            collected: Map::default(),
            path: Vec::new(),
            skipped: Vec::new(),
            folded: Vec::new(),
            before: Vec::new(),
            last: Last::new(Status::Advanced),
        })
    }

    /// Whether the run has been at a node before.
    pub(crate) fn visited(&self, id: &str) -> bool {
        self.path.iter().chain(&self.before).any(|one| one == id)
    }

    /// The answer for a node or slot.
    pub(crate) fn answer(&self, key: &str) -> Option<&str> {
        self.collected.get(key).and_then(Value::as_str)
    }

    /// Forgets an answer.
    pub(crate) fn forget(&mut self, key: &str) {
        if self.collected.get(key).is_some() {
            self.collected = std::mem::take(&mut self.collected).into_iter().filter(|(name, _)| name != key).collect();
        }
    }

    /// Takes the node in hand to the path.
    pub(crate) fn leave(&mut self) {
        self.path.push(self.at.id.to_owned());
        if self.path.len() > KEPT_MAX {
            let oldest = self.path.remove(0);
            if !self.before.contains(&oldest) {
                self.before.push(oldest);
            }
        }
        for list in [&mut self.skipped, &mut self.folded] {
            let over = list.len().saturating_sub(KEPT_MAX);
            list.drain(..over);
        }
    }

    /// The state that a text holds.
    pub(crate) fn read(code: Code<'a>, text: &str) -> Result<Self, Broken> {
        let root = json::read(text).map_err(|_| Broken)?;
        let word = |key: &str| root.get(key).and_then(Value::as_str).ok_or(Broken);
        let count = |key: &str| {
            root.get(key).and_then(Value::as_i64).and_then(|number| u32::try_from(number).ok()).ok_or(Broken)
        };
        let mode = [Mode::Open, Mode::Completed, Mode::Stalled].into_iter();
        Ok(Self {
            at: code.find(word("node")?)?.ok_or(Broken)?,
            mode: of_word(word("state")?, mode, Mode::word)?,
            visit: count("visit")?,
            misses: count("misses")?,
            collected: root.get("collected").and_then(Value::as_map).cloned().ok_or(Broken)?,
            path: texts(root.get("path"))?,
            skipped: texts(root.get("skipped"))?,
            folded: texts(root.get("folded"))?,
            before: texts(root.get("before"))?,
            last: last(root.get("last").ok_or(Broken)?)?,
        })
    }

    /// The text of a state.
    pub(crate) fn write(self) -> String {
        let Last { status, first, kept, skipped, rejected, fold, reason } = self.last;
        let mut last = vec![("status", Value::from(status.word()))];
        last.extend(first.then_some(("first", true.into())));
        last.extend(kept.then_some(("kept", true.into())));
        last.extend((!skipped.is_empty()).then_some(("skipped", skipped.into())));
        last.extend(
            (!rejected.is_empty())
                .then(|| ("rejected", rejected.iter().map(Rejected::value).collect::<Vec<_>>().into())),
        );
        last.extend(fold.map(|fold| ("fold", fold.into())));
        last.extend(reason.map(|reason| ("reason", reason.word().into())));
        let last: Map = last.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let mut members = vec![
            ("node", Value::from(self.at.id)),
            ("state", self.mode.word().into()),
            ("visit", self.visit.into()),
            ("misses", self.misses.into()),
            ("collected", self.collected.into()),
            ("path", self.path.into()),
        ];
        for (key, list) in [("skipped", self.skipped), ("folded", self.folded), ("before", self.before)] {
            members.extend((!list.is_empty()).then(|| (key, list.into())));
        }
        members.push(("last", last.into()));
        json::text(&Value::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
    }
}

fn of_word<T: Copy>(word: &str, all: impl IntoIterator<Item = T>, name: fn(T) -> &'static str) -> Result<T, Broken> {
    all.into_iter().find(|one| name(*one) == word).ok_or(Broken)
}

/// Texts of a list; none is an empty one.
fn texts(list: Option<&Value>) -> Result<Vec<String>, Broken> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let items = list.as_list().ok_or(Broken)?.iter();
    items.map(|item| item.as_str().map(str::to_owned).ok_or(Broken)).collect()
}

fn last(value: &Value) -> Result<Last, Broken> {
    let all = [Status::Advanced, Status::Completed, Status::Unmatched, Status::Branched, Status::Stalled];
    let flag = |key: &str| matches!(value.get(key), Some(Value::Bool(true)));
    let word = |key: &str| value.get(key).and_then(Value::as_str);
    let rejected = value.get("rejected").and_then(Value::as_list).unwrap_or_default().iter();
    Ok(Last {
        status: of_word(word("status").ok_or(Broken)?, all, Status::word)?,
        first: flag("first"),
        kept: flag("kept"),
        skipped: texts(value.get("skipped"))?,
        rejected: rejected.map(|one| Rejected::of(one).ok_or(Broken)).collect::<Result<_, _>>()?,
        fold: word("fold").map(str::to_owned),
        reason: word("reason").map(|word| Reason::of(word).ok_or(Broken)).transpose()?,
    })
}
