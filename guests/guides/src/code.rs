//! The definition's bytes: written once by `document`, read in place by every call. No call reads more than the nodes it visits.
//!
//! Head (words): magic, nodes, entry, `max_unmatched`, `max_branch_fanout`, `branch_depth`, flow id (2), has a version,
//! version (2), `on_stuck` (2), table of records, table of node numbers in the order of their ids, slots, table of slot
//! names in order. A record begins with its kind, its id, its `say`; the rest is the kind's.

use std::cmp::Ordering;

use wfhost_guest::packed::{Broken, Reader, Text, Writer};

use crate::document::model::{Flow, FlowNode, Kind, Limits, Name};

const MAGIC: u32 = u32::from_le_bytes(*b"gp01");
const HEAD: usize = 17;
/// Instead of a node's number.
const NONE: u32 = u32::MAX;
const ASK: u32 = 1;
const TELL: u32 = 2;
const COLLECT: u32 = 3;
const END: u32 = 4;
/// Words of a label, and of a slot.
const ROW: u32 = 5;

/// The bytes of a flow. References to nodes that do not exist are left out; `document` has refused such a flow before.
pub(crate) fn write(flow: &Flow) -> Vec<u8> {
    let mut order: Vec<u32> = (0..count(flow.nodes.len())).collect();
    let id = |number: &u32| {
        usize::try_from(*number).ok().and_then(|at| flow.nodes.get(at)).map(|node| node.id.text.as_str())
    };
    order.sort_by(|a, b| id(a).cmp(&id(b)));
    let number = |name: &Name| {
        let found = order.binary_search_by(|number| id(number).cmp(&Some(&name.text)));
        found.ok().and_then(|at| order.get(at)).copied().unwrap_or(NONE)
    };
    let mut out = Writer::with_head(HEAD);
    let flow_id = out.text(&flow.id.text);
    let version = out.text(flow.version.as_deref().unwrap_or_default());
    let stuck = out.text(&flow.on_stuck);
    let records: Vec<u32> = flow.nodes.iter().map(|node| record(node, flow.escalate, &mut out, &number)).collect();
    let mut slots: Vec<&str> = flow.nodes.iter().flat_map(slot_names).collect();
    slots.sort_unstable();
    slots.dedup();
    let names: Vec<u32> = slots.iter().map(|name| out.text(name)).flat_map(|text| [text.at, text.len]).collect();
    let table = out.words(&records);
    let sorted = out.words(&order);
    let names = out.words(&names);
    let Limits { max_unmatched, max_branch_fanout, branch_depth } = flow.limits;
    let has_version = u32::from(flow.version.is_some());
    out.head(&[
        MAGIC,
        count(records.len()),
        number(&flow.entry),
        max_unmatched,
        max_branch_fanout,
        branch_depth,
        flow_id.at,
        flow_id.len,
        has_version,
        version.at,
        version.len,
        stuck.at,
        stuck.len,
        table,
        sorted,
        count(slots.len()),
        names,
    ]);
    out.done()
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn slot_names(node: &FlowNode) -> Vec<&str> {
    match &node.kind {
        Kind::Collect { slots, .. } => slots.iter().map(|slot| slot.name.text.as_str()).collect(),
        Kind::Ask { .. } | Kind::Tell { .. } | Kind::End { .. } => Vec::new(),
    }
}

fn record(node: &FlowNode, escalate: bool, out: &mut Writer, number: &dyn Fn(&Name) -> u32) -> u32 {
    let to = |name: &Option<Name>| name.as_ref().map_or(NONE, number);
    let escalate = u32::from(node.escalate.unwrap_or(escalate));
    let [id, say] = [&node.id.text, &node.say].map(|text| out.text(text));
    let words = |kind: u32| vec![kind, id.at, id.len, say.at, say.len];
    let row = |first: Text, second: Text, third: u32| [first.at, first.len, second.at, second.len, third];
    let words = match &node.kind {
        Kind::Ask { labels, other, unknown } => {
            let mut words = words(ASK);
            words.extend([escalate, to(other), to(unknown), count(labels.len())]);
            for one in labels {
                let (label, when) = (out.text(&one.label.text), out.text(&one.when));
                words.extend(row(label, when, to(&one.then)));
            }
            words
        }
        Kind::Tell { next } => {
            let mut words = words(TELL);
            words.push(to(next));
            words
        }
        Kind::Collect { slots, next } => {
            let mut words = words(COLLECT);
            words.extend([escalate, to(next), count(slots.len())]);
            for slot in slots {
                let (name, ask) = (out.text(&slot.name.text), out.text(&slot.ask));
                words.extend(row(name, ask, u32::from(slot.required)));
            }
            words
        }
        Kind::End { outcome } => {
            let mut words = words(END);
            let outcome = out.text(outcome);
            words.extend([outcome.at, outcome.len]);
            words
        }
    };
    out.words(&words)
}

/// A definition as a call reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code<'a> {
    bytes: Reader<'a>,
    /// The node that a run begins at.
    pub(crate) entry: NodeNumber,
    /// The flow's numbers.
    pub(crate) limits: Limits,
    /// The id of the flow.
    pub(crate) flow_id: &'a str,
    /// The version of the procedure, if the document says one.
    pub(crate) version: Option<&'a str>,
    /// What to do when nothing can be done.
    pub(crate) on_stuck: &'a str,
    nodes: u32,
    records: u32,
    sorted: u32,
    slots: u32,
    slot_names: u32,
}

