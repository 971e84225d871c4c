//! What an upstream server says of its own accord: progress goes to the call that it belongs to, a question to the person behind
//! it, and a changed list of tools is read again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
    FormElicitationCapability, Implementation, ProgressNotificationParam, ProgressToken, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};

use super::secret::Secrets;
use crate::session::Answered;
use crate::session::outside::Told;

/// One connection's ear.
#[derive(Debug, Clone, Default)]
pub(super) struct Handler {
    calls: Arc<Mutex<HashMap<ProgressToken, Told>>>,
    changed: Arc<AtomicBool>,
    secrets: Secrets,
}

impl Handler {
    /// What it passes on holds none of these.
    pub(super) fn new(secrets: Secrets) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// The one call that is out. With several nobody can tell whose matter a question is: the protocol does not say.
    fn only(&self) -> Option<Told> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = calls.values();
        all.next().filter(|_| all.next().is_none()).cloned()
    }

    /// From now on progress under this token goes there.
    pub(super) fn follow(&self, token: ProgressToken, told: Told) -> Followed {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), told);
        Followed { handler: self.clone(), token }
    }

    /// Whether the list of tools has changed since this was last asked.
    pub(super) fn has_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }
}

/// Ends the following.
#[derive(Debug)]
pub(super) struct Followed {
    handler: Handler,
    token: ProgressToken,
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.handler.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        info.client_info = Implementation::new("wfhost", env!("CARGO_PKG_VERSION"));
        info.capabilities.elicitation =
            Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
        info
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let told = self.calls.lock().unwrap_or_else(PoisonError::into_inner).get(&params.progress_token).cloned();
        if let Some(told) = told {
            let part = serde_json::json!({
                "progress": params.progress, "total": params.total, "message": params.message,
            });
            told.tell(self.secrets.hide(&part.to_string()));
        }
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let declined = ElicitResult::new(ElicitationAction::Decline);
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            return Ok(declined);
        };
        let (Some(told), Ok(schema)) = (self.only(), serde_json::to_string(&requested_schema)) else {
            return Ok(declined);
        };
        let answered = told.ask(self.secrets.hide(&message), self.secrets.hide(&schema)).await;
        Ok(match answered {
            Answered::Value(value) => {
                let mut accepted = ElicitResult::new(ElicitationAction::Accept);
                accepted.content = serde_json::from_str(&value).ok();
                accepted
            }
            Answered::Unanswered(_) => ElicitResult::new(ElicitationAction::Cancel),
            Answered::Declined | Answered::Cannot | Answered::Later => declined,
        })
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}
