//! The definition's bytes: written once by `document`, read in place by every call. A step reads the action that it runs, the
//! transitions of that action and the inputs of what they lead to; nothing of it grows with the machine. They are kept
//! small, since every call is handed a copy: a text that repeats stands once, and so does what transitions share.
//!
//! Head (words): magic, machines, table of machines, what the document says beside (2 a text: JSON). The first machine is the
//! one that is served, the others those that it runs. A machine, an action and a rule each are a record of fixed words;
//! texts stand before them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use wfhost_guest::json;
use wfhost_guest::packed::{Broken, Reader, Text, Writer};
use wfhost_guest::value::{Map, Value};

use crate::document::{label, model};
use crate::expr::Reading;

const MAGIC: u32 = u32::from_le_bytes(*b"sm02");
const HEAD: usize = 4;
/// What a document says beyond its machines. Each is read alone.
const BESIDE: [&str; 5] = ["hints", "apps", "upstream", "personas", "default_persona"];
/// Instead of a number.
const NONE: u32 = u32::MAX;
/// Words of a transition: to, its place in the document, and its rule (0: none, it always holds and is not labelled).
const EDGE: u32 = 3;

/// The bytes of a document's machines; the first is the one that is served.
pub(crate) fn write<'b>(book: &'b model::Book, machines: &[&'b model::Machine], reading: &mut Reading) -> Vec<u8> {
    let mut out = Out { bytes: Writer::with_head(HEAD), texts: BTreeMap::new(), rules: BTreeMap::new() };
    let records: Vec<u32> =
        machines.iter().map(|machine| machine_record(machine, &book.server, reading, &mut out)).collect();
    let said = settings(book);
    let beside: Vec<u32> =
        BESIDE.iter().flat_map(|name| out.text(&said.get(name).map(json::text).unwrap_or_default())).collect();
    let [table, beside] = [&records, &beside].map(|words| out.bytes.words(words));
    out.bytes.head(&[MAGIC, count(records.len()), table, beside]);
    out.bytes.done()
}

/// Bytes under construction, and what of them can be named again.
struct Out<'b> {
    bytes: Writer,
    texts: BTreeMap<String, Text>,
    /// Rules by the guard and the label.
    rules: BTreeMap<(Option<&'b str>, Option<&'b str>), u32>,
}

impl Out<'_> {
    fn text(&mut self, text: &str) -> [u32; 2] {
        let place = match self.texts.get(text) {
            Some(place) => *place,
            None => {
                let place = self.bytes.text(text);
                self.texts.insert(text.to_owned(), place);
                place
            }
        };
        [place.at, place.len]
    }
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

fn machine_record<'b>(
    machine: &'b model::Machine,
    server: &model::Server,
    reading: &mut Reading,
    out: &mut Out<'b>,
) -> u32 {
    // What a guard needs is another thing in every machine.
    out.rules.clear();
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
    for (at, edge) in machine.edges.iter().enumerate() {
        let from = usize::try_from(number(&edge.from.text)).ok();
        if let Some(edges) = from.and_then(|from| leaving.get_mut(from)) {
            edges.extend([number(&edge.to.text), count(at), rule(edge, machine, reading, out)]);
        }
    }
    let mut records = Vec::new();
    let mut first = 0;
    for (action, edges) in machine.actions.iter().zip(&leaving) {
        let own = count(edges.len()) / EDGE;
        records.push(action_record(action, [first, own], server, out));
        first += own;
    }
    let edges = out.bytes.words(&leaving.concat());
    let [actions, sorted] = [&records, &order].map(|words| out.bytes.words(words));
    let [own, description] = [&machine.name.text, &machine.description].map(|text| out.text(text));
    let state = out.text(&json::exact(&Value::Map(machine.state.clone())));
    let schema = out.text(&machine.schema.as_ref().map(json::text).unwrap_or_default());
    let tables: Vec<u32> = machine
        .tables
        .iter()
        .flat_map(|(name, value)| [out.text(name), out.text(&json::exact(value))])
        .flatten()
        .collect();
    let tables_at = out.bytes.words(&tables);
    let mut words = Vec::new();
    words.extend(own);
    words.extend(description);
    words.extend([number(&machine.entry.text), count(records.len()), actions, sorted]);
    words.extend([first, edges]);
    words.extend(state);
    words.extend(schema);
    words.extend([count(machine.tables.len()), tables_at, u32::from(machine.labels_choose)]);
    out.bytes.words(&words)
}

