//! A machine of each kind that the peer's examples are of, written as a document and walked to its ends. Line by line: an action
//! with its inputs and what may come next, a refusal before a bar; `result` and `state` of the last step.

use super::*;

macro_rules! twin {
    ($name:ident) => {
        include_str!(concat!("twins/", stringify!($name), ".yaml"))
    };
}

/// Walks a machine that is without any doubt.
fn walk(text: &str, world: Script, lines: &str) -> Bench {
    let doubts: Vec<String> = findings(text).into_iter().filter(|one| !one.starts_with('i')).collect();
    assert!(doubts.is_empty(), "{doubts:?}");
    let mut bench = Bench { world, ..Bench::new(text) };
    go(&mut bench, lines);
    bench
}

fn go(bench: &mut Bench, lines: &str) {
    let mut last = Value::Null;
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let Some((step, want)) = line.split_once(" => ") else {
            let (part, want) = line.split_once(' ').unwrap();
            assert_eq!(last.get(part).map(json::text), Some(json::text(&json::read(want).unwrap())), "{line}");
            continue;
        };
        let (action, inputs) = step.split_once(' ').unwrap_or((step, "{}"));
        last = bench.call("step", &format!("{{\"action\":\"{action}\",\"inputs\":{inputs}}}"));
        let next = last.get("valid_next_actions").and_then(Value::as_list).unwrap();
        let next = next.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",");
        let error = last.get("error").and_then(Value::as_str).map(|error| format!("{error} | ")).unwrap_or_default();
        assert_eq!(
            format!("{error}{}", if next.is_empty() { "-" } else { &next }),
            want,
            "{line}: {}",
            json::text(&last)
        );
    }
}

/// Both ways to an end of one machine.
fn twice(text: &str, first: &str, second: &str) {
    let mut bench = walk(text, Script::default(), first);
    bench.call("reset_session", "{}");
    go(&mut bench, second);
}

#[test]
fn orders_with_a_loop_and_two_ends() {
    twice(
        twin!(coffee_order),
        r#"
        pay {"amount": 9} => invalid_transition | order
        order {"drink": "beer"} => validation_failed | order
        order {"drink": "coffee"} => add,pay,cancel
        add {"name": "salt"} => action_error | add,pay,cancel
        add {"name": "milk"} => add,pay,cancel
        pay {"amount": 3} => action_error | add,pay,cancel
        pay {"amount": "4"} => validation_failed | add,pay,cancel
        order {"drink": "tea"} => invalid_transition | add,pay,cancel
        pay {"amount": 4} => hand_over
        hand_over => -
        state {"stage": "done", "drink": "coffee", "extras": ["milk"], "total": 3.5}
        hand_over => invalid_transition | -
        drink_it => unknown_action | -
        "#,
        r#"
        order {"drink": "tea"} => add,pay,cancel
        cancel => -
        state {"stage": "cancelled", "drink": "tea", "extras": [], "total": 2}
        "#,
    );
}

#[test]
fn triage_by_what_was_said_and_by_what_was_judged() {
    twice(
        twin!(triage),
        r#"
        intake {"text": ""} => validation_failed | intake
        intake {"text": " The site is DOWN "} => page_somebody
        classify {"severity": "low"} => invalid_transition | page_somebody
        page_somebody => -
        state {"severity": null, "urgent": true, "log": ["intake", "paged"], "text": "the site is down"}
        "#,
        r#"
        intake {"text": "a typo"} => classify
        classify {"severity": "middling"} => validation_failed | classify
        classify {"severity": "low"} => queue
        queue => -
        state {"severity": "low", "urgent": false, "log": ["intake", "classified low", "queued"], "text": "a typo"}
        "#,
    );
}

#[test]
fn an_adventure_over_tables() {
    walk(
        twin!(adventure),
        Script::default(),
        r#"
        wake => go
        go {"way": "north"} => action_error | go
        go {"way": "west"} => action_error | go
        go {"way": "east"} => go,take
        take => go
        result "You have key."
        go {"way": "west"} => go
        go {"way": "north"} => go,take
        take => win
        go {"way": "south"} => invalid_transition | win
        win => -
        result {"bag": ["key", "crown"]}
        "#,
    );
}

