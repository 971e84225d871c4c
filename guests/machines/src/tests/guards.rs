//! Guards of the kinds that the peer's examples use, on generated states, against what the recorded language itself said of
//! each: `table.json`, made by the script beside it. Where we differ on purpose stands in `differences.json`, exactly.

use std::sync::Arc;

use wfhost_guest::json;
use wfhost_guest::value::Value;

use crate::expr::{Clock, Engine, Scope};

const TABLE: &str = include_str!("../../../../tests/corpus/machines/guards/table.json");
const DIFFERENCES: &str = include_str!("../../../../tests/corpus/machines/guards/differences.json");

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_list).unwrap()
}

#[test]
fn guards_hold_where_the_recorded_language_says_so() {
    let table = json::read(TABLE).unwrap();
    let states = list(&table, "states");
    let engine = Engine::new(&Clock { at: 0, seed: String::new() });
    let (mut differ, mut held) = (Vec::new(), 0);
    for row in list(&table, "guards") {
        let [said, Value::Str(guard), Value::Str(want)] = row.as_list().unwrap() else {
            panic!("a row is a guard, ours, and a digit a state")
        };
        let needs = engine.expression(guard).unwrap().variables;
        assert_eq!(want.len(), states.len());
        let holds = |state: &Value| {
            let Value::Map(map) = state else { panic!("a state is a map") };
            let there = needs.iter().all(|name| map.get(name).is_some());
            let scope = Scope { state: Arc::new(map.clone()), ..Scope::default() };
            there && engine.holds(guard, &scope).unwrap_or(false)
        };
        let ours: String = states.iter().map(|state| if holds(state) { '1' } else { '0' }).collect();
        held += ours.bytes().filter(|byte| *byte == b'1').count();
        let wrong: Vec<usize> =
            ours.bytes().zip(want.bytes()).enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at).collect();
        if let Some(first) = wrong.first() {
            let said = said.as_str().map_or_else(|| json::text(said), str::to_owned);
            differ.push((said, wrong.len(), json::text(&states[*first])));
        }
    }
    assert!(held > 5_000, "the states make guards hold, {held} times");
    let listed = json::read(DIFFERENCES).unwrap();
    let listed: Vec<(String, i64)> = listed
        .as_list()
        .unwrap()
        .iter()
        .map(|one| {
            assert!(one.get("reason").and_then(Value::as_str).is_some_and(|reason| !reason.is_empty()), "no reason");
            (
                one.get("guard").and_then(Value::as_str).unwrap().to_owned(),
                one.get("states").and_then(Value::as_i64).unwrap(),
            )
        })
        .collect();
    let found: Vec<(String, i64)> =
        differ.iter().map(|(said, count, _)| (said.clone(), i64::try_from(*count).unwrap())).collect();
    assert_eq!(found, listed, "guards, and on how many states they differ; the first state of each: {differ:#?}");
}
