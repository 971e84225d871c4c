//! What the statements of a diagram say, by state: its words, the composite that it stands in, and the arrows.

use std::collections::{BTreeMap, BTreeSet};

use wfhost_guest::model::{Diagnostic, Span};

use super::chart::{EDGE, refuse};
use super::parse::{Diagram, Kind, Statement, What};

/// A state.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) id: String,
    pub(super) about: Vec<String>,
    pub(super) span: Span,
    pub(super) kind: Kind,
    /// The composite that it stands in, and in which of its regions.
    pub(super) parent: Option<(String, usize)>,
}

/// A region of a composite. Most have one.
#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    pub(super) starts: Vec<String>,
    pub(super) ends: Vec<String>,
}

/// An arrow as it was written.
#[derive(Clone, Debug)]
pub(super) struct Arrow {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) label: Option<String>,
    pub(super) span: Span,
}

/// A diagram by its states.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) places: Vec<Place>,
    by_id: BTreeMap<String, usize>,
    /// The regions of each composite.
    pub(super) insides: BTreeMap<String, Vec<Region>>,
    pub(super) arrows: Vec<Arrow>,
    /// Where the whole diagram begins.
    pub(super) tops: Vec<(String, Span)>,
}

impl Look {
    /// Goes through a diagram.
    pub(super) fn at(diagram: &Diagram, findings: &mut Vec<Diagnostic>) -> Self {
        let mut look = Self::default();
        look.body(&diagram.body, None, findings);
        look.close_up();
        look
    }

    /// Takes out regions in which nothing stands: there is only a divider too many.
    fn close_up(&mut self) {
        let stand: BTreeSet<(String, usize)> = self.places.iter().filter_map(|place| place.parent.clone()).collect();
        let mut numbers: BTreeMap<(String, usize), usize> = BTreeMap::new();
        for (id, regions) in &mut self.insides {
            let mut kept = Vec::new();
            for (at, region) in std::mem::take(regions).into_iter().enumerate() {
                if stand.contains(&(id.clone(), at)) || !region.starts.is_empty() || !region.ends.is_empty() {
                    numbers.insert((id.clone(), at), kept.len());
                    kept.push(region);
                }
            }
            *regions = if kept.is_empty() { vec![Region::default()] } else { kept };
        }
        for parent in self.places.iter_mut().filter_map(|place| place.parent.as_mut()) {
            parent.1 = numbers.get(parent).copied().unwrap_or(0);
        }
    }

    /// The state of that name.
    pub(super) fn place(&self, id: &str) -> Option<&Place> {
        self.by_id.get(id).and_then(|at| self.places.get(*at))
    }

    fn named(&mut self, id: &str, parent: Option<(&str, usize)>, span: Span) -> Option<&mut Place> {
        let at = match self.by_id.get(id) {
            Some(at) => *at,
            None => {
                parent.and_then(|parent| self.region(parent));
                let parent = parent.map(|(id, region)| (id.to_owned(), region));
                self.places.push(Place { id: id.to_owned(), about: Vec::new(), span, kind: Kind::Plain, parent });
                self.by_id.insert(id.to_owned(), self.places.len() - 1);
                self.places.len() - 1
            }
        };
        self.places.get_mut(at)
    }

    fn region(&mut self, (id, region): (&str, usize)) -> Option<&mut Region> {
        let regions = self.insides.entry(id.to_owned()).or_default();
        if regions.len() <= region {
            regions.resize_with(region + 1, Region::default);
        }
        regions.get_mut(region)
    }

    fn body(&mut self, body: &[Statement], inside: Option<&str>, findings: &mut Vec<Diagnostic>) {
        let mut parent = inside.map(|id| (id, 0));
        for Statement { what, span } in body {
            let span = *span;
            match what {
                What::State { id, about, kind } => {
                    if let Some(place) = self.named(id, parent, span) {
                        place.about.extend(about.clone());
                        if *kind != Kind::Plain {
                            (place.kind, place.span) = (*kind, span);
                        }
                    }
                }
                What::Note { id, text } => {
                    if let Some(place) = self.named(id, parent, span) {
                        place.about.push(text.clone());
                    }
                }
                What::Composite { id, about, body } => {
                    if let Some(place) = self.named(id, parent, span) {
                        place.about.extend(about.clone());
                        place.span = span;
                    }
                    if !body.is_empty() {
                        self.region((id.as_str(), 0));
                    }
                    self.body(body, Some(id.as_str()), findings);
                }
                What::Divider => match &mut parent {
                    Some((_, region)) => *region += 1,
                    None => findings.push(refuse(
                        "`--` parts the regions of a composite, and stands in none",
                        "put the regions into `state NAME { .. }`",
                        span,
                    )),
                },
                What::Arrow { from, to, label } => self.arrow((from, to, label.as_deref()), parent, span),
            }
        }
    }

    fn arrow(&mut self, (from, to, label): (&str, &str, Option<&str>), parent: Option<(&str, usize)>, span: Span) {
        for end in [from, to].into_iter().filter(|end| *end != EDGE) {
            self.named(end, parent, span);
        }
        match parent {
            Some(parent) if from == EDGE => {
                self.region(parent).into_iter().for_each(|region| region.starts.push(to.to_owned()));
            }
            Some(parent) if to == EDGE => {
                self.region(parent).into_iter().for_each(|region| region.ends.push(from.to_owned()));
            }
            None if from == EDGE => self.tops.push((to.to_owned(), span)),
            Some(_) | None => {
                let label = label.map(str::to_owned);
                self.arrows.push(Arrow { from: from.to_owned(), to: to.to_owned(), label, span });
            }
        }
    }
}
