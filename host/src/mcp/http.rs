//! Streamable HTTP at `/mcp` and `/mcp/`, and `/health`. Foreign hosts and origins are turned away on every route, so that
//! no web page can drive a server on the reader's own machine.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::capped::Capped;
use super::server::Server;
use crate::limits::{HTTP_BODY_BYTES_MAX, HTTP_BODY_TIME_MAX, HTTP_BYTES_AT_ONCE_MAX, HTTP_REQUEST_BYTES_MIN};
use crate::waiting::may_block;

/// The operator's words on HTTP.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// Hosts by which the server may be called besides the loopback names: `example.com` or `example.com:8080`.
    pub hosts: Vec<String>,
    /// Origins of web pages that may call it besides loopback ones: `https://example.com`.
    pub origins: Vec<String>,
    /// What `/metrics` gives; none: there is no such route.
    pub metrics: Option<Text>,
}

/// A text that is made when it is asked for.
#[derive(Clone)]
pub struct Text {
    /// Its media type.
    pub media_type: &'static str,
    /// Makes it. May block.
    pub text: Arc<dyn Fn() -> String + Send + Sync>,
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Text").field("media_type", &self.media_type).finish_non_exhaustive()
    }
}

/// The server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum HttpFault {
    /// The port is taken, or not ours to take.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        reason: String,
    },
    /// An address that others can reach, and nothing that keeps them out.
    #[error(
        "{0} can be reached from other machines, and this server has no log-in: listen on 127.0.0.1, or name the hosts that \
         may call it with `--allow-host` behind a proxy that checks who calls"
    )]
    Open(IpAddr),
}

/// The routes, to be mounted into any axum application.
pub fn router(server: &Server, options: &HttpOptions, ending: CancellationToken) -> Router {
    let Allowed { hosts, origins, .. } = Allowed::by(options);
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_allowed_hosts(["::1".to_owned()].into_iter().chain(hosts.iter().cloned()))
        .with_allowed_origins(origins.iter().cloned())
        .with_max_request_body_bytes(HTTP_BODY_BYTES_MAX)
        .with_cancellation_token(ending);
    let server = server.clone();
    let service = StreamableHttpService::new(move || Ok(server.connection()), Arc::new(Capped::default()), config);
    let mut routes = Router::new()
        .route_service("/mcp", service.clone())
        .route_service("/mcp/", service)
        .route("/health", get(|| async { "ok\n" }));
    if let Some(Text { media_type, text }) = options.metrics.clone() {
        let shown = move || {
            let text = may_block(|| text());
            async move { ([(header::CONTENT_TYPE, media_type)], text) }
        };
        routes = routes.route("/metrics", get(shown));
    }
    guarded(routes, options)
}

/// Turns foreign hosts and origins away on every route, and whoever comes when there is too much to do.
pub(crate) fn guarded(routes: Router, options: &HttpOptions) -> Router {
    routes.layer(from_fn_with_state(Arc::new(Allowed::by(options)), check))
}

#[derive(Debug)]
struct Allowed {
    hosts: Vec<String>,
    origins: Vec<String>,
    bytes: Semaphore,
}

async fn check(State(allowed): State<Arc<Allowed>>, request: Request, next: Next) -> Response {
    if let Some(why) = allowed.objection(&request) {
        return refused(why);
    }
    // Until its answer begins; a stream that stays open afterwards holds no request.
    let taken = weight(declared(&request));
    let Ok(mut room) = allowed.bytes.try_acquire_many(taken) else { return busy() };
    match received(request, HTTP_BODY_TIME_MAX).await {
        Ok((request, bytes)) => {
            drop(room.split((taken - weight(bytes)) as usize));
            next.run(request).await
        }
        Err(status) => (status, unread(status)).into_response(),
    }
}

/// Bytes that a request may have: a body that does not say how long it is may be as long as any.
fn declared(request: &Request) -> usize {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let declared = header(header::CONTENT_LENGTH).and_then(|text| text.parse().ok());
    let bodiless = request.method() == Method::GET || request.method() == Method::DELETE;
    declared.unwrap_or(if bodiless { 0 } else { HTTP_BODY_BYTES_MAX })
}

/// What a request of so many bytes counts for.
fn weight(bytes: usize) -> u32 {
    u32::try_from(bytes.clamp(HTTP_REQUEST_BYTES_MIN, HTTP_BODY_BYTES_MAX)).unwrap_or(u32::MAX)
}

