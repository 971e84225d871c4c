//! What an action asks of others: it waits, goes on with what came, and sets all of its data or nothing.

use super::*;

#[test]
fn calls_one_after_the_other_and_side_by_side() {
    let mut bench = Bench::new(
        "entry: a\nstate: {got: null}\nactions:\n  a:\n    call:\n      - {server: s, tool: one, into: x}\n      - {server: s, tool: two, into: y}\n      \
         - {server: s, tool: three, arguments: {x: '{{ x }}'}, into: z}\n    set: {got: ['{{ x }}', '{{ y }}', '{{ z }}']}\n",
    );
    bench.world.tools =
        vec![("s.one", Value::from(1i64)), ("s.two", Value::from(2i64)), ("s.three", Value::from(3i64))];
    assert_eq!(bench.step("a", "{}", &["state"]), "{\"got\":[1,2,3]}");
    assert_eq!(bench.world.asked, ["s.one {}", "s.two {}", "s.three {\"x\":1}"]);
    let history = bench.view("history");
    assert_eq!(history.matches("\"seq\"").count(), 1, "a step is one entry, however long it waited: {history}");
}

#[test]
fn a_time_out_changes_nothing_and_never_lands_late() {
    let mut bench = Bench::new(
        "entry: a\nstate: {n: 0}\nactions:\n  a: {timeout: 1s, call: {server: s, tool: t, into: x}, set: {n: 1}}\n",
    );
    bench.world.slow = true;
    let got = bench.step("a", "{}", &["error", "timeout_seconds", "valid_next_actions"]);
    assert_eq!(got, "\"action_timeout\" 1.0 [\"a\"]");
    assert_eq!(bench.view("state"), "{\"n\":0}");
    let session = bench.host.sessions.keys().next().unwrap().clone();
    assert!(bench.host.reply(&session, "1:0", Ok("{}".to_owned()), Source::Upstream).is_err(), "nobody waits any more");
}

#[test]
fn a_step_that_waits_refuses_another_and_can_be_dropped() {
    let mut bench = Bench::new(
        "entry: a\nstate: {n: 0}\nactions:\n  a: {ask: {message: Sure?, choices: ['yes', 'no'], into: x}, set: {n: '{{ x }}'}}\n",
    );
    assert_eq!(bench.step("a", "{}", &["in_progress", "waits_for"]), "\"a\" [\"a person: Sure?\"]");
    assert_eq!(bench.step("a", "{}", &["error", "in_progress"]), "\"invalid_transition\" \"a\"");
    bench.call("reset_session", "{}");
    bench.world.person = vec![Ok("yes".into())];
    assert_eq!(bench.step("a", "{}", &["state"]), "{\"n\":\"yes\"}");
    bench.call("reset_session", "{}");
    bench.world.person = vec![Err(Mishap::Declined)];
    assert_eq!(bench.step("a", "{}", &["state"]), "{\"n\":null}", "declined is null, and no answer");
}

#[test]
fn time_and_chance_stand_still_within_a_step() {
    let mut bench = Bench::new(
        "entry: a\nstate: {}\nactions:\n  a:\n    let: {before: '{{ uuid() }}', at: '{{ now() }}'}\n    call: {server: s, tool: t, arguments: {id: '{{ before }}'}, into: x}\n    \
         set: {before: '{{ before }}', at: '{{ at }}', later: '{{ now() }}', other: '{{ uuid() }}'}\n",
    );
    bench.world.tools = vec![("s.t", Value::Null)];
    let got = bench.call("step", "{\"action\":\"a\"}");
    let of = |key: &str| got.get("state").unwrap().get(key).unwrap().as_str().unwrap().to_owned();
    assert_eq!(bench.world.asked, [format!("s.t {{\"id\":\"{}\"}}", of("before"))]);
    assert!(of("later") > of("at") && of("other") != of("before"), "{got:?}");
}

#[test]
fn sub_machines_run_side_by_side_and_fail_the_step() {
    let mut bench = Bench::new(
        "entry: a\nstate: {all: null}\nactions:\n  a:\n    inputs: {list: array}\n    run: {machine: inner, for: x in list, with: {x: '{{ x }}'}, into: got}\n    \
         set: {all: \"{{ got | map(attribute='y') | list }}\"}\nmachines:\n  inner:\n    entry: one\n    state: {x: 0, y: 0}\n    actions:\n      \
         one: {call: {server: s, tool: t, arguments: {x: '{{ x }}'}, into: z}}\n      two: {fail: [{when: x == 9, error: Nine, message: nine}], set: {y: '{{ x * 2 }}'}}\n    \
         transitions: [{from: one, to: two}]\n",
    );
    bench.world.tools = vec![("s.t", Value::Null)];
    assert_eq!(bench.step("a", "{\"list\":[1,2,3]}", &["state"]), "{\"all\":[2,4,6]}");
    assert_eq!(bench.world.asked, ["s.t {\"x\":1}", "s.t {\"x\":2}", "s.t {\"x\":3}"]);
    let runs = json::read(&bench.view("subruns")).unwrap();
    assert_eq!(runs.as_list().unwrap().len(), 3);
    let id = runs.as_list().unwrap()[0].get("id").unwrap().as_str().unwrap().to_owned();
    assert!(bench.view(&format!("subruns/{id}")).contains("\"action\":\"two\""));
    bench.call("reset_session", "{}");
    assert_eq!(bench.step("a", "{\"list\":[1,9]}", &["error_type", "error_message"]), "\"Nine\" \"nine\"");
    assert_eq!(bench.view("state"), "{\"all\":null}");
}

#[test]
fn a_sub_machine_without_an_end_is_stopped() {
    let mut bench = Bench::new(
        "entry: a\nactions: {a: {run: {machine: inner, halt: [none]}}}\nmachines:\n  inner:\n    entry: x\n    actions: {x: {}}\n    transitions: [{from: x, to: x}]\n",
    );
    assert_eq!(bench.step("a", "{}", &["error", "error_type"]), "\"action_error\" \"RunError\"");
}

#[test]
fn a_model_and_another_workflow_are_asked() {
    let mut bench = Bench::new(
        "entry: a\nstate: {}\nactions:\n  a: {ask_model: {prompt: Hello, into: said}, run: {workflow: other, with: {n: 1}, into: got}, set: {said: '{{ said }}', got: '{{ got }}'}}\n",
    );
    assert_eq!(bench.step("a", "{}", &["state"]), "{\"said\":\"a model's words\",\"got\":{\"done\":true}}");
    assert_eq!(bench.world.asked, ["workflow other {\"n\":1}"]);
}
