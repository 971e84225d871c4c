//! What comes in `values`: which of it is kept, which is the answer to the node in hand, and which is not taken, and why.

use wfhost_guest::json;
use wfhost_guest::packed::Broken;
use wfhost_guest::value::{Map, Value};

use crate::code::{Ask, Code, StepKind};
use crate::document::model::UNKNOWN;
use crate::state::State;

/// LIMIT: bytes of one value.
const VALUE_BYTES_MAX: usize = 8_192;

/// Why a value is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Null, or a text of blanks.
    Empty,
    /// A list or an object.
    NotAScalar,
    /// Longer than any answer.
    TooLong,
    /// No question and no slot is named so.
    UnknownKey,
    /// A question that the run has left, with another answer.
    AlreadyPassed,
    /// A label that the question does not know.
    NotAccepted,
    /// Not known, of a slot that is filled.
    AlreadyGiven,
}

impl Why {
    const ALL: [Self; 7] = [
        Self::Empty,
        Self::NotAScalar,
        Self::TooLong,
        Self::UnknownKey,
        Self::AlreadyPassed,
        Self::NotAccepted,
        Self::AlreadyGiven,
    ];

    /// The word that replies use.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NotAScalar => "not_a_scalar",
            Self::TooLong => "too_long",
            Self::UnknownKey => "unknown_key",
            Self::AlreadyPassed => "already_passed",
            Self::NotAccepted => "not_accepted",
            Self::AlreadyGiven => "already_given",
        }
    }
}

/// A value that was not taken.
#[derive(Clone, Debug)]
pub(crate) struct Rejected {
    pub(crate) key: String,
    pub(crate) why: Why,
}

impl Rejected {
    /// As replies tell it.
    pub(crate) fn value(&self) -> Value {
        [("key", self.key.as_str().into()), ("reason", self.why.word().into())].into()
    }

    /// As a state holds it.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        let word = value.get("reason")?.as_str()?;
        let why = Why::ALL.into_iter().find(|why| why.word() == word)?;
        Some(Self { key: value.get("key")?.as_str()?.to_owned(), why })
    }
}

/// The text of an answer. Numbers and flags are compared as they are written.
pub(crate) fn scalar(value: &Value) -> Result<String, Why> {
    let text = match value {
        Value::Null => return Err(Why::Empty),
        Value::Str(text) => text.clone(),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => json::text(value),
        Value::List(_) | Value::Map(_) => return Err(Why::NotAScalar),
    };
    if text.trim().is_empty() {
        return Err(Why::Empty);
    }
    if text.len() > VALUE_BYTES_MAX { Err(Why::TooLong) } else { Ok(text) }
}

/// What became of `values`.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// What is said of the question in hand.
    pub(crate) answer: Option<String>,
    /// A required slot in hand is said not to be known.
    pub(crate) unknown: bool,
    pub(crate) rejected: Vec<Rejected>,
}

/// Keeps values. Before a run stands anywhere, at its start, nothing is in hand.
pub(crate) fn keep(code: Code<'_>, state: &mut State<'_>, values: Map, in_hand: bool) -> Result<Taken, Broken> {
    let mut taken = Taken::default();
    for (key, value) in values {
        let kept = match scalar(&value) {
            Ok(text) => one(code, state, (&key, text), in_hand.then_some(&mut taken))?,
            Err(why) => Some(why),
        };
        taken.rejected.extend(kept.map(|why| Rejected { key, why }));
    }
    Ok(taken)
}

fn one(
    code: Code<'_>,
    state: &mut State<'_>,
    (key, text): (&str, String),
    in_hand: Option<&mut Taken>,
) -> Result<Option<Why>, Broken> {
    let asked = match code.find(key)?.map(|step| step.kind) {
        Some(StepKind::Ask(ask)) => Some(ask),
        Some(StepKind::Tell { .. } | StepKind::Collect(_) | StepKind::End { .. }) | None => None,
    };
    let Some(ask) = asked else {
        return if code.has_slot(key)? { slot(state, (key, text), in_hand) } else { Ok(Some(Why::UnknownKey)) };
    };
    if let Some(taken) = in_hand
        && state.at.id == key
    {
        taken.answer = Some(text);
        return Ok(None);
    }
    if state.visited(key) {
        return Ok((state.answer(key) != Some(&text)).then_some(Why::AlreadyPassed));
    }
    if !fits(ask, &text)? {
        return Ok(Some(Why::NotAccepted));
    }
    state.collected.set(key, text.into());
    Ok(None)
}

/// Whether a question that is still to come can be passed with this answer.
fn fits(ask: Ask<'_>, text: &str) -> Result<bool, Broken> {
    if text == UNKNOWN {
        return Ok(ask.unknown.is_some());
    }
    Ok(ask.other.is_some() || ask.label(text)?.is_some())
}

fn slot(
    state: &mut State<'_>,
    (key, text): (&str, String),
    in_hand: Option<&mut Taken>,
) -> Result<Option<Why>, Broken> {
    if text != UNKNOWN {
        state.collected.set(key, text.into());
        return Ok(None);
    }
    if state.answer(key).is_some_and(|known| known != UNKNOWN) {
        return Ok(Some(Why::AlreadyGiven));
    }
    let required = match state.at.kind {
        StepKind::Collect(collect) => collect.slot(key)?.is_some_and(|slot| slot.required),
        StepKind::Ask(_) | StepKind::Tell { .. } | StepKind::End { .. } => false,
    };
    match in_hand {
        Some(taken) if required => taken.unknown = true,
        Some(_) | None => state.collected.set(key, text.into()),
    }
    Ok(None)
}
