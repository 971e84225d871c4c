//! Asking a person through the client: a form in the legacy era, an `input_required` result in the modern one.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests, InputRequiredResult, RequestStateCodec, RequestStateError, SealOptions,
};
use rmcp::service::{Peer, RequestContext, ServiceError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::limits::SEAL_TIME;
use crate::session::model::{Digest, SessionId};
use crate::session::{Answered, Effects, Form};

/// The name of the one field of a form, and of the one input request.
const FIELD: &str = "value";
const REQUEST: &str = "answer";

/// How this call may ask.
#[derive(Debug, Clone)]
pub(super) enum Asking {
    /// Not at all.
    No,
    /// By a request to the client.
    Form(Peer<RoleServer>),
    /// With the reply.
    WithReply,
}

/// What a call can do for a session.
#[derive(Debug)]
pub(super) struct Asker<'c> {
    pub(super) asking: Asking,
    pub(super) context: &'c RequestContext<RoleServer>,
}

impl Effects for Asker<'_> {
    async fn ask(&self, form: &Form, time: Duration) -> Answered {
        let peer = match &self.asking {
            Asking::No => return Answered::Cannot,
            Asking::WithReply => return Answered::Later,
            Asking::Form(peer) => peer,
        };
        let Some(params) = params(form) else { return Answered::Cannot };
        let asked = peer.create_elicitation_with_timeout(params, Some(time));
        tokio::select! {
            () = self.context.ct.cancelled() => Answered::Unanswered("the client gave up the call".into()),
            result = asked => match result {
                Ok(result) => read(&form.schema, result),
                Err(error) => unanswered(&error),
            },
        }
    }

    fn blocking<T>(&self, work: impl FnOnce() -> T) -> T {
        tokio::task::block_in_place(work)
    }
}

fn unanswered(error: &ServiceError) -> Answered {
    match error {
        ServiceError::Timeout { timeout } => Answered::Unanswered(format!("no answer within {} s", timeout.as_secs())),
        other => Answered::Unanswered(format!("the client could not ask: {other}")),
    }
}

/// A form with one field, unless the schema is an object that a form can show as it is.
fn params(form: &Form) -> Option<ElicitRequestParams> {
    let schema: Value = serde_json::from_str(&form.schema).ok()?;
    let requested_schema: ElicitationSchema = serde_json::from_value(wrapped(&schema)).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message: form.prompt.clone(), requested_schema })
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
    let there = required.is_none_or(|names| names.iter().filter_map(Value::as_str).all(|name| value.get(name).is_some()));
    let properties = schema.get("properties").and_then(Value::as_object);
    there && properties.is_none_or(|p| p.iter().all(|(name, s)| value.get(name).is_none_or(|v| fits(s, v))))
}

/// What a sealed request state holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sealed {
    session: String,
    request: String,
}

/// A question that was asked with a reply, and what came of it.
#[derive(Debug)]
pub(super) struct Redeemed {
    pub(super) session: SessionId,
    pub(super) request: String,
    /// None: the client sent the state back without an answer.
    pub(super) answer: Option<ElicitResult>,
}

impl Redeemed {
    /// What the answer says, against the schema that was asked.
    pub(super) fn read(&self, schema: &str) -> Option<Answered> {
        self.answer.clone().map(|result| read(schema, result))
    }
}

/// The result that asks. None if the question fits no form.
pub(super) fn required(
    codec: &RequestStateCodec,
    form: &Form,
    bound: &[u8],
) -> Option<Result<InputRequiredResult, RequestStateError>> {
    let request = ElicitRequest::new(params(form)?);
    let requests = InputRequests::from([(REQUEST.to_owned(), InputRequest::Elicitation(request))]);
    let sealed = Sealed { session: form.session.to_string(), request: form.request.clone() };
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
            let answer = params.input_responses.as_ref().and_then(|r| r.get(REQUEST)).cloned();
            let answer = answer.and_then(|value| serde_json::from_value(value).ok());
            Redeemed { session, request: sealed.request, answer }
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
        let form = Form {
            session: SessionId::from_bits(1),
            request: "step-1".into(),
            prompt: "?".into(),
            schema: r#"{"type":"string"}"#.into(),
        };
        let asked = required(&codec, &form, &bound("", "t", "{}")).unwrap().unwrap();
        let mut params = CallToolRequestParams::new("t");
        params.request_state = asked.request_state;
        let redeemed = redeem(&codec, &params, &bound("", "t", "{}")).unwrap().unwrap();
        assert_eq!((redeemed.session, redeemed.request.as_str()), (form.session, "step-1"));
        for other in [bound("x", "t", "{}"), bound("", "u", "{}"), bound("", "t", "{ }")] {
            assert!(redeem(&codec, &params, &other).unwrap().is_err());
        }
    }
}
