//! State diagrams: what each part of the grammar means, or the line on which it means nothing.

use super::*;

fn refused(text: &str) -> Vec<String> {
    let told = Host::<Machines>::default().load(&[document("d.mmd", text)]);
    let errors = told.into_iter().flat_map(|(_, all)| all).filter(|one| one.severity == Severity::Error);
    errors.map(|one| format!("{}: {}", one.span.map_or(0, |span| span.start.line), one.message)).collect()
}

fn findings_of(text: &str) -> Vec<String> {
    let told = Host::<Machines>::default().load(&[document("d.mmd", text)]);
    told.into_iter().flat_map(|(_, all)| all).map(|one| one.message).collect()
}

fn diagram(text: &str) -> Bench {
    Bench::of(&[document("d.mmd", text)])
}

#[test]
fn branches_can_be_taken_by_name_and_by_label() {
    let text = "stateDiagram-v2\n  [*] --> Triage\n  Triage --> Fix : urgent\n  Triage --> Queue : later\n  Triage --> Drop\n  Fix --> [*]\n  Queue --> Triage\n";
    let mut bench = diagram(text);
    assert_eq!(bench.step("Triage", "{}", &["valid_next_actions"]), "[\"Fix\",\"Queue\",\"Drop\"]");
    assert_eq!(
        bench.step("later", "{}", &["action", "state"]),
        "\"Queue\" {\"_current_state\":\"Queue\",\"_step_count\":2,\"_choice\":\"later\"}"
    );
    bench.step("Triage", "{}", &[]);
    assert_eq!(bench.step("Fix", "{}", &["valid_next_actions"]), "[\"done\"]");
    assert_eq!(bench.step("done", "{}", &["valid_next_actions"]), "[]");
}

#[test]
fn composites_are_put_in_their_place() {
    let text = "stateDiagram-v2\n  [*] --> Work\n  state Work {\n    [*] --> Draft\n    Draft --> Review\n    Review --> Draft : again\n    Review --> [*]\n  }\n  \
                Work --> Ship\n  Work --> Cancelled : stop\n  Ship --> [*]\n";
    let mut bench = diagram(text);
    assert_eq!(bench.step("Draft", "{}", &["valid_next_actions"]), "[\"Review\",\"Cancelled\"]");
    assert_eq!(bench.step("Review", "{}", &["valid_next_actions"]), "[\"Draft\",\"Ship\",\"Cancelled\"]");
}

#[test]
fn choices_and_lone_joins_are_passed_through() {
    let text = "stateDiagram\nstate c <<choice>>\nstate j [[join]]\n[*] --> A\nA --> c\nc --> B : yes\nc --> C : no\nB --> j\nC --> j\nj --> D\n";
    let mut bench = diagram(text);
    assert_eq!(bench.step("A", "{}", &["valid_next_actions"]), "[\"B\",\"C\"]");
    assert_eq!(bench.step("yes", "{}", &["action", "valid_next_actions"]), "\"B\" [\"D\"]");
}

#[test]
fn the_ways_of_a_fork_are_gone_in_any_order() {
    let text = "stateDiagram-v2\nstate f <<fork>>\nstate j <<join>>\n[*] --> f\nf --> A\nf --> B\nA --> A2 : on\nA --> A3\nA2 --> j\nA3 --> j\nB --> j\nj --> D\nD --> [*]\nD --> f : again\n";
    let next = &["valid_next_actions"];
    let mut bench = diagram(text);
    for _ in 0..2 {
        assert_eq!(bench.step("f", "{}", next), "[\"A\",\"B\"]");
        assert_eq!(bench.step("B", "{}", next), "[\"A\"]", "the other side has not begun yet");
        assert_eq!(bench.step("D", "{}", &["error"]), "\"invalid_transition\"");
        assert_eq!(bench.step("A", "{}", next), "[\"A2\",\"A3\"]", "the side that has ended waits");
        assert_eq!(bench.step("A3", "{}", next), "[\"D\"]");
        assert_eq!(bench.step("D", "{}", next), "[\"done\",\"f\"]");
    }
    bench.step("f", "{}", &[]);
    assert_eq!(bench.step("A", "{}", next), "[\"A2\",\"A3\",\"B\"]");
    assert_eq!(bench.step("on", "{}", &["action", "valid_next_actions"]), "\"A2\" [\"B\"]");
    assert_eq!(bench.step("B", "{}", next), "[\"D\"]");
    assert!(findings_of(text).is_empty(), "{:?}", findings_of(text));
}

