//! What an upstream server says of its own accord: progress goes to the call that it belongs to, a changed list of tools is
//! read again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ClientConfig, Implementation, ProgressNotificationParam, ProgressToken, ProtocolVersion};
use rmcp::service::NotificationContext;
use rmcp::{ClientHandler, RoleClient};

use crate::session::outside::Told;

/// One connection's ear.
#[derive(Debug, Clone, Default)]
pub(super) struct Handler {
    calls: Arc<Mutex<HashMap<ProgressToken, Told>>>,
    changed: Arc<AtomicBool>,
}

impl Handler {
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
        info
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let told = self.calls.lock().unwrap_or_else(PoisonError::into_inner).get(&params.progress_token).cloned();
        if let Some(told) = told {
            let part = serde_json::json!({
                "progress": params.progress, "total": params.total, "message": params.message,
            });
            // Nobody may listen any more.
            let _ = told.unbounded_send(part.to_string());
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}
