//! Asking through the client: a person by a form, a model by a sampling request. In the legacy era the server sends a request
//! of its own; in the modern one the questions go with the reply, and their answers come with the same call sent again.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests, InputRequiredResult, ProgressNotificationParam, RequestStateCodec, RequestStateError,
    SealOptions,
};
use rmcp::service::{RequestContext, ServiceError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{logs, model};
use crate::limits::SEAL_TIME;
use crate::session::model::{Digest, SessionId};
use crate::session::{Answered, Ask, Asked, Effects};

/// The name of the one field of a form.
const FIELD: &str = "value";

/// What the client of a call can be asked, and how.
#[derive(Debug)]
pub(super) struct Asker<'c> {
    pub(super) context: &'c RequestContext<RoleServer>,
    /// Whether it shows forms to a person.
    pub(super) forms: bool,
    /// Whether it has a model.
    pub(super) models: bool,
    /// Whether it is asked with the reply.
    pub(super) with_reply: bool,
    /// What the connection wants to hear of; none where each request says that.
    pub(super) level: Option<logs::Level>,
    /// How far the progress of this call was told.
    pub(super) told: Mutex<f64>,
}

impl Effects for Asker<'_> {
    async fn ask(&self, ask: &Ask, time: Duration) -> Answered {
        if !self.can(ask) {
            return Answered::Cannot;
        }
        if self.with_reply {
            return Answered::Later;
        }
        let asked = async {
            match &ask.what {
                Asked::Form { prompt, schema } => self.form(prompt, schema, time).await,
                Asked::Completion { params } => model::complete(&self.context.peer, params, time).await,
            }
        };
        tokio::select! {
            () = self.context.ct.cancelled() => Answered::Unanswered("the client gave up the call".into()),
            answered = asked => answered,
        }
    }

    fn can(&self, ask: &Ask) -> bool {
        let able = match ask.what {
            Asked::Form { .. } => self.forms,
            Asked::Completion { .. } => self.models,
        };
        able && request(ask).is_some()
    }

    async fn tell(&self, parts: &[String]) {
        for part in parts {
            let part: Value = serde_json::from_str(part).unwrap_or_default();
            if logs::told(self.context, self.level.as_ref(), &part).await {
                continue;
            }
            let Some(token) = self.context.meta.get_progress_token() else { continue };
            let progress = self.next(part.get("progress").and_then(Value::as_f64));
            let mut params = ProgressNotificationParam::new(token, progress);
            params.total = part.get("total").and_then(Value::as_f64);
            params.message = match part.as_object() {
                Some(part) => part.get("message").and_then(Value::as_str).map(str::to_owned),
                None => Some(part.as_str().map_or_else(|| part.to_string(), str::to_owned)),
            };
            // A client that is gone is told nothing more.
            let _ = self.context.peer.notify_progress(params).await;
        }
    }

    async fn given_up(&self) {
        self.context.ct.cancelled().await;
    }

    async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

impl Asker<'_> {
    async fn form(&self, prompt: &str, schema: &str, time: Duration) -> Answered {
        let Some(params) = form(prompt, schema) else { return Answered::Cannot };
        match self.context.peer.create_elicitation_with_timeout(params, Some(time)).await {
            Ok(result) => read(schema, result),
            Err(error) => unanswered(&error),
        }
    }

    /// Progress only ever grows.
    fn next(&self, wanted: Option<f64>) -> f64 {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let progress = wanted.filter(|wanted| *wanted > *told).unwrap_or(*told + 1.0);
        *told = progress;
        progress
    }
}

fn unanswered(error: &ServiceError) -> Answered {
    if let ServiceError::Timeout { timeout } = error {
        return Answered::Unanswered(format!("no answer within {} s", timeout.as_secs()));
    }
    Answered::Unanswered(format!("the client could not ask: {error}"))
}

/// A form with one field, unless the schema is an object that a form can show as it is.
fn form(prompt: &str, schema: &str) -> Option<ElicitRequestParams> {
    let schema: Value = serde_json::from_str(schema).ok()?;
    let requested_schema: ElicitationSchema = serde_json::from_value(wrapped(&schema)).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message: prompt.to_owned(), requested_schema })
}

/// The question as a request to the client. None if it fits none.
fn request(ask: &Ask) -> Option<InputRequest> {
    match &ask.what {
        Asked::Form { prompt, schema } => {
            form(prompt, schema).map(|form| InputRequest::Elicitation(ElicitRequest::new(form)))
        }
        Asked::Completion { params } => model::request(params),
    }
}

fn is_form(schema: &Value) -> bool {
    schema.get("type").is_some_and(|t| t == "object")
}

fn wrapped(schema: &Value) -> Value {
    if is_form(schema) {
        return schema.clone();
    }
    let mut field = schema.clone();
    if let Some(field) = field.as_object_mut() {
        field.entry("title").or_insert_with(|| json!("Value"));
    }
    json!({"type": "object", "properties": {FIELD: field}, "required": [FIELD]})
}

/// What a form brought: only what fits its schema is an answer.
fn read(schema: &str, result: ElicitResult) -> Answered {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    match result.action {
        ElicitationAction::Decline => Answered::Declined,
        ElicitationAction::Cancel => Answered::Unanswered("the form was closed".into()),
        ElicitationAction::Accept => {
            let content = result.content.unwrap_or_default();
            let value = if is_form(&schema) { Some(&content) } else { content.get(FIELD) };
            match value {
                Some(value) if fits(&schema, value) => Answered::Value(value.to_string()),
                Some(_) => Answered::Unanswered("the form came back with a value that does not fit".into()),
                None => Answered::Unanswered("the form came back without a value".into()),
            }
        }
        _ => Answered::Unanswered("the client said something about the form that is not known here".into()),
    }
}