#[test]
fn regions_stand_side_by_side_and_end_together() {
    let text = "stateDiagram-v2\n[*] --> X\nstate X {\n[*] --> A\nA --> A2\nA2 --> [*]\n--\n[*] --> B\nB --> B : once more\nB --> [*]\n--\n}\nX --> End\nX --> Off : stop\nA2 --> Odd : fault\nEnd --> [*]\n";
    let next = &["valid_next_actions"];
    let mut bench = diagram(text);
    assert_eq!(bench.step("X", "{}", next), "[\"Off\",\"A\",\"B\"]");
    assert_eq!(bench.step("B", "{}", next), "[\"B\",\"Off\",\"A\"]");
    assert_eq!(bench.step("B", "{}", next), "[\"B\",\"Off\",\"A\"]");
    assert_eq!(bench.step("A", "{}", next), "[\"A2\",\"B\",\"Off\"]");
    assert_eq!(bench.step("A2", "{}", next), "[\"B\",\"End\",\"Off\",\"Odd\"]");
    assert_eq!(
        bench.step("B", "{}", next),
        "[\"B\",\"End\",\"Off\",\"Odd\"]",
        "what is open of a side is open from any"
    );
    assert_eq!(bench.step("End", "{}", next), "[\"done\"]");
    // What nothing follows is at its end when all of its sides are.
    let mut bench =
        diagram("stateDiagram-v2\n[*] --> X\nstate X {\n[*] --> A\nA --> [*]\n--\n[*] --> B\nB --> [*]\n}\n");
    bench.step("X", "{}", &[]);
    assert_eq!(bench.step("B", "{}", next), "[\"A\"]");
    assert_eq!(bench.step("A", "{}", next), "[\"done\"]");
}

#[test]
fn words_notes_and_the_picture() {
    let text = "---\ntitle: Orders\n---\n%% a comment\nstateDiagram-v2\n  direction LR\n  accTitle: t\n  accDescr: how orders go\n  classDef x fill:#fff\n  class A x\n  state \"First step\" as A\n  \
                A : more words\n  note right of A : mind this\n  note left of B\n    several\n    lines\n  end note\n  [*] --> A:::x %% here\n  A --> B;\n  scale 350 width\n  hide empty description\n  \
                style A fill:#f9f\n  click A href \"https://example.com\"\n";
    let bench = diagram(text);
    let definition = bench.host.definitions.first().unwrap();
    assert_eq!(definition.about.description, "Orders. how orders go");
    let mut bench = bench;
    let graph = bench.view("graph");
    assert!(
        graph.contains("First step\\n\\nmore words\\n\\nmind this") && graph.contains("several\\nlines"),
        "{graph}"
    );
}

