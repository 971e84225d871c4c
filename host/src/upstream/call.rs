//! One call of a tool: sent, followed, ended in time, given up when nobody wants it any more, and told for what it came to.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotification, CancelledNotificationParam,
    ClientRequest, ErrorCode, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use rmcp::{ErrorData, RoleClient};

use super::bearer::is_not_let_in;
use super::connect::chain;
use super::handler::Handler;
use super::process::Tail;
use crate::limits::{UPSTREAM_RESULT_BYTES_MAX, UPSTREAM_TIME_MAX};
use crate::plugin::contract::{Failure, Mishap};
use crate::session::outside::Told;

/// What a call goes through.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) peer: Peer<RoleClient>,
    pub(super) handler: Handler,
    pub(super) tail: Tail,
}

/// A tool and its arguments, a JSON object's text.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) tool: String,
    pub(super) args: String,
    pub(super) time: std::time::Duration,
}

impl Line {
    /// Calls. The value is MCP's CallToolResult as JSON text.
    pub(super) async fn call(&self, wanted: &Wanted, told: Told) -> Result<String, Failure> {
        let arguments = serde_json::from_str(&wanted.args)
            .map_err(|_| failure(Mishap::Failed, format!("the arguments for `{}` are no object", wanted.tool)))?;
        let mut params = CallToolRequestParams::new(wanted.tool.clone());
        params.arguments = Some(arguments);
        let request = CallToolRequest::new(params);
        let mut options = PeerRequestOptions::with_timeout(wanted.time).reset_timeout_on_progress();
        options.max_total_timeout = Some(UPSTREAM_TIME_MAX);
        let sent = self.peer.send_cancellable_request(ClientRequest::CallToolRequest(request), options).await;
        let handle = sent.map_err(|error| self.failed(&error, wanted))?;
        let _followed = self.handler.follow(handle.progress_token.clone(), told);
        match self.answer(handle).await {
            Ok(ServerResult::CallToolResult(result)) => self.value(result, wanted),
            Ok(ServerResult::InputRequiredResult(_)) => Err(failure(
                Mishap::Failed,
                format!("`{}` of `{}` asks for further input, which is not passed on", wanted.tool, self.name),
            )),
            Ok(_) => {
                Err(failure(Mishap::Failed, format!("`{}` answered something that is no result of a tool", self.name)))
            }
            Err(error) => {
                if matches!(error, ServiceError::TransportClosed) {
                    self.tail.last_words().await;
                }
                Err(self.failed(&error, wanted))
            }
        }
    }

    async fn answer(&self, handle: RequestHandle<RoleClient>) -> Result<ServerResult, ServiceError> {
        let mut abandoned = Abandoned { peer: self.peer.clone(), request: Some(handle.id.clone()) };
        let answer = handle.await_response().await;
        abandoned.request = None;
        answer
    }

    fn value(&self, mut result: CallToolResult, wanted: &Wanted) -> Result<String, Failure> {
        result.result_type = None;
        let text = serde_json::to_string(&result)
            .map_err(|error| failure(Mishap::Failed, format!("the result cannot be kept: {error}")))?;
        if text.len() > UPSTREAM_RESULT_BYTES_MAX {
            let message = format!(
                "`{}` of `{}` gave a result of {} bytes; up to {UPSTREAM_RESULT_BYTES_MAX} are taken",
                wanted.tool,
                self.name,
                text.len()
            );
            return Err(failure(Mishap::Failed, message));
        }
        Ok(text)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum may grow, and all the rest is told in its own words")]
    fn failed(&self, error: &ServiceError, wanted: &Wanted) -> Failure {
        let Wanted { tool, time, .. } = wanted;
        let name = &self.name;
        match error {
            ServiceError::McpError(error) => {
                let kind = if unknown(error) { Mishap::Unavailable } else { Mishap::Failed };
                let detail = serde_json::to_string(error).ok();
                Failure { kind, message: format!("`{tool}` of `{name}`: {}", error.message), detail }
            }
            ServiceError::Timeout { .. } => {
                let message = format!("`{tool}` of `{name}` gave no answer within {} ms", time.as_millis());
                failure(Mishap::TimedOut, message)
            }
            ServiceError::Cancelled { reason } => {
                let why = reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                failure(Mishap::Cancelled, format!("`{tool}` of `{name}` was cancelled{why}"))
            }
            ServiceError::TransportClosed => {
                let said = self.tail.text();
                let said = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
                let message = format!("`{name}` ended while `{tool}` ran, so nobody knows whether it was done{said}");
                failure(Mishap::Lost, message)
            }
            error if is_not_let_in(error) => {
                let message = format!("`{name}` does not let this host in, so `{tool}` was not done: {}", chain(error));
                failure(Mishap::Unavailable, message)
            }
            // It was not sent, or not as far as anyone knows.
            other => failure(Mishap::Lost, format!("`{tool}` of `{name}`: {}", chain(other))),
        }
    }
}

fn unknown(error: &ErrorData) -> bool {
    error.code == ErrorCode::METHOD_NOT_FOUND
}

pub(super) fn failure(kind: Mishap, message: String) -> Failure {
    Failure { kind, message, detail: None }
}

/// Tells the server when nobody waits for the answer any more.
struct Abandoned {
    peer: Peer<RoleClient>,
    request: Option<RequestId>,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let (Some(request), Ok(runtime)) = (self.request.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let params = CancelledNotificationParam::new(Some(request), Some("the call was given up".into()));
            let note = CancelledNotification::new(params);
            // A server that is gone need not be told.
            let _ = peer.send_notification(note.into()).await;
        });
    }
}
