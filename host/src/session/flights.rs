//! Requests that this process carries out at the moment: found by session and request, so that one that is withdrawn can be
//! given up, and none is carried out twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{AbortHandle, Abortable, BoxFuture};

use super::model::{OpenRequest, SessionId};
use crate::plugin::contract::Failure;

type Key = (SessionId, String);

/// What is under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Flights(Arc<Mutex<HashMap<Key, AbortHandle>>>);

/// A request that is being carried out.
pub(super) type Flight = BoxFuture<'static, Landed>;

/// How it ended.
#[derive(Debug)]
pub(super) struct Landed {
    pub(super) session: SessionId,
    pub(super) request: OpenRequest,
    /// None: it was given up.
    pub(super) value: Option<Result<String, Failure>>,
}

impl Flights {
    /// Starts on a request; none if it is under way already.
    pub(super) fn begin(
        &self,
        session: SessionId,
        request: OpenRequest,
        work: BoxFuture<'static, Result<String, Failure>>,
    ) -> Option<Flight> {
        let key = (session, request.id.clone());
        let (handle, registration) = AbortHandle::new_pair();
        let mut all = self.all();
        if all.contains_key(&key) {
            return None;
        }
        all.insert(key.clone(), handle);
        drop(all);
        let mark = Mark { flights: self.clone(), key };
        let work = Abortable::new(work, registration);
        Some(
            async move {
                let value = work.await.ok();
                drop(mark);
                Landed { session, request, value }
            }
            .boxed(),
        )
    }

    /// Whether it is under way here.
    pub(super) fn has(&self, session: SessionId, request: &str) -> bool {
        self.all().contains_key(&(session, request.to_owned()))
    }

    /// Gives it up, if it is under way here.
    pub(super) fn give_up(&self, session: SessionId, request: &str) {
        if let Some(handle) = self.all().get(&(session, request.to_owned())) {
            handle.abort();
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the request off the list, also when nobody waits for it to the end.
#[derive(Debug)]
struct Mark {
    flights: Flights,
    key: Key,
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.flights.all().remove(&self.key);
    }
}
