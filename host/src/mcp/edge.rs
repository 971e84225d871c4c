//! Around every handler: a bounded number at once, and a panic that costs the call and nothing else.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use rmcp::ErrorData;
use tokio::sync::Semaphore;

use crate::waiting::Working;

/// Runs a handler. A bug in it becomes an error that the client sees.
pub(super) async fn guarded<T>(
    permits: &Semaphore,
    handler: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    let _permit = permits.acquire().await.map_err(|_| ErrorData::internal_error("the server is ending", None))?;
    let _working = Working::begin();
    AssertUnwindSafe(handler).catch_unwind().await.unwrap_or_else(|_| {
        Err(ErrorData::internal_error("a bug in wfhost ended this call; the session is where it was", None))
    })
}