/// The guard and the label of a transition, with the keys that the guard needs.
fn rule<'b>(edge: &'b model::Edge, machine: &model::Machine, reading: &mut Reading, out: &mut Out<'b>) -> u32 {
    let guard = edge.when.as_ref().map(|when| when.source.as_str());
    let shown = label(edge);
    if guard.is_none() && shown.is_none() {
        return 0;
    }
    if let Some(known) = out.rules.get(&(guard, shown)) {
        return *known;
    }
    // A guard that names a key which is not there does not hold, whatever else it says.
    let names = guard.and_then(|guard| reading.expression(guard).ok());
    let needs = names.iter().flat_map(|names| &names.variables).map(String::as_str);
    let needs = needs.filter(|name| !["state", "tables"].contains(name) && machine.tables.get(name).is_none());
    let needs = needs.collect::<Vec<_>>().join("\n");
    let mut words = vec![u32::from(guard.is_some())];
    words.extend(out.text(guard.unwrap_or_default()));
    words.extend(out.text(&needs));
    words.push(u32::from(shown.is_some()));
    words.extend(out.text(shown.unwrap_or_default()));
    let at = out.bytes.words(&words);
    out.rules.insert((guard, shown), at);
    at
}

fn action_record(action: &model::Action, edges: [u32; 2], server: &model::Server, out: &mut Out<'_>) -> u32 {
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
        server.external_tools.get(&action.name.text).map(json::text).unwrap_or_default(),
    ];
    let mut words: Vec<u32> = texts.iter().flat_map(|text| out.text(text)).collect();
    words.push(action.timeout.or(server.timeout).unwrap_or(NONE));
    words.extend(edges);
    out.bytes.words(&words)
}

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
    /// The first of the transitions that leave it, and how many there are.
    leaving: (u32, u32),
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
        map(self.bytes.text_at(self.at, 10)?)
    }

    /// The schema of the state.
    pub(crate) fn schema(self) -> Result<Option<Value>, Broken> {
        optional(self.bytes.text_at(self.at, 12)?)
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
            leaving: (self.bytes.word_at(at, 15)?, self.bytes.word_at(at, 16)?),
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

    /// The transition of that number among all, and its place in the document.
    fn edge(self, from: Number, number: u32) -> Result<(u32, Edge<'a>), Broken> {
        if number >= self.edges {
            return Err(Broken);
        }
        let first = number.checked_mul(EDGE).ok_or(Broken)?;
        let word = |index: u32| self.bytes.word_at(self.edge_table, first + index);
        let (to, order, rule) = (Number(word(0)?), word(1)?, word(2)?);
        let (mut guard, mut label) = (None, None);
        if rule != 0 {
            let (word, text) = (|at| self.bytes.word_at(rule, at), |at| self.bytes.text_at(rule, at));
            guard = if word(0)? == 0 { None } else { Some((text(1)?, text(3)?)) };
            label = if word(5)? == 0 { None } else { Some(text(6)?) };
        }
        Ok((order, Edge { from, to, guard, label }))
    }

    fn leave(self, action: Action<'a>) -> impl Iterator<Item = Result<(u32, Edge<'a>), Broken>> {
        let (first, count) = action.leaving;
        // More than there are is more than the bytes hold.
        let count = count.min(self.edges.saturating_add(1));
        (0..count).map(move |index| self.edge(action.number, first.saturating_add(index)))
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

    /// Tools of other servers that go with it.
    pub(crate) fn external_tools(self) -> Result<Option<Value>, Broken> {
        optional(self.bytes.text_at(self.at, 12)?)
    }

    /// How long it may take, in milliseconds.
    pub(crate) fn timeout(self) -> Result<Option<u32>, Broken> {
        self.bytes.word_at(self.at, 14).map(|millis| (millis != NONE).then_some(millis))
    }

    /// Whether no transition leaves it: the machine is at its end there.
    pub(crate) fn is_last(self) -> bool {
        self.leaving.1 == 0
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
