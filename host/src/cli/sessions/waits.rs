//! What a session waits for, in words.

use crate::cli::{print, time};
use crate::session::model::{Head, OpenRequest};
use crate::session::wire::{NeedKind, need_kind};

/// One clause for each thing that it waits for; how it ended, if it has.
pub(in crate::cli) fn waits(head: &Head) -> Vec<String> {
    if head.outcome.is_some() {
        return vec![format!("nothing: it has {}", super::standing(head))];
    }
    if head.requests.is_empty() {
        return vec![format!("a call of the agent, at {}", print::plain(&head.current.join(", ")))];
    }
    head.requests.iter().map(one).collect()
}

fn one(request: &OpenRequest) -> String {
    let what = match need_kind(&request.need) {
        Some(NeedKind::Answer { audience, prompt, schema }) => {
            format!("{}: {}{}", who(&audience), print::cut(&print::plain(&prompt), 200), choices(&schema))
        }
        Some(NeedKind::AgentTool { tool, .. }) => format!("the agent's result of the tool `{}`", print::plain(&tool)),
        Some(NeedKind::Completion(_)) => "the next message of a model".to_owned(),
        Some(NeedKind::Tool { server, tool, .. }) => {
            format!("the tool `{}` of the server `{}`", print::plain(&tool), print::plain(&server))
        }
        Some(NeedKind::ToolList(servers)) => {
            format!("what the servers {} offer", print::plain(&servers.join(", ")))
        }
        Some(NeedKind::Workflow { workflow, .. }) => {
            format!("the outcome of the workflow `{}`", print::plain(&workflow))
        }
        Some(NeedKind::Timer(at)) => format!("the time, {}", time::utc(at)),
        None => format!("something that this wfhost does not know: {}", print::plain(&request.need)),
    };
    if request.standing == OpenRequest::WITHHELD {
        return format!("{what}, inherited and not sent [{}]", print::plain(&request.id));
    }
    let until = request.deadline.map(|at| format!(", until {}", time::utc(at))).unwrap_or_default();
    format!("{what}{until} [{}]", print::plain(&request.id))
}

fn who(audience: &str) -> &'static str {
    match audience {
        "human" => "an answer of a person",
        "agent" => "a judgment of the agent",
        _ => "an answer, of a person or through the agent",
    }
}

/// The values that may be chosen, if they are few and simple.
pub(in crate::cli) fn choices(schema: &str) -> String {
    let schema = super::parsed(schema);
    let Some(values) = schema.get("enum").and_then(|e| e.as_array()) else { return String::new() };
    let values: Vec<String> = values.iter().map(crate::cli::outline::inline).collect();
    format!(" ({})", print::cut(&values.join(", "), 200))
}
