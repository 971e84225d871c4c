//! The definition's bytes: written once by `document`, read in place by every call. A step reads the action that it runs, the
//! transitions of that action and the inputs of what they lead to; nothing of it grows with the machine.
//!
//! Head (words): magic, machines, table of machines, the number of the one that is served, settings (2: JSON). A machine,
//! an action and a transition each are a record of fixed words; texts stand before them.

use std::cmp::Ordering;

use wfhost_guest::json;
use wfhost_guest::packed::{Broken, Reader, Text, Writer};
use wfhost_guest::value::{Map, Value};

use crate::document::{label, model};
use crate::expr::{Clock, Engine};

const MAGIC: u32 = u32::from_le_bytes(*b"sm01");
const HEAD: usize = 6;
/// Instead of a number.
const NONE: u32 = u32::MAX;
/// Words of a transition: from, to, has a guard, guard (2), names (2), has a label, label (2).
const EDGE: u32 = 10;

/// The bytes of a document's machines, one of which is served.
pub(crate) fn write(book: &model::Book, served: usize) -> Vec<u8> {
    let mut out = Writer::with_head(HEAD);
    let engine = Engine::new(&Clock { at: 0, seed: String::new() });
    let records: Vec<u32> =
        book.machines.iter().map(|machine| machine_record(machine, book.server.timeout, &engine, &mut out)).collect();
    let settings = out.text(&json::text(&settings(book)));
    let table = out.words(&records);
    out.head(&[MAGIC, count(records.len()), table, count(served), settings.at, settings.len]);
    out.done()
}

fn settings(book: &model::Book) -> Value {
    let server = &book.server;
    let persona = |persona: &model::Persona| {
        Value::from([
            ("name", persona.name.as_str().into()),
            ("description", persona.description.as_str().into()),
            ("voice", persona.voice.as_str().into()),
            ("metadata", persona.metadata.clone()),
            ("body", persona.body.as_str().into()),
        ])
    };
    Value::from([
        ("hints", Value::List(server.hints.clone())),
        ("apps", Value::List(book.served.iter().filter_map(|at| book.machines.get(*at)).map(app).collect())),
        ("external_tools", server.external_tools.clone().into()),
        ("upstream", server.upstream.keys().collect::<Vec<_>>().into()),
        ("personas", Value::List(book.personas.iter().map(persona).collect())),
        ("default_persona", server.default_persona.clone().into()),
    ])
}

