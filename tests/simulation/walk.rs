//! One random walk, and what must be true after each of its steps.
//!
//! The walk knows what it sent and what it was told. The journal must hold exactly one accepted answer for each step, in
//! order, each of them one that was sent; every answer that was told to be accepted, every refusal that was told, each
//! once; nothing that was seen once may be gone or different later; and a check and a replay must find nothing.

use std::collections::{BTreeMap, HashMap};
use std::thread;

use serde_json::{Value, json};

use super::crew::Crew;

/// An invariant that does not hold: which, and how it shows.
#[derive(Debug, Clone)]
pub(crate) struct Found(pub(crate) String);

/// A small generator.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678);
        dice.roll(2);
        dice
    }

    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// What is known of an answer that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It was told to be accepted.
    Accepted,
    /// It was told to be refused.
    Refused,
    /// The process died before it said.
    Lost,
}

/// An answer: the word is its name, since no two have the same.
#[derive(Debug, Clone)]
struct Sent {
    step: u64,
    known: Vec<Known>,
}

/// A walk.
pub(crate) struct Walk<'c> {
    crew: &'c Crew,
    dice: Dice,
    name: String,
    session: String,
    /// The step that the journal was at when it was last looked at.
    at: u64,
    sent: BTreeMap<String, Sent>,
    seen: Vec<String>,
    /// How many calls were made, replies were lost, and lost ones turned out to be done.
    pub(crate) calls: usize,
    pub(crate) lost: usize,
    pub(crate) settled: usize,
}

macro_rules! must {
    ($walk:expr, $holds:expr, $($words:tt)*) => {
        if !$holds {
            return Err(Found(format!("{} of {}: {}", $walk.name, $walk.session, format!($($words)*))));
        }
    };
}

impl<'c> Walk<'c> {
    pub(crate) fn new(crew: &'c Crew, seed: u64, hand: u64) -> Self {
        let name = format!("walk {seed:x} in hand {hand}");
        let (sent, seen) = (BTreeMap::new(), Vec::new());
        let dice = Dice::new(seed);
        Self { crew, dice, name, session: String::new(), at: 1, sent, seen, calls: 0, lost: 0, settled: 0 }
    }

    pub(crate) fn run(&mut self) -> Result<(), Found> {
        self.begin()?;
        for _ in 0..3 + self.dice.roll(8) {
            self.step()?;
            self.look(false)?;
        }
        if self.dice.roll(3) == 0 {
            let step = self.at;
            self.answer(step, "stop")?;
        }
        self.look(true)
    }

    fn begin(&mut self) -> Result<(), Found> {
        loop {
            let which = self.dice.roll(3);
            let start = json!({"tool": "tree_start", "args": {"tree_id": "walk"}});
            self.calls += 1;
            let Some(answer) = self.crew.order(which, &start) else { continue };
            // A start that was lost leaves a session that nobody knows of: that is allowed.
            must!(self, answer["fault"].is_null(), "a start breaks: {answer}");
            self.session = answer["value"]["session_id"].as_str().unwrap_or_default().to_owned();
            return Ok(());
        }
    }

    fn step(&mut self) -> Result<(), Found> {
        let (at, word) = (self.at, format!("w{}", self.sent.len()));
        match self.dice.roll(8) {
            0..3 => self.answer(at, &word),
            // The same call twice, one after the other, as a client does that lost the reply.
            3 => self.answer(at, &word).and_then(|()| self.answer(at, &word)),
            // The same call at two processes at once.
            4 => self.at_once(&[(at, word.clone()), (at, word)]),
            // Two different answers to one question, at two processes at once.
            5 => self.at_once(&[(at, word.clone()), (at, format!("{word}b"))]),
            // In the wrong order.
            6 => self.at_once(&[(at + 1, format!("{word}b")), (at, word)]),
            // Too late, or far too early.
            _ => {
                let step = if self.dice.roll(2) == 0 { at.saturating_sub(1) } else { at + 5 };
                self.answer(step, &word)
            }
        }
    }

    fn answer(&mut self, step: u64, word: &str) -> Result<(), Found> {
        self.at_once(&[(step, word.to_owned())])
    }

