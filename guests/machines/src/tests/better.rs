//! What theodosia does and its notes warn of, each with what happens here instead. The README of this interpreter names the
//! test of each.

use super::*;

#[test]
fn a_guard_ranges_over_a_list() {
    let mut bench = Bench::new(
        "entry: go\nactions:\n  go: {inputs: {v: array}, set: {v: '{{ v }}'}}\n  some: {}\n  none: {}\ntransitions:\n  \
         - {from: go, to: some, when: \"v | select('gt', 1) | list | length > 0\"}\n  \
         - {from: go, to: none, when: \"v | select('gt', 1) | list | length == 0\"}\n",
    );
    assert_eq!(bench.step("go", "{\"v\":[1,2]}", &["valid_next_actions"]), "[\"some\"]");
    bench.call("reset_session", "{}");
    assert_eq!(bench.step("go", "{\"v\":[1]}", &["valid_next_actions"]), "[\"none\"]");
}

#[test]
fn two_open_ways_to_one_action_list_it_once() {
    let mut bench = Bench::new(
        "entry: a\nactions: {a: {set: {n: 1}}, b: {}}\ntransitions: [{from: a, to: b, when: n == 1}, {from: a, to: b, when: n > 0}]\n",
    );
    assert_eq!(bench.step("a", "{}", &["valid_next_actions"]), "[\"b\"]");
}

#[test]
fn a_rule_that_breaks_is_a_refusal_and_on_record() {
    let mut bench = Bench::new(
        "entry: a\nactions:\n  a:\n    inputs: {x: any, y: {default: 1}}\n    require: [{that: x.size.deep > 1, reason: too small}]\n  b:\n    \
         inputs: {x: any}\n    normalise: {x: '{{ x.upper() }}'}\ntransitions: [{from: a, to: b}]\n",
    );
    assert_eq!(bench.step("a", "{\"x\":5}", &["error", "reason"]), "\"validation_failed\" \"too small\"");
    bench.step("a", "{\"x\":{\"size\":{\"deep\":2}}}", &[]);
    let got = bench.step("b", "{\"x\":5}", &["error", "valid_next_actions"]);
    assert_eq!(got, "\"validation_failed\" [\"b\"]");
    assert_eq!(bench.view("history").matches("\"refusal_reason\":\"validation_failed\"").count(), 2);
}

#[test]
fn going_back_to_a_fork_goes_on_from_there() {
    let mut bench = Bench::new("entry: a\nactions: {a: {}, b: {}}\ntransitions: [{from: a, to: b}]\n");
    let own = bench.step("a", "{}", &["session"]);
    let forked = bench.call("fork_from_past", &format!("{{\"app_id\":{own}}}"));
    assert_eq!(forked.get("valid_next_actions").map(json::text).as_deref(), Some("[\"b\"]"));
    let back = bench.call("fork_at", "{\"sequence_id\":1}");
    assert_eq!(back.get("valid_next_actions").map(json::text).as_deref(), Some("[\"b\"]"));
    assert_eq!(bench.step("b", "{}", &["action", "valid_next_actions"]), "\"b\" []");
}

#[test]
fn refusals_are_errors_by_one_rule() {
    let mut bench = Bench::new(
        "entry: a\nactions:\n  a: {inputs: {x: integer}, fail: [{when: x == 1, message: one}]}\n  b: {}\ntransitions: [{from: a, to: b}]\n",
    );
    for (action, inputs, error, is_error) in [
        ("nowhere", "{}", "unknown_action", false),
        ("b", "{}", "invalid_transition", false),
        ("a", "{}", "validation_failed", false),
        ("a", "{\"x\":1}", "action_error", true),
    ] {
        let args = format!("{{\"action\":\"{action}\",\"inputs\":{inputs}}}");
        let got = bench.host.call("step", &args, &mut bench.world).unwrap();
        assert_eq!(got.is_error, is_error, "{error}");
        assert!(got.value.contains(&format!("\"error\":\"{error}\"")), "{}", got.value);
    }
}

