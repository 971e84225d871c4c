//! Personas, filled from a session, and assemblies: one file that bundles a machine with them.

use super::*;

const MACHINE: &str = "\
machine: triage
entry: ask
state: {mood: calm, deep: {list: [1, two]}, none: null, half: 0.5, yes: true}
actions:
  ask: {inputs: {who: string}, set: {who: '{{ who }}'}}
  note: {}
  close: {}
transitions: [{from: ask, to: [note], when: who}, {from: ask, to: close, when: who}, {from: note, to: close}]
";

fn desk(more: &str) -> String {
    format!("name: desk\nworkflow: triage.yaml\npersonas: [calm.md, curt.md]\n{more}")
}

fn bundle(more: &str, calm: &str) -> Vec<Document> {
    vec![
        document("desk.yaml", &desk(more)),
        document("triage.yaml", MACHINE),
        document("calm.md", calm),
        document("curt.md", "---\nname: curt\ndescription: Says little.\nvoice: dry\n---\nBe brief.\n"),
    ]
}

/// What is told of the assembly, as `file: code line`.
fn told(documents: &[Document]) -> String {
    let (main, companions) = documents.split_first().unwrap();
    let bundle = wfhost_guest::model::Bundle { main: main.clone(), companions: companions.to_vec() };
    let compiled = <Machines as wfhost_guest::Dialect>::compile(&bundle);
    let one = |finding: &wfhost_guest::model::Diagnostic| {
        let line = finding.span.map(|span| format!(" {}", span.start.line)).unwrap_or_default();
        format!("{}: {}{line}", finding.path.as_deref().unwrap_or("desk.yaml"), finding.code)
    };
    let doubts = compiled.diagnostics.iter().filter(|finding| finding.severity != Severity::Note);
    doubts.map(one).collect::<Vec<_>>().join(", ")
}

fn serve(more: &str, calm: &str) -> Bench {
    let documents = bundle(more, calm);
    let (main, companions) = documents.split_first().unwrap();
    let bundle = wfhost_guest::model::Bundle { main: main.clone(), companions: companions.to_vec() };
    let mut host = Host::<Machines>::default();
    host.definitions = <Machines as wfhost_guest::Dialect>::compile(&bundle).definitions;
    assert_eq!(host.definitions.len(), 1);
    Bench { host, world: Script::default() }
}

#[test]
fn placeholders_are_filled_from_the_session() {
    let calm = "{state.mood}|{state.deep}|{state.deep.list}|{state.none}|{state.half}|{state.yes}|{state.who}|{state.nothing.at.all}\n\
                {action.name}|{action.reachable}|{graph.total_actions}|{graph.all_actions}|{session.session_id}\n\
                {nonsense}|{ state.mood }|{state.}|{}|{{state.mood}}|{\"json\": 1}|{open";
    let mut bench = serve("", calm);
    let text = |bench: &mut Bench| bench.view("persona/calm").lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
    let before = text(&mut bench);
    assert_eq!(before[0], "calm|{\"list\":[1,\"two\"]}|[1,\"two\"]|None|0.5|True||");
    assert!(before[1].starts_with("ask|ask|3|ask, note, close|ses_"), "{}", before[1]);
    assert_eq!(before[2], "|{ state.mood }|{state.}|{}|{calm}|{\"json\": 1}|{open");
    bench.step("ask", "{\"who\":\"{state.mood}\"}", &[]);
    let after = text(&mut bench);
    assert!(after[0].ends_with("|True|{state.mood}|"), "what was filled in is not filled again: {}", after[0]);
    assert!(after[1].starts_with("ask|note, close|3|"), "{}", after[1]);
    assert!(bench.view("persona/nobody").contains("unknown resource") || bench.view("persona/nobody").is_empty());
}