    fn at_once(&mut self, answers: &[(u64, String)]) -> Result<(), Found> {
        let first = self.dice.roll(3);
        let (crew, session) = (self.crew, self.session.clone());
        let told: Vec<Option<Value>> = thread::scope(|scope| {
            let sent: Vec<_> = answers
                .iter()
                .zip(first..)
                .map(|((step, word), which)| {
                    let args = json!({"session_id": session, "step": step, "value": word});
                    scope.spawn(move || crew.order(which, &json!({"tool": "tree_answer", "args": args})))
                })
                .collect();
            sent.into_iter().map(|sent| sent.join().unwrap()).collect()
        });
        for ((step, word), told) in answers.iter().zip(told) {
            self.calls += 1;
            let known = match told {
                None => Known::Lost,
                Some(answer) => {
                    must!(self, answer["fault"].is_null(), "answering {step} {word} breaks: {answer}");
                    must!(self, answer["uncommitted"] == 0, "a request is handed out that no line asks for: {answer}");
                    if answer["value"]["error"].is_null() { Known::Accepted } else { Known::Refused }
                }
            };
            self.lost += usize::from(known == Known::Lost);
            let sent = self.sent.entry(word.clone()).or_insert_with(|| Sent { step: *step, known: Vec::new() });
            sent.known.push(known);
        }
        Ok(())
    }

    /// Looks at the journal through any process, and holds it against all that is known.
    fn look(&mut self, replay: bool) -> Result<(), Found> {
        let seen = loop {
            let which = self.dice.roll(3);
            let Some(seen) = self.crew.order(which, &json!({"look": self.session, "replay": replay})) else { continue };
            break seen;
        };
        must!(self, seen["fault"].is_null(), "the journal cannot be read: {seen}");
        must!(self, seen["damages"] == json!([]), "the journal is damaged: {}", seen["damages"]);
        must!(self, seen["difference"].is_null(), "a replay differs: {}", seen["difference"]);
        let lines: Vec<String> =
            seen["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect();
        must!(
            self,
            lines.starts_with(&self.seen),
            "what was there is gone or different: {lines:?} after {:?}",
            self.seen
        );
        self.seen = lines;
        self.hold()
    }

    fn hold(&mut self) -> Result<(), Found> {
        let rows: Vec<Value> = self.seen.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut accepted: HashMap<String, usize> = HashMap::new();
        let mut refused: HashMap<String, usize> = HashMap::new();
        let mut at = 1;
        for row in rows.iter().skip(1) {
            let args = &row["event"]["input"]["call"]["args"];
            let (word, step) = (args["value"].as_str().unwrap_or_default(), args["step"].as_u64().unwrap_or_default());
            let sent = self.sent.get(word);
            must!(self, sent.is_some_and(|sent| sent.step == step), "a line of nobody's: {row}");
            if row["turn"].is_null() {
                must!(self, !row["refusal"].is_null(), "a line without a turn or a refusal: {row}");
                *refused.entry(word.to_owned()).or_default() += 1;
            } else {
                must!(self, step == at, "step {step} was accepted where {at} was due: {row}");
                at += 1;
                *accepted.entry(word.to_owned()).or_default() += 1;
            }
        }
        let mut settled = 0;
        for (word, sent) in &self.sent {
            let count = |what: Known| sent.known.iter().filter(|known| **known == what).count();
            let (yes, no) = (accepted.get(word).copied().unwrap_or(0), refused.get(word).copied().unwrap_or(0));
            let lost = count(Known::Lost);
            must!(self, yes <= 1, "{word} was accepted {yes} times");
            must!(self, yes >= count(Known::Accepted), "{word} was told to be accepted, and the journal has it not");
            must!(
                self,
                no >= count(Known::Refused),
                "{word} was refused {} times, {no} are kept",
                count(Known::Refused)
            );
            must!(
                self,
                yes + no <= sent.known.len(),
                "{word} was sent {} times, {yes} + {no} are kept",
                sent.known.len()
            );
            settled += (yes + no).saturating_sub(sent.known.len() - lost);
        }
        self.settled = settled;
        self.at = at;
        Ok(())
    }
}
