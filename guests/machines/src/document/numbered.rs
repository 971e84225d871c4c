//! A machine's actions by number. Names are looked up once; whatever walks the transitions after that counts with numbers.

use std::collections::HashMap;

use super::model::{Edge, Machine};

/// A machine, and the numbers of the actions that its transitions join.
#[derive(Debug)]
pub(crate) struct Numbered<'m> {
    pub(crate) machine: &'m Machine,
    /// The number of the first action.
    pub(crate) entry: Option<usize>,
    /// Numbers in the order of the names.
    pub(crate) sorted: Vec<usize>,
    /// From where to where each transition leads; none: there is no such action.
    ends: Vec<(Option<usize>, Option<usize>)>,
    /// Transitions by the action that they leave, and then in the order of the document.
    leaving: Vec<usize>,
    /// Where those of an action begin, and behind the last where they end.
    starts: Vec<usize>,
}

impl<'m> Numbered<'m> {
    pub(crate) fn of(machine: &'m Machine) -> Self {
        let mut names: Vec<(&str, usize)> =
            machine.actions.iter().map(|action| action.name.text.as_str()).zip(0..).collect();
        let numbers: HashMap<&str, usize> = names.iter().copied().collect();
        let find = |name: &str| numbers.get(name).copied();
        // Most often the transitions of one action follow one another.
        let mut last = ("", find(""));
        let ends = machine.edges.iter().map(|edge| {
            if edge.from.text != last.0 {
                last = (&edge.from.text, find(&edge.from.text));
            }
            (last.1, find(&edge.to.text))
        });
        let ends: Vec<_> = ends.collect();
        let entry = find(&machine.entry.text);
        names.sort_unstable();
        let sorted = names.into_iter().map(|(_, number)| number).collect();
        let (leaving, starts) = by_source(&ends, machine.actions.len());
        Self { machine, entry, sorted, ends, leaving, starts }
    }

    /// All transitions, each with from where to where it leads.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (&'m Edge, (Option<usize>, Option<usize>))> {
        self.machine.edges.iter().zip(self.ends.iter().copied())
    }

    /// The transitions that leave an action by their place in the document, each with where it leads.
    pub(crate) fn leaving(&self, number: usize) -> impl ExactSizeIterator<Item = (usize, Option<usize>)> + Clone {
        let range = self.starts.get(number).zip(self.starts.get(number + 1));
        let places = range.and_then(|(start, end)| self.leaving.get(*start..*end)).unwrap_or_default();
        places.iter().map(|place| (*place, self.ends.get(*place).and_then(|(_, to)| *to)))
    }
}

fn by_source(ends: &[(Option<usize>, Option<usize>)], actions: usize) -> (Vec<usize>, Vec<usize>) {
    let mut starts = vec![0; actions + 1];
    for from in ends.iter().filter_map(|(from, _)| *from) {
        starts.get_mut(from + 1).into_iter().for_each(|count| *count += 1);
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let from = |place: &usize| ends.get(*place).and_then(|(from, _)| *from);
    let mut leaving: Vec<usize> = (0..ends.len()).filter(|place| from(place).is_some()).collect();
    leaving.sort_by_key(from);
    (leaving, starts)
}
