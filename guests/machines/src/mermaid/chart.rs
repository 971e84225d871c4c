//! A diagram without composites: states, and arrows between them that mean what the picture does.
//!
//! An arrow to a composite leads to where its inner `[*]` leads. An arrow that leaves a composite leaves every state in it;
//! one without a label, where the composite has an inner end, only those that lead to that end (as in UML: an event
//! interrupts, completion does not). A choice is passed through. A join without a fork is where ways come together. What
//! would need several states at once (`--`, a fork and its join) is refused: a machine stands in one place.

use std::collections::{BTreeMap, BTreeSet};

use wfhost_guest::diagnostic;
use wfhost_guest::model::{Diagnostic, Span};

use super::parse::{Diagram, Kind, Statement, What};

/// The beginning, or the end, of the diagram that it stands in.
pub(super) const EDGE: &str = "[*]";

/// A state.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) id: String,
    pub(super) about: Vec<String>,
    pub(super) span: Span,
    pub(super) kind: Kind,
    /// The composite that it stands in.
    parent: Option<String>,
}

/// A composite.
#[derive(Clone, Debug, Default)]
struct Inside {
    starts: Vec<String>,
    ends: Vec<String>,
}

/// An arrow between states. An end of the whole diagram is `[*]`.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) label: Option<String>,
    pub(super) span: Span,
}

/// A diagram, flat.
#[derive(Clone, Debug, Default)]
pub(super) struct Chart {
    pub(super) places: Vec<Place>,
    pub(super) ways: Vec<Way>,
    pub(super) entry: Option<(String, Span)>,
}

/// The diagram, flat. None: something of it has no meaning here, which is told with its line.
pub(super) fn chart(diagram: &Diagram, findings: &mut Vec<Diagnostic>) -> Option<Chart> {
    let before = findings.len();
    let mut look =
        Look { places: Vec::new(), insides: BTreeMap::new(), arrows: Vec::new(), tops: Vec::new(), findings };
    look.body(&diagram.body, None);
    look.marks();
    let Look { places, insides, arrows, tops, .. } = look;
    if findings.len() > before {
        return None;
    }
    let mut flat = Flat { places: &places, insides: &insides, arrows: &arrows, findings };
    let entry = flat.entry(&tops);
    let ways = flat.ways();
    let kept = |place: &&Place| place.kind == Kind::Plain && !insides.contains_key(&place.id);
    let places = places.iter().filter(kept).cloned().collect();
    (findings.len() == before).then_some(Chart { places, ways, entry })
}

fn refuse(message: impl Into<String>, help: &str, span: Span) -> Diagnostic {
    diagnostic::error("machine-diagram", message).help(help).at(span).done()
}

struct Look<'f> {
    places: Vec<Place>,
    insides: BTreeMap<String, Inside>,
    arrows: Vec<Way>,
    tops: Vec<(String, Span)>,
    findings: &'f mut Vec<Diagnostic>,
}

impl Look<'_> {
    fn place(&mut self, id: &str, parent: Option<&str>, span: Span) -> Option<&mut Place> {
        let at = match self.places.iter().position(|place| place.id == id) {
            Some(at) => at,
            None => {
                let place = Place {
                    id: id.to_owned(),
                    about: Vec::new(),
                    span,
                    kind: Kind::Plain,
                    parent: parent.map(str::to_owned),
                };
                self.places.push(place);
                self.places.len() - 1
            }
        };
        self.places.get_mut(at)
    }

    fn body(&mut self, body: &[Statement], parent: Option<&str>) {
        for Statement { what, span } in body {
            let span = *span;
            match what {
                What::State { id, about, kind } => {
                    if let Some(place) = self.place(id, parent, span) {
                        place.about.extend(about.clone());
                        if *kind != Kind::Plain {
                            (place.kind, place.span) = (*kind, span);
                        }
                    }
                }
                What::Note { id, text } => {
                    if let Some(place) = self.place(id, parent, span) {
                        place.about.push(text.clone());
                    }
                }
                What::Composite { id, about, body } => {
                    if let Some(place) = self.place(id, parent, span) {
                        place.about.extend(about.clone());
                        place.span = span;
                    }
                    if !body.is_empty() {
                        self.insides.entry(id.clone()).or_default();
                    }
                    self.body(body, Some(id));
                }
                What::Divider => self.findings.push(refuse(
                    "regions side by side would need several states at once, and a machine stands in one",
                    "make one machine of each region, and run them side by side from a machine.yaml",
                    span,
                )),
                What::Arrow { from, to, label } => self.arrow((from, to, label.as_deref()), parent, span),
            }
        }
    }

    fn arrow(&mut self, (from, to, label): (&str, &str, Option<&str>), parent: Option<&str>, span: Span) {
        for end in [from, to].into_iter().filter(|end| *end != EDGE) {
            self.place(end, parent, span);
        }
        if from == EDGE {
            match parent {
                Some(parent) => self.insides.entry(parent.to_owned()).or_default().starts.push(to.to_owned()),
                None => self.tops.push((to.to_owned(), span)),
            }
            return;
        }
        if to == EDGE
            && let Some(parent) = parent
        {
            self.insides.entry(parent.to_owned()).or_default().ends.push(from.to_owned());
            return;
        }
        self.arrows.push(Way { from: from.to_owned(), to: to.to_owned(), label: label.map(str::to_owned), span });
    }

    /// Forks, and the joins that end them.
    fn marks(&mut self) {
        let forks: Vec<Span> =
            self.places.iter().filter(|place| place.kind == Kind::Fork).map(|place| place.span).collect();
        for span in &forks {
            let message = "a fork would need several states at once, and a machine stands in one";
            self.findings.push(refuse(message, "use a choice, or put the ways one after the other", *span));
        }
        if !forks.is_empty() {
            for place in self.places.iter().filter(|place| place.kind == Kind::Join) {
                self.findings.push(refuse(
                    "this join belongs to a fork, which has no meaning here",
                    "use plain arrows",
                    place.span,
                ));
            }
        }
    }
}

