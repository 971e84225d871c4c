//! The page over HTTP, on loopback alone and for reading alone. Foreign hosts and origins are turned away, so that no other
//! page can read the documents.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::site::Site;
use crate::mcp::{HttpFault, HttpOptions, guarded};

/// Listens and serves until the token is cancelled. `ready` is told the address, with the port that was found.
pub async fn serve(
    site: Site,
    address: SocketAddr,
    ending: CancellationToken,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), HttpFault> {
    let fault = |e: std::io::Error| HttpFault::Listen { address, reason: e.to_string() };
    let listener = TcpListener::bind(address).await.map_err(fault)?;
    ready(listener.local_addr().map_err(fault)?);
    let routes = Router::new().route("/", get(first)).route("/{*path}", get(file)).with_state(Arc::new(site));
    let app = guarded(routes, &HttpOptions::default());
    axum::serve(listener, app).with_graceful_shutdown(async move { ending.cancelled().await }).await.map_err(fault)
}

async fn first(site: State<Arc<Site>>) -> Response {
    file(site, Path(String::new())).await
}

async fn file(State(site): State<Arc<Site>>, Path(path): Path<String>) -> Response {
    let kind = kind(&path);
    let found = tokio::task::spawn_blocking(move || site.file(&path).map(std::borrow::Cow::into_owned)).await;
    match found {
        Ok(Some(bytes)) => {
            let headers = [
                (header::CONTENT_TYPE, kind),
                (header::CACHE_CONTROL, "no-cache"),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
                (header::REFERRER_POLICY, "no-referrer"),
            ];
            (headers, bytes).into_response()
        }
        Ok(None) | Err(_) => (StatusCode::NOT_FOUND, "there is no such file\n").into_response(),
    }
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        None if path.is_empty() => "text/html; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("wasm") => "application/wasm",
        Some(_) | None => "text/plain; charset=utf-8",
    }
}
