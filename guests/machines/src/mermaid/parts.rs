//! What stands side by side: the ways between a fork and its join, and the regions of a composite.
//!
//! A machine stands in one place, so the agent takes the sides in turns, in any order. For each side the data keeps where it
//! stands (`_part_1_2`: the second side of the first part), and a way within a side is open from wherever the machine is, if
//! its side stands where the way begins. What follows is open when every side has come to its end; an arrow from inside to
//! outside, and one with a label that leaves the composite, ends all sides at once. One part inside another is refused.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wfhost_guest::json::quoted;
use wfhost_guest::model::{Diagnostic, Span};

use super::chart::{EDGE, Flat, WAYS_MAX, Way, refuse};
use super::look::Look;
use super::parse::Kind;

/// What the names of keys begin with that say where a side stands.
pub(crate) const KEY: &str = "_part_";

/// What stands side by side after one state.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// The fork or the composite: the step that begins all sides.
    gate: String,
    /// The join of a fork.
    join: Option<String>,
    sides: Vec<Side>,
    number: usize,
}

/// One side.
#[derive(Clone, Debug, Default)]
struct Side {
    /// Where it begins, with the label of the way there.
    starts: Vec<(String, Option<String>)>,
    states: BTreeSet<String>,
    /// Where it has come to its end. None: it has no end.
    ends: BTreeSet<String>,
}

impl Part {
    fn key(&self, side: usize) -> String {
        format!("{KEY}{}_{}", self.number + 1, side + 1)
    }

    fn states(&self) -> impl Iterator<Item = &String> {
        self.sides.iter().flat_map(|side| &side.states)
    }

    /// That a side stands in a state; nowhere yet, if that is empty.
    fn stands(&self, side: usize, state: &str) -> String {
        format!("{} == {}", self.key(side), quoted(state))
    }

    /// That all sides have come to their ends. None: no side has one.
    fn ended(&self) -> Option<String> {
        let one = |(at, side): (usize, &Side)| {
            let ends: Vec<String> = side.ends.iter().map(|end| quoted(end)).collect();
            (!ends.is_empty()).then(|| format!("{} in [{}]", self.key(at), ends.join(", ")))
        };
        let all: Vec<String> = self.sides.iter().enumerate().filter_map(one).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }
}

/// What the data keeps, and what each action writes of it.
pub(super) fn kept(parts: &[Part]) -> BTreeMap<&str, Vec<(String, &str)>> {
    let mut kept: BTreeMap<&str, Vec<(String, &str)>> = BTreeMap::new();
    for part in parts {
        for (at, side) in part.sides.iter().enumerate() {
            kept.entry(&part.gate).or_default().push((part.key(at), ""));
            for state in &side.states {
                kept.entry(state).or_default().push((part.key(at), state));
            }
        }
    }
    kept
}

/// The join of each fork: the nearest that every way from it comes to. None: a fork has none, which is told.
pub(super) fn joins(look: &Look, findings: &mut Vec<Diagnostic>) -> Option<BTreeMap<String, String>> {
    let forks: Vec<_> = look.places.iter().filter(|place| place.kind == Kind::Fork).collect();
    let mut found = BTreeMap::new();
    if forks.is_empty() {
        return Some(found);
    }
    // With every join as an end of ways; what is wrong with the diagram is told when they are known.
    let all = look.places.iter().filter(|place| place.kind == Kind::Join).map(|join| join.id.clone()).collect();
    let mut silent = Vec::new();
    let mut flat = Flat::new(look, all, &mut silent);
    let ways = flat.ways();
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    ways.iter().for_each(|way| next.entry(&way.from).or_default().push(&way.to));
    let before = findings.len();
    for fork in forks {
        let sides: Vec<BTreeMap<String, usize>> =
            flat.branches(&fork.id).iter().map(|starts| distances(starts, &next)).collect();
        let shared = |id: &String| sides.iter().map(|side| side.get(id)).sum::<Option<usize>>();
        let joins = look.places.iter().filter(|place| place.kind == Kind::Join);
        let nearest = joins.filter_map(|join| Some((shared(&join.id)?, join))).min_by_key(|(far, _)| *far);
        match nearest {
            Some((_, join)) if sides.len() > 1 => {
                found.insert(fork.id.clone(), join.id.clone());
            }
            _ => findings.push(refuse(
                format!("the ways from the fork `{}` do not come together in a join", fork.id),
                "let two arrows or more leave it, and all of them lead to one `state NAME <<join>>`",
                fork.span,
            )),
        }
    }
    (findings.len() == before).then_some(found)
}

