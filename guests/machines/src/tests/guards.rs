//! Guards of the kinds that the peer's examples use, on generated states, against what Python itself said of each
//! (`guards.json`: states, and for every guard one digit a state; an error counts as false, as it does here).

use std::sync::Arc;

use wfhost_guest::json;
use wfhost_guest::value::Value;

use crate::expr::{Clock, Engine, Scope};

#[test]
fn guards_hold_where_python_says_so() {
    let table = json::read(include_str!("guards.json")).unwrap();
    let states = table.get("states").unwrap().as_list().unwrap();
    let engine = Engine::new(&Clock { at: 0, seed: String::new() });
    let mut wrong = Vec::new();
    for row in table.get("guards").unwrap().as_list().unwrap() {
        let [Value::Str(guard), Value::Str(want)] = row.as_list().unwrap() else {
            panic!("a row is a guard and its digits")
        };
        let needs = engine.expression(guard).unwrap().variables;
        assert_eq!(want.len(), states.len());
        for (state, want) in states.iter().zip(want.chars()) {
            let Value::Map(map) = state else { panic!("a state is a map") };
            let there = needs.iter().all(|name| map.get(name).is_some());
            let scope = Scope { state: Arc::new(map.clone()), ..Scope::default() };
            let holds = there && engine.holds(guard, &scope).unwrap_or(false);
            if holds != (want == '1') {
                wrong.push(format!("{guard} on {}: {holds}", json::text(state)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ: {:#?}", wrong.len(), wrong.iter().take(20).collect::<Vec<_>>());
}