#[test]
fn a_character_made_of_points() {
    walk(
        twin!(chargen),
        Script::default(),
        r#"
        roll => spend
        spend {"ability": "might", "points": 11} => action_error | spend
        spend {"ability": "might", "points": 0} => validation_failed | spend
        spend {"ability": "might", "points": 4} => spend
        spend {"ability": "wit", "points": 6} => name
        name {"called": " ann lee "} => sheet
        sheet => -
        result "Ann Lee: might 12, wit 14"
        "#,
    );
}

#[test]
fn an_approval_that_says_what_it_wants() {
    let bench = &mut walk(
        twin!(deploy_approval),
        Script::default(),
        r#"
        request {"version": " v1.2 "} => approve
        approve {"by": " ", "repeat": "1.2"} => validation_failed | approve
        approve {"by": "ann", "repeat": "1.3"} => validation_failed | approve
        "#,
    );
    let got = bench.step("approve", "{\"by\":\"ann\",\"repeat\":\"1.3\"}", &["reason", "details"]);
    assert_eq!(got, "\"repeat the version 1.2\" {\"param\":\"repeat\",\"got\":\"1.3\"}");
    go(
        bench,
        r#"
        approve {"by": "ann", "repeat": "1.2"} => deploy
        deploy => -
        result {"text": "1.2, approved by ann"}
        "#,
    );
}

#[test]
fn a_diagnosis_that_gives_up_after_two_attempts() {
    twice(
        twin!(diagnostic_fsm),
        r#"
        observe {"healthy": false} => suspect
        suspect {"cause": "disk"} => remedy
        remedy => observe
        observe {"healthy": true} => report
        report => -
        result {"fixed": true, "attempts": 1}
        "#,
        r#"
        observe {"healthy": false} => suspect
        suspect {"cause": "disk"} => remedy
        remedy => observe
        observe {"healthy": false} => suspect
        suspect {"cause": "net"} => remedy
        remedy => observe
        observe {"healthy": false} => escalate
        suspect {"cause": "sun"} => invalid_transition | escalate
        escalate => -
        result {"fixed": false, "attempts": 2}
        "#,
    );
}

