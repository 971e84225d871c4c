//! Tokens on their way: each request of a connection bears the one that holds now. A token that is fetched is fetched again when
//! its time is up, or when the server refuses it.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue, StatusCode};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::Sse;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::config::Auth;
use super::connect::chain;
use super::secret::Secrets;
use super::token::{self, Fetched};

/// A token is not sent any more when so much of its time is left, or a tenth of all of it.
const SPARE: Duration = Duration::from_secs(30);

/// What a connection shows.
#[derive(Clone)]
pub(super) struct Bearer {
    auth: Option<Auth>,
    server: Arc<str>,
    secrets: Secrets,
    held: Arc<Mutex<Option<Held>>>,
}

struct Held {
    token: String,
    until: Option<Instant>,
}

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bearer").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Held {
    fn of(fetched: Fetched) -> Self {
        let until = fetched.time.and_then(|time| Instant::now().checked_add(time - SPARE.min(time / 10)));
        Self { token: fetched.token, until }
    }

    fn holds(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

impl Bearer {
    /// Tokens for the server at this address. Those that are fetched are secrets.
    pub(super) fn new(auth: Option<Auth>, server: &str, secrets: Secrets) -> Self {
        Self { auth, server: server.into(), secrets, held: Arc::default() }
    }

    /// The token that holds now; none: nothing is shown.
    pub(super) async fn token(&self) -> Result<Option<String>, String> {
        match &self.auth {
            None => Ok(None),
            Some(Auth::Bearer(token)) => Ok(Some(token.clone())),
            Some(Auth::ClientCredentials { .. }) => {
                // One fetches, the others wait for it.
                let mut held = self.held.lock().await;
                match &*held {
                    Some(held) if held.holds() => Ok(Some(held.token.clone())),
                    Some(_) | None => self.fetch(&mut held).await.map(Some),
                }
            }
        }
    }

    /// Another token than the one that the server has refused; none if there is no other.
    pub(super) async fn instead_of(&self, refused: Option<&str>) -> Result<Option<String>, String> {
        if !matches!(self.auth, Some(Auth::ClientCredentials { .. })) {
            return Ok(None);
        }
        let mut held = self.held.lock().await;
        match &*held {
            // Somebody else was refused as well, and has fetched it already.
            Some(held) if Some(held.token.as_str()) != refused && held.holds() => Ok(Some(held.token.clone())),
            Some(_) | None => self.fetch(&mut held).await.map(Some),
        }
    }

    /// Sends a request with the token that holds, and once more with another one if that was refused.
    pub(super) async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, String> {
        let again = request.try_clone();
        let token = self.token().await?;
        let response = sent(request, token.as_deref()).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(again) = again
            && let Some(other) = self.instead_of(token.as_deref()).await?
        {
            return sent(again, Some(&other)).await;
        }
        Ok(response)
    }

    async fn fetch(&self, held: &mut Option<Held>) -> Result<String, String> {
        *held = None;
        let Some(auth) = &self.auth else { return Err("there is nothing to fetch a token with".into()) };
        let fetched = token::fetch(auth, &self.server).await?;
        self.secrets.add("access_token", &fetched.token);
        let token = fetched.token.clone();
        *held = Some(Held::of(fetched));
        Ok(token)
    }
}

async fn sent(request: reqwest::RequestBuilder, token: Option<&str>) -> Result<reqwest::Response, String> {
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    request.send().await.map_err(|error| chain(&error))
}

/// There is no token to be had, so nothing was sent.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoToken(String);

/// Whether a request was not done because of who asked: there was no token for it, or the server let none in.
pub(super) fn is_not_let_in(error: &ServiceError) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = error.source();
    while let Some(error) = cause {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if inner.is_some_and(|inner| inner.is::<NoToken>()) {
            return true;
        }
        cause = error.source();
    }
    error.auth_challenge().is_some()
}

/// The HTTP client of one connection.
#[derive(Debug, Clone)]
pub(super) struct Authorized {
    pub(super) client: reqwest::Client,
    pub(super) bearer: Bearer,
}

type Fault = StreamableHttpError<reqwest::Error>;
/// One try.
type Asked<T> = BoxFuture<'static, Result<T, Fault>>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl Authorized {
    /// Does something with the token that holds, and once more with another one if that was refused: then nothing was done.
    async fn with_token<T: Send>(&self, ask: impl Fn(Option<String>) -> Asked<T> + Send + Sync) -> Result<T, Fault> {
        let unavailable = |why: String| Fault::Io(std::io::Error::other(NoToken(why)));
        let token = self.bearer.token().await.map_err(unavailable)?;
        match ask(token.clone()).await {
            Err(fault) if is_unauthorized(&fault) => {
                match self.bearer.instead_of(token.as_deref()).await.map_err(unavailable)? {
                    Some(other) => ask(Some(other)).await,
                    None => Err(fault),
                }
            }
            done => done,
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the enum may grow; this asks for three of its cases")]
fn is_unauthorized(fault: &Fault) -> bool {
    match fault {
        Fault::AuthRequired(_) => true,
        Fault::Client(error) => error.status() == Some(StatusCode::UNAUTHORIZED),
        // Without a challenge in its headers the library hands on no more than the words.
        Fault::UnexpectedServerResponse(words) => words.starts_with("HTTP 401"),
        _ => false,
    }
}

impl StreamableHttpClient for Authorized {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session_id, auth_header, custom_headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        self.with_token(|token| {
            let (client, uri, message, limits) = (self.client.clone(), Arc::clone(&uri), message.clone(), limits);
            let (session, headers) = (session_id.clone(), custom_headers.clone());
            Box::pin(async move {
                client.post_message_with_response_limits(uri, message, session, token, headers, limits).await
            })
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Fault> {
        self.with_token(|token| {
            let (client, uri, session) = (self.client.clone(), Arc::clone(&uri), Arc::clone(&session_id));
            let headers = custom_headers.clone();
            Box::pin(async move { client.delete_session(uri, session, token, headers).await })
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        let most = crate::limits::UPSTREAM_RESULT_BYTES_MAX;
        let parts = (session_id, last_event_id);
        self.get_stream_with_max_sse_event_size(uri, parts.0, parts.1, auth_header, custom_headers, most).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: Headers,
        most: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        self.with_token(|token| {
            let (client, uri, headers) = (self.client.clone(), Arc::clone(&uri), custom_headers.clone());
            let (session, last) = (session_id.clone(), last_event_id.clone());
            Box::pin(async move {
                client.get_stream_with_max_sse_event_size(uri, session, last, token, headers, most).await
            })
        })
        .await
    }
}
