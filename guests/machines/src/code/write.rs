//! Writes a definition. The same document gives the same bytes: nothing here depends on more than what it says.

use std::collections::BTreeMap;

use wfhost_guest::json;
use wfhost_guest::packed::{Text, Writer};
use wfhost_guest::value::Value;

use super::bytes::{count, distance, put, put_text};
use super::squeeze::squeezed;
use super::{ANEW, BESIDE, GUARDED, HEAD, LABELLED, MAGIC, NO_RULE, RULES, SHOWN};
use crate::document::{label, model};
use crate::expr::Reading;

/// Bytes of descriptions and lines that are squeezed together: more are smaller, and dearer to read one of.
const BLOCK_BYTES: usize = 32 << 10;

/// The bytes of a document's machines; the first is the one that is served.
pub(crate) fn write(book: &model::Book, machines: &[&model::Machine], reading: &mut Reading) -> Vec<u8> {
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

fn machine_record(machine: &model::Machine, server: &model::Server, reading: &mut Reading, out: &mut Out) -> u32 {
    let names = Names::of(machine);
    let mut leaving: Vec<Vec<(u32, u32, &model::Edge)>> = vec![Vec::new(); machine.actions.len()];
    for (order, edge) in (0..).zip(&machine.edges) {
        let from = usize::try_from(names.number(&edge.from.text)).ok();
        if let Some(edges) = from.and_then(|from| leaving.get_mut(from)) {
            edges.push((order, names.number(&edge.to.text), edge));
        }
    }
    let mut rules = Rules::of(machine, reading, out);
    let mut kinds = Kinds::default();
    let mut rows = Vec::new();
    for ((number, action), edges) in (0..).zip(&machine.actions).zip(&leaving) {
        let mut row = Vec::new();
        put_text(&mut row, &action.name.text);
        put(&mut row, kinds.number(action, server, out));
        put_edges(&mut row, number, edges, &mut rules);
        rows.push(out.bytes.bytes(&row).at);
    }
    let blocks = blocks(machine, out);
    let edges = leaving.iter().map(Vec::len).sum();
    let [rows_at, sorted, kinds, rules, blocks_at] =
        [&rows, &names.sorted, &kinds.places, &rules.places, &blocks].map(|words| out.bytes.words(words));
    let mut words = Vec::new();
    words.extend([&machine.name.text, &machine.description].into_iter().flat_map(|text| out.text(text)));
    words.extend(out.text(&json::exact(&Value::Map(machine.state.clone()))));
    words.extend(out.text(&machine.schema.as_ref().map(json::text).unwrap_or_default()));
    words.extend([names.number(&machine.entry.text), count(rows.len()), rows_at, sorted, kinds]);
    words.extend([count(edges), rules, count(blocks.len() / 4), blocks_at]);
    words.extend([count(machine.tables.len()), tables(machine, out), u32::from(machine.labels_choose)]);
    out.bytes.words(&words)
}

fn tables(machine: &model::Machine, out: &mut Out) -> u32 {
    let one = |(name, value): (&str, &Value)| [out.text(name), out.text(&json::exact(value))];
    let words: Vec<u32> = machine.tables.iter().flat_map(one).flatten().collect();
    out.bytes.words(&words)
}

/// The numbers of actions by their names.
struct Names<'m> {
    machine: &'m model::Machine,
    /// Numbers in the order of the names.
    sorted: Vec<u32>,
}

impl<'m> Names<'m> {
    fn of(machine: &'m model::Machine) -> Self {
        let mut names = Self { machine, sorted: Vec::new() };
        let mut sorted: Vec<u32> = (0..count(machine.actions.len())).collect();
        sorted.sort_by(|a, b| names.name(*a).cmp(&names.name(*b)));
        names.sorted = sorted;
        names
    }

