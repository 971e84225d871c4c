//! From an entry to a connection: the transport, and the handshake in whichever era the server speaks.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::Environment;
use super::bearer::{Authorized, Bearer};
use super::config::Reach;
use super::expand::Filled;
use super::handler::Handler;
use super::process::{self, Program, Tail};
use super::secret::Secrets;
use super::sse;
use crate::limits::UPSTREAM_RESULT_BYTES_MAX;
use crate::web;

/// A connection that stands.
pub(super) type Service = RunningService<RoleClient, Handler>;

/// A connection and what belongs to it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) service: Service,
    pub(super) handler: Handler,
    pub(super) tail: Tail,
}

/// Connects. The fault says what went wrong, with the end of a program's standard error.
pub(super) async fn connect(filled: &Filled, environment: &Environment) -> Result<Connection, String> {
    match &filled.reach {
        Reach::Program { command, args, env, cwd } => {
            let program = Program { command, args, env, cwd: cwd.as_deref() };
            by_program(&program, &filled.secrets, environment).await
        }
        Reach::Web { url, headers, legacy } => {
            let bearer = Bearer::new(filled.auth.clone(), url, filled.secrets.clone());
            // What cannot be had at all is told in its own words.
            bearer.token().await?;
            let handler = Handler::new(filled.secrets.clone());
            let headers = header_map(headers)?;
            let service = if *legacy {
                let transport = sse::open(url, headers.into_iter().collect(), bearer).await?;
                greet(handler.clone(), transport, ClientLifecycleMode::Initialize).await
            } else {
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.custom_headers = headers.into_iter().collect();
                config.max_json_response_size = UPSTREAM_RESULT_BYTES_MAX;
                config.max_sse_event_size = UPSTREAM_RESULT_BYTES_MAX;
                let client = Authorized { client: web::streaming()?, bearer };
                let transport = StreamableHttpClientTransport::with_client(client, config);
                greet(handler.clone(), transport, either_era()).await
            };
            Ok(Connection { service: service.map_err(|e| words(&e))?, handler, tail: Tail::default() })
        }
    }
}

/// A program is greeted as most are, and once more in the stateless era's way if it does not know that.
async fn by_program(program: &Program<'_>, secrets: &Secrets, environment: &Environment) -> Result<Connection, String> {
    let inherited = |name: &str| environment(name);
    let mut mode = ClientLifecycleMode::Initialize;
    loop {
        let (transport, tail) = process::start(program, &inherited)?;
        let handler = Handler::new(secrets.clone());
        match greet(handler.clone(), transport, mode.clone()).await {
            Ok(service) => return Ok(Connection { service, handler, tail }),
            Err(ClientInitializeError::JsonRpcError(_)) if mode == ClientLifecycleMode::Initialize => {
                mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] };
            }
            Err(error) => {
                tail.last_words().await;
                let said = tail.text();
                let said = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
                return Err(format!("{}{said}", words(&error)));
            }
        }
    }
}

async fn greet<T, E, A>(
    handler: Handler,
    transport: T,
    mode: ClientLifecycleMode,
) -> Result<Service, ClientInitializeError>
where
    T: rmcp::transport::IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    serve_client_with_lifecycle(handler, transport, mode).await
}

fn either_era() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::LATEST], legacy_version: None }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the enum may grow, and all the rest is told in its own words")]
fn words(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it ended before it had greeted".to_owned(),
        ClientInitializeError::JsonRpcError(error) => format!("it refused the greeting: {}", error.message),
        other => format!("it could not be greeted: {}", chain(other)),
    }
}

/// An error with its causes: the last one is the one that helps.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let words = next.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = next.source();
    }
    text
}

fn header_map(headers: &BTreeMap<String, String>) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let one = |(name, value): (&String, &String)| {
        let name: HeaderName = name.parse().map_err(|_| format!("`{name}` is no name of a header"))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of the header `{name}` holds what none may"))?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    headers.iter().map(one).collect()
}
