//! Telling clients that the list of tools has changed: legacy clients by a notification once they have said `initialized`,
//! modern ones only if they listen.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionSink};

/// Who wants to know.
#[derive(Clone, Default)]
pub(super) struct Listeners(Arc<Mutex<Vec<Listener>>>);

impl std::fmt::Debug for Listeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listeners")
    }
}

#[derive(Clone)]
enum Listener {
    Legacy(Peer<RoleServer>),
    Modern(SubscriptionSink),
}

impl Listeners {
    pub(super) fn add_legacy(&self, peer: Peer<RoleServer>) {
        self.add(Listener::Legacy(peer));
    }

    pub(super) fn add_modern(&self, sink: SubscriptionSink) {
        self.add(Listener::Modern(sink));
    }

    fn add(&self, listener: Listener) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|l| !matches!(l, Listener::Legacy(peer) if peer.is_transport_closed()));
        listeners.push(listener);
    }

    /// Tells all of them; who is gone is forgotten.
    pub(super) async fn tell(&self) {
        let listeners = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut still = Vec::new();
        for listener in listeners {
            let told = match &listener {
                Listener::Legacy(peer) => peer.notify_tool_list_changed().await.is_ok(),
                Listener::Modern(sink) => sink.notify_tool_list_changed().await.is_ok(),
            };
            if told {
                still.push(listener);
            }
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(still);
    }
}
