//! What is wrong with a document is told with its place; what is doubtful, too.

use super::*;

const HEAD: &str = "entry: a\nstate: {n: 0}\nactions:\n  a: {set: {n: 1}}\n  b: {}\n";

fn told(more: &str) -> String {
    findings(&format!("{HEAD}{more}")).join(", ")
}

#[test]
fn transitions_are_checked() {
    assert_eq!(told("transitions: [{from: a, to: b}]"), "");
    assert_eq!(told("transitions: [{from: a, to: c}]"), "unknown-action 6:29");
    assert_eq!(told("transitions: [{from: z, to: b}]"), "unknown-action 6:22");
    assert_eq!(told("transitions:\n  - {from: a, to: b}\n  - {from: a, to: a}"), "second-default 8:5");
    assert_eq!(told("transitions:\n  - {from: a, to: b}\n  - {from: a, to: a, when: true}"), "");
    assert_eq!(told("transitions: [{from: '*', to: [a, b]}]"), "second-default 6:15, second-default 6:15");
    assert_eq!(told("transitions: [{from: a, to: b, when: 'n =='}]"), "bad-expression 6:38");
    assert_eq!(told("transitions: [{from: a, to: b, when: '{{ n }}'}]"), "braces-in-guard 6:38");
    assert_eq!(told("transitions: [{from: a, to: b, when: m > 1}]"), "unknown-name 6:38");
    assert_eq!(told("transitions: [{from: a, to: b, when: n | nofilter}]"), "unknown-filter 6:38");
    assert_eq!(told("transitions: [{from: a, to: b, when: n is notest}]"), "unknown-test 6:38");
    assert_eq!(told("transitions: [{from: a, to: b, when: n > 1}]"), "imay-be-stuck 4:3");
    assert_eq!(told("transitions: [{from: a, to: b, when: false}]"), "?stuck 4:3, ?unreachable-action 5:3");
    assert_eq!(told(""), "?unreachable-action 5:3");
    assert_eq!(told("transitions: [{from: a, to: b, whne: x}]"), "unknown-field 6:32");
}

#[test]
fn the_top_is_checked() {
    let check = |text: &str, want: &str| assert_eq!(findings(text).join(", "), want, "{text}");
    check("machine: m\nentry: a\nactions: {}", "no-actions 3:10");
    check("machine: m\nactions: {a: {}}", "no-entry 1:1");
    check("machine: m\nactions: nothing\nentry: a", "wrong-type 2:10");
    check("entry: x\nactions: {a: {}}", "unknown-entry 1:8");
    check(
        "entry: a\nactions: {a: {}}\nstate: {state: 1, now: 2, __x: 3}",
        "reserved-name 3:9, reserved-name 3:19, reserved-name 3:27",
    );
    check("entry: a\nactions: {a: {}}\nstates: {}", "unknown-field 3:1");
    check("entry: a\nactions: {a: {}}\nserver: {hints: [{when: 'n >', say: x}]}", "bad-expression 3:25");
    check("entry: a\nactions: {a: {}}\nserver: {hints: [{say: '{{ n }}'}]}", "unknown-name 3:24");
    check("entry: a\nactions:\n  a: {set: {x: {{ y }}}}", "unquoted-placeholder 3:17");
    for max in ["0", "-1", "many", "1.5"] {
        check(&format!("entry: a\nactions: {{a: {{}}}}\nserver: {{sessions: {{max: {max}}}}}"), "wrong-type 3:26");
    }
    check("entry: a\nactions: {a: {}}\nserver: {sessions: {max: 1, ttl: 1h}}", "");
}

#[test]
fn machines_that_run_one_another_are_checked() {
    let runs = |name: &str| format!("{{entry: a, actions: {{a: {{run: {{machine: {name}}}}}}}}}");
    let text = format!(
        "machines:\n  a: {}\n  b: {}\n  c: {}\n  d: {}\n  e: {{entry: a, actions: {{a: {{}}}}}}\n",
        runs("b"),
        runs("c"),
        runs("b"),
        runs("e")
    );
    assert_eq!(findings(&text).join(", "), "cycle 3:3, cycle 4:3", "only those that come back to themselves");
    // What a machine carries is what it runs, and no more.
    let text = "machines:\n  a: {entry: x, actions: {x: {run: {machine: c, into: got}, set: {got: '{{ got.n }}'}}}}\n  \
                b: {entry: x, actions: {x: {description: nobody runs this one}}}\n  c: {entry: x, actions: {x: {set: {n: 7}}}}\n";
    let mut bench = Bench::new(text);
    let carries = |at: usize, words: &str| String::from_utf8_lossy(&bench.host.definitions[at].code).contains(words);
    assert!(!carries(0, "nobody runs this one") && carries(1, "nobody runs this one"));
    let got = bench.call("step", "{\"machine\":\"a\",\"action\":\"x\"}");
    assert_eq!(json::text(got.get("state").unwrap()), "{\"got\":7}");
}

