//! A diagram without composites: states, and arrows between them that mean what the picture does.
//!
//! An arrow to a composite leads to where its inner `[*]` leads. An arrow that leaves a composite leaves every state in it;
//! one without a label, where the composite has an inner end, only those that lead to that end (as in UML: an event
//! interrupts, completion does not). A choice is passed through, and so is a join that brings no fork to its end. A fork, and
//! a composite with several regions, is a step of its own: what stands side by side after it is the matter of `parts`.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wfhost_guest::diagnostic;
use wfhost_guest::model::{Diagnostic, Span};

use super::look::{Arrow, Look, Place, Region};
use super::parse::{Diagram, Kind};
use super::parts::{self, Part};

/// The beginning, or the end, of the diagram that it stands in.
pub(super) const EDGE: &str = "[*]";
/// LIMIT: ways of a flat diagram. An arrow that leaves a composite is one way for each state in it.
pub(super) const WAYS_MAX: usize = 200_000;

/// A way from one state to another. An end of the whole diagram is `[*]`.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) label: Option<String>,
    /// What must hold, where several states are active.
    pub(super) guard: Option<String>,
    pub(super) span: Span,
}

/// A diagram, flat.
#[derive(Clone, Debug, Default)]
pub(super) struct Chart {
    pub(super) places: Vec<Place>,
    pub(super) ways: Vec<Way>,
    pub(super) entry: Option<(String, Span)>,
    pub(super) parts: Vec<Part>,
}

/// The diagram, flat. None: something of it has no meaning here, which is told with its line.
pub(super) fn chart(diagram: &Diagram, findings: &mut Vec<Diagnostic>) -> Option<Chart> {
    let before = findings.len();
    let look = Look::at(diagram, findings);
    if findings.len() > before {
        return None;
    }
    let joins = parts::joins(&look, findings)?;
    let mut flat = Flat { joins: joins.clone(), ..Flat::new(&look, joins.into_values().collect(), findings) };
    let entry = flat.entry();
    let ways = flat.ways();
    let (ways, parts) = if flat.findings.len() == before { parts::apart(&mut flat, ways) } else { (ways, Vec::new()) };
    let kept = |place: &&Place| place.kind == Kind::Fork || place.kind == Kind::Plain && look.is_step(&place.id);
    let places = look.places.iter().filter(kept).cloned().collect();
    (findings.len() == before).then_some(Chart { places, ways, entry, parts })
}

pub(super) fn refuse(message: impl Into<String>, help: &str, span: Span) -> Diagnostic {
    diagnostic::error("machine-diagram", message).help(help).at(span).done()
}

impl Look {
    /// The regions of a composite; none if it is no composite.
    pub(super) fn regions(&self, id: &str) -> &[Region] {
        self.insides.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a plain state or a composite is an action: a composite only where it begins several regions.
    fn is_step(&self, id: &str) -> bool {
        self.regions(id).len() != 1
    }

    pub(super) fn kind(&self, id: &str) -> Kind {
        self.place(id).map_or(Kind::Plain, |place| place.kind)
    }

    /// Whether what follows it stands side by side.
    pub(super) fn is_gate(&self, id: &str) -> bool {
        self.kind(id) == Kind::Fork || self.regions(id).len() > 1
    }
}

/// Where an arrow leads: a state, and the label that stands nearest to it.
type Target = (String, Option<String>);

/// A diagram while it is made flat.
pub(super) struct Flat<'l, 'f> {
    pub(super) look: &'l Look,
    pub(super) findings: &'f mut Vec<Diagnostic>,
    /// The join at which the ways of each fork end.
    pub(super) joins: BTreeMap<String, String>,
    /// Joins that are not passed through.
    stops: BTreeSet<String>,
    leaving: BTreeMap<&'l str, Vec<&'l Arrow>>,
    children: BTreeMap<&'l str, Vec<&'l Place>>,
    known: BTreeMap<String, Rc<Vec<Target>>>,
}

impl<'l, 'f> Flat<'l, 'f> {
    pub(super) fn new(look: &'l Look, stops: BTreeSet<String>, findings: &'f mut Vec<Diagnostic>) -> Self {
        let mut leaving: BTreeMap<&str, Vec<&Arrow>> = BTreeMap::new();
        look.arrows.iter().for_each(|arrow| leaving.entry(&arrow.from).or_default().push(arrow));
        let mut children: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
        for place in &look.places {
            if let Some((parent, _)) = &place.parent {
                children.entry(parent).or_default().push(place);
            }
        }
        Self { look, findings, joins: BTreeMap::new(), stops, leaving, children, known: BTreeMap::new() }
    }

    fn entry(&mut self) -> Option<(String, Span)> {
        let mut targets: Vec<(String, Span)> = Vec::new();
        for (id, span) in &self.look.tops {
            for (target, _) in self.targets(id, *span).iter() {
                if !targets.iter().any(|(known, _)| known == target) {
                    targets.push((target.clone(), *span));
                }
            }
        }
        match targets.as_slice() {
            [one] => Some(one.clone()),
            [] => None,
            [first, second, ..] => {
                let message = format!("a second beginning, `{}`; the first is `{}`", second.0, first.0);
                self.findings.push(refuse(message, "a machine begins in one place: keep one `[*] -->`", second.1));
                None
            }
        }
    }

    /// Where an arrow to a state leads: through choices and into composites.
    pub(super) fn targets(&mut self, id: &str, span: Span) -> Rc<Vec<Target>> {
        self.through(id, span, &mut BTreeSet::new())
    }

