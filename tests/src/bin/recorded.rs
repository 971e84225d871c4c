//! An MCP server for tests that says what was recorded: its first argument is a file `{"turn": n, "calls": [{server, tool,
//! arguments, result | error}]}`, its second the name it goes by. Each call is answered once a turn; one that was recorded without an
//! answer is the end of the process. Names of the tools that were called go into a log beside the file. `echo` answers even if nothing was recorded.

#![allow(clippy::exit, clippy::indexing_slicing, reason = "it crashes where a server did")]

use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What was answered in which turn.
type Used = Arc<Mutex<(Value, Vec<usize>)>>;

fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{message}");
    let _ = out.flush();
}

fn recorded(script: &str, name: &str, params: &Value, used: &Used) -> Option<Value> {
    let log = std::path::Path::new(script).with_extension("log");
    if let Ok(mut log) = std::fs::OpenOptions::new().create(true).append(true).open(log) {
        let _ = log.write_all(format!("{}\n", params["name"]).as_bytes());
    }
    let script: Value = serde_json::from_str(&std::fs::read_to_string(script).ok()?).ok()?;
    let mut used = used.lock().ok()?;
    if used.0 != script["turn"] {
        *used = (script["turn"].clone(), Vec::new());
    }
    let args = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
    let fits = |one: &Value| one["server"] == name && one["tool"] == params["name"] && same(&one["arguments"], &args);
    let calls = script["calls"].as_array()?;
    let place = (0..calls.len()).find(|place| !used.1.contains(place) && fits(&calls[*place]))?;
    used.1.push(place);
    Some(calls[place].clone())
}

/// Equal as JavaScript has it: 1 is 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

fn answer(id: &Value, params: &Value, call: Option<Value>) {
    let args = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
    if params["name"] == "slow" {
        std::thread::sleep(Duration::from_millis(args["ms"].as_u64().unwrap_or(0)));
    }
    let message = match call {
        Some(call) if call.get("result").is_some() => json!({"jsonrpc": "2.0", "id": id, "result": call["result"]}),
        Some(call) if call.get("error").is_some() => json!({"jsonrpc": "2.0", "id": id, "error": call["error"]}),
        Some(_) => std::process::exit(3),
        None if params["name"] == "echo" => {
            let content = json!([{"type": "text", "text": args.to_string()}]);
            json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}})
        }
        None => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32099, "message": "nothing was recorded"}}),
    };
    say(&message);
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let script = words.get(1).cloned().unwrap_or_default();
    let name = words.get(2).cloned().unwrap_or_else(|| "up".to_owned());
    if !std::path::Path::new(&script).exists() {
        std::process::exit(2);
    }
    let used: Used = Arc::default();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let id = message.get("id").cloned().unwrap_or_default();
        let params = message.get("params").cloned().unwrap_or_default();
        match message.get("method").and_then(Value::as_str).unwrap_or_default() {
            "initialize" => {
                say(&json!({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": name, "version": "1"}}}))
            }
            "ping" => say(&json!({"jsonrpc": "2.0", "id": id, "result": {}})),
            "tools/list" => {
                let names = ["echo", "echo_text", "echo_structured", "add", "list", "lines", "json", "raw", "fail"];
                let more = ["fail_structured", "rpc_error", "slow", "counter", "crash"];
                let hints = json!({"readOnlyHint": true});
                let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": hints});
                let tools: Vec<Value> = names.iter().chain(&more).map(tool).collect();
                say(&json!({"jsonrpc": "2.0", "id": id, "result": {"tools": tools}}));
            }
            "tools/call" => {
                let call = recorded(&script, &name, &params, &used);
                std::thread::spawn(move || answer(&id, &params, call));
            }
            _ if id.is_null() => {}
            method => say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": method}})),
        }
    }
}
