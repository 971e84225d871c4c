//! Steps, refusals, effects, sub-machines.

use super::*;

const COFFEE: &str = "\
machine: coffee
entry: order
state: {item: null, stage: empty, paid: 0}
actions:
  order: {inputs: {item: string}, set: {item: '{{ item }}', stage: ordered}}
  pay:
    inputs: {amount: number}
    fail: [{when: amount < 2, message: '{{ amount }} is too little'}]
    set: {stage: paid, paid: '{{ amount }}'}
transitions:
  - {from: order, to: pay, when: stage == 'ordered'}
";

#[test]
fn a_walk_and_its_refusals() {
    let mut bench = Bench::new(COFFEE);
    let show = &["error", "valid_next_actions"];
    assert_eq!(bench.step("pay", "{\"amount\":1}", show), "\"invalid_transition\" [\"order\"]");
    assert_eq!(bench.step("nope", "{}", show), "\"unknown_action\" [\"order\"]");
    assert_eq!(bench.step("order", "{\"item\":5}", show), "\"validation_failed\" [\"order\"]");
    assert_eq!(bench.step("order", "{}", show), "\"validation_failed\" [\"order\"]");
    assert_eq!(bench.step("order", "{\"item\":\"tea\"}", show), "- [\"pay\"]");
    assert_eq!(
        bench.step("pay", "{\"amount\":1}", &["error", "error_message"]),
        "\"action_error\" \"1 is too little\""
    );
    assert_eq!(
        bench.step("pay", "{\"amount\":2.5}", &["state", "valid_next_actions"]),
        "{\"item\":\"tea\",\"stage\":\"paid\",\"paid\":2.5} []"
    );
    let history = json::read(&bench.view("history")).unwrap();
    let reasons: Vec<String> =
        history.as_list().unwrap().iter().map(|one| json::text(one.get("refusal_reason").unwrap())).collect();
    assert_eq!(
        reasons.join(" "),
        "\"invalid_transition\" \"unknown_action\" \"validation_failed\" \"validation_failed\" null \"action_error\" null"
    );
}

#[test]
fn going_back_to_an_entry_of_the_history() {
    let mut bench = Bench::new(COFFEE);
    bench.step("order", "{\"item\":\"tea\"}", &[]);
    bench.step("pay", "{\"amount\":3}", &[]);
    let back = bench.call("fork_at", "{\"sequence_id\":0}");
    assert_eq!(json::text(back.get("valid_next_actions").unwrap()), "[\"pay\"]");
    assert_eq!(bench.step("pay", "{\"amount\":4}", &["state"]), "{\"item\":\"tea\",\"stage\":\"paid\",\"paid\":4}");
    for (args, want) in [
        ("{}", "missing_sequence_id"),
        ("{\"seq\":9}", "unknown_sequence_id"),
        ("{\"seq\":-1}", "unknown_sequence_id"),
        ("{\"seq\":2}", "cannot_fork_to_meta_entry"),
    ] {
        assert_eq!(bench.call("fork_at", args).get("error").and_then(Value::as_str), Some(want), "{args}");
    }
    let reset = bench.call("reset_session", "{}");
    assert_eq!(json::text(reset.get("valid_next_actions").unwrap()), "[\"order\"]");
}
