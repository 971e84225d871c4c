//! The MCP server: lists the tools of the catalogue and passes calls on to the host.

use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, DiscoverResult,
    ErrorCode, Implementation, ListToolsResult, MetaObject, PaginatedRequestParams, ProtocolVersion, RequestStateCodec,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::Semaphore;

use super::ask::{self, Asker, Asking, Redeemed};
use super::changes::Listeners;
use super::{convert, edge};
use crate::limits::TOOL_CALLS_AT_ONCE_MAX;
use crate::plugin::contract::{Failure, Mishap, Reply, Source};
use crate::session::line::NoteRow;
use crate::session::{Advanced, Answered, Caller, Driven, Fault, Host, OwnSessions};

/// How long clients may keep the list of tools, milliseconds.
const LIST_FRESH_MS: u64 = 5_000;

/// Workflows whose own instructions are looked at: a client reads these texts before it does anything.
const INSTRUCTIONS_MAX: usize = 1_000;

/// The operator's words.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The server's name, as clients see it.
    pub name: String,
    /// `stdio`, `http`, ...: as the journal names the channel.
    pub channel: &'static str,
    /// Whether people are asked through the client where it can.
    pub elicit: bool,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { name: "wfhost".into(), channel: "stdio", elicit: true }
    }
}

#[derive(Debug)]
struct Shared {
    host: Arc<Host>,
    options: ServerOptions,
    codec: RequestStateCodec,
    permits: Semaphore,
    listeners: Listeners,
}

/// An MCP server over a host. Cheap to clone; each clone of `connection` has sessions of its own.
#[derive(Debug, Clone)]
pub struct Server {
    shared: Arc<Shared>,
    own: OwnSessions,
}

impl Server {
    /// A server over this host.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a key of 32 bytes is as long as a key must be")]
    pub fn new(host: Arc<Host>, options: ServerOptions) -> Self {
        let key: Vec<u8> = [host.entropy(), host.entropy()].iter().flat_map(|bits| bits.to_be_bytes()).collect();
        let shared = Shared {
            host,
            options,
            codec: RequestStateCodec::try_new(key).expect("the key is long enough"),
            permits: Semaphore::new(TOOL_CALLS_AT_ONCE_MAX),
            listeners: Listeners::default(),
        };
        Self { shared: Arc::new(shared), own: OwnSessions::default() }
    }

