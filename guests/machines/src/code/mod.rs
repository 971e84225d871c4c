//! The definition's bytes: written once by `document`, read in place by every call. A step reads the action that it runs, the
//! transitions of that action and the inputs of what they lead to; nothing of it grows with the machine. They are kept
//! small, since every call is handed a copy: what is equal stands once, numbers are as short as they can be, and what only
//! views read (descriptions, the document's lines) is squeezed.
//!
//! Head (words): magic, machines, table of machines, what the document says beside (2 a text: JSON). The first machine is the
//! one that is served, the others those that it runs. A machine is a record of fixed words; an action is a row of numbers
//! and texts (`write`), found by tables of words.
//!
//! - `write`: from the document; `bytes`, `squeeze`: numbers and texts in few bytes

mod bytes;
mod squeeze;
mod write;

pub(crate) use write::write;

use std::cmp::Ordering;

use wfhost_guest::json;
use wfhost_guest::packed::{Broken, Reader};
use wfhost_guest::value::{Map, Value};

use bytes::{Cursor, away, count};
use squeeze::unsqueezed;

const MAGIC: u32 = u32::from_le_bytes(*b"sm03");
const HEAD: usize = 4;
/// What a document says beyond its machines. Each is read alone.
const BESIDE: [&str; 5] = ["hints", "apps", "upstream", "personas", "default_persona"];
/// The rule of a transition that always holds and is not labelled.
const NO_RULE: u32 = 0;
/// The rule stands here.
const ANEW: u32 = 1;
/// The first rule of the table.
const RULES: u32 = 2;
/// A rule has a guard.
const GUARDED: u32 = 1;
/// A rule shows something else than the guard.
const LABELLED: u32 = 2;
/// Texts that stand with a kind of actions.
const TEXTS: u32 = 4;

/// A definition as a call reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code<'a> {
    bytes: Reader<'a>,
    machines: u32,
    table: u32,
    beside: u32,
}

/// A machine as a call reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine<'a> {
    bytes: Reader<'a>,
    at: u32,
    /// Its name, which is the workflow's id.
    pub(crate) name: &'a str,
    /// The first action.
    pub(crate) entry: Number,
    actions: u32,
    rows: u32,
    sorted: u32,
    kinds: u32,
    edges: u32,
    rules: u32,
    /// Whether a label may stand for the action that it leads to.
    pub(crate) labels_choose: bool,
}

/// The place of an action in its machine, from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(u32);

/// An action as a call reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Action<'a> {
    bytes: Reader<'a>,
    /// Where stands what it shares with actions like it.
    kind: u32,
    pub(crate) number: Number,
    pub(crate) name: &'a str,
    /// How many transitions leave it, twice, and one more if others stand between them; and the rest of its row.
    leaving: (u32, Cursor<'a>),
}

/// What is said of an action to readers.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub(crate) description: String,
    /// Its lines in the document.
    pub(crate) source: String,
}

/// A transition as a call reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge<'a> {
    pub(crate) from: Number,
    pub(crate) to: Number,
    /// The guard, and the keys without which it does not hold.
    pub(crate) guard: Option<(&'a str, &'a str)>,
    /// What stands on the arrow.
    pub(crate) label: Option<&'a str>,
}

impl<'a> Code<'a> {
    /// The head of a definition.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Broken> {
        let bytes = Reader(bytes);
        if bytes.word(0)? != MAGIC {
            return Err(Broken);
        }
        let word = |index| bytes.word_at(0, index);
        Ok(Self { bytes, machines: word(1)?, table: word(2)?, beside: word(3)? })
    }

    /// The machine that is served.
    pub(crate) fn served(self) -> Result<Machine<'a>, Broken> {
        self.machine(0)
    }

    fn machine(self, number: u32) -> Result<Machine<'a>, Broken> {
        if number >= self.machines {
            return Err(Broken);
        }
        let (bytes, at) = (self.bytes, self.bytes.word_at(self.table, number)?);
        let word = |index| bytes.word_at(at, index);
        let machine = Machine {
            bytes,
            at,
            name: bytes.text_at(at, 0)?,
            entry: Number(word(8)?),
            actions: word(9)?,
            rows: word(10)?,
            sorted: word(11)?,
            kinds: word(12)?,
            edges: word(13)?,
            rules: word(14)?,
            labels_choose: word(19)? != 0,
        };
        // What bounds a walk is no more than the bytes could hold.
        let most = count(bytes.0.len());
        if machine.actions > most || machine.edges > most { Err(Broken) } else { Ok(machine) }
    }

    /// The machine of that name.
    pub(crate) fn find(self, name: &str) -> Result<Option<Machine<'a>>, Broken> {
        for number in 0..self.machines {
            let machine = self.machine(number)?;
            if machine.name == name {
                return Ok(Some(machine));
            }
        }
        Ok(None)
    }

    /// What the document says beyond its machines, by name: null if it says nothing.
    pub(crate) fn beside(self, name: &str) -> Result<Value, Broken> {
        let Some(at) = BESIDE.iter().position(|known| *known == name) else { return Ok(Value::Null) };
        let text = self.bytes.text_at(self.beside, count(at) * 2)?;
        json::read(text).map_err(|_| Broken)
    }
}