#[test]
fn a_number_that_is_no_json_never_reaches_the_state() {
    let mut bench =
        Bench::new("entry: a\nstate: {n: 1e308}\nactions: {a: {inputs: {by: number}, set: {n: '{{ n * by }}'}}}\n");
    let got = bench.step("a", "{\"by\":10.0}", &["error", "error_type"]);
    assert_eq!(got, "\"action_error\" \"ExpressionError\"");
    assert_eq!(bench.view("state"), "{\"n\":1e+308}");
}

#[test]
fn a_session_that_nobody_was_given_is_refused() {
    let mut bench = Bench::new("entry: a\nactions: {a: {}}\n");
    for args in ["\"action\":\"a\"", "\"action\":\"a\",\"inputs\":{}"] {
        let got = bench.call("step", &format!("{{{args},\"session\":\"ses_of_mine\"}}"));
        assert_eq!(got.get("error").and_then(Value::as_str), Some("unknown_session"));
    }
    for (tool, args) in [("reset_session", ""), ("fork_at", "\"seq\":0,"), ("read_resource", "\"uri\":\"state\",")] {
        let got = bench.call(tool, &format!("{{{args}\"session\":\"ses_of_mine\"}}"));
        assert_eq!(got.get("error").and_then(Value::as_str), Some("unknown_session"), "{tool}");
    }
    assert!(bench.host.sessions.is_empty(), "none was made");
}

#[test]
fn what_was_before_a_reset_stays_in_the_history() {
    let mut bench = Bench::new("entry: a\nactions: {a: {}, b: {}}\ntransitions: [{from: a, to: b}]\n");
    bench.step("a", "{}", &[]);
    bench.step("a", "{}", &[]);
    bench.call("reset_session", "{}");
    bench.step("a", "{}", &[]);
    bench.step("b", "{}", &[]);
    let history = json::read(&bench.view("history")).unwrap();
    let told =
        |one: &Value| format!("{}:{}", json::text(one.get("seq").unwrap()), json::text(one.get("action").unwrap()));
    let all: Vec<String> = history.as_list().unwrap().iter().map(told).collect();
    assert_eq!(all.join(" "), "0:\"a\" 1:\"a\" 2:\"reset_session\" 3:\"a\" 4:\"b\"", "numbers never repeat");
}

#[test]
fn an_end_is_told_from_being_stuck() {
    let text = "entry: a\nactions: {a: {inputs: {n: integer}, set: {n: '{{ n }}'}}, b: {}}\ntransitions: [{from: a, to: b, when: n > 0}]\n";
    let mut bench = Bench::new(text);
    let stuck = bench.step("a", "{\"n\":0}", &["next_hint"]);
    assert!(stuck.contains("stuck"), "{stuck}");
    bench.call("reset_session", "{}");
    bench.step("a", "{\"n\":1}", &[]);
    let end = bench.step("b", "{}", &["next_hint"]);
    assert!(end.contains("terminal") && !end.contains("stuck"), "{end}");
}

#[test]
fn the_instructions_say_rightly_what_a_refusal_is() {
    let bench = Bench::new("entry: a\nactions: {a: {}}\n");
    let told = bench.host.definitions.first().unwrap().instructions.clone().unwrap();
    assert!(
        told.contains("An answer with `error` is a refusal") && told.contains("An answer without `error`"),
        "{told}"
    );
}

#[test]
fn a_predicate_of_a_diagram_is_a_choice_until_there_is_data_for_it() {
    let text = "stateDiagram-v2\n[*] --> A\nA --> B : score > 5\nA --> C : score <= 5\n";
    let mut bench = Bench::of(&[document("d.mmd", text)]);
    assert_eq!(bench.step("A", "{}", &["valid_next_actions"]), "[\"B\",\"C\"]");
    assert_eq!(bench.step("score > 5", "{}", &["action"]), "\"B\"");
}