#[test]
fn a_persona_says_who_it_is() {
    let mut bench = serve("default_persona: curt", "No head at all.");
    assert_eq!(
        bench.view("persona/curt"),
        "You are acting as the persona 'curt'.\nSays little.\nVoice: dry.\n\nBe brief."
    );
    assert_eq!(bench.view("persona/calm"), "You are acting as the persona 'calm'.\n\nNo head at all.");
    let list = json::read(&bench.view("personas")).unwrap();
    assert_eq!(list.get("default").and_then(Value::as_str), Some("curt"));
    assert_eq!(list.get("personas").and_then(Value::as_list).map(<[Value]>::len), Some(2));
    let definition = bench.host.definitions.first().unwrap();
    let prompts: Vec<&str> =
        definition.views.iter().filter(|view| view.prompt).map(|view| view.name.as_str()).collect();
    assert_eq!(prompts, ["persona/calm", "persona/curt"]);
    assert!(definition.instructions.as_ref().unwrap().contains("persona 'curt'"));
    // Without a word the first by name; its placeholders stand as they are.
    let bench = serve("", "---\nname: aaron\n---\nIt is {state.mood}.");
    let told = bench.host.definitions.first().unwrap().instructions.clone().unwrap();
    assert!(told.contains("persona 'aaron'") && told.contains("It is {state.mood}."), "{told}");
}

#[test]
fn an_assembly_serves_its_machine_as_it_says() {
    let more = "description: The desk.\ninstructions: Serve one guest.\ninclude_default_instructions: false\nversion: '2'\n\
                metadata: {owner: us}\nupstream: {audit: {command: audit-server}, web: 'https://example.com/mcp'}";
    assert_eq!(told(&bundle(more, "x")), "");
    let mut bench = serve(more, "x");
    let definition = bench.host.definitions.first().unwrap().clone();
    assert_eq!((definition.about.id.as_str(), definition.about.description.as_str()), ("desk", "The desk."));
    let instructions = definition.instructions.unwrap();
    assert!(instructions.starts_with("Serve one guest."), "{instructions}");
    let servers: Vec<String> = definition.servers.iter().map(|one| format!("{} {}", one.name, one.spec)).collect();
    assert_eq!(servers, ["audit {\"command\":\"audit-server\"}", "web {\"url\":\"https://example.com/mcp\"}"]);
    assert_eq!(bench.view("upstreams"), "{\"mode\":\"shared\",\"servers\":[\"audit\",\"web\"]}");
    assert_eq!(bench.step("ask", "{\"who\":\"ann\"}", &["valid_next_actions"]), "[\"note\",\"close\"]");
}

#[test]
fn what_is_wrong_with_a_bundle_is_told_where_it_stands() {
    assert_eq!(told(&bundle("instrutions: x", "x")), "desk.yaml: machine-unknown-field 4");
    assert_eq!(told(&bundle("default_persona: nobody", "x")), "desk.yaml: machine-persona");
    assert_eq!(told(&bundle("", "---\nname: curt\n---\nx")), "curt.md: machine-repeated-name");
    assert_eq!(told(&bundle("", "---\nname: [\n---\nx")), "calm.md: machine-persona");
    assert_eq!(told(&bundle("", "---\nname: x\n")), "calm.md: machine-persona");
    let mut all = bundle("", "x");
    all[1] = document("triage.yaml", &MACHINE.replace("to: close, when: who", "to: clse, when: who"));
    assert_eq!(told(&all), "triage.yaml: machine-unknown-action 8");
    all.remove(1);
    assert_eq!(told(&all), "desk.yaml: machine-no-workflow 2");
}

#[test]
fn an_assembly_of_a_diagram_and_the_file_beside_it() {
    let main = document("desk.yaml", "name: desk\nworkflow: ./flow.mmd\npersonas: people\n");
    let globs = <Machines as wfhost_guest::Dialect>::recognise(&main).unwrap();
    assert_eq!(globs, ["flow.mmd", "flow.mmd.yaml", "people/*.md"]);
    let companions = vec![
        document("flow.mmd", "stateDiagram-v2\n[*] --> A\nA --> B\n"),
        document("flow.mmd.yaml", "state: {n: 0}\nactions: {A: {inputs: {n: integer}, set: {n: '{{ n }}'}}}\n"),
        document("people/ann.md", "I am {state.n}."),
    ];
    let mut host = Host::<Machines>::default();
    host.definitions =
        <Machines as wfhost_guest::Dialect>::compile(&wfhost_guest::model::Bundle { main, companions }).definitions;
    let mut bench = Bench { host, world: Script::default() };
    assert_eq!(bench.step("A", "{\"n\":7}", &["valid_next_actions"]), "[\"B\"]");
    assert!(bench.view("persona/ann").ends_with("I am 7."));
}