#[test]
fn a_document_is_recognised_by_its_lines_as_by_its_tree() {
    let claims = |text: &str| <Machines as wfhost_guest::Dialect>::recognise(&document("m.yaml", text));
    let none: Option<Vec<String>> = Some(Vec::new());
    assert_eq!(claims("entry: a\nactions:\n  a: {}\n"), none);
    assert_eq!(claims("entry: a\nactions: # all\n\n  # one\n  a: {}\n"), none);
    assert_eq!(claims("{entry: a, actions: {a: {}}}"), none);
    assert_eq!(claims("entry: a\nactions:\n  a: {\n"), none, "a broken one says so itself");
    assert_eq!(claims("entry: a\nactions:\n  - a\n"), None);
    assert_eq!(claims("entry: a\nactions:\n  only words\n"), None);
    assert_eq!(claims("entry: a\nactions:\n  a: {}\nnodes: []\n"), None);
    assert_eq!(claims("entry: a\nactions:\n  a: {}\n\"nodes\": []\n"), None);
    assert_eq!(
        claims("entry: a\nactions:\n  a: {}\nserver: {personas: people}\n"),
        Some(vec!["people/*.md".to_owned()])
    );
}

#[test]
fn actions_are_checked() {
    let check = |action: &str, want: &str| {
        let text = format!("entry: a\nstate: {{n: 0, m: 1}}\ntables: {{t: [1]}}\nactions:\n  a: {action}\n");
        assert_eq!(findings(&text).join(", "), want, "{action}");
    };
    check("{inputs: {x: strin}}", "wrong-type 5:19");
    check("{inputs: {x: {type: strin}}}", "bad-schema 5:26");
    check("{inputs: {x: {type: string, minLenght: 1}}}", "bad-schema 5:45");
    check("{set: {n: '{{ x }}'}}", "unknown-name 5:16");
    check("{inputs: {x: any}, let: {y: '{{ x }}'}, set: {n: '{{ y + t[0] }}'}}", "");
    check("{let: {y: '{{ z }}', z: 1}}", "unknown-name 5:16");
    check("{set: {n: '{{ n + }}'}}", "bad-template 5:16");
    check("{reads: [n], set: {n: '{{ n + m }}'}}", "reads-undeclared 5:28");
    check("{reads: [n], require: [{that: m == 1}], set: {n: '{{ n }}'}}", "");
    check("{writes: [n], set: {n: 1, k: 2}}", "?undeclared-write 5:32");
    check("{writes: [k]}", "?write-never-set 5:3");
    check("{run: {machine: nowhere}}", "unknown-machine 5:3");
    check("{run: {machine: machine}}", "cycle 1:1");
    check("{call: {server: s}}", "wrong-type 5:13");
    check("{timeout: soon}", "wrong-type 5:16");
    check("{progress: 'a', unset: n, wiat: 1}", "unknown-field 5:32");
}

#[test]
fn nothing_of_a_damaged_document_panics() {
    let text = include_str!("../../samples/change-request.yaml");
    for cut in (0..text.len()).step_by(7).filter(|at| text.is_char_boundary(*at)) {
        findings(&text[..cut]);
        findings(&format!("{}{}", &text[..cut], &text[(cut + 3).min(text.len())..]));
    }
    assert_eq!(findings(text).iter().filter(|one| !one.starts_with('i')).count(), 0);
}

#[test]
fn damaged_bytes_of_a_definition_are_no_panic() {
    let bench = Bench::new(include_str!("../../samples/change-request.yaml"));
    let definition = bench.host.definitions.first().unwrap().clone();
    let session =
        wfhost_guest::model::Session { id: "s".into(), started: 0, definition_hash: String::new(), human_only: false };
    for at in 0..definition.code.len() {
        let mut code = definition.code.clone();
        code[at] ^= 0xff;
        let event = wfhost_guest::model::Event {
            input: wfhost_guest::model::Input::Open("{}".into()),
            source: Source::Host,
            at: 0,
            seed: 0,
            seq: 1,
        };
        let _ = <Machines as wfhost_guest::Dialect>::start(&code, &session, event);
        code.truncate(at);
        let at = wfhost_guest::At { code: &code, session: &session, state: "{\"last\":\"check\",\"data\":{}}" };
        let _ = <Machines as wfhost_guest::Dialect>::status(at);
    }
}
