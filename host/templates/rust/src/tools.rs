//! What an agent can call, and what each call means.

use serde_json::{Value, json};

use crate::contract::{Action, Call, Output, Page, Refusal, Run, RunQuery, Target, Tool, Workflow};
use crate::{output, refusal};

/// The tools to publish.
pub fn list(workflows: &[Workflow]) -> Vec<Tool> {
    let ids: Vec<&str> = workflows.iter().map(|workflow| workflow.id.as_str()).collect();
    let run = json!({"type": "string", "description": "the run that {{tool}}_start gave"});
    let item = json!({"type": "integer", "minimum": 1, "description": "the number of the item that is done"});
    let checklist = json!({"type": "string", "enum": ids, "description": "which checklist"});
    vec![
        tool("{{tool}}_list", "List the checklists, and the runs that are not finished.", json!({}), &[], true),
        tool("{{tool}}_start", "Begin a run of a checklist.", json!({"checklist": checklist}), &["checklist"], false),
        tool(
            "{{tool}}_check",
            "Check one item off, after it was done.",
            json!({"run": run, "item": item}),
            &["run", "item"],
            false,
        ),
        tool("{{tool}}_status", "Show what is done and what is still open.", json!({"run": run}), &["run"], true),
        tool("{{tool}}_trace", "Show who checked what, and when.", json!({"run": run}), &["run"], true),
    ]
}

fn tool(name: &str, description: &str, properties: Value, required: &[&str], read_only: bool) -> Tool {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Tool {
        name: name.to_owned(),
        title: name.replace('_', " "),
        description: description.to_owned(),
        input_schema: schema.to_string(),
        output_schema: None,
        read_only,
        destructive: false,
        idempotent: read_only,
        open_world: false,
    }
}

/// Which verb of the contract a call is. The host has not checked the arguments.
pub fn route(call: &Call, workflows: &[String]) -> Result<Action, Refusal> {
    let args: Value = serde_json::from_str(&call.args).unwrap_or_default();
    let word = |name: &str| args.get(name).and_then(Value::as_str).map(str::to_owned);
    match call.tool.as_str() {
        "{{tool}}_list" => Ok(Action::Catalogue(Some(RunQuery { workflow: None, unfinished: true, limit: 20 }))),
        "{{tool}}_start" => match word("checklist") {
            Some(id) if workflows.contains(&id) => Ok(Action::Start(id)),
            _ => Err(refusal("no-such-checklist", format!("`checklist` is one of: {}", workflows.join(", ")))),
        },
        "{{tool}}_check" => target(word("run")).map(Action::Answer),
        "{{tool}}_status" => target(word("run")).map(Action::Status),
        "{{tool}}_trace" => target(word("run")).map(|target| Action::Trace(Page { target, after: None, limit: 100 })),
        other => Err(refusal("no-such-tool", format!("there is no tool `{other}`"))),
    }
}

fn target(run: Option<String>) -> Result<Target, Refusal> {
    let Some(run) = run else {
        return Err(refusal("no-run", "say which `run`; {{tool}}_start gives one".to_owned()));
    };
    let absent = refusal("no-such-run", format!("there is no run `{run}`; {{tool}}_list shows them")).reply;
    Ok(Target { session: Some(run), workflow: None, absent: Some(absent) })
}

/// The reply to `{{tool}}_list`.
pub fn catalogue(workflows: &[Workflow], runs: &[Run]) -> Output {
    let workflows: Vec<Value> = workflows
        .iter()
        .map(|one| json!({"checklist": one.id, "title": one.title, "about": one.description}))
        .collect();
    let runs: Vec<Value> = runs.iter().map(|run| json!({"run": run.session.id, "checklist": run.workflow})).collect();
    output(json!({"checklists": workflows, "unfinished": runs}))
}