impl<'a> Machine<'a> {
    /// What it is for.
    pub(crate) fn description(self) -> Result<&'a str, Broken> {
        self.bytes.text_at(self.at, 2)
    }

    /// The state before anything has run.
    pub(crate) fn state(self) -> Result<Map, Broken> {
        map(self.bytes.text_at(self.at, 4)?)
    }

    /// The schema of the state.
    pub(crate) fn schema(self) -> Result<Option<Value>, Broken> {
        optional(self.bytes.text_at(self.at, 6)?)
    }

    /// Of the tables those that a text mentions, or all if it says `tables`.
    pub(crate) fn tables(self, mentioned: &str) -> Result<Map, Broken> {
        let (count, at) = (self.bytes.word_at(self.at, 17)?, self.bytes.word_at(self.at, 18)?);
        let mut tables = Map::default();
        if count == 0 {
            return Ok(tables);
        }
        let all = mentioned.contains("tables");
        for row in 0..count {
            let first = row.checked_mul(4).ok_or(Broken)?;
            let name = self.bytes.text_at(at, first)?;
            if all || mentioned.contains(name) {
                let value = json::read(self.bytes.text_at(at, first + 2)?).map_err(|_| Broken)?;
                tables.set(name, value);
            }
        }
        Ok(tables)
    }

    /// What is said of the actions of a block, and the number of the first of them.
    fn block(self, index: u32) -> Result<(u32, Vec<Words>), Broken> {
        let (blocks, first) = (self.bytes.word_at(self.at, 16)?, index.checked_mul(4).ok_or(Broken)?);
        let word = |index: u32| self.bytes.word_at(blocks, first.checked_add(index).ok_or(Broken)?);
        let squeezed = Cursor::at(self.bytes.0, word(1)?)?.bytes_of(word(2)?)?;
        let text = unsqueezed(squeezed, word(3)?)?;
        let (mut rest, mut all) = (Cursor(&text), Vec::new());
        while !rest.0.is_empty() {
            all.push(Words { description: rest.text()?.to_owned(), source: rest.text()?.to_owned() });
        }
        Ok((word(0)?, all))
    }

    /// What is said of an action.
    pub(crate) fn words(self, action: Action<'a>) -> Result<Words, Broken> {
        let (blocks, table) = (self.bytes.word_at(self.at, 15)?, self.bytes.word_at(self.at, 16)?);
        let mut index = None;
        for next in 0..blocks {
            if self.bytes.word_at(table, next.checked_mul(4).ok_or(Broken)?)? > action.number.0 {
                break;
            }
            index = Some(next);
        }
        let (first, all) = self.block(index.ok_or(Broken)?)?;
        let at = action.number.0.checked_sub(first).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| all.into_iter().nth(at)).ok_or(Broken)
    }

    /// What is said of all actions, in the order of the document.
    pub(crate) fn all_words(self) -> Result<Vec<Words>, Broken> {
        let mut all = Vec::new();
        for index in 0..self.bytes.word_at(self.at, 15)? {
            all.extend(self.block(index)?.1);
        }
        Ok(all)
    }

    /// How many actions there are.
    pub(crate) fn len(self) -> u32 {
        self.actions
    }

    /// The action of that number.
    pub(crate) fn action(self, number: Number) -> Result<Action<'a>, Broken> {
        if number.0 >= self.actions {
            return Err(Broken);
        }
        let mut row = Cursor::at(self.bytes.0, self.bytes.word_at(self.rows, number.0)?)?;
        let name = row.text()?;
        let kind = self.bytes.word_at(self.kinds, row.number()?)?;
        Ok(Action { bytes: self.bytes, kind, number, name, leaving: (row.number()?, row) })
    }

    /// All actions, in the order of the document.
    pub(crate) fn actions(self) -> impl Iterator<Item = Result<Action<'a>, Broken>> {
        (0..self.actions).map(move |number| self.action(Number(number)))
    }

    /// The action of that name, by binary search.
    pub(crate) fn find(self, name: &str) -> Result<Option<Action<'a>>, Broken> {
        let (mut low, mut high) = (0, self.actions);
        while low < high {
            let middle = low + (high - low) / 2;
            let action = self.action(Number(self.bytes.word_at(self.sorted, middle)?))?;
            match action.name.cmp(name) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(Some(action)),
                Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// A rule: a guard with the keys that it needs, and what is shown.
    fn rule(self, rule: &mut Cursor<'a>) -> Result<Rule<'a>, Broken> {
        let flags = rule.number()?;
        let guard = if flags & GUARDED == 0 { None } else { Some((rule.text()?, rule.text()?)) };
        let label = if flags & LABELLED == 0 { guard.map(|(guard, _)| guard) } else { Some(rule.text()?) };
        Ok((guard, label))
    }

    fn leave(self, action: Action<'a>) -> Leaving<'a> {
        let (count, rest) = action.leaving;
        Leaving { machine: self, from: action.number, left: count >> 1, parted: count & 1 != 0, order: None, rest }
    }

    /// The transitions that leave an action, in the order of the document.
    pub(crate) fn leaving(self, action: Action<'a>) -> impl Iterator<Item = Result<Edge<'a>, Broken>> {
        self.leave(action).map(|edge| edge.map(|(_, edge)| edge))
    }

    /// All transitions, in the order of the document.
    pub(crate) fn edges(self) -> Result<Vec<Edge<'a>>, Broken> {
        let mut edges = Vec::new();
        for action in self.actions() {
            for edge in self.leave(action?) {
                edges.push(edge?);
                if edges.len() > usize::try_from(self.edges).unwrap_or(usize::MAX) {
                    return Err(Broken);
                }
            }
        }
        edges.sort_by_key(|(order, _)| *order);
        Ok(edges.into_iter().map(|(_, edge)| edge).collect())
    }
}

type Rule<'a> = (Option<(&'a str, &'a str)>, Option<&'a str>);

/// The transitions that leave an action, each with its place in the document.
struct Leaving<'a> {
    machine: Machine<'a>,
    from: Number,
    left: u32,
    parted: bool,
    /// The place of the one before.
    order: Option<u32>,
    rest: Cursor<'a>,
}

