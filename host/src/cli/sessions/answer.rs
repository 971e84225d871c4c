//! `wfhost sessions answer`: the operator answers in the place of whom a session waits for.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};

use super::waits::waits;
use super::{Found, Named, parsed};
use crate::cli::signing::Signing;
use crate::cli::{code, print};
use crate::plugin::contract::{Failure, Mishap, Reply, Source};
use crate::session::line::LineRow;
use crate::session::model::{Head, OpenRequest, Standing};
use crate::session::wire::{NeedKind, need_kind};
use crate::session::{Caller, Host};
use crate::store::Limit;

/// What `sessions answer` is told.
#[derive(Debug, Args)]
pub(super) struct Answer {
    #[command(flatten)]
    named: Named,
    /// The answer. JSON if the question wants something other than text; for a tool of the agent, what the tool returned.
    #[arg(value_name = "VALUE", allow_hyphen_values = true, required_unless_present_any = ["lost", "again"])]
    value: Option<String>,
    /// Nobody knows whether a call of an upstream server was carried out: the session is told so.
    #[arg(long, conflicts_with_all = ["value", "again"])]
    lost: bool,
    /// Have a call of an upstream server made once more. A running server does it, or the next one that starts.
    #[arg(long, conflicts_with = "value")]
    again: bool,
    /// Which request to answer, if several are open.
    #[arg(long, value_name = "R")]
    request: Option<String>,
    /// VALUE is JSON, whatever the question wants.
    #[arg(long)]
    json_value: bool,
    #[command(flatten)]
    signing: Signing,
}

impl Answer {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Found { host, head } = self.named.find_to_write(&self.signing)?;
        let caller = Caller::operator();
        let request = self.asked(&head)?;
        if self.again {
            return again(&host, &caller, &head, request);
        }
        let value = match &self.value {
            Some(value) => Ok(self.reply_value(value, request)?),
            None => Err(lost()),
        };
        let reply = Reply { request: request.id.clone(), value };
        if host.blocking().reply(&caller, (head.session, &request.need), &reply, Source::Operator)?.is_none() {
            bail!(
                "`{}` was answered by someone else just now; `wfhost sessions show {}` tells how",
                request.id,
                head.session
            );
        }
        if let Some(reason) = refused(&host, &head, &request.id)? {
            print::note(format_args!("error: the answer was refused: {}", print::plain(&reason)));
            waits(&head).iter().for_each(|clause| print::aside(format_args!("the session still waits for {clause}")));
            return Ok(code(false));
        }
        let value = print::cut(&print::plain(self.value.as_deref().unwrap_or("that it is lost")), 200);
        print::line(format_args!("answered {} with {value}", print::plain(&request.id)));
        let now = host.show(&caller, head.session)?.head;
        for clause in waits(&now) {
            print::line(format_args!("the session now waits for {clause}"));
        }
        Ok(code(true))
    }

    /// The request that is meant: the named one, or the only one that a person or the agent can answer.
    fn asked<'h>(&self, head: &'h Head) -> Result<&'h OpenRequest> {
        let waits = || waits(head).join("; ");
        if let Some(id) = &self.request {
            let named = head.requests.iter().find(|r| r.id == *id);
            return named.with_context(|| format!("no request `{id}` is open; the session waits for {}", waits()));
        }
        let answerable: Vec<&OpenRequest> = head
            .requests
            .iter()
            .filter(|r| match need_kind(&r.need) {
                Some(NeedKind::Answer { .. } | NeedKind::AgentTool { .. }) => true,
                Some(NeedKind::Tool { .. }) => matches!(r.standing, Standing::Doubtful(_)),
                Some(
                    NeedKind::Completion(_) | NeedKind::ToolList(_) | NeedKind::Workflow { .. } | NeedKind::Timer(_),
                )
                | None => false,
            })
            .collect();
        match answerable.as_slice() {
            [only] => Ok(only),
            [] => bail!("session {} asks nothing; it waits for {}", head.session, waits()),
            [..] => bail!("several requests are open, name one with `--request`: {}", waits()),
        }
    }

    /// The value in the form that the request wants, JSON text.
    fn reply_value(&self, value: &str, request: &OpenRequest) -> Result<String> {
        let json: Option<Value> = serde_json::from_str(value).ok();
        if self.json_value && json.is_none() {
            bail!(
                "`{}` is no JSON; without `--json-value` it would be sent as text where text is wanted",
                print::plain(value)
            );
        }
        let kept = || json.clone().unwrap_or_else(|| value.into());
        Ok(match need_kind(&request.need) {
            Some(NeedKind::Answer { .. }) if self.json_value => kept(),
            Some(NeedKind::Answer { schema, .. }) if wants_text(&parsed(&schema), value) => value.into(),
            Some(NeedKind::Answer { .. }) => kept(),
            Some(NeedKind::AgentTool { .. } | NeedKind::Tool { .. }) => tool_result(value, json),
            Some(NeedKind::Completion(_) | NeedKind::ToolList(_) | NeedKind::Workflow { .. } | NeedKind::Timer(_))
            | None => json.with_context(|| format!("a reply to `{}` must be JSON", print::plain(&request.id)))?,
        }
        .to_string())
    }
}