/// Whether a value fits the part of JSON Schema that forms know.
fn fits(schema: &Value, value: &Value) -> bool {
    let listed = schema.get("enum").and_then(Value::as_array).is_none_or(|list| list.contains(value));
    let constant = schema.get("const").is_none_or(|only| only == value);
    let typed = match schema.get("type").and_then(Value::as_str) {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("object") => value.is_object() && members_fit(schema, value),
        Some(_) | None => true,
    };
    listed && constant && typed
}

fn members_fit(schema: &Value, value: &Value) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    let there =
        required.is_none_or(|names| names.iter().filter_map(Value::as_str).all(|name| value.get(name).is_some()));
    let properties = schema.get("properties").and_then(Value::as_object);
    there && properties.is_none_or(|p| p.iter().all(|(name, s)| value.get(name).is_none_or(|v| fits(s, v))))
}

/// What a sealed request state holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sealed {
    session: String,
    requests: Vec<(String, String)>,
}

/// What tells a question from another that bears the same id.
pub(super) fn fingerprint(ask: &Ask) -> String {
    let parts = match &ask.what {
        Asked::Form { prompt, schema } => ["form", prompt, schema],
        Asked::Completion { params } => ["completion", params, ""],
    };
    Digest::of(parts.join("\0").as_bytes()).to_string()
}

/// Questions that were asked with a reply, and what came of them.
#[derive(Debug)]
pub(super) struct Redeemed {
    pub(super) session: SessionId,
    /// The requests that were asked, the fingerprint of each question, and what the client sent for it, if anything.
    pub(super) answers: Vec<(String, String, Option<Value>)>,
}

/// What the client sent for a question.
pub(super) fn answer(ask: &Ask, sent: &Value) -> Answered {
    match &ask.what {
        Asked::Form { schema, .. } => match serde_json::from_value(sent.clone()) {
            Ok(result) => read(schema, result),
            Err(_) => Answered::Unanswered("the form came back in a form that is not known here".into()),
        },
        Asked::Completion { .. } => model::read(sent),
    }
}

/// The result that asks. None if no question fits a request.
pub(super) fn required(
    codec: &RequestStateCodec,
    asks: &[Ask],
    bound: &[u8],
) -> Option<Result<InputRequiredResult, RequestStateError>> {
    let requests: InputRequests = asks.iter().filter_map(|ask| Some((ask.request.clone(), request(ask)?))).collect();
    let session = asks.first()?.session.to_string();
    let put = asks.iter().filter(|ask| requests.contains_key(&ask.request));
    let sealed = Sealed { session, requests: put.map(|ask| (ask.request.clone(), fingerprint(ask))).collect() };
    if sealed.requests.is_empty() {
        return None;
    }
    let options = SealOptions::new().associated_data(bound).ttl(SEAL_TIME);
    Some(codec.seal_json_with(&sealed, &options).map(|state| InputRequiredResult::new(Some(requests), Some(state))))
}

/// What a sealed state was bound to: the caller, the tool and its arguments.
pub(super) fn bound(owner: &str, tool: &str, args: &str) -> [u8; 32] {
    Digest::of_parts(&[owner.as_bytes(), b"\0", tool.as_bytes(), b"\0", args.as_bytes()]).0
}

/// Opens the state of a call that comes again.
pub(super) fn redeem(
    codec: &RequestStateCodec,
    params: &CallToolRequestParams,
    bound: &[u8],
) -> Option<Result<Redeemed, String>> {
    let state = params.request_state.as_ref()?;
    let sealed: Result<Sealed, _> = codec.open_json_with(state, bound);
    Some(match sealed {
        Ok(sealed) => sealed.session.parse().map_err(|_| "requestState names no session".to_owned()).map(|session| {
            let sent = |id: &String| params.input_responses.as_ref().and_then(|r| r.get(id)).cloned();
            let answers = sealed.requests.into_iter().map(|(id, question)| (id.clone(), question, sent(&id))).collect();
            Redeemed { session, answers }
        }),
        Err(error) => Err(format!("requestState is not what this server sent with this call: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_fitting_value_is_an_answer() {
        let accept = |content: Value| {
            let mut result = ElicitResult::new(ElicitationAction::Accept);
            result.content = Some(content);
            read(r#"{"type":"string","enum":["yes","no"]}"#, result)
        };
        assert_eq!(accept(json!({"value": "yes"})), Answered::Value("\"yes\"".into()));
        for wrong in [json!({"value": "maybe"}), json!({"value": true}), json!({}), json!(null), json!("yes")] {
            assert!(matches!(accept(wrong), Answered::Unanswered(_)));
        }
        let decline = ElicitResult::new(ElicitationAction::Decline);
        assert_eq!(read("{}", decline), Answered::Declined);
    }

    #[test]
    fn a_sealed_state_opens_only_for_its_own_call() {
        let codec = RequestStateCodec::try_new(vec![7; 32]).unwrap();
        let what = Asked::Form { prompt: "?".into(), schema: r#"{"type":"string"}"#.into() };
        let ask = Ask { session: SessionId::from_bits(1), request: "step-1".into(), what };
        let asked = required(&codec, std::slice::from_ref(&ask), &bound("", "t", "{}")).unwrap().unwrap();
        let mut params = CallToolRequestParams::new("t");
        params.request_state = asked.request_state;
        let redeemed = redeem(&codec, &params, &bound("", "t", "{}")).unwrap().unwrap();
        assert_eq!(
            (redeemed.session, redeemed.answers),
            (ask.session, vec![("step-1".to_owned(), fingerprint(&ask), None)])
        );
        for other in [bound("x", "t", "{}"), bound("", "u", "{}"), bound("", "t", "{ }")] {
            assert!(redeem(&codec, &params, &other).unwrap().is_err());
        }
    }
}