#[test]
fn what_has_no_meaning_is_refused_by_line() {
    let check = |text: &str, line: u32, part: &str| {
        let told = refused(text);
        assert!(told.iter().any(|one| one.starts_with(&format!("{line}: ")) && one.contains(part)), "{text}: {told:?}");
    };
    check("stateDiagram-v2\n[*] --> A\nA -> B\n", 3, "cannot be read");
    let fork =
        |more: &str| format!("stateDiagram-v2\n[*] --> f\nstate f <<fork>>\nstate j <<join>>\n{more}\nj --> Z\n");
    check(&fork("f --> B\nf --> C"), 3, "come together");
    check(&fork("f --> B\nB --> j"), 3, "come together");
    check(&fork("f --> B\nf --> j\nB --> j"), 3, "no state before the join");
    check(&fork("f --> B\nf --> C\nB --> j\nC --> j\nC --> [*]"), 9, "before the join");
    check(&fork("f --> B\nf --> C\nB --> D\nC --> D\nD --> j"), 7, "two sides");
    check(&fork("f --> B\nf --> C\nB --> j\nC --> j\nZ --> C"), 9, "into the middle");
    check(
        &fork(
            "f --> g\nf --> C\nstate g <<fork>>\nstate k <<join>>\ng --> D\ng --> E\nD --> k\nE --> k\nk --> j\nC --> j",
        ),
        7,
        "inside",
    );
    check("stateDiagram-v2\n[*] --> A\n--\n[*] --> B\n", 3, "stands in none");
    check("stateDiagram-v2\n[*] --> X\nstate X {\n[*] --> A\n--\nB --> C\n}\n", 3, "region 2");
    check("stateDiagram-v2\n[*] --> X\nX --> A\nstate X {\n[*] --> A\n--\n[*] --> B\n}\n", 4, "stands outside");
    check("stateDiagram-v2\n[*] --> A\n[*] --> B\n", 3, "second beginning");
    check("stateDiagram-v2\nA --> B\n", 1, "no beginning");
    check("stateDiagram-v2\n[*] --> X\nstate X {\nA --> B\n}\n", 3, "0 beginnings");
    check("stateDiagram-v2\n[*] --> X\nstate X {\n[*] --> A\n", 3, "never closed");
    check("stateDiagram-v2\n[*] --> A\n}\n", 3, "closes nothing");
    check("stateDiagram-v2\n[*] --> A\nnote right of A\nwords\n", 3, "never ended");
    check("stateDiagram-v2\n[*] --> A\nstate c <<choice>>\nA --> c\nc --> c\n", 5, "leads only to itself");
    check("stateDiagram-v2\n[*] --> A\nA --> B C\n", 3, "no name");
}

#[test]
fn a_file_beside_the_diagram_gives_inputs_and_guards() {
    let main = document("d.mmd", "stateDiagram-v2\n[*] --> A\nA --> B : n > 2\nA --> C : else\n");
    let beside = document(
        "d.mmd.yaml",
        "machine: orders\nstate: {n: 0}\nactions:\n  A: {inputs: {n: integer}, set: {n: '{{ n }}'}}\ntransitions: [{from: A, to: C, when: n <= 2}]\n",
    );
    let companions = <Machines as wfhost_guest::Dialect>::recognise(&main).unwrap();
    assert_eq!(companions, ["d.mmd.yaml"]);
    let compiled =
        <Machines as wfhost_guest::Dialect>::compile(&wfhost_guest::model::Bundle { main, companions: vec![beside] });
    let errors: Vec<_> = compiled.diagnostics.iter().filter(|one| one.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut host = Host::<Machines>::default();
    host.definitions = compiled.definitions;
    let mut bench = Bench { host, world: Script::default() };
    assert_eq!(bench.step("A", "{\"n\":5}", &["valid_next_actions"]), "[\"B\"]");
    bench.call("reset_session", "{}");
    assert_eq!(bench.step("A", "{\"n\":1}", &["valid_next_actions"]), "[\"C\"]");
    bench.call("reset_session", "{}");
    assert_eq!(bench.step("A", "{\"n\":\"x\"}", &["error"]), "\"validation_failed\"");
}

#[test]
fn nothing_of_a_damaged_diagram_panics() {
    let text = "stateDiagram-v2\n[*] --> X\nstate X {\n[*] --> A\nA --> [*] : é\n}\nstate c <<choice>>\nX --> c\nc --> Y : a\nnote right of Y\nw\nend note\n";
    for (at, _) in text.char_indices() {
        refused(&text[..at]);
        refused(&format!("{}{}", &text[..at], text[at..].chars().skip(2).collect::<String>()));
    }
}
