//! A model's next message, by way of the client that has one. The protocol is giving this up; it stands here alone, so that it
//! can go.

#![expect(deprecated, reason = "clients of both eras still offer it, and a session may want it")]

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, InputRequest,
};
use rmcp::service::Peer;
use serde_json::Value;

use crate::session::Answered;

/// Whether a client has a model to offer.
pub(super) fn offered(capabilities: &ClientCapabilities) -> bool {
    capabilities.sampling.is_some()
}

/// What a client must offer that is asked for a model's message.
pub(super) fn needed() -> ClientCapabilities {
    serde_json::from_value(serde_json::json!({"sampling": {}})).unwrap_or_default()
}

/// The request to a client. None if the parameters are none.
pub(super) fn request(params: &str) -> Option<InputRequest> {
    let params: CreateMessageRequestParams = serde_json::from_str(params).ok()?;
    Some(InputRequest::CreateMessage(CreateMessageRequest::new(params)))
}

/// Asks at once, and waits at most so long.
pub(super) async fn complete(peer: &Peer<RoleServer>, params: &str, time: Duration) -> Answered {
    let Ok(params) = serde_json::from_str(params) else { return Answered::Cannot };
    match tokio::time::timeout(time, peer.create_message(params)).await {
        Ok(Ok(result)) => kept(&result),
        Ok(Err(error)) => Answered::Unanswered(format!("the client's model gave nothing: {error}")),
        Err(_) => Answered::Unanswered(format!("no message within {} s", time.as_secs())),
    }
}

/// What the client sent for a request that went with a reply.
pub(super) fn read(sent: &Value) -> Answered {
    match serde_json::from_value::<CreateMessageResult>(sent.clone()) {
        Ok(result) => kept(&result),
        Err(_) => Answered::Unanswered("what came back is no message of a model".into()),
    }
}

fn kept(result: &CreateMessageResult) -> Answered {
    match serde_json::to_string(result) {
        Ok(text) => Answered::Value(text),
        Err(error) => Answered::Unanswered(error.to_string()),
    }
}
