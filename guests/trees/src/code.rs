//! The definition's bytes: written once by `document`, read in place by every call. No call reads more than the nodes it visits.
//!
//! Head (words): magic, nodes, entry, `max_steps`, version is 0.2, tree id (2), hash (2), table of records, table of node
//! numbers in the order of their ids. A record begins with its kind and its id; the rest is the kind's.

use wfhost_guest::json;
use wfhost_guest::packed::{Broken, Reader, Text, Writer};
use wfhost_guest::value::Value;

use crate::document::model::{Choice, Kind, Tree, TreeNode};

const MAGIC: u32 = u32::from_le_bytes(*b"mt01");
const HEAD: usize = 11;
/// Instead of a node's number.
const NONE: u32 = u32::MAX;
const CONDITION: u32 = 1;
const ASK: u32 = 2;
const JUDGMENT: u32 = 3;
const ACTION: u32 = 4;
const TERMINAL: u32 = 5;

/// The bytes of a tree. References to nodes that do not exist are left out; `document` has refused such a tree before.
pub(crate) fn write(tree: &Tree) -> Vec<u8> {
    let mut order: Vec<u32> = (0..count(tree.nodes.len())).collect();
    let id = |number: &u32| {
        usize::try_from(*number).ok().and_then(|at| tree.nodes.get(at)).map(|node| node.id.text.as_str())
    };
    order.sort_by(|a, b| id(a).cmp(&id(b)));
    let number = |name: &str| {
        let found = order.binary_search_by(|number| id(number).cmp(&Some(name)));
        found.ok().and_then(|at| order.get(at)).copied().unwrap_or(NONE)
    };
    let mut out = Writer::with_head(HEAD);
    let tree_id = out.text(&tree.id);
    let hash = out.text(&tree.hash);
    let records: Vec<u32> = tree.nodes.iter().map(|node| record(node, &mut out, &number)).collect();
    let table = out.words(&records);
    let sorted = out.words(&order);
    let entry = number(&tree.entry.text);
    let version = u32::from(tree.v2);
    out.head(&[
        MAGIC,
        count(records.len()),
        entry,
        tree.max_steps,
        version,
        tree_id.at,
        tree_id.len,
        hash.at,
        hash.len,
        table,
        sorted,
    ]);
    out.done()
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn record(node: &TreeNode, out: &mut Writer, number: &dyn Fn(&str) -> u32) -> u32 {
    let id = out.text(&node.id.text);
    let to = |name: &Option<crate::document::model::Name>| name.as_ref().map_or(NONE, |name| number(&name.text));
    let words = match &node.kind {
        Kind::Condition { on, branches, default } => {
            let on = out.text(&on.text);
            let mut words = vec![CONDITION, id.at, id.len, on.at, on.len, to(default), count(branches.len())];
            for branch in branches {
                let when = out.text(&json::exact(&branch.when));
                words.extend([to(&branch.then), when.at, when.len]);
            }
            words
        }
        Kind::Ask { prompt, free, options, capture, next, human_only } => {
            let mut words = waiting(ASK, id, [&prompt.text, capture], out);
            words.extend([u32::from(*human_only), if *free { to(next) } else { NONE }]);
            words.extend(choices(options, out, number));
            words
        }
        Kind::Judgment { prompt, evidence, options, capture, require_rationale } => {
            let evidence: Value = Value::List(evidence.iter().map(|name| name.text.as_str().into()).collect());
            let evidence = out.text(&json::exact(&evidence));
            let mut words = waiting(JUDGMENT, id, [&prompt.text, capture], out);
            words.extend([u32::from(*require_rationale), NONE]);
            words.extend(choices(options, out, number));
            words.extend([evidence.at, evidence.len]);
            words
        }
        Kind::Action { tool, args, schema, capture, next, on_error } => {
            let args = out.text(&json::exact(args));
            let schema = out.text(&schema.as_ref().map(json::exact).unwrap_or_default());
            let mut words = waiting(ACTION, id, [&tool.text, capture], out);
            words.extend([to(next), to(on_error), args.at, args.len, schema.at, schema.len]);
            words
        }
        Kind::Terminal { outcome, summary } => waiting(TERMINAL, id, [&outcome.text, &summary.text], out),
    };
    out.words(&words)
}

fn waiting(kind: u32, id: Text, texts: [&str; 2], out: &mut Writer) -> Vec<u32> {
    let [first, second] = texts.map(|text| out.text(text));
    vec![kind, id.at, id.len, first.at, first.len, second.at, second.len]
}

fn choices(options: &[Choice], out: &mut Writer, number: &dyn Fn(&str) -> u32) -> Vec<u32> {
    let mut words = vec![count(options.len())];
    for option in options {
        let id = out.text(&option.id.text);
        words.extend([id.at, id.len, option.then.as_ref().map_or(NONE, |name| number(&name.text))]);
    }
    words
}

/// A definition as a call reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code<'a> {
    bytes: Reader<'a>,
    /// The node that a session begins at.
    pub(crate) entry: NodeNumber,
    /// After how many trace entries a session is ended.
    pub(crate) max_steps: u32,
    /// Whether the document says 0.2, and so has templates.
    pub(crate) v2: bool,
    /// The id of the tree.
    pub(crate) tree_id: &'a str,
    /// The hash of the document, as the peer computes it.
    pub(crate) hash: &'a str,
    nodes: u32,
    records: u32,
    sorted: u32,
}

/// The place of a node in its document, from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeNumber(u32);

