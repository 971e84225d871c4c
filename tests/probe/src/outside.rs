//! What the probe wants of others: calls of upstream servers and other workflows, several at once, and what came of them.

use serde_json::{Map, Value, json};
use wfhost_guest::model::{Event, Failure, Input, Need, Request, Server, ToolCall, Turn, WorkflowCall};

/// The servers that a document declares: lines such as `server NAME {"command": ..}`.
pub(crate) fn servers(text: &str) -> Vec<Server> {
    let entries = text.lines().filter_map(|line| line.strip_prefix("server ")?.split_once(' '));
    entries.map(|(name, spec)| Server { name: name.into(), spec: spec.into() }).collect()
}

/// Notes in the state what is wanted and what came, and asks for what is still open.
pub(crate) fn step(before: &Value, args: &Value, event: &Event, turn: &mut Turn) {
    let mut open = object(before, "open");
    let mut got = object(before, "got");
    if open.is_empty() && args.get("calls").is_none() && args.get("tools_of").is_none() {
        return;
    }
    if let Input::Reply(reply) = &event.input
        && open.remove(&reply.request).is_some()
    {
        let came = match &reply.value {
            Ok(value) => serde_json::from_str(value).unwrap_or_default(),
            Err(Failure { kind, message, .. }) => json!({"kind": format!("{kind:?}"), "message": message}),
        };
        got.insert(reply.request.clone(), came);
    }
    if args.get("do").and_then(Value::as_str) == Some("withdraw") {
        open.clear();
    }
    for (n, call) in args.get("calls").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let id = call.get("id").and_then(Value::as_str).map_or_else(|| format!("c{n}"), str::to_owned);
        let mut call = call.clone();
        // Fixed when it is asked, or the request would be another one with each turn.
        if let (Some(within), Some(call)) = (call.get("within").and_then(Value::as_u64), call.as_object_mut()) {
            call.insert("until".into(), (event.at + within).into());
        }
        open.insert(id, call);
    }
    if let Some(servers) = args.get("tools_of") {
        open.insert("list".into(), json!({ "tools_of": servers }));
    }
    turn.requests = open.iter().map(|(id, call)| request(id, call)).collect();
    let mut state: Value = serde_json::from_str(&turn.state).unwrap_or_default();
    if let Some(state) = state.as_object_mut() {
        state.insert("open".into(), open.into());
        state.insert("got".into(), got.into());
    }
    turn.state = state.to_string();
    turn.reply.value = json!({ "state": state }).to_string();
}

fn object(state: &Value, key: &str) -> Map<String, Value> {
    state.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
}

fn request(id: &str, call: &Value) -> Request {
    let text = |key: &str| call.get(key).and_then(Value::as_str).map(str::to_owned);
    let args = call.get("args").cloned().unwrap_or_else(|| json!({})).to_string();
    let need = if let Some(servers) = call.get("tools_of").and_then(Value::as_array) {
        Need::ToolList(servers.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    } else if let Some(workflow) = text("workflow") {
        Need::Workflow(WorkflowCall { interpreter: text("interpreter"), workflow, args })
    } else {
        Need::Tool(ToolCall { server: text("server"), tool: text("tool").unwrap_or_default(), args })
    };
    let deadline = call.get("until").and_then(Value::as_u64);
    Request { id: id.into(), need, deadline }
}