    fn name(&self, number: u32) -> Option<&'m str> {
        let action = self.machine.actions.get(usize::try_from(number).ok()?);
        action.map(|action| action.name.text.as_str())
    }

    /// The number of that name. A document in which there is none was refused.
    fn number(&self, name: &str) -> u32 {
        let found = self.sorted.binary_search_by(|number| self.name(*number).cmp(&Some(name)));
        found.ok().and_then(|at| self.sorted.get(at)).copied().unwrap_or(u32::MAX)
    }
}

/// The transitions of one action: how many, twice, and one more if some of another action stand between them in the
/// document; the place of the first; and for each how many stand between, how far off its target is, and its rule.
fn put_edges<'b>(row: &mut Vec<u8>, from: u32, edges: &[(u32, u32, &'b model::Edge)], rules: &mut Rules<'b>) {
    let Some((first, ..)) = edges.first() else { return put(row, 0) };
    let parted = edges.iter().zip(*first..).any(|((order, ..), next)| *order != next);
    put(row, (count(edges.len()) << 1) | u32::from(parted));
    put(row, *first);
    let mut next = *first;
    for (order, to, edge) in edges {
        if parted {
            put(row, order - next);
        }
        next = order + 1;
        put(row, distance(from, *to));
        rules.put(row, edge);
    }
}

/// Guard and label of a transition.
type Key<'b> = (Option<&'b str>, Option<&'b str>);

fn key(edge: &model::Edge) -> Key<'_> {
    (edge.when.as_ref().map(|when| when.source.as_str()), label(edge))
}

/// What guards and labels there are. One that several transitions have stands in a table, any other in its action's row.
struct Rules<'b> {
    /// The rules, by guard and label; of those in the table their number.
    known: BTreeMap<Key<'b>, (Option<u32>, Vec<u8>)>,
    places: Vec<u32>,
}

impl<'b> Rules<'b> {
    fn of(machine: &'b model::Machine, reading: &mut Reading, out: &mut Out) -> Self {
        let mut rules = Self { known: BTreeMap::new(), places: Vec::new() };
        for key in machine.edges.iter().map(key).filter(|key| *key != (None, None)) {
            match rules.known.get_mut(&key) {
                Some((Some(_), _)) => {}
                Some((number, rule)) => {
                    *number = Some(count(rules.places.len()));
                    rules.places.push(out.bytes.bytes(rule).at);
                }
                None => {
                    rules.known.insert(key, (None, rule(key, machine, reading)));
                }
            }
        }
        rules
    }

    fn put(&self, row: &mut Vec<u8>, edge: &'b model::Edge) {
        match self.known.get(&key(edge)) {
            None => put(row, NO_RULE),
            Some((None, rule)) => {
                put(row, ANEW);
                row.extend_from_slice(rule);
            }
            Some((Some(number), _)) => put(row, RULES + number),
        }
    }
}

/// What is there of guard and label; the guard, with the keys without which it does not hold; the label, if it is not the
/// guard.
fn rule((guard, shown): Key<'_>, machine: &model::Machine, reading: &mut Reading) -> Vec<u8> {
    let mut out = Vec::new();
    let own = shown.filter(|shown| guard != Some(*shown));
    let flags = [(GUARDED, guard.is_some()), (SHOWN, shown.is_some()), (LABELLED, own.is_some())];
    put(&mut out, flags.iter().filter(|(_, given)| *given).map(|(flag, _)| flag).sum());
    if let Some(guard) = guard {
        // A guard that names a key which is not there does not hold, whatever else it says.
        let names = reading.expression(guard).ok();
        let needs = names.iter().flat_map(|names| &names.variables).map(String::as_str);
        let needs = needs.filter(|name| !["state", "tables"].contains(name) && machine.tables.get(name).is_none());
        put_text(&mut out, guard);
        put_text(&mut out, &needs.collect::<Vec<_>>().join("\n"));
    }
    own.into_iter().for_each(|label| put_text(&mut out, label));
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
