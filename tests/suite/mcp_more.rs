//! What a dialect can say beyond a reply, as it reaches a client: progress and log messages, a model's help, several questions
//! at once, resources and prompts. The fixture of the conformance suite is the dialect.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::served::program_in;

use crate::PROGRAM;
use crate::interop::here;

const SOON: Duration = Duration::from_secs(20);
/// How long a message that must not come is waited for.
const QUIET: Duration = Duration::from_millis(400);

fn start(capabilities: &Value) -> (Client, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    command.arg("serve").arg(here().join("conformance")).args(["--ephemeral", "--plugin", env!("WFHOST_FIXTURE_WASM")]);
    let client =
        if capabilities.is_null() { Client::spawn(&mut command) } else { Client::start(&mut command, capabilities) };
    (client.unwrap(), folder)
}

fn modern(mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

/// The messages up to the response of a request, and that.
fn until(client: &mut Client, id: u64) -> (Vec<Value>, Value) {
    let mut before = Vec::new();
    loop {
        let message = client.receive(SOON).unwrap();
        if message["id"] == json!(id) && message.get("method").is_none() {
            return (before, message);
        }
        before.push(message);
    }
}

#[test]
fn progress_comes_before_the_reply_and_only_to_those_who_asked() {
    let (mut client, _folder) = start(&json!({}));
    let quiet = client.ask("tools/call", &json!({"name": "test_tool_with_progress", "arguments": {}})).unwrap();
    assert_eq!(until(&mut client, quiet).0, Vec::<Value>::new());
    let params = json!({"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "t"}});
    let asked = client.ask("tools/call", &params).unwrap();
    let told = until(&mut client, asked).0;
    let told: Vec<(Value, Value)> =
        told.iter().map(|m| (m["params"]["progressToken"].clone(), m["params"]["progress"].clone())).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    for (n, (token, progress)) in told.iter().enumerate() {
        assert_eq!((token, progress.as_f64()), (&json!("t"), Some(50.0 * n as f64)));
    }
}

#[test]
fn log_messages_come_from_the_level_on_that_a_client_asked_for() {
    let (mut client, _folder) = start(&json!({}));
    for (level, messages) in [(None, 0), (Some("error"), 0), (Some("info"), 3), (Some("debug"), 3)] {
        if let Some(level) = level {
            client.request("logging/setLevel", &json!({"level": level})).unwrap();
        }
        let id = client.ask("tools/call", &json!({"name": "test_tool_with_logging", "arguments": {}})).unwrap();
        assert_eq!(until(&mut client, id).0.len(), messages, "{level:?}");
    }
}

#[test]
fn all_open_questions_go_with_one_reply_and_each_answer_counts() {
    let (mut client, _folder) = start(&Value::Null);
    let both = json!({"elicitation": {"form": {}}, "sampling": {}});
    let call = json!({"name": "test_input_required_result_capabilities", "arguments": {}});
    let asked = client.request("tools/call", &modern(call.clone(), &both)).unwrap();
    let mut keys: Vec<&String> = asked["inputRequests"].as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["greeting", "user_name"], "{asked}");
    let greeting = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Good day."}});
    let mut again = call.clone();
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({"greeting": greeting});
    let half = client.request("tools/call", &modern(again.clone(), &both)).unwrap();
    let left: Vec<&String> = half["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(left, ["user_name"], "{half}");
    again["requestState"] = half["requestState"].clone();
    again["inputResponses"] = json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}});
    let done = client.request("tools/call", &modern(again, &both)).unwrap();
    assert_eq!((&done["resultType"], &done["content"][0]["text"]), (&json!("complete"), &json!("Good day.")), "{done}");
}

#[test]
fn who_has_no_model_is_told_that_one_is_needed() {
    let (mut client, _folder) = start(&Value::Null);
    let call = json!({"name": "test_missing_capability", "arguments": {}});
    let id = client.ask("tools/call", &modern(call.clone(), &json!({}))).unwrap();
    let told = until(&mut client, id).1;
    assert_eq!(told["error"]["code"], json!(-32021), "{told}");
    assert!(told["error"]["data"]["requiredCapabilities"]["sampling"].is_object(), "{told}");
    let (mut legacy, _folder) = start(&json!({}));
    assert_eq!(legacy.tool("test_missing_capability", &json!({})).unwrap()["isError"], true);
}

#[test]
fn views_are_resources_and_prompts() {
    let (mut client, _folder) = start(&json!({}));
    let listed = client.request("resources/list", &json!({})).unwrap();
    assert_eq!(listed["resources"].as_array().unwrap().len(), 3, "{listed}");
    let templates = client.request("resources/templates/list", &json!({})).unwrap();
    let templates: Vec<&str> =
        templates["resourceTemplates"].as_array().unwrap().iter().map(|t| t["uriTemplate"].as_str().unwrap()).collect();
    assert!(templates.contains(&"test://template/{id}/data{?session}"), "{templates:?}");
    let read = |client: &mut Client, uri: &str| {
        let id = client.ask("resources/read", &json!({"uri": uri})).unwrap();
        client.response(id).unwrap()
    };
    let text = read(&mut client, "test://template/7/data");
    assert!(text["result"]["contents"][0]["text"].as_str().unwrap().contains("Data for ID: 7"), "{text}");
    assert!(read(&mut client, "test://static-binary")["result"]["contents"][0]["blob"].is_string());
    for wrong in
        ["test://nowhere", "test://static-text?session=ses_00000000000000000000000000000000", "../../etc/passwd"]
    {
        assert_eq!(read(&mut client, wrong)["error"]["code"], json!(-32602), "{wrong}");
    }
    let prompt = client.request(
        "prompts/get",
        &json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}),
    );
    assert_eq!(prompt.unwrap()["messages"][0]["content"]["text"], "Prompt with arguments: arg1='a', arg2='b'");
    let lacking =
        client.request("prompts/get", &json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a"}}));
    assert!(lacking.unwrap_err().to_string().contains("arg2"));
}

#[test]
fn sessions_are_completed_and_their_watchers_told() {
    let (mut client, _folder) = start(&json!({}));
    client.request("resources/subscribe", &json!({"uri": "test://watched-resource"})).unwrap();
    assert!(client.request("resources/subscribe", &json!({"uri": "test://nowhere"})).is_err());
    let call = json!({"name": "test_elicitation", "arguments": {"message": "?"}});
    // The notice comes before the reply or after it.
    client.ask("tools/call", &call).unwrap();
    let both = [client.receive(SOON).unwrap(), client.receive(SOON).unwrap()];
    assert!(both.iter().any(|message| message["method"] == "notifications/resources/updated"), "{both:?}");
    client.request("resources/unsubscribe", &json!({"uri": "test://watched-resource"})).unwrap();
    let id = client.ask("tools/call", &call).unwrap();
    assert!(until(&mut client, id).0.is_empty());
    assert!(client.receive(QUIET).is_err(), "told a client that looks no more");
    let complete = |argument: &str, value: &str| json!({"ref": {"type": "ref/resource", "uri": "test://watched-resource{?session}"}, "argument": {"name": argument, "value": value}});
    let found = client.request("completion/complete", &complete("session", "ses_")).unwrap();
    assert_eq!(found["completion"]["values"].as_array().unwrap().len(), 2, "{found}");
    let found = client.request("completion/complete", &complete("session", "other")).unwrap();
    assert_eq!(found["completion"]["values"], json!([]));
}