fn app(machine: &model::Machine) -> Value {
    Value::from([
        ("name", machine.name.text.as_str().into()),
        ("description", machine.description.as_str().into()),
        ("entrypoint", machine.entry.text.as_str().into()),
    ])
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn two(text: Text) -> [u32; 2] {
    [text.at, text.len]
}

fn machine_record(machine: &model::Machine, timeout: Option<u32>, engine: &Engine, out: &mut Writer) -> u32 {
    let mut order: Vec<u32> = (0..count(machine.actions.len())).collect();
    let name = |number: &u32| {
        usize::try_from(*number).ok().and_then(|at| machine.actions.get(at)).map(|action| action.name.text.as_str())
    };
    order.sort_by(|a, b| name(a).cmp(&name(b)));
    let number = |text: &str| {
        let found = order.binary_search_by(|number| name(number).cmp(&Some(text)));
        found.ok().and_then(|at| order.get(at)).copied().unwrap_or(NONE)
    };
    let mut leaving: Vec<Vec<u32>> = vec![Vec::new(); machine.actions.len()];
    let mut edges = Vec::new();
    for (at, edge) in machine.edges.iter().enumerate() {
        let (from, to) = (number(&edge.from.text), number(&edge.to.text));
        if let Some(list) = usize::try_from(from).ok().and_then(|from| leaving.get_mut(from)) {
            list.push(count(at));
        }
        edges.extend(edge_words(edge, (from, to), machine, engine, out));
    }
    let records: Vec<u32> = machine
        .actions
        .iter()
        .zip(&leaving)
        .map(|(action, leaving)| action_record(action, leaving, timeout, out))
        .collect();
    let [edges, actions, sorted] = [&edges, &records, &order].map(|words| out.words(words));
    let [own, description] = [&machine.name.text, &machine.description].map(|text| out.text(text));
    let state = out.text(&json::exact(&Value::Map(machine.state.clone())));
    let schema = out.text(&machine.schema.as_ref().map(json::text).unwrap_or_default());
    let tables: Vec<u32> = machine
        .tables
        .iter()
        .flat_map(|(name, value)| [out.text(name), out.text(&json::exact(value))])
        .flat_map(two)
        .collect();
    let tables_at = out.words(&tables);
    let mut words = Vec::new();
    words.extend(two(own));
    words.extend(two(description));
    words.extend([number(&machine.entry.text), count(records.len()), actions, sorted]);
    words.extend([count(machine.edges.len()), edges]);
    words.extend(two(state));
    words.extend(two(schema));
    words.extend([count(machine.tables.len()), tables_at, u32::from(machine.labels_choose)]);
    out.words(&words)
}

fn edge_words(
    edge: &model::Edge,
    (from, to): (u32, u32),
    machine: &model::Machine,
    engine: &Engine,
    out: &mut Writer,
) -> Vec<u32> {
    let guard = edge.when.as_ref().map(|when| when.source.as_str()).unwrap_or_default();
    // A guard that names a key which is not there does not hold, whatever else it says.
    let needs = engine.expression(guard).map(|names| names.variables).unwrap_or_default();
    let needs =
        needs.iter().filter(|name| !["state", "tables"].contains(&name.as_str()) && machine.tables.get(name).is_none());
    let needs = needs.map(String::as_str).collect::<Vec<_>>().join("\n");
    let shown = label(edge);
    let mut words = vec![from, to, u32::from(edge.when.is_some())];
    words.extend(two(out.text(guard)));
    words.extend(two(out.text(&needs)));
    words.push(u32::from(shown.is_some()));
    words.extend(two(out.text(shown.unwrap_or_default())));
    words
}

fn action_record(action: &model::Action, leaving: &[u32], timeout: Option<u32>, out: &mut Writer) -> u32 {
    let about = Value::from([
        ("reads", action.reads.clone().into()),
        ("writes", action.writes.clone().into()),
        ("tags", action.tags.clone().into()),
    ]);
    let texts = [
        action.name.text.clone(),
        action.description.clone(),
        json::text(&about),
        json::exact(&Value::Map(action.inputs.clone())),
        json::exact(&Value::Map(action.body.clone())),
        action.source.clone(),
    ];
    let mut words: Vec<u32> = texts.iter().flat_map(|text| two(out.text(text))).collect();
    words.extend([action.timeout.or(timeout).unwrap_or(NONE), count(leaving.len())]);
    words.extend(leaving);
    out.words(&words)
}

/// A definition as a call reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code<'a> {
    bytes: Reader<'a>,
    machines: u32,
    table: u32,
    served: u32,
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
    table: u32,
    sorted: u32,
    edges: u32,
    edge_table: u32,
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
    at: u32,
    pub(crate) number: Number,
    pub(crate) name: &'a str,
    leaving: u32,
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
        Ok(Self { bytes, machines: bytes.word_at(0, 1)?, table: bytes.word_at(0, 2)?, served: bytes.word_at(0, 3)? })
    }

    /// The machine that is served.
    pub(crate) fn served(self) -> Result<Machine<'a>, Broken> {
        self.machine(self.served)
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
            entry: Number(word(4)?),
            actions: word(5)?,
            table: word(6)?,
            sorted: word(7)?,
            edges: word(8)?,
            edge_table: word(9)?,
            labels_choose: word(16)? != 0,
        };
        // What bounds a walk is no more than the bytes could hold.
        let most = u32::try_from(bytes.0.len() / 4).unwrap_or(u32::MAX);
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

    /// What the document says beyond its machines.
    pub(crate) fn settings(self) -> Result<Value, Broken> {
        json::read(self.bytes.text_at(0, 4)?).map_err(|_| Broken)
    }
}