/// How far it is to each state.
fn distances(starts: &[(String, Option<String>)], next: &BTreeMap<&str, Vec<&str>>) -> BTreeMap<String, usize> {
    let mut far: BTreeMap<String, usize> = BTreeMap::new();
    let mut open: VecDeque<(&str, usize)> = starts.iter().map(|(id, _)| (id.as_str(), 0)).collect();
    while let Some((id, steps)) = open.pop_front() {
        if !far.contains_key(id) {
            far.insert(id.to_owned(), steps);
            open.extend(next.get(id).into_iter().flatten().map(|to| (*to, steps + 1)));
        }
    }
    far
}

/// The ways with what must hold for each where several sides are under way.
pub(super) fn apart(flat: &mut Flat<'_, '_>, ways: Vec<Way>) -> (Vec<Way>, Vec<Part>) {
    let gates: Vec<(String, Span)> =
        flat.look.places.iter().filter(|p| flat.look.is_gate(&p.id)).map(|p| (p.id.clone(), p.span)).collect();
    if gates.is_empty() {
        return (ways, Vec::new());
    }
    let before = flat.findings.len();
    let mut sides: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut parts = Vec::new();
    for (number, (gate, span)) in gates.into_iter().enumerate() {
        let made = match flat.joins.get(&gate).cloned() {
            Some(join) => forked(flat, &gate, &join, &ways),
            None => regions(flat, &gate, span),
        };
        let part = Part { number, ..made };
        for (at, side) in part.sides.iter().enumerate() {
            for state in &side.states {
                let other = sides.insert(state.clone(), (number, at));
                if other.is_some() || flat.look.is_gate(state) {
                    let message = format!("`{state}` stands on two sides of what is side by side");
                    let message = if flat.look.is_gate(state) {
                        format!("`{state}` begins what is side by side inside what is side by side after `{gate}`")
                    } else {
                        message
                    };
                    let at = flat.look.place(state).map_or(span, |place| place.span);
                    flat.findings.push(refuse(message, "bring the ways together in a join before they meet", at));
                }
            }
        }
        parts.push(part);
    }
    if flat.findings.len() > before {
        return (ways, parts);
    }
    let spread = Spread { parts: &parts, sides: &sides, ways: Vec::new(), findings: &mut *flat.findings };
    (spread.all(&ways), parts)
}

/// The sides of a fork: what lies between it and its join.
fn forked(flat: &mut Flat<'_, '_>, gate: &str, join: &str, ways: &[Way]) -> Part {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for way in ways.iter().filter(|way| way.from != join) {
        next.entry(&way.from).or_default().push(&way.to);
    }
    let mut sides = Vec::new();
    let span = flat.look.place(gate).map_or(super::line_span(1, ""), |place| place.span);
    for starts in flat.branches(gate) {
        if starts.iter().any(|(to, _)| to == join || to == EDGE) {
            let message = format!("a way from the fork `{gate}` has no state before the join");
            flat.findings.push(refuse(message, "remove it, or put a state on it", span));
        }
        let mut states: BTreeSet<String> = distances(&starts, &next).into_keys().collect();
        states.remove(join);
        states.remove(EDGE);
        let comes = |state: &&String| next.get(state.as_str()).is_some_and(|to| to.contains(&join));
        let ends = states.iter().filter(comes).cloned().collect();
        sides.push(Side { starts, states, ends });
    }
    Part { gate: gate.to_owned(), join: Some(join.to_owned()), sides, number: 0 }
}

/// The sides of a composite with several regions.
fn regions(flat: &mut Flat<'_, '_>, gate: &str, span: Span) -> Part {
    let mut sides = Vec::new();
    let look = flat.look;
    for (at, region) in look.regions(gate).iter().enumerate() {
        let starts: BTreeSet<&String> = region.starts.iter().collect();
        let states = flat.region(gate, at);
        let (Some(start), 1) = (starts.first(), starts.len()) else {
            let message = format!("region {} of the composite `{gate}` has {} beginnings", at + 1, starts.len());
            flat.findings.push(refuse(message, "put one `[*] --> STATE` into it", span));
            continue;
        };
        let starts = flat.targets(start, span).to_vec();
        if let Some((outside, _)) = starts.iter().find(|(start, _)| !states.contains(start)) {
            let message = format!("`{outside}` begins a region of `{gate}` and stands outside of it");
            flat.findings.push(refuse(message, "name it in the region first", span));
        }
        let ends = region.ends.iter().flat_map(|end| flat.leave(end, false)).collect();
        sides.push(Side { starts, states, ends });
    }
    Part { gate: gate.to_owned(), join: None, sides, number: 0 }
}