/// A node as a call reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) id: &'a str,
    pub(crate) kind: StepKind<'a>,
}

/// What a node wants. Texts are as written: their placeholders are still to be filled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StepKind<'a> {
    Condition {
        on: &'a str,
        default: NodeNumber,
        branches: Branches<'a>,
    },
    Ask {
        prompt: &'a str,
        capture: &'a str,
        human_only: bool,
        next: Option<NodeNumber>,
        options: Options<'a>,
    },
    Judgment {
        prompt: &'a str,
        capture: &'a str,
        require_rationale: bool,
        options: Options<'a>,
        evidence: &'a str,
    },
    Action {
        tool: &'a str,
        capture: &'a str,
        next: NodeNumber,
        on_error: Option<NodeNumber>,
        args: &'a str,
        schema: &'a str,
    },
    Terminal {
        outcome: &'a str,
        summary: &'a str,
    },
}

/// The branches of a condition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branches<'a>(Items<'a>);

/// The options of a question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a>(Items<'a>);

#[derive(Clone, Copy, Debug)]
struct Items<'a> {
    bytes: Reader<'a>,
    at: u32,
    first: u32,
    count: u32,
}

impl<'a> Code<'a> {
    /// The head of a definition.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Broken> {
        let bytes = Reader(bytes);
        if bytes.word(0)? != MAGIC {
            return Err(Broken);
        }
        Ok(Self {
            bytes,
            nodes: bytes.word_at(0, 1)?,
            entry: NodeNumber(bytes.word_at(0, 2)?),
            max_steps: bytes.word_at(0, 3)?,
            v2: bytes.word_at(0, 4)? != 0,
            tree_id: bytes.text_at(0, 5)?,
            hash: bytes.text_at(0, 7)?,
            records: bytes.word_at(0, 9)?,
            sorted: bytes.word_at(0, 10)?,
        })
    }

    /// The node of that number.
    pub(crate) fn node(self, number: NodeNumber) -> Result<Step<'a>, Broken> {
        if number.0 >= self.nodes {
            return Err(Broken);
        }
        let at = self.bytes.word_at(self.records, number.0)?;
        let word = |index| self.bytes.word_at(at, index);
        let text = |index| self.bytes.text_at(at, index);
        let maybe = |index| word(index).map(|number| (number != NONE).then_some(NodeNumber(number)));
        let items = |first, count| Items { bytes: self.bytes, at, first, count };
        let kind = match word(0)? {
            CONDITION => StepKind::Condition {
                on: text(3)?,
                default: NodeNumber(word(5)?),
                branches: Branches(items(7, word(6)?)),
            },
            ASK => StepKind::Ask {
                prompt: text(3)?,
                capture: text(5)?,
                human_only: word(7)? != 0,
                next: maybe(8)?,
                options: Options(items(10, word(9)?)),
            },
            JUDGMENT => {
                let options = items(10, word(9)?);
                let evidence = options.count.checked_mul(3).and_then(|words| words.checked_add(10)).ok_or(Broken)?;
                StepKind::Judgment {
                    prompt: text(3)?,
                    capture: text(5)?,
                    require_rationale: word(7)? != 0,
                    options: Options(options),
                    evidence: text(evidence)?,
                }
            }
            ACTION => StepKind::Action {
                tool: text(3)?,
                capture: text(5)?,
                next: NodeNumber(word(7)?),
                on_error: maybe(8)?,
                args: text(9)?,
                schema: text(11)?,
            },
            TERMINAL => StepKind::Terminal { outcome: text(3)?, summary: text(5)? },
            _ => return Err(Broken),
        };
        Ok(Step { id: text(1)?, kind })
    }

    /// The number of the node of that id, by binary search.
    pub(crate) fn find(self, id: &str) -> Result<NodeNumber, Broken> {
        let (mut low, mut high) = (0, self.nodes);
        while low < high {
            let middle = low + (high - low) / 2;
            let number = self.bytes.word_at(self.sorted, middle)?;
            let record = self.bytes.word_at(self.records, number)?;
            match self.bytes.text_at(record, 1)?.cmp(id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(NodeNumber(number)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(Broken)
    }
}

impl Items<'_> {
    fn place(&self, index: u32) -> Result<u32, Broken> {
        index.checked_mul(3).and_then(|skip| self.first.checked_add(skip)).ok_or(Broken)
    }
}

impl<'a> Branches<'a> {
    /// Predicate and target of each branch, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = Result<(&'a str, NodeNumber), Broken>> {
        let Items { bytes, at, count, .. } = self.0;
        (0..count).map(move |index| {
            let place = self.0.place(index)?;
            Ok((bytes.text_at(at, place.checked_add(1).ok_or(Broken)?)?, NodeNumber(bytes.word_at(at, place)?)))
        })
    }
}

impl<'a> Options<'a> {
    /// Whether there is none: a free question.
    pub(crate) fn is_empty(self) -> bool {
        self.0.count == 0
    }

    /// Id and target of each option, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = Result<(&'a str, NodeNumber), Broken>> {
        let Items { bytes, at, count, .. } = self.0;
        (0..count).map(move |index| {
            let place = self.0.place(index)?;
            Ok((bytes.text_at(at, place)?, NodeNumber(bytes.word_at(at, place.checked_add(2).ok_or(Broken)?)?)))
        })
    }

    /// The ids, in order.
    pub(crate) fn ids(self) -> Result<Vec<&'a str>, Broken> {
        self.iter().map(|option| option.map(|(id, _)| id)).collect()
    }
}
