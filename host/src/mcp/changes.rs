//! Telling clients what has changed: the list of tools, and resources that show a session. Legacy clients are told of tools
//! once they have said `initialized` and of resources they subscribed to; modern ones only what they listen for.
//!
//! LIMIT: a session that another process moved is not told of.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, SubscriptionSink};

use crate::limits::{NOTICE_TIME, SUBSCRIPTIONS_MAX};

/// Who wants to know.
#[derive(Clone, Default)]
pub(super) struct Listeners(Arc<Mutex<List>>);

/// Listeners by number, which tells one from another, and how many there ever were.
#[derive(Default)]
struct List {
    ever: u64,
    now: Vec<(u64, Listener)>,
}

impl std::fmt::Debug for Listeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listeners")
    }
}

/// The resources that a legacy connection subscribed to.
#[derive(Debug, Clone, Default)]
pub(super) struct Subscribed(Arc<Mutex<Vec<String>>>);

#[derive(Clone)]
enum Listener {
    Legacy(Peer<RoleServer>, Subscribed),
    Modern(SubscriptionSink),
}

impl Subscribed {
    pub(super) fn add(&self, uri: String) {
        let mut uris = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !uris.contains(&uri) && uris.len() < SUBSCRIPTIONS_MAX {
            uris.push(uri);
        }
    }

    pub(super) fn remove(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|u| u != uri);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Listeners {
    pub(super) fn add_legacy(&self, peer: Peer<RoleServer>, subscribed: Subscribed) {
        self.add(Listener::Legacy(peer, subscribed));
    }

    /// Gives the number by which it is forgotten.
    pub(super) fn add_modern(&self, sink: SubscriptionSink) -> u64 {
        self.add(Listener::Modern(sink))
    }

    fn add(&self, listener: Listener) -> u64 {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.now.retain(|(_, l)| !matches!(l, Listener::Legacy(peer, _) if peer.is_transport_closed()));
        listeners.ever += 1;
        let number = listeners.ever;
        listeners.now.push((number, listener));
        number
    }

    fn all(&self) -> Vec<(u64, Listener)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).now.clone()
    }

    pub(super) fn forget(&self, gone: &[u64]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).now.retain(|(number, _)| !gone.contains(number));
    }

    /// Tells all of them that the list of tools has changed; who is gone is forgotten.
    pub(super) async fn tell(&self) {
        let mut gone = Vec::new();
        for (number, listener) in self.all() {
            let told = match &listener {
                Listener::Legacy(peer, _) => taken(peer.notify_tool_list_changed()).await,
                Listener::Modern(sink) if sink.accepted().tools_list_changed == Some(true) => {
                    taken(sink.notify_tool_list_changed()).await
                }
                Listener::Modern(_) => true,
            };
            if !told {
                gone.push(number);
            }
        }
        self.forget(&gone);
    }

    /// Tells those who look at a session that it has moved. The call that moved it does not wait for them.
    pub(super) async fn tell_moved(&self, session: &str) {
        let mut notices = Vec::new();
        for (number, listener) in self.all() {
            let uris = match &listener {
                Listener::Legacy(_, subscribed) => subscribed.all(),
                Listener::Modern(sink) => sink.accepted().resource_subscriptions.clone().unwrap_or_default(),
            };
            let uris: Vec<String> = uris.into_iter().filter(|uri| shows(uri, session)).collect();
            if !uris.is_empty() {
                notices.push((number, listener, uris));
            }
        }
        if !notices.is_empty() {
            tokio::spawn(self.clone().tell_updated(notices));
        }
    }

    async fn tell_updated(self, notices: Vec<(u64, Listener, Vec<String>)>) {
        let mut gone = Vec::new();
        for (number, listener, uris) in notices {
            for uri in uris {
                let told = match &listener {
                    Listener::Legacy(peer, _) => {
                        taken(peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri))).await
                    }
                    Listener::Modern(sink) => taken(sink.notify_resource_updated(uri)).await,
                };
                if !told {
                    gone.push(number);
                    break;
                }
            }
        }
        self.forget(&gone);
    }
}

/// Whether a client takes a notice. One that does not for so long is as good as gone.
async fn taken<E>(notice: impl Future<Output = Result<(), E>>) -> bool {
    matches!(tokio::time::timeout(NOTICE_TIME, notice).await, Ok(Ok(())))
}

/// Whether a resource may show this session: it names it, or names none.
fn shows(uri: &str, session: &str) -> bool {
    uri.split_once("session=").is_none_or(|(_, named)| named.split('&').next() == Some(session))
}
