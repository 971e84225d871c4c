//! Log messages to the client. The protocol is giving them up too; what a session has to say stands in its journal, and here
//! only for clients that ask for it: by `logging/setLevel`, or in the modern era by a level that comes with the request.

#![expect(deprecated, reason = "legacy clients still ask for it")]

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, SetLevelRequestParams};
use rmcp::service::RequestContext;
use serde_json::Value;

/// What `logging/setLevel` brings.
pub(super) type LevelParams = SetLevelRequestParams;

/// The least severe level that a connection wants to hear of, if any.
#[derive(Debug, Clone, Default)]
pub(super) struct Level(Arc<Mutex<Option<LoggingLevel>>>);

impl Level {
    pub(super) fn set(&self, wanted: &LevelParams) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(wanted.level);
    }

    fn get(&self) -> Option<LoggingLevel> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells a part of a turn that is a log message: an object with `level` and `data`. False if it is none.
pub(super) async fn told(context: &RequestContext<RoleServer>, level: Option<&Level>, part: &Value) -> bool {
    let Some((said, data)) = part.get("level").zip(part.get("data")) else { return false };
    let Ok(said) = serde_json::from_value::<LoggingLevel>(said.clone()) else { return false };
    let wanted = match level {
        Some(level) => level.get(),
        None => {
            context.meta.get("io.modelcontextprotocol/logLevel").and_then(|l| serde_json::from_value(l.clone()).ok())
        }
    };
    if wanted.is_some_and(|wanted| rank(said) >= rank(wanted)) {
        // A client that is gone is told nothing more.
        let _ = context.peer.notify_logging_message(LoggingMessageNotificationParam::new(said, data.clone())).await;
    }
    true
}

fn rank(level: LoggingLevel) -> usize {
    use LoggingLevel::{Alert, Critical, Debug, Emergency, Error, Info, Notice, Warning};
    let order = [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency];
    order.iter().position(|l| *l == level).unwrap_or_default()
}