impl<'a> Leaving<'a> {
    fn edge(&mut self) -> Result<(u32, Edge<'a>), Broken> {
        let next = match self.order {
            Some(order) => order.saturating_add(1),
            None => self.rest.number()?,
        };
        let order = if self.parted { next.saturating_add(self.rest.number()?) } else { next };
        self.order = Some(order);
        let to = Number(away(self.from.0, self.rest.number()?));
        let (machine, rest) = (self.machine, &mut self.rest);
        let (guard, label) = match rest.number()? {
            NO_RULE => (None, None),
            ANEW => machine.rule(rest)?,
            number => {
                let at = machine.bytes.word_at(machine.rules, number - RULES)?;
                machine.rule(&mut Cursor::at(machine.bytes.0, at)?)?
            }
        };
        Ok((order, Edge { from: self.from, to, guard, label }))
    }
}

impl<'a> Iterator for Leaving<'a> {
    type Item = Result<(u32, Edge<'a>), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let edge = self.edge();
        if edge.is_err() {
            self.left = 0;
        }
        Some(edge)
    }
}

impl<'a> Action<'a> {
    /// One of the texts that stand with its kind.
    fn text(self, index: u32) -> Result<&'a str, Broken> {
        let mut kind = Cursor::at(self.bytes.0, self.kind)?;
        for _ in 0..index * 2 {
            kind.number()?;
        }
        let mut text = Cursor::at(self.bytes.0, kind.number()?)?;
        text.text_of(kind.number()?)
    }

    /// `reads`, `writes`, `tags`.
    pub(crate) fn about(self) -> Result<Value, Broken> {
        json::read(self.text(0)?).map_err(|_| Broken)
    }

    /// The schemas of its inputs, by name.
    pub(crate) fn inputs(self) -> Result<Map, Broken> {
        map(self.text(1)?)
    }

    /// What it does, as text.
    pub(crate) fn body(self) -> Result<&'a str, Broken> {
        self.text(2)
    }

    /// Tools of other servers that go with it.
    pub(crate) fn external_tools(self) -> Result<Option<Value>, Broken> {
        optional(self.text(3)?)
    }

    /// How long it may take, in milliseconds.
    pub(crate) fn timeout(self) -> Result<Option<u32>, Broken> {
        let mut kind = Cursor::at(self.bytes.0, self.kind)?;
        for _ in 0..TEXTS * 2 {
            kind.number()?;
        }
        if kind.number()? == 0 { Ok(None) } else { kind.number().map(Some) }
    }

    /// Whether no transition leaves it: the machine is at its end there.
    pub(crate) fn is_last(self) -> bool {
        self.leaving.0 == 0
    }
}

fn optional(text: &str) -> Result<Option<Value>, Broken> {
    if text.is_empty() { Ok(None) } else { json::read(text).map(Some).map_err(|_| Broken) }
}

fn map(text: &str) -> Result<Map, Broken> {
    match json::read(text) {
        Ok(Value::Map(map)) => Ok(map),
        Ok(_) | Err(_) => Err(Broken),
    }
}