    /// The same server for another connection.
    #[must_use]
    pub fn connection(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), own: OwnSessions::default() }
    }

    /// The host behind it.
    #[must_use]
    pub fn host(&self) -> &Arc<Host> {
        &self.shared.host
    }

    /// Tells clients that the list of tools, or what they can start, has changed.
    pub async fn tell_changed(&self) {
        self.shared.listeners.tell().await;
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        let client = context.client_info().map(|c| format!("{} {}", c.name, c.version));
        Caller {
            owner: String::new(),
            channel: self.shared.options.channel,
            client,
            own: (!modern(context)).then(|| self.own.clone()),
        }
    }

    fn asking(&self, context: &RequestContext<RoleServer>) -> Asking {
        let capability = context.client_capabilities().and_then(|c| c.elicitation);
        // Before 2025-11-25 the capability has no members; since then a client may offer pages alone.
        let forms = capability.is_some_and(|c| c.form.is_some() || c.url.is_none());
        if !self.shared.options.elicit || !forms {
            Asking::No
        } else if modern(context) {
            Asking::WithReply
        } else {
            Asking::Form(context.peer.clone())
        }
    }

    async fn call(
        &self,
        params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(context);
        let tool = params.name.as_ref();
        let args = params.arguments.as_ref().map_or_else(|| "{}".to_owned(), |a| serde_json::json!(a).to_string());
        let bound = ask::bound(&caller.owner, tool, &args);
        let asker = Asker { asking: self.asking(context), context };
        let host = &self.shared.host;
        let first = match ask::redeem(&self.shared.codec, &params, &bound) {
            None => tokio::task::block_in_place(|| host.call(&caller, tool, &args)),
            Some(Ok(redeemed)) => tokio::task::block_in_place(|| self.redeemed(&caller, &redeemed)),
            Some(Err(message)) => return Err(ErrorData::invalid_params(message, None)),
        };
        let driven = match first {
            Ok(advanced) => host.drive(&caller, advanced, &asker).await,
            Err(fault) => Err(fault),
        };
        match driven {
            Ok(driven) => self.respond(driven, &bound, context),
            Err(Fault::UnknownTool(name)) => Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None)),
            Err(fault) => Ok(stamped(convert::failed(&fault.to_string()), self, context).into()),
        }
    }

    fn respond(
        &self,
        driven: Driven,
        bound: &[u8],
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(asked) = driven.asks.and_then(|form| ask::required(&self.shared.codec, &form, bound)) else {
            return Ok(stamped(convert::output(&driven.advanced.output), self, context).into());
        };
        asked.map(CallToolResponse::from).map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }

    /// A call that comes again with what was asked with its first reply. The request may be closed by now, then the caller
    /// is told where the session stands.
    fn redeemed(&self, caller: &Caller, redeemed: &Redeemed) -> Result<Advanced, Fault> {
        let host = &self.shared.host;
        let shown = host.show(caller, redeemed.session)?;
        let open = shown.head.requests.iter().find(|r| r.id == redeemed.request).cloned();
        let standing =
            Advanced { output: shown.status, session: Some(redeemed.session), opened: open.iter().cloned().collect() };
        let Some(open) = open else { return Ok(standing) };
        let schema = crate::session::wire::answer_schema(&open.need).unwrap_or_default();
        let value = match redeemed.read(&schema) {
            // No answer at all: the question is asked again.
            None => return Ok(standing),
            Some(Answered::Value(value)) => Ok(value),
            Some(Answered::Declined) => {
                Err(Failure { kind: Mishap::Declined, message: "the form was declined".into(), detail: None })
            }
            Some(Answered::Unanswered(how)) => {
                let detail = serde_json::json!({"how": how});
                let note = NoteRow { kind: "unanswered".into(), request: Some(open.id), detail };
                host.note(caller, redeemed.session, &note)?;
                return Ok(Advanced { opened: Vec::new(), ..standing });
            }
            Some(Answered::Cannot | Answered::Later) => return Ok(Advanced { opened: Vec::new(), ..standing }),
        };
        let declined = value.is_err();
        let reply = Reply { request: redeemed.request.clone(), value };
        match host.reply(caller, redeemed.session, &reply, Source::Human)? {
            Some(advanced) if !declined => Ok(advanced),
            Some(_) | None => Ok(Advanced { opened: Vec::new(), ..standing }),
        }
    }

    fn listed(&self) -> Vec<Tool> {
        self.shared.host.catalogue().tools.values().filter_map(|t| convert::tool(&t.tool)).collect()
    }

    fn implementation(&self) -> Implementation {
        Implementation::new(self.shared.options.name.clone(), env!("CARGO_PKG_VERSION"))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build())
            .with_server_info(self.implementation())
            .with_instructions(instructions(&self.shared.host))
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let info = self.get_info();
        let versions = ProtocolVersion::KNOWN_VERSIONS.to_vec();
        let mut result = DiscoverResult::new(versions, info.capabilities);
        result.instructions = info.instructions;
        result.meta = Some(server_meta(&self.implementation()));
        Ok(result.with_ttl_ms(LIST_FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut result = ListToolsResult::with_all_items(self.listed())
            .with_ttl_ms(LIST_FRESH_MS)
            .with_cache_scope(CacheScope::Private);
        if modern(&context) {
            result.meta = Some(server_meta(&self.implementation()));
        }
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.host.catalogue().tools.get(name).and_then(|t| convert::tool(&t.tool))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        edge::guarded(&self.shared.permits, self.call(request, &context)).await
    }

    /// A request whose parameters do not fit its method lands here; its method is known all the same.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call" {
            let message = "tools/call needs `name`, a text, and `arguments`, an object";
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("method not found: {}", request.method), None))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.shared.listeners.add_legacy(context.peer);
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.shared.listeners.add_modern(context.sink().clone());
        context.cancelled().await;
        Ok(())
    }
}

/// Whether the request is of the stateless era.
fn modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|v| v >= ProtocolVersion::V_2026_07_28)
}

fn server_meta(server: &Implementation) -> MetaObject {
    let mut meta = MetaObject::default();
    if let Ok(server) = serde_json::to_value(server) {
        meta.insert("io.modelcontextprotocol/serverInfo".into(), server);
    }
    meta
}

fn stamped(mut result: CallToolResult, server: &Server, context: &RequestContext<RoleServer>) -> CallToolResult {
    if modern(context) {
        result.meta = Some(server_meta(&server.implementation()));
    }
    result
}

/// What a model should know of this server. Dialects and documents add their own words.
fn instructions(host: &Host) -> String {
    let catalogue = host.catalogue();
    let titles: Vec<String> = catalogue.offered.iter().map(|o| o.plugin.about.title.clone()).collect();
    let mut text = format!(
        "This server walks you through procedures, one step at a time ({}). Start one, do exactly what each reply's \
         instruction says, answer, and read the next. The steps come from a reviewed document: do not skip, guess or \
         invent answers. Every run is kept under the session id in its replies; if you lose it, list the runs and ask \
         for the status. A refused answer changes nothing and says what is expected.",
        titles.join("; ")
    );
    // Most documents of a dialect have the same to say.
    let mut said: Vec<&str> = Vec::new();
    let definitions = catalogue.files.iter().flat_map(|f| &f.definitions);
    for more in definitions.filter_map(|d| d.instructions.as_deref()).take(INSTRUCTIONS_MAX) {
        if !said.contains(&more) {
            said.push(more);
            text.push_str("\n\n");
            text.push_str(more);
        }
    }
    text
}