    fn through(&mut self, id: &str, span: Span, open: &mut BTreeSet<String>) -> Rc<Vec<Target>> {
        if let Some(known) = self.known.get(id) {
            return Rc::clone(known);
        }
        let kind = self.look.kind(id);
        let ends = kind == Kind::Join && self.stops.contains(id) || self.look.is_gate(id);
        if id == EDGE || ends || kind == Kind::Plain && self.look.is_step(id) {
            return Rc::new(vec![(id.to_owned(), None)]);
        }
        if !open.insert(id.to_owned()) {
            self.findings.push(refuse(format!("`{id}` leads only to itself"), "give it a way out", span));
            return Rc::default();
        }
        let found = if kind == Kind::Plain { self.inner(id, span, open) } else { self.onward(id, span, open) };
        open.remove(id);
        let found = Rc::new(found);
        self.known.insert(id.to_owned(), Rc::clone(&found));
        found
    }

    /// Where each of the arrows that leave a fork leads.
    pub(super) fn branches(&mut self, fork: &str) -> Vec<Vec<Target>> {
        let arrows = self.leaving.get(fork).cloned().unwrap_or_default();
        let one = |arrow: &Arrow| {
            let targets = self.targets(&arrow.to, arrow.span);
            targets.iter().map(|(to, label)| (to.clone(), label.clone().or_else(|| arrow.label.clone()))).collect()
        };
        arrows.into_iter().map(one).collect()
    }

    /// The beginning inside a composite.
    fn inner(&mut self, id: &str, span: Span, open: &mut BTreeSet<String>) -> Vec<Target> {
        let starts = self.look.regions(id).first().map(|region| &region.starts);
        let starts: BTreeSet<&String> = starts.into_iter().flatten().collect();
        if let (Some(start), 1) = (starts.first(), starts.len()) {
            return self.through(start, span, open).to_vec();
        }
        let message = format!("the composite `{id}` has {} beginnings", starts.len());
        let at = self.look.place(id).map_or(span, |place| place.span);
        self.findings.push(refuse(message, "put one `[*] --> STATE` into it", at));
        Vec::new()
    }

    /// Where a choice or a join leads.
    fn onward(&mut self, id: &str, span: Span, open: &mut BTreeSet<String>) -> Vec<Target> {
        let onward = self.leaving.get(id).cloned().unwrap_or_default();
        if onward.is_empty() {
            self.findings.push(refuse(format!("nothing leaves `{id}`"), "give it a way out", span));
        }
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        for arrow in onward {
            for (target, label) in self.through(&arrow.to, arrow.span, open).iter() {
                let one = (target.clone(), label.clone().or_else(|| arrow.label.clone()));
                if seen.insert(one.clone()) {
                    found.push(one);
                }
            }
        }
        found
    }

    /// The states that an arrow leaves.
    pub(super) fn leave(&self, id: &str, labelled: bool) -> Vec<String> {
        match self.look.regions(id) {
            [only] if labelled || only.ends.is_empty() => self.all(id),
            [only] => only.ends.iter().flat_map(|end| self.leave(end, false)).collect(),
            _ => vec![id.to_owned()],
        }
    }

    /// All states in a composite, or the state itself. One with regions stands for all in it.
    fn all(&self, id: &str) -> Vec<String> {
        if self.look.regions(id).len() != 1 {
            let step = matches!(self.look.kind(id), Kind::Plain | Kind::Fork);
            return if step { vec![id.to_owned()] } else { Vec::new() };
        }
        self.children.get(id).into_iter().flatten().flat_map(|place| self.all(&place.id)).collect()
    }

    /// The states in a region, those of composites in it among them.
    pub(super) fn region(&self, id: &str, region: usize) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let children = self.children.get(id).into_iter().flatten();
        let mut open: Vec<&Place> =
            children.filter(|place| place.parent.as_ref().is_some_and(|(_, at)| *at == region)).copied().collect();
        while let Some(place) = open.pop() {
            let step = place.kind == Kind::Fork || place.kind == Kind::Plain && self.look.is_step(&place.id);
            if step && !found.insert(place.id.clone()) {
                continue;
            }
            open.extend(self.children.get(place.id.as_str()).into_iter().flatten());
        }
        found
    }

    pub(super) fn ways(&mut self) -> Vec<Way> {
        let (mut ways, mut seen): (Vec<Way>, _) = (Vec::new(), BTreeSet::new());
        for arrow in &self.look.arrows {
            let kind = self.look.kind(&arrow.from);
            if kind == Kind::Choice || kind == Kind::Join && !self.stops.contains(&arrow.from) {
                continue;
            }
            let targets = self.targets(&arrow.to, arrow.span);
            for from in self.leave(&arrow.from, arrow.label.is_some()) {
                for (to, label) in targets.iter() {
                    let label = label.clone().or_else(|| arrow.label.clone());
                    if ways.len() < WAYS_MAX && seen.insert((from.clone(), to.clone(), label.clone())) {
                        ways.push(Way { from: from.clone(), to: to.clone(), label, guard: None, span: arrow.span });
                    }
                }
            }
        }
        if ways.len() == WAYS_MAX {
            let message = format!("the diagram has {WAYS_MAX} ways or more when its composites are opened");
            let span = ways.last().map_or(super::line_span(1, ""), |way| way.span);
            self.findings.push(refuse(message, "let fewer arrows leave large composites", span));
        }
        ways
    }
}