fn lost() -> Failure {
    let message = "the operator says that nobody knows whether it was carried out".to_owned();
    Failure { kind: Mishap::Lost, message, detail: None }
}

/// Leaves a request to the next host that looks.
fn again(host: &Host, caller: &Caller, head: &Head, request: &OpenRequest) -> Result<ExitCode> {
    if !host.blocking().send_again(caller, head.session, request)? {
        bail!("`{}` is not in doubt: only a call whose result nobody knows can be made again", request.id);
    }
    print::line(format_args!("{} will be sent again", print::plain(&request.id)));
    Ok(code(true))
}

/// Whether the question is for a text, so that `5` means the text and not the number. Without a word on it, it is.
pub(in crate::cli) fn wants_text(schema: &Value, value: &str) -> bool {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let among = |choice: &Value| choice.as_str() == Some(value);
        return choices.iter().any(among) || choices.iter().all(Value::is_string);
    }
    match schema.get("type") {
        None => true,
        Some(Value::Array(types)) => types.iter().any(|t| t == "string"),
        Some(one) => one == "string",
    }
}

/// MCP's CallToolResult: the value itself if it is one, else as if the tool had said so.
fn tool_result(text: &str, json: Option<Value>) -> Value {
    if let Some(result) = json.as_ref().filter(|j| j.get("content").is_some_and(Value::is_array)) {
        return result.clone();
    }
    let mut result = json!({"content": [{"type": "text", "text": text}]});
    if let (Some(object), Some(fields)) = (json.filter(Value::is_object), result.as_object_mut()) {
        fields.insert("structuredContent".into(), object);
    }
    result
}

/// Why the interpreter did not take the answer, if the journal says so.
fn refused(host: &Host, before: &Head, request: &str) -> Result<Option<String>> {
    let lines = host.store().lines(before.session, before.lines + 1, Limit { lines: 64, bytes: usize::MAX })?;
    let ours = |line: &LineRow| {
        let reply = line.event.as_ref().and_then(|e| e.input.reply.as_ref());
        line.by.as_ref().is_some_and(|by| by.channel == "cli") && reply.is_some_and(|r| r.request == request)
    };
    let newest = lines.iter().rev().filter_map(|line| LineRow::decode(line).ok()).find(ours);
    Ok(newest.and_then(|line| line.refusal).map(|refusal| refusal.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_says_whether_a_value_is_text() {
        for (schema, value, text) in [
            (r#"{"type":"string"}"#, "5", true),
            (r#"{"type":"number"}"#, "5", false),
            (r#"{"type":["integer","string"]}"#, "5", true),
            (r#"{"type":["integer","null"]}"#, "5", false),
            (r#"{"enum":["5","7"]}"#, "6", true),
            (r#"{"enum":[5,"7"]}"#, "5", false),
            (r#"{"enum":[5,"7"]}"#, "7", true),
            ("{}", "5", true),
        ] {
            assert_eq!(wants_text(&parsed(schema), value), text, "{schema} {value}");
        }
    }

    #[test]
    fn a_tool_s_result_is_that_of_mcp() {
        let shown = |text: &str| tool_result(text, serde_json::from_str(text).ok()).to_string();
        assert_eq!(shown("ok"), r#"{"content":[{"type":"text","text":"ok"}]}"#);
        assert_eq!(shown("[1]"), r#"{"content":[{"type":"text","text":"[1]"}]}"#);
        let object = r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#;
        assert_eq!(shown(r#"{"a":1}"#), object);
    }
}