#[test]
fn several_machines_of_one_document() {
    let mut bench = Bench::new(twin!(multi_graph));
    let got = bench.call("step", r#"{"machine": "orders", "action": "open"}"#);
    assert_eq!(json::text(got.get("valid_next_actions").unwrap()), "[\"close\"]");
    let got = bench.call("step", r#"{"machine": "returns", "action": "receive", "inputs": {"item": "cup"}}"#);
    assert_eq!(json::text(got.get("valid_next_actions").unwrap()), "[\"refund\"]");
    let got = bench.call("step", r#"{"machine": "orders", "action": "close"}"#);
    assert_eq!(json::text(got.get("state").unwrap()), "{\"open\":false}");
    let got = bench.host.call("step", r#"{"action": "refund"}"#, &mut bench.world).unwrap();
    assert!(got.is_error && got.value.contains("orders, returns"), "{}", got.value);
    assert!(bench.call("read_resource", r#"{"uri":"apps","machine":"orders"}"#).as_str().unwrap().contains("Returns."));
}

#[test]
fn a_state_with_a_schema() {
    let world = Script::default;
    walk(
        twin!(typed_state_loan),
        world(),
        r#"
        apply {"amount": 0, "income": 10} => action_error | apply
        apply {"amount": 30, "income": 10} => decide,peek
        decide => -
        state {"amount": 30, "income": 10, "decision": "yes"}
        "#,
    );
    // What an action does not declare to read is not there for it.
    walk(
        twin!(typed_state_loan),
        world(),
        r#"
        apply {"amount": 30, "income": 10} => decide,peek
        peek => -
        state {"amount": 30, "income": 10, "decision": "no"}
        "#,
    );
}

#[test]
fn inputs_that_are_objects_and_lists() {
    let bench = &mut walk(
        twin!(pydantic_actions),
        Script::default(),
        r#"
        book {"guest": {"name": "", "age": -1}, "nights": []} => validation_failed | book
        book {"guest": "ann", "nights": ["2026-11-30"]} => validation_failed | book
        book {"nights": ["2026-11-30"]} => validation_failed | book
        "#,
    );
    let got = bench.step("book", r#"{"guest": {"name": "", "age": -1}, "nights": ["soon"]}"#, &["reason"]);
    assert!(["guest.name", "guest.age", "nights.0"].iter().all(|place| got.contains(place)), "every place: {got}");
    go(
        bench,
        r#"
        book {"guest": {"name": "ann"}, "nights": ["2026-11-30", "2026-12-01"]} => confirm
        state {"booking": {"who": "ann", "age": null, "nights": 2}}
        confirm => -
        "#,
    );
}

#[test]
fn what_a_class_is_made_with_is_a_table() {
    walk(
        twin!(class_action),
        Script::default(),
        "
        stop => invalid_transition | count
        count => count
        count => stop
        stop => -
        result 6
        ",
    );
}

#[test]
fn another_way_from_an_earlier_step() {
    let bench = &mut walk(
        twin!(state_forking),
        Script::default(),
        r#"
        draft {"text": "abcdef"} => shorten,lengthen
        shorten => publish
        publish => -
        result "abc"
        "#,
    );
    let back = bench.call("fork_at", r#"{"sequence_id": 0}"#);
    assert_eq!(json::text(back.get("valid_next_actions").unwrap()), "[\"shorten\",\"lengthen\"]");
    go(
        bench,
        r#"
        lengthen => publish
        publish => -
        result "abcdefabcdef"
        "#,
    );
}

#[test]
fn two_flows_in_one_graph() {
    walk(
        twin!(subgraph_composition),
        Script::default(),
        r#"
        ask_question {"question": "why"} => research_find
        write_draft {"text": "because"} => invalid_transition | research_find
        research_find {"source": "a"} => research_find,research_done
        research_find {"source": "b"} => research_done
        research_done => write_draft
        write_draft {"text": "because"} => write_cite
        write_cite => -
        state {"question": "why", "sources": ["a", "b"], "answer": "because (a, b)"}
        "#,
    );
}

#[test]
fn what_a_model_is_told_is_a_template() {
    walk(
        twin!(doc_coauthoring),
        Script::default(),
        r#"
        outline {"title": "Tea", "sections": []} => validation_failed | outline
        outline {"title": "Tea", "sections": ["pot", "cup"]} => write
        result "Write about Tea. Sections:\n1. pot\n2. cup\n\n"
        write {"section": "spoon", "text": "x"} => validation_failed | write
        write {"section": "cup", "text": "C"} => write
        result "Next: pot"
        write {"section": "cup", "text": "D"} => validation_failed | write
        write {"section": "pot", "text": "P"} => finish
        result "All is there."
        finish => -
        result "pot: P\ncup: C\n"
        "#,
    );
}

#[test]
fn files_behind_a_server() {
    let world = Script {
        tools: vec![("files.list", vec!["a.md"].into()), ("files.read", "to be".into())],
        ..Script::default()
    };
    let bench = walk(
        twin!(upstream_filesystem),
        world,
        r#"
        look => read
        read {"name": "b.md"} => validation_failed | read
        read {"name": "a.md"} => read,quote
        quote => -
        result "to"
        "#,
    );
    assert_eq!(bench.world.asked, ["files.list {\"path\":\"/docs\"}", "files.read {\"path\":\"/docs/a.md\"}"]);
}

#[test]
fn sources_of_which_each_may_fail() {
    let rows = Value::List(vec![Value::from([("id", 1i64.into())])]);
    let some = vec![("ops.alerts", rows.clone()), ("ops.logs", "all quiet".into()), ("ops.traces", "none".into())];
    let all =
        vec![("ops.alerts", rows), ("ops.logs", "all quiet".into()), ("ops.traces", Value::from([("t", 1i64.into())]))];
    for (tools, next, statuses) in
        [(some, "conclude,give_up", r#"["ok", "ok", "malformed"]"#), (all, "conclude", r#"["ok", "ok", "ok"]"#)]
    {
        let complete = next == "conclude";
        walk(
            twin!(incident),
            Script { tools, ..Script::default() },
            &format!(
                "gather => {next}\nstate {{\"sources\": {statuses}, \"complete\": {complete}}}\nconclude {{\"cause\": \"rain\"}} => -"
            ),
        );
    }
}

#[test]
fn a_person_is_asked() {
    let says = |answer| Script { person: vec![answer], ..Script::default() };
    for (answer, next) in [(Ok("yes".into()), "act"), (Ok("no".into()), "drop"), (Err(Mishap::Declined), "drop")] {
        let lines = format!("propose {{\"what\": \"it\"}} => confirm\nconfirm => {next}\n{next} => -");
        let bench = walk(twin!(elicit_confirm), says(answer), &lines);
        assert_eq!(bench.world.asked, ["Do it?"]);
    }
}

#[test]
fn the_callers_model_is_asked() {
    walk(
        twin!(caller_sample),
        Script::default(),
        r#"
        topic {"topic": "rain"} => line
        line => line
        line => end
        end => -
        result "a model's words\na model's words"
        "#,
    );
}

#[test]
fn parts_are_told_as_they_come() {
    let bench = &mut walk(twin!(streaming_narrate), Script::default(), "");
    let got = bench.step("tell", r#"{"parts": ["once", "upon", "a time"]}"#, &["streamed", "chunks", "result"]);
    assert_eq!(got, "true 3 \"once upon a time\"");
    go(bench, "end => -");
}

#[test]
fn a_machine_inside_a_step() {
    twice(
        twin!(subgraphs),
        r#"
        order {"items": ["a", "b"]} => check
        check => ship
        ship => -
        state {"items": ["a", "b"], "checked": 2}
        "#,
        r#"
        order {"items": []} => check
        check => action_error | check
        "#,
    );
    walk(
        twin!(subgraphs),
        Script::default(),
        "order {\"items\": [\"a\", \"z\"]} => check\ncheck => refuse\nrefuse => -",
    );
}

#[test]
fn a_machine_for_each_of_a_list() {
    let world = Script { tools: vec![("web.search", "hit".into())], ..Script::default() };
    let bench = walk(
        twin!(parallel_research),
        world,
        r#"
        ask {"topics": []} => validation_failed | ask
        ask {"topics": ["sun", "moon"]} => research
        research => conclude
        state {"topics": ["sun", "moon"], "findings": ["sun: hit", "moon: hit"]}
        conclude => -
        result "sun: hit; moon: hit"
        "#,
    );
    assert_eq!(bench.world.asked, ["web.search {\"q\":\"sun\"}", "web.search {\"q\":\"moon\"}"]);
}

#[test]
fn a_plan_whose_steps_need_one_another() {
    walk(
        twin!(rewoo),
        Script::default(),
        r#"
        plan {"steps": [{"name": "a"}, {"name": "b", "needs": ["a"]}]} => report
        report {"name": "c", "found": 1} => validation_failed | report
        report {"name": "b", "found": 1} => action_error | report
        report {"name": "a", "found": {"x": [1]}} => report
        report {"name": "a", "found": 2} => validation_failed | report
        report {"name": "b", "found": null} => solve
        solve {"answer": "42"} => -
        "#,
    );
}

#[test]
fn every_twin_is_walked() {
    let here = include_str!("twins.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/twins")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let used = format!("twin!({})", name.trim_end_matches(".yaml"));
        assert!(here.contains(&used), "{name} is walked by no test");
    }
}