/// The place of a node in its document, from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeNumber(u32);

/// A node as a call reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) number: NodeNumber,
    pub(crate) id: &'a str,
    pub(crate) say: &'a str,
    pub(crate) kind: StepKind<'a>,
}

/// What a node is. `escalate` is what counts for it, its own word or the flow's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StepKind<'a> {
    Ask(Ask<'a>),
    Tell { next: NodeNumber },
    Collect(Collect<'a>),
    End { outcome: &'a str },
}

/// A question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) escalate: bool,
    pub(crate) other: Option<NodeNumber>,
    pub(crate) unknown: Option<NodeNumber>,
    rows: Rows<'a>,
}

/// Several items in no fixed order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collect<'a> {
    pub(crate) escalate: bool,
    pub(crate) next: NodeNumber,
    rows: Rows<'a>,
}

/// An answer that an ask accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label<'a> {
    pub(crate) label: &'a str,
    pub(crate) when: &'a str,
    pub(crate) target: NodeNumber,
}

/// An item of a collect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    pub(crate) name: &'a str,
    pub(crate) ask: &'a str,
    pub(crate) required: bool,
}

#[derive(Clone, Copy, Debug)]
struct Rows<'a> {
    bytes: Reader<'a>,
    at: u32,
    first: u32,
    count: u32,
}

impl<'a> Rows<'a> {
    /// Two texts and a word of each row, in order.
    fn iter(self) -> impl Iterator<Item = Result<(&'a str, &'a str, u32), Broken>> {
        (0..self.count).map(move |index| {
            let place = index.checked_mul(ROW).and_then(|skip| self.first.checked_add(skip)).ok_or(Broken)?;
            let after = |words| place.checked_add(words).ok_or(Broken);
            let (first, second) = (self.bytes.text_at(self.at, place)?, self.bytes.text_at(self.at, after(2)?)?);
            Ok((first, second, self.bytes.word_at(self.at, after(4)?)?))
        })
    }
}

impl<'a> Ask<'a> {
    /// The labels, in the order of the document.
    pub(crate) fn labels(self) -> impl Iterator<Item = Result<Label<'a>, Broken>> {
        self.rows.iter().map(|row| row.map(|(label, when, target)| Label { label, when, target: NodeNumber(target) }))
    }

    /// How many labels there are.
    pub(crate) fn width(self) -> u32 {
        self.rows.count
    }

    /// The label of that text.
    pub(crate) fn label(self, text: &str) -> Result<Option<Label<'a>>, Broken> {
        for label in self.labels() {
            let label = label?;
            if label.label == text {
                return Ok(Some(label));
            }
        }
        Ok(None)
    }
}

