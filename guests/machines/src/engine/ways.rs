//! Which actions may come next: of the transitions that leave the last action those whose guard holds, in the order of the
//! document, each target once.

use std::sync::Arc;

use wfhost_guest::packed::Broken;
use wfhost_guest::value::Map;

use crate::code::{Action, Edge, Machine};
use crate::expr::{Clock, Engine, Scope};

/// An action that may come next, and how it is reached.
#[derive(Clone, Debug)]
pub(crate) struct Way<'c> {
    pub(crate) action: Action<'c>,
    /// The labels of the transitions that lead there now.
    pub(crate) labels: Vec<&'c str>,
}

/// All actions that may come next.
pub(crate) fn ways<'c>(machine: Machine<'c>, last: Option<Action<'c>>, data: &Map) -> Result<Vec<Way<'c>>, Broken> {
    let mut ways: Vec<Way<'c>> = Vec::new();
    let Some(last) = last else {
        return Ok(vec![Way { action: machine.action(machine.entry)?, labels: Vec::new() }]);
    };
    let mut guards = Guards::new(machine, data);
    for edge in machine.leaving(last) {
        let edge = edge?;
        if !guards.hold(edge)? {
            continue;
        }
        match ways.iter_mut().find(|way| way.action.number == edge.to) {
            Some(way) => way.labels.extend(edge.label),
            None => ways.push(Way { action: machine.action(edge.to)?, labels: edge.label.into_iter().collect() }),
        }
    }
    Ok(ways)
}

/// The first action that may come next: what a machine does that nobody steers.
pub(crate) fn first<'c>(
    machine: Machine<'c>,
    last: Option<Action<'c>>,
    data: &Map,
) -> Result<Option<Action<'c>>, Broken> {
    let Some(last) = last else { return machine.action(machine.entry).map(Some) };
    let mut guards = Guards::new(machine, data);
    for edge in machine.leaving(last) {
        let edge = edge?;
        if guards.hold(edge)? {
            return machine.action(edge.to).map(Some);
        }
    }
    Ok(None)
}

/// Guards over one state. The engine is made when the first one needs it.
struct Guards<'c, 'd> {
    machine: Machine<'c>,
    data: &'d Map,
    made: Option<(Engine, Scope)>,
}

impl<'c, 'd> Guards<'c, 'd> {
    fn new(machine: Machine<'c>, data: &'d Map) -> Self {
        Self { machine, data, made: None }
    }

    fn hold(&mut self, edge: Edge<'c>) -> Result<bool, Broken> {
        let Some((guard, needs)) = edge.guard else { return Ok(true) };
        match guard.trim() {
            "true" | "True" => return Ok(true),
            "false" | "False" => return Ok(false),
            _ => {}
        }
        // A key that is not there: the guard does not hold, whatever the rest says.
        if needs.split('\n').any(|key| !key.is_empty() && self.data.get(key).is_none()) {
            return Ok(false);
        }
        let tables = self.machine.tables(guard)?;
        if self.made.is_none() {
            let scope = Scope { state: Arc::new(self.data.clone()), ..Scope::default() };
            self.made = Some((Engine::new(&Clock { at: 0, seed: String::new() }), scope));
        }
        let Some((engine, scope)) = &mut self.made else { return Err(Broken) };
        scope.tables = Arc::new(tables);
        // An error in a guard means that it does not hold.
        Ok(engine.holds(guard, scope).unwrap_or(false))
    }
}
