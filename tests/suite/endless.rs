//! Expressions that would go on without end, take all memory, or match for ages: each ends at its limit with words that name it,
//! costs its own call and nobody else's, and the host answers meanwhile.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

fn tool(name: &str, expression: &str) -> String {
    format!(
        "  - name: {name}\n    description: d\n    inputSchema: {{type: object}}\n    outputSchema: {{type: object}}\n    nodes:\n      \
         - {{id: entry, type: entry, next: n}}\n      - id: n\n        type: transform\n        transform: {{expr: {}}}\n        \
         next: exit\n      - {{id: exit, type: exit}}\n",
        json!(expression)
    )
}

const EXPRESSIONS: [(&str, &str); 6] = [
    ("double", r#"{"n": $.entry.n * 2}"#),
    ("tail", "($f := function($n){$f($n + 1)}; $f(1))"),
    ("deep", "($f := function($n){1 + $f($n + 1)}; {\"n\": $f(1)})"),
    ("pad", r#"{"n": $length($pad("x", 1000000000))}"#),
    ("backtrack", r#"{"hit": $contains($.entry.text, /^(a+)+$/)}"#),
    ("repeated", r#"{"hit": $contains($.entry.text, /((a{1000}){1000}){1000}/)}"#),
];

fn served() -> (TempDir, Client) {
    let folder = tempfile::tempdir().unwrap();
    let tools: String = EXPRESSIONS.iter().map(|(name, expression)| tool(name, expression)).collect();
    let document = format!("version: \"1\"\nserver: {{name: endless, version: \"1\"}}\ntools:\n{tools}");
    std::fs::write(folder.path().join("endless.yaml"), document).unwrap();
    let mut command = program_in(PROGRAM.as_ref(), folder.path());
    command.args(["serve", "endless.yaml", "--plugin", "graphs"]);
    let client = Client::start(&mut command, &json!({})).unwrap();
    (folder, client)
}

/// What came of a call, with a ping that was sent right after it: their replies in the order in which they came.
fn beside_a_ping(client: &mut Client, tool: &str, arguments: &Value) -> [(bool, Value); 2] {
    let call = client.ask("tools/call", &json!({"name": tool, "arguments": arguments})).unwrap();
    let ping = client.ask("ping", &json!({})).unwrap();
    let mut next = || {
        loop {
            let message = client.receive(Duration::from_secs(60)).unwrap();
            if let Some(id) = message["id"].as_u64().filter(|id| [call, ping].contains(id)) {
                return (id == ping, message["result"].clone());
            }
        }
    };
    let came = [next(), next()];
    // Whatever became of it: the next call is served.
    assert_eq!(client.structured("double", &json!({"n": 4})).unwrap(), json!({"n": 8}));
    came
}

fn words(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn a_tail_recursion_ends_at_its_limit_while_a_ping_is_answered() {
    let (_folder, mut client) = served();
    let [first, (_, endless)] = beside_a_ping(&mut client, "tail", &json!({}));
    assert!(first.0, "the ping is answered meanwhile: {first:?}");
    let said = words(&endless);
    assert_eq!(endless["isError"], true, "{endless}");
    assert!(said.contains("`graphs`") && (said.contains("units of instructions") || said.contains(" ms")), "{said}");
}

#[test]
fn a_recursion_too_deep_is_an_error_of_the_expression() {
    let (_folder, mut client) = served();
    let came = beside_a_ping(&mut client, "deep", &json!({}));
    let deep = &came.iter().find(|(is_ping, _)| !is_ping).unwrap().1;
    let told: Value = serde_json::from_str(words(deep)).unwrap();
    assert_eq!((&told["error"], &told["code"]), (&json!("expression_limit"), &json!("U1001")), "{deep}");
}

#[test]
fn a_text_of_a_gigabyte_ends_at_the_limit_of_memory() {
    let (_folder, mut client) = served();
    let came = beside_a_ping(&mut client, "pad", &json!({}));
    let pad = &came.iter().find(|(is_ping, _)| !is_ping).unwrap().1;
    assert_eq!(pad["isError"], true, "{pad}");
    assert!(words(pad).contains("`graphs`") && words(pad).contains("MiB of memory"), "{pad}");
}

#[test]
fn a_pattern_that_others_match_for_ages_is_answered_or_refused() {
    let (_folder, mut client) = served();
    // Backtracking would take 2^40 steps here.
    let text = "a".repeat(40) + "!";
    let came = beside_a_ping(&mut client, "backtrack", &json!({"text": text}));
    let hit = &came.iter().find(|(is_ping, _)| !is_ping).unwrap().1;
    assert_eq!(hit["structuredContent"], json!({"hit": false}), "{hit}");
    let came = beside_a_ping(&mut client, "repeated", &json!({"text": text}));
    let repeated = &came.iter().find(|(is_ping, _)| !is_ping).unwrap().1;
    assert_eq!(repeated["isError"], true, "{repeated}");
    assert!(words(repeated).contains("expression") || words(repeated).contains("`graphs`"), "{repeated}");
}
