//! Around every handler: a bounded number at once and a bounded number that wait, and a panic that costs the call and
//! nothing else.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::waiting::working;

/// When a caller who was turned away may well come again, milliseconds.
const AGAIN_MS: u64 = 250;

/// The way in: so many at once, so many who wait.
#[derive(Debug)]
pub(super) struct Gate {
    permits: Semaphore,
    waiting: AtomicUsize,
    waiting_max: usize,
}

impl Gate {
    pub(super) fn new(at_once: usize, waiting_max: usize) -> Self {
        Self { permits: Semaphore::new(at_once), waiting: AtomicUsize::new(0), waiting_max }
    }

    async fn enter(&self) -> Result<SemaphorePermit<'_>, ErrorData> {
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(permit);
        }
        let place = Place(&self.waiting);
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        if before >= self.waiting_max {
            let message = format!(
                "the server is busy: {before} calls wait already. This one was not begun and has changed nothing: try again \
                 in a moment"
            );
            let data = serde_json::json!({"retry_after_ms": AGAIN_MS});
            return Err(ErrorData::new(ErrorCode::INTERNAL_ERROR, message, Some(data)));
        }
        let permit = self.permits.acquire().await;
        drop(place);
        permit.map_err(|_| ErrorData::internal_error("the server is ending", None))
    }
}

/// A place among those who wait, also of one who went away meanwhile.
struct Place<'g>(&'g AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs a handler. A bug in it becomes an error that the client sees.
pub(super) async fn guarded<T>(
    gate: &Gate,
    handler: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    let _permit = gate.enter().await?;
    let _working = working();
    AssertUnwindSafe(handler).catch_unwind().await.unwrap_or_else(|_| {
        Err(ErrorData::internal_error("a bug in wfhost ended this call; the session is where it was", None))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_who_comes_too_many_is_told_to_come_again() {
        let gate = Gate::new(1, 2);
        let inside = gate.enter().await.unwrap();
        let (first, second) = (gate.enter(), gate.enter());
        let mut waiting = Box::pin(async { futures::join!(first, second) });
        assert!(futures::poll!(&mut waiting).is_pending());
        let turned_away = gate.enter().await.unwrap_err();
        assert!(turned_away.message.contains("busy") && turned_away.message.contains("try again"), "{turned_away}");
        drop(waiting);
        // Those who went away wait no more.
        assert_eq!(gate.waiting.load(Ordering::Relaxed), 0);
        drop(inside);
        assert!(gate.enter().await.is_ok());
    }
}
