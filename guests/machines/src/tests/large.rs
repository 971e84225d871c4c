//! Machines of thousands of states: what a definition takes, and that nothing of them is lost in it.

use std::fmt::Write as _;

use wfhost_guest::model::Bundle;

use super::*;

/// A ring, each state with five ways out: two of them guarded, one by a guard that no other has.
fn ring(states: usize) -> String {
    let mut text = format!("machine: ring{states}\nentry: s0\nstate: {{ n: 0, items: [] }}\nactions:\n");
    for at in 0..states {
        let about = format!("description: \"State {at}, with as many words as states have.\"");
        let _ = writeln!(text, "  s{at}: {{ {about}, set: {{ n: \"{{{{ n + 1 }}}}\" }} }}");
    }
    text.push_str("transitions:\n");
    for at in 0..states {
        let to = |step: usize| (at + step) % states;
        let _ = writeln!(text, "  - {{ from: s{at}, to: s{} }}", to(1));
        for step in [2, 3] {
            let _ = writeln!(text, "  - {{ from: s{at}, to: s{}, when: \"true\" }}", to(step));
        }
        let _ = writeln!(text, "  - {{ from: s{at}, to: s{}, when: \"n % 7 == 3 and items | length == 0\" }}", to(5));
        let _ = writeln!(text, "  - {{ from: s{at}, to: s{}, when: n > {at} }}", to(7));
    }
    text
}

fn code(text: &str) -> Vec<u8> {
    let bundle = Bundle { main: document("m.yaml", text), companions: Vec::new() };
    let compiled = <Machines as wfhost_guest::Dialect>::compile(&bundle);
    compiled.definitions.into_iter().next().unwrap().code
}

#[test]
fn a_definition_takes_few_bytes_and_always_the_same() {
    let text = ring(2_000);
    let first = code(&text);
    let each = first.len() / 10_000;
    assert!(each < 12, "{each} bytes a transition");
    assert!(first == code(&text));
}

#[test]
fn nothing_of_a_large_machine_is_lost() {
    let mut bench = Bench::new(&ring(2_000));
    let show = ["state", "valid_next_actions"];
    assert_eq!(bench.step("s0", "{}", &show), r#"{"n":1,"items":[]} ["s1","s2","s3","s7"]"#);
    assert_eq!(bench.step("s7", "{}", &show), r#"{"n":2,"items":[]} ["s8","s9","s10"]"#);
    assert_eq!(bench.step("s10", "{}", &show), r#"{"n":3,"items":[]} ["s11","s12","s13","s15"]"#);
    for at in [0, 399, 1_234, 1_999] {
        let about = format!("s{at}: {{ description: \\\"State {at}, with as many words as states have.\\\", ");
        let want = format!("{{\"action\":\"s{at}\",\"source\":\"{about}set: {{ n: \\\"{{{{ n + 1 }}}}\\\" }} }}\"}}");
        assert_eq!(bench.view(&format!("source/s{at}")), want);
    }
    let graph = json::read(&bench.view("graph")).unwrap();
    let [actions, edges] = ["actions", "transitions"].map(|key| graph.get(key).and_then(Value::as_list).unwrap());
    assert_eq!((actions.len(), edges.len()), (2_000, 10_000));
    for (at, action) in actions.iter().enumerate() {
        let want = format!("State {at}, with as many words as states have.");
        assert_eq!(action.get("description").and_then(Value::as_str), Some(want.as_str()));
    }
    assert_eq!(json::text(&edges[9_995]), r#"{"from":"s1999","to":"s0","condition":null}"#);
    assert_eq!(json::text(&edges[9_999]), r#"{"from":"s1999","to":"s6","condition":"n > 1999"}"#);
}

#[test]
fn transitions_keep_the_order_of_the_document() {
    let text = "entry: a\nactions: {a: {}, b: {}, c: {}}\ntransitions:\n  - {from: c, to: a, label: back}\n  \
                - {from: [a, b], to: [b, c], when: true}\n  - {from: b, to: b}\n  - {from: '*', to: a, when: true, label: home}\n  \
                - {from: c, to: b, when: true}\n";
    let mut bench = Bench::new(text);
    let graph = bench.view("graph/mermaid");
    let arrows: Vec<&str> = graph.lines().skip(2).map(str::trim).collect();
    let want = "c --> a : back, a --> b : true, a --> c : true, b --> b : true, b --> c : true, b --> b, a --> a : home, \
                b --> a : home, c --> a : home, c --> b : true";
    assert_eq!(arrows.join(", "), want);
    assert_eq!(bench.step("a", "{}", &["valid_next_actions"]), r#"["b","c","a"]"#);
    assert_eq!(bench.step("c", "{}", &["valid_next_actions"]), r#"["a","b"]"#);
}