impl<'a> Collect<'a> {
    /// The slots, in the order of the document.
    pub(crate) fn slots(self) -> impl Iterator<Item = Result<Slot<'a>, Broken>> {
        self.rows.iter().map(|row| row.map(|(name, ask, required)| Slot { name, ask, required: required != 0 }))
    }

    /// The slot of that name.
    pub(crate) fn slot(self, name: &str) -> Result<Option<Slot<'a>>, Broken> {
        for slot in self.slots() {
            let slot = slot?;
            if slot.name == name {
                return Ok(Some(slot));
            }
        }
        Ok(None)
    }
}

impl<'a> Code<'a> {
    /// The head of a definition.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Broken> {
        let bytes = Reader(bytes);
        let word = |index| bytes.word_at(0, index);
        // What bounds a walk is no more than the bytes could hold.
        if word(0)? != MAGIC || usize::try_from(word(1)?).map_err(|_| Broken)? > bytes.0.len() / 4 {
            return Err(Broken);
        }
        Ok(Self {
            bytes,
            nodes: word(1)?,
            entry: NodeNumber(word(2)?),
            limits: Limits { max_unmatched: word(3)?, max_branch_fanout: word(4)?, branch_depth: word(5)? },
            flow_id: bytes.text_at(0, 6)?,
            version: if word(8)? == 0 { None } else { Some(bytes.text_at(0, 9)?) },
            on_stuck: bytes.text_at(0, 11)?,
            records: word(13)?,
            sorted: word(14)?,
            slots: word(15)?,
            slot_names: word(16)?,
        })
    }

    /// How many nodes there are.
    pub(crate) fn len(self) -> u32 {
        self.nodes
    }

    /// The node of that number.
    pub(crate) fn node(self, number: NodeNumber) -> Result<Step<'a>, Broken> {
        if number.0 >= self.nodes {
            return Err(Broken);
        }
        let at = self.bytes.word_at(self.records, number.0)?;
        let word = |index| self.bytes.word_at(at, index);
        let maybe = |index| word(index).map(|number| (number != NONE).then_some(NodeNumber(number)));
        let rows = |first, count| Rows { bytes: self.bytes, at, first, count };
        let kind = match word(0)? {
            ASK => StepKind::Ask(Ask {
                escalate: word(5)? != 0,
                other: maybe(6)?,
                unknown: maybe(7)?,
                rows: rows(9, word(8)?),
            }),
            TELL => StepKind::Tell { next: NodeNumber(word(5)?) },
            COLLECT => StepKind::Collect(Collect {
                escalate: word(5)? != 0,
                next: NodeNumber(word(6)?),
                rows: rows(8, word(7)?),
            }),
            END => StepKind::End { outcome: self.bytes.text_at(at, 5)? },
            _ => return Err(Broken),
        };
        Ok(Step { number, id: self.bytes.text_at(at, 1)?, say: self.bytes.text_at(at, 3)?, kind })
    }

    /// All nodes, in the order of the document.
    pub(crate) fn nodes(self) -> impl Iterator<Item = Result<Step<'a>, Broken>> {
        (0..self.nodes).map(move |number| self.node(NodeNumber(number)))
    }

    /// The node of that id, by binary search.
    pub(crate) fn find(self, id: &str) -> Result<Option<Step<'a>>, Broken> {
        let (mut low, mut high) = (0, self.nodes);
        while low < high {
            let middle = low + (high - low) / 2;
            let number = self.bytes.word_at(self.sorted, middle)?;
            let record = self.bytes.word_at(self.records, number)?;
            match self.bytes.text_at(record, 1)?.cmp(id) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return self.node(NodeNumber(number)).map(Some),
                Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// Whether some collect has a slot of that name, by binary search.
    pub(crate) fn has_slot(self, name: &str) -> Result<bool, Broken> {
        let (mut low, mut high) = (0, self.slots);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.bytes.text_at(self.slot_names, middle.checked_mul(2).ok_or(Broken)?)?.cmp(name) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(true),
                Ordering::Greater => high = middle,
            }
        }
        Ok(false)
    }
}