struct Flat<'p, 'f> {
    places: &'p [Place],
    insides: &'p BTreeMap<String, Inside>,
    arrows: &'p [Way],
    findings: &'f mut Vec<Diagnostic>,
}

impl Flat<'_, '_> {
    fn entry(&mut self, tops: &[(String, Span)]) -> Option<(String, Span)> {
        let mut targets: Vec<(String, Span)> = Vec::new();
        for (id, span) in tops {
            for (target, _) in self.enter(id, None, *span, &mut BTreeSet::new()) {
                if !targets.iter().any(|(known, _)| *known == target) {
                    targets.push((target, *span));
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

    /// Where an arrow to a place leads: through choices and into composites. With the label that counts.
    fn enter(
        &mut self,
        id: &str,
        label: Option<&str>,
        span: Span,
        seen: &mut BTreeSet<String>,
    ) -> Vec<(String, Option<String>)> {
        if id == EDGE {
            return vec![(EDGE.to_owned(), label.map(str::to_owned))];
        }
        if !seen.insert(id.to_owned()) {
            self.findings.push(refuse(format!("`{id}` leads only to itself"), "give it a way out", span));
            return Vec::new();
        }
        let kind = self.places.iter().find(|place| place.id == id).map_or(Kind::Plain, |place| place.kind);
        if let Some(inside) = self.insides.get(id) {
            let starts: BTreeSet<&String> = inside.starts.iter().collect();
            if starts.len() != 1 {
                let message = format!("the composite `{id}` has {} beginnings", starts.len());
                let at = self.places.iter().find(|place| place.id == id).map_or(span, |place| place.span);
                let finding = refuse(message, "put one `[*] --> STATE` into it", at);
                if !self.findings.iter().any(|known| known.message == finding.message) {
                    self.findings.push(finding);
                }
                return Vec::new();
            }
            let start = starts.into_iter().next().cloned().unwrap_or_default();
            return self.enter(&start, label, span, seen);
        }
        if kind == Kind::Plain {
            return vec![(id.to_owned(), label.map(str::to_owned))];
        }
        let mut found = Vec::new();
        let onward: Vec<Way> = self.arrows.iter().filter(|way| way.from == id).cloned().collect();
        if onward.is_empty() {
            self.findings.push(refuse(format!("nothing leaves `{id}`"), "give it a way out", span));
        }
        for way in onward {
            let label = way.label.as_deref().or(label);
            found.extend(self.enter(&way.to, label, way.span, &mut seen.clone()));
        }
        found
    }

    /// The states that an arrow leaves.
    fn leave(&self, id: &str, labelled: bool) -> Vec<String> {
        let Some(inside) = self.insides.get(id) else { return vec![id.to_owned()] };
        if !labelled && !inside.ends.is_empty() {
            return inside.ends.iter().flat_map(|end| self.leave(end, false)).collect();
        }
        let within = |place: &&Place| place.parent.as_deref() == Some(id);
        self.places.iter().filter(within).flat_map(|place| self.leave_all(&place.id)).collect()
    }

    fn leave_all(&self, id: &str) -> Vec<String> {
        if !self.insides.contains_key(id) {
            return vec![id.to_owned()];
        }
        let within = |place: &&Place| place.parent.as_deref() == Some(id);
        self.places.iter().filter(within).flat_map(|place| self.leave_all(&place.id)).collect()
    }

    fn ways(&mut self) -> Vec<Way> {
        let mut ways: Vec<Way> = Vec::new();
        for arrow in self.arrows {
            let kind = self.places.iter().find(|place| place.id == arrow.from).map_or(Kind::Plain, |place| place.kind);
            if kind != Kind::Plain {
                continue;
            }
            let sources = self.leave(&arrow.from, arrow.label.is_some());
            let targets = self.enter(&arrow.to, arrow.label.as_deref(), arrow.span, &mut BTreeSet::new());
            for from in &sources {
                for (to, label) in &targets {
                    let same = |way: &&Way| way.from == *from && way.to == *to && way.label == *label;
                    if !ways.iter().any(|way| same(&way)) {
                        ways.push(Way { from: from.clone(), to: to.clone(), label: label.clone(), span: arrow.span });
                    }
                }
            }
        }
        ways
    }
}