/// Ways while they get what must hold for them.
struct Spread<'p, 'f> {
    parts: &'p [Part],
    sides: &'p BTreeMap<String, (usize, usize)>,
    ways: Vec<Way>,
    findings: &'f mut Vec<Diagnostic>,
}

impl Spread<'_, '_> {
    fn all(mut self, ways: &[Way]) -> Vec<Way> {
        for way in ways {
            self.one(way);
        }
        for part in self.parts {
            self.begin(part, ways);
        }
        if self.ways.len() >= WAYS_MAX {
            let span = ways.first().map_or(super::line_span(1, ""), |way| way.span);
            let message = format!("what stands side by side has {WAYS_MAX} ways or more");
            self.findings.push(refuse(message, "let fewer states stand side by side", span));
        }
        self.ways
    }

    /// A way from every state of a part.
    fn leave_all(&mut self, part: &Part, way: &Way, guard: Option<&str>) {
        for from in part.states() {
            if self.ways.len() < WAYS_MAX {
                self.ways.push(Way { from: from.clone(), guard: guard.map(str::to_owned), ..way.clone() });
            }
        }
    }

    fn refuse(&mut self, message: String, help: &str, span: Span) {
        self.findings.push(refuse(message, help, span));
    }

    fn one(&mut self, way: &Way) {
        let (from, to) = (self.sides.get(&way.from).copied(), self.sides.get(&way.to).copied());
        let parts = self.parts;
        let joined = |id: &String| parts.iter().find(|part| part.join.as_ref() == Some(id));
        if let Some((number, side)) = from {
            let Some(part) = parts.get(number) else { return };
            if part.join.as_ref() == Some(&way.to) {
                return;
            }
            let crosses = to.is_some_and(|to| to != (number, side)) || joined(&way.to).is_some();
            if crosses || part.join.is_some() && way.to == EDGE {
                let message = format!("the way from `{}` to `{}` leaves its side before the join", way.from, way.to);
                return self.refuse(message, "let it lead to the join", way.span);
            }
            let guard = part.stands(side, &way.from);
            return self.leave_all(part, way, Some(&guard));
        }
        if to.is_some() || joined(&way.to).is_some() && joined(&way.from).is_none() {
            let gate = parts.iter().any(|part| part.gate == way.from && part.join.is_some());
            if !gate {
                let message = format!("the way to `{}` leads into the middle of what stands side by side", way.to);
                self.refuse(message, "let it lead to the fork or to the composite", way.span);
            }
            return;
        }
        if let Some(part) = joined(&way.from) {
            let guard = part.ended();
            return self.leave_all(part, way, guard.as_deref());
        }
        if let Some(part) = parts.iter().find(|part| part.gate == way.from) {
            let guard = if way.label.is_some() { None } else { part.ended() };
            self.leave_all(part, way, guard.as_deref());
            if guard.is_some() {
                return;
            }
        }
        self.ways.push(way.clone());
    }

    /// The ways to where the sides begin; and the end, if nothing else follows them.
    fn begin(&mut self, part: &Part, ways: &[Way]) {
        let span = ways.iter().find(|way| way.to == part.gate || way.from == part.gate).map(|way| way.span);
        let span = span.unwrap_or(super::line_span(1, ""));
        for (at, side) in part.sides.iter().enumerate() {
            let guard = part.stands(at, "");
            for (start, label) in &side.starts {
                let (from, to, label) = (part.gate.clone(), start.clone(), label.clone());
                let way = Way { from, to, label, guard: None, span };
                self.leave_all(part, &way, Some(&guard));
                self.ways.push(way);
            }
        }
        let follows = part.join.is_some() || ways.iter().any(|way| way.from == part.gate);
        if !follows && part.sides.iter().all(|side| !side.ends.is_empty()) {
            let way = Way { from: String::new(), to: EDGE.to_owned(), label: None, guard: None, span };
            let guard = part.ended();
            self.leave_all(part, &way, guard.as_deref());
        }
    }
}
