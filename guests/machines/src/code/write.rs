//! Writes a definition. The same document gives the same bytes: nothing here depends on more than what it says.

use std::collections::{BTreeMap, HashMap};

use wfhost_guest::json;
use wfhost_guest::packed::{Text, Writer};
use wfhost_guest::value::Value;

use super::bytes::{count, distance, put, put_text};
use super::squeeze::squeezed;
use super::{ANEW, BESIDE, GUARDED, HEAD, LABELLED, MAGIC, NO_RULE, RULES};
use crate::document::{Numbered, model};
use crate::expr::Reading;

/// Bytes of descriptions and lines that are squeezed together: more are smaller, and dearer to read one of.
const BLOCK_BYTES: usize = 32 << 10;

/// The bytes of a document's machines; the first is the one that is served.
pub(crate) fn write(book: &model::Book, machines: &[&Numbered<'_>], reading: &mut Reading) -> Vec<u8> {
    let mut out = Out { bytes: Writer::with_head(HEAD), texts: BTreeMap::new() };
    let records: Vec<u32> =
        machines.iter().map(|machine| machine_record(machine, &book.server, reading, &mut out)).collect();
    let said = settings(book);
    let beside: Vec<u32> =
        BESIDE.iter().flat_map(|name| out.text(&said.get(name).map(json::text).unwrap_or_default())).collect();
    let [table, beside] = [&records, &beside].map(|words| out.bytes.words(words));
    out.bytes.head(&[MAGIC, count(records.len()), table, beside]);
    out.bytes.done()
}

/// Bytes under construction, and the texts that can be named again.
struct Out {
    bytes: Writer,
    texts: BTreeMap<String, Text>,
}

impl Out {
    fn text(&mut self, text: &str) -> [u32; 2] {
        if text.is_empty() {
            return [0, 0];
        }
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

fn machine_record(numbered: &Numbered<'_>, server: &model::Server, reading: &mut Reading, out: &mut Out) -> u32 {
    let machine = numbered.machine;
    let rules = Rules::of(machine, reading, out);
    let mut kinds = Kinds::default();
    let (mut rows, mut edges) = (Vec::new(), 0);
    for (number, action) in machine.actions.iter().enumerate() {
        let mut row = Vec::new();
        put_text(&mut row, &action.name.text);
        put(&mut row, kinds.number(action, server, out));
        put_edges(&mut row, number, numbered.leaving(number), &rules);
        edges += numbered.leaving(number).len();
        rows.push(out.bytes.bytes(&row).at);
    }
    let blocks = blocks(machine, out);
    let sorted = numbered.sorted.iter().copied().map(count).collect();
    let [rows_at, sorted, kinds, rules, blocks_at] =
        [&rows, &sorted, &kinds.places, &rules.table, &blocks].map(|words| out.bytes.words(words));
    let mut words = Vec::new();
    words.extend([&machine.name.text, &machine.description].into_iter().flat_map(|text| out.text(text)));
    words.extend(out.text(&json::exact(&Value::Map(machine.state.clone()))));
    words.extend(out.text(&machine.schema.as_ref().map(json::text).unwrap_or_default()));
    words.extend([known(numbered.entry), count(rows.len()), rows_at, sorted, kinds]);
    words.extend([count(edges), rules, count(blocks.len() / 4), blocks_at]);
    words.extend([count(machine.tables.len()), tables(machine, out), u32::from(machine.labels_choose)]);
    out.bytes.words(&words)
}

/// The number of an action. A document that names one which is not there was refused.
fn known(number: Option<usize>) -> u32 {
    number.map_or(u32::MAX, count)
}

fn tables(machine: &model::Machine, out: &mut Out) -> u32 {
    let one = |(name, value): (&str, &Value)| [out.text(name), out.text(&json::exact(value))];
    let words: Vec<u32> = machine.tables.iter().flat_map(one).flatten().collect();
    out.bytes.words(&words)
}

/// The transitions of one action: how many, twice, and one more if some of another action stand between them in the
/// document; the place of the first; and for each how many stand between, how far off its target is, and its rule.
fn put_edges(
    row: &mut Vec<u8>,
    from: usize,
    edges: impl ExactSizeIterator<Item = (usize, Option<usize>)> + Clone,
    rules: &Rules,
) {
    let Some((first, _)) = edges.clone().next() else { return put(row, 0) };
    let parted = edges.clone().zip(first..).any(|((place, _), next)| place != next);
    put(row, (count(edges.len()) << 1) | u32::from(parted));
    put(row, count(first));
    let mut next = first;
    for (place, to) in edges {
        if parted {
            put(row, count(place - next));
        }
        next = place + 1;
        put(row, distance(count(from), known(to)));
        rules.put(row, place);
    }
}

/// Guard of a transition, and its label if that is another text.
type Key<'b> = (Option<&'b str>, Option<&'b str>);

fn key(edge: &model::Edge) -> Key<'_> {
    let guard = edge.when.as_ref().map(|when| when.source.as_str());
    (guard, edge.label.as_deref().filter(|label| guard != Some(*label)))
}

/// What guards and labels there are. One that several transitions have stands in a table, any other in its action's row.
struct Rules {
    /// Of each transition its rule, by number.
    own: Vec<Option<usize>>,
    /// The rules; of those in the table the number there.
    all: Vec<(Vec<u8>, Option<u32>)>,
    table: Vec<u32>,
}

impl Rules {
    fn of(machine: &model::Machine, reading: &mut Reading, out: &mut Out) -> Self {
        let mut rules = Self { own: Vec::new(), all: Vec::new(), table: Vec::new() };
        let mut known = HashMap::new();
        for key in machine.edges.iter().map(key) {
            if key == (None, None) {
                rules.own.push(None);
                continue;
            }
            let next = rules.all.len();
            let number = *known.entry(key).or_insert(next);
            rules.own.push(Some(number));
            match rules.all.get_mut(number) {
                None => rules.all.push((rule(key, machine, reading), None)),
                Some((rule, place @ None)) => {
                    *place = Some(count(rules.table.len()));
                    rules.table.push(out.bytes.bytes(rule).at);
                }
                Some((_, Some(_))) => {}
            }
        }
        rules
    }

    fn put(&self, row: &mut Vec<u8>, place: usize) {
        match self.own.get(place).and_then(|own| self.all.get((*own)?)) {
            None => put(row, NO_RULE),
            Some((rule, None)) => {
                put(row, ANEW);
                row.extend_from_slice(rule);
            }
            Some((_, Some(number))) => put(row, RULES + number),
        }
    }
}

/// What there is of guard and label; the guard with the keys without which it does not hold.
fn rule((guard, label): Key<'_>, machine: &model::Machine, reading: &mut Reading) -> Vec<u8> {
    let mut out = Vec::new();
    let flag = |flag: u32, text: Option<&str>| if text.is_some() { flag } else { 0 };
    put(&mut out, flag(GUARDED, guard) | flag(LABELLED, label));
    if let Some(guard) = guard {
        // A guard that names a key which is not there does not hold, whatever else it says.
        let names = reading.expression(guard).ok();
        let needs = names.iter().flat_map(|names| &names.variables).map(String::as_str);
        let needs = needs.filter(|name| !["state", "tables"].contains(name) && machine.tables.get(name).is_none());
        put_text(&mut out, guard);
        put_text(&mut out, &needs.collect::<Vec<_>>().join("\n"));
    }
    label.into_iter().for_each(|label| put_text(&mut out, label));
    out
}

/// What actions are but for their names, their transitions and their words: equal ones stand once.
#[derive(Default)]
struct Kinds {
    known: BTreeMap<Vec<u8>, u32>,
    places: Vec<u32>,
}

impl Kinds {
    fn number(&mut self, action: &model::Action, server: &model::Server, out: &mut Out) -> u32 {
        let about = Value::from([
            ("reads", action.reads.clone().into()),
            ("writes", action.writes.clone().into()),
            ("tags", action.tags.clone().into()),
        ]);
        let texts = [
            json::text(&about),
            json::exact(&Value::Map(action.inputs.clone())),
            json::exact(&Value::Map(action.body.clone())),
            server.external_tools.get(&action.name.text).map(json::text).unwrap_or_default(),
        ];
        let mut kind = Vec::new();
        texts.iter().flat_map(|text| out.text(text)).for_each(|word| put(&mut kind, word));
        let timeout = action.timeout.or(server.timeout);
        put(&mut kind, u32::from(timeout.is_some()));
        timeout.into_iter().for_each(|millis| put(&mut kind, millis));
        if let Some(number) = self.known.get(&kind) {
            return *number;
        }
        let number = count(self.places.len());
        self.places.push(out.bytes.bytes(&kind).at);
        self.known.insert(kind, number);
        number
    }
}

/// Descriptions and lines of all actions, in blocks. Of each the first action, where it stands, its bytes and those that it
/// is read to.
fn blocks(machine: &model::Machine, out: &mut Out) -> Vec<u32> {
    let (mut table, mut block, mut first) = (Vec::new(), Vec::new(), 0);
    for (next, action) in (1..).zip(&machine.actions) {
        put_text(&mut block, &action.description);
        put_text(&mut block, &action.source);
        if block.len() >= BLOCK_BYTES || next == count(machine.actions.len()) {
            let place = out.bytes.bytes(&squeezed(&block));
            table.extend([first, place.at, place.len, count(block.len())]);
            block.clear();
            first = next;
        }
    }
    table
}
