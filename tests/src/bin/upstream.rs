//! An MCP server for tests, on standard input and output: does what its tools are told, well or badly, and writes each call that
//! it carries out into a file, so that a test can count them.
//!
//! Variables: `UPSTREAM_LOG` (the file), `UPSTREAM_START` (milliseconds before the greeting is answered), `UPSTREAM_FLOOD` (bytes
//! for standard error at the start), `UPSTREAM_ERA` (`modern`: `initialize` is unknown).

#![allow(clippy::print_stderr, clippy::exit, clippy::indexing_slicing, reason = "it behaves as badly as it is told to")]

use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{message}");
    let _ = out.flush();
}

fn note(what: &str) {
    static LOCK: Mutex<()> = Mutex::new(());
    let _held = LOCK.lock();
    if let Ok(path) = std::env::var("UPSTREAM_LOG")
        && let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path)
    {
        let _ = file.write_all(format!("{what}\n").as_bytes());
    }
}

fn number(name: &str) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn tools() -> Value {
    let tool = |name: &str, hints: Value| {
        json!({"name": name, "description": format!("does {name}"), "annotations": hints, "inputSchema": {"type": "object",
            "properties": {"text": {"type": "string"}, "ms": {"type": "integer"}}}})
    };
    json!([
        tool("echo", json!({"readOnlyHint": true})),
        tool("slow", json!({})),
        tool("slow_read", json!({"readOnlyHint": true})),
        tool("fail", json!({})),
        tool("refuse", json!({})),
        tool("crash", json!({})),
        tool("never", json!({})),
        tool("env", json!({})),
        tool("big", json!({})),
        tool("progress", json!({})),
        tool("flaky", json!({"idempotentHint": true})),
        tool("ask", json!({})),
    ])
}

fn result(id: &Value, text: &str, is_error: bool) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}], "isError": is_error}})
}

fn call(id: &Value, params: &Value) {
    let args = params.get("arguments").cloned().unwrap_or_default();
    let text = args.get("text").and_then(Value::as_str).unwrap_or_default();
    let ms = args.get("ms").and_then(Value::as_u64).unwrap_or(0);
    let tool = params.get("name").and_then(Value::as_str).unwrap_or_default();
    note(&format!("{tool} {text}"));
    match tool {
        "echo" => say(&result(id, text, false)),
        "slow" | "slow_read" => {
            std::thread::sleep(Duration::from_millis(ms));
            note(&format!("done {tool} {text}"));
            say(&result(id, text, false));
        }
        "fail" => say(&result(id, "it failed", true)),
        "refuse" => {
            let error = json!({"code": -32000, "message": "refused", "data": {"why": text}});
            say(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        "crash" => {
            eprintln!("going down in flames");
            std::process::exit(3);
        }
        "never" => {}
        // What the person says comes in on the main thread, and is the result.
        "ask" => {
            let schema = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]});
            let params = json!({"message": text, "requestedSchema": schema});
            let question = format!("ask {id}");
            say(&json!({"jsonrpc": "2.0", "id": question, "method": "elicitation/create", "params": params}));
        }
        "env" => say(&result(id, &std::env::var(text).unwrap_or_else(|_| "unset".into()), false)),
        "big" => say(&result(id, &"x".repeat(usize::try_from(ms).unwrap_or(0)), false)),
        "progress" => {
            let token = params.get("_meta").and_then(|m| m.get("progressToken")).cloned().unwrap_or_default();
            for n in 1..=3 {
                let params = json!({"progressToken": token, "progress": n, "total": 3, "message": format!("part {n}")});
                say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
                std::thread::sleep(Duration::from_millis(20));
            }
            say(&result(id, "all parts", false));
        }
        other => {
            say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": format!("no tool {other}")}}))
        }
    }
}

fn main() {
    note("start");
    std::thread::sleep(Duration::from_millis(number("UPSTREAM_START")));
    let flood = "drowning in words ".repeat(usize::try_from(number("UPSTREAM_FLOOD") / 18).unwrap_or(0));
    std::thread::spawn(move || eprintln!("{flood}"));
    let modern = std::env::var("UPSTREAM_ERA").is_ok_and(|era| era == "modern");
    let calls = Arc::new(Mutex::new(Vec::new()));
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let id = message.get("id").cloned().unwrap_or_default();
        let params = message.get("params").cloned().unwrap_or_default();
        let answer = |result: Value| say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        let about = json!({"name": "upstream", "version": "1"});
        match message.get("method").and_then(Value::as_str).unwrap_or_default() {
            "initialize" if !modern => answer(json!({"protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": about})),
            "server/discover" if modern => {
                answer(json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": about}}))
            }
            "ping" => answer(json!({})),
            "tools/list" => {
                answer(json!({"tools": tools(), "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}))
            }
            "tools/call" => {
                let thread = std::thread::spawn(move || call(&id, &params));
                if let Ok(mut calls) = calls.lock() {
                    calls.push(thread);
                }
            }
            "" if id.as_str().is_some_and(|id| id.starts_with("ask ")) => {
                let asked =
                    id.as_str().and_then(|id| id.strip_prefix("ask ")).and_then(|id| serde_json::from_str(id).ok());
                let told = message.get("result").or(message.get("error")).cloned().unwrap_or_default();
                note(&format!("told {told}"));
                say(&result(&asked.unwrap_or_default(), &told.to_string(), false));
            }
            "notifications/cancelled" => note(&format!("cancelled {}", params["reason"])),
            _ if id.is_null() => {}
            method => say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": method}})),
        }
    }
    note("end");
}