/// The request with all of its body, and how many bytes that is. Who sends it too slowly, or not at all, may not take the
/// room of others for ever.
async fn received(request: Request, time: Duration) -> Result<(Request, usize), StatusCode> {
    if declared(&request) > HTTP_BODY_BYTES_MAX {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let (parts, body) = request.into_parts();
    match tokio::time::timeout(time, to_bytes(body, HTTP_BODY_BYTES_MAX)).await {
        Ok(Ok(bytes)) => {
            let length = bytes.len();
            Ok((Request::from_parts(parts, Body::from(bytes)), length))
        }
        // A body that broke off has nobody left to read this.
        Ok(Err(_)) => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

fn unread(status: StatusCode) -> String {
    match status {
        StatusCode::REQUEST_TIMEOUT => {
            format!("the request's body did not come within {} seconds: send it again\n", HTTP_BODY_TIME_MAX.as_secs())
        }
        _ => format!("the request's body has more than {HTTP_BODY_BYTES_MAX} bytes, which is as many as may be\n"),
    }
}

fn busy() -> Response {
    let words =
        "the server is busy: as many requests as it takes are being worked on. This one was not begun: try again\n";
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], words).into_response()
}

impl Allowed {
    /// The loopback names, and what the operator adds.
    fn by(options: &HttpOptions) -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"];
        let hosts = loopback.iter().map(|h| (*h).to_owned()).chain(options.hosts.iter().cloned()).collect();
        let origins = loopback
            .iter()
            .flat_map(|h| [format!("http://{h}:*"), format!("https://{h}:*")])
            .chain(options.origins.iter().cloned())
            .collect();
        Self { hosts, origins, bytes: Semaphore::new(HTTP_BYTES_AT_ONCE_MAX) }
    }

    fn objection(&self, request: &Request) -> Option<&'static str> {
        let text = |name| request.headers().get(name).map(|v| v.to_str().unwrap_or("?"));
        let authority = request.uri().authority().map(axum::http::uri::Authority::as_str);
        let host = text(header::HOST).or(authority);
        if !host.is_some_and(|h| self.hosts.iter().any(|a| same_host(a, h))) {
            return Some("this server is not called by that host name (see `--allow-host`)");
        }
        let foreign = text(header::ORIGIN).is_some_and(|o| !self.origins.iter().any(|a| same_origin(a, o)));
        foreign.then_some("pages of that origin may not call this server (see `--allow-origin`)")
    }
}

fn refused(why: &'static str) -> Response {
    (StatusCode::FORBIDDEN, format!("{why}\n")).into_response()
}

/// An allowed host without a port stands for every port.
fn same_host(allowed: &str, host: &str) -> bool {
    host.eq_ignore_ascii_case(allowed) || without_port(host).eq_ignore_ascii_case(allowed)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|b| b.is_ascii_digit()) && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

fn same_origin(allowed: &str, origin: &str) -> bool {
    let split =
        |text: &str| text.split_once("://").map(|(scheme, host)| (scheme.to_ascii_lowercase(), host.to_owned()));
    match allowed.strip_suffix(":*").and_then(split) {
        Some((scheme, any_port)) => split(origin)
            .is_some_and(|(theirs, host)| theirs == scheme && without_port(&host).eq_ignore_ascii_case(&any_port)),
        None => origin.eq_ignore_ascii_case(allowed),
    }
}

/// Listens and serves until the token is cancelled. `ready` is told the address, with the port that was found.
pub async fn serve(
    server: Server,
    address: SocketAddr,
    options: HttpOptions,
    ending: CancellationToken,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), HttpFault> {
    if !address.ip().is_loopback() && options.hosts.is_empty() {
        return Err(HttpFault::Open(address.ip()));
    }
    let fault = |e: std::io::Error| HttpFault::Listen { address, reason: e.to_string() };
    let listener = TcpListener::bind(address).await.map_err(fault)?;
    ready(listener.local_addr().map_err(fault)?);
    // Without this every event of a stream waits for the other side's acknowledgement.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let app = router(&server, &options, ending.child_token());
    axum::serve(listener, app).with_graceful_shutdown(async move { ending.cancelled().await }).await.map_err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_that_does_not_come_is_given_up_and_one_that_is_too_long_is_not_read() {
        let post = |body| Request::builder().method(Method::POST).body(body).unwrap();
        let silent = futures::stream::pending::<Result<&'static str, std::io::Error>>();
        let told = received(post(Body::from_stream(silent)), Duration::from_millis(20)).await;
        assert_eq!(told.err(), Some(StatusCode::REQUEST_TIMEOUT));
        let endless = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1 << 20]));
        let told = received(post(Body::from_stream(endless)), HTTP_BODY_TIME_MAX).await;
        assert_eq!(told.err(), Some(StatusCode::PAYLOAD_TOO_LARGE));
        let (_, bytes) = received(post(Body::from("twelve bytes")), HTTP_BODY_TIME_MAX).await.unwrap();
        assert_eq!(bytes, 12);
    }

    #[test]
    fn ports_do_not_matter_and_names_do() {
        for (allowed, host, expected) in [
            ("localhost", "localhost:80", true),
            ("localhost", "LOCALHOST", true),
            ("[::1]", "[::1]:8080", true),
            ("localhost", "localhost.evil.example", false),
            ("127.0.0.1", "127.0.0.1.evil.example:80", false),
            ("example.com:8080", "example.com:80", false),
        ] {
            assert_eq!(same_host(allowed, host), expected, "{host}");
        }
        assert!(same_origin("http://localhost:*", "http://localhost:3000"));
        assert!(same_origin("http://localhost:*", "http://localhost"));
        assert!(same_origin("http://[::1]:*", "http://[::1]:3000"));
        assert!(!same_origin("http://localhost:*", "https://localhost:3000"));
        assert!(!same_origin("http://localhost:*", "http://evil.example"));
        assert!(!same_origin("http://localhost:*", "null"));
    }
}