impl<'a> Machine<'a> {
    /// What it is for.
    pub(crate) fn description(self) -> Result<&'a str, Broken> {
        self.bytes.text_at(self.at, 2)
    }

    /// The state before anything has run.
    pub(crate) fn state(self) -> Result<Map, Broken> {
        map(self.bytes.text_at(self.at, 10)?)
    }

    /// The schema of the state.
    pub(crate) fn schema(self) -> Result<Option<Value>, Broken> {
        let text = self.bytes.text_at(self.at, 12)?;
        if text.is_empty() { Ok(None) } else { json::read(text).map(Some).map_err(|_| Broken) }
    }

    /// Of the tables those that a text mentions, or all if it says `tables`.
    pub(crate) fn tables(self, mentioned: &str) -> Result<Map, Broken> {
        let (count, at) = (self.bytes.word_at(self.at, 14)?, self.bytes.word_at(self.at, 15)?);
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

    /// How many actions there are.
    pub(crate) fn len(self) -> u32 {
        self.actions
    }

    /// The action of that number.
    pub(crate) fn action(self, number: Number) -> Result<Action<'a>, Broken> {
        if number.0 >= self.actions {
            return Err(Broken);
        }
        let at = self.bytes.word_at(self.table, number.0)?;
        Ok(Action {
            bytes: self.bytes,
            at,
            number,
            name: self.bytes.text_at(at, 0)?,
            leaving: self.bytes.word_at(at, 13)?,
        })
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

    fn edge(self, number: u32) -> Result<Edge<'a>, Broken> {
        if number >= self.edges {
            return Err(Broken);
        }
        let first = number.checked_mul(EDGE).ok_or(Broken)?;
        let word = |index: u32| self.bytes.word_at(self.edge_table, first + index);
        let text = |index: u32| self.bytes.text_at(self.edge_table, first + index);
        Ok(Edge {
            from: Number(word(0)?),
            to: Number(word(1)?),
            guard: if word(2)? == 0 { None } else { Some((text(3)?, text(5)?)) },
            label: if word(7)? == 0 { None } else { Some(text(8)?) },
        })
    }

    /// All transitions, in the order of the document.
    pub(crate) fn edges(self) -> impl Iterator<Item = Result<Edge<'a>, Broken>> {
        (0..self.edges).map(move |number| self.edge(number))
    }

    /// The transitions that leave an action, in the order of the document.
    pub(crate) fn leaving(self, action: Action<'a>) -> impl Iterator<Item = Result<Edge<'a>, Broken>> {
        (0..action.leaving).map(move |index| self.edge(self.bytes.word_at(action.at, index.saturating_add(14))?))
    }
}

impl<'a> Action<'a> {
    pub(crate) fn description(self) -> Result<&'a str, Broken> {
        self.bytes.text_at(self.at, 2)
    }

    /// `reads`, `writes`, `tags`.
    pub(crate) fn about(self) -> Result<Value, Broken> {
        json::read(self.bytes.text_at(self.at, 4)?).map_err(|_| Broken)
    }

    /// The schemas of its inputs, by name.
    pub(crate) fn inputs(self) -> Result<Map, Broken> {
        map(self.bytes.text_at(self.at, 6)?)
    }

    /// What it does, as text.
    pub(crate) fn body(self) -> Result<&'a str, Broken> {
        self.bytes.text_at(self.at, 8)
    }

    /// Its lines in the document.
    pub(crate) fn source(self) -> Result<&'a str, Broken> {
        self.bytes.text_at(self.at, 10)
    }

    /// How long it may take, in milliseconds.
    pub(crate) fn timeout(self) -> Result<Option<u32>, Broken> {
        self.bytes.word_at(self.at, 12).map(|millis| (millis != NONE).then_some(millis))
    }

    /// Whether no transition leaves it: the machine is at its end there.
    pub(crate) fn is_last(self) -> bool {
        self.leaving == 0
    }
}

fn map(text: &str) -> Result<Map, Broken> {
    match json::read(text) {
        Ok(Value::Map(map)) => Ok(map),
        Ok(_) | Err(_) => Err(Broken),
    }
}
