//! The MCP server: lists the tools of the catalogue and passes calls on to the host.

use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, Reference,
    RequestStateCodec, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::ask::{self, Asker};
use super::changes::{Listeners, Subscribed};
use super::edge::Gate;
use super::listing::{Listing, Listings};
use super::logs::{Level, LevelParams};
use super::{authoring, convert, edge, model, redeem, views};
use crate::limits::{CALLS_WAITING_MAX, TOOL_CALLS_AT_ONCE_MAX};
use crate::observe::Called;
use crate::session::{Advanced, Caller, Driven, Fault, Host, OwnSessions};
use crate::store::{Listed, Query};

/// How long clients may keep the list of tools, milliseconds.
const LIST_FRESH_MS: u64 = 5_000;

/// The operator's words.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The server's name, as clients see it.
    pub name: String,
    /// `stdio`, `http`, ...: as the journal names the channel.
    pub channel: &'static str,
    /// Whether people are asked through the client where it can.
    pub elicit: bool,
    /// Whether clients may try documents and save them.
    pub authoring: bool,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { name: "wfhost".into(), channel: "stdio", elicit: true, authoring: false }
    }
}

#[derive(Debug)]
struct Shared {
    host: Arc<Host>,
    options: ServerOptions,
    codec: RequestStateCodec,
    gate: Gate,
    listeners: Listeners,
    listings: Listings,
}

/// An MCP server over a host. Cheap to clone; each clone of `connection` has sessions of its own.
#[derive(Debug, Clone)]
pub struct Server {
    shared: Arc<Shared>,
    own: OwnSessions,
    level: Level,
    subscribed: Subscribed,
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
            gate: Gate::new(TOOL_CALLS_AT_ONCE_MAX, CALLS_WAITING_MAX),
            listeners: Listeners::default(),
            listings: Listings::default(),
        };
        Self::over(Arc::new(shared))
    }

    /// The same server for another connection.
    #[must_use]
    pub fn connection(&self) -> Self {
        Self::over(Arc::clone(&self.shared))
    }

    fn over(shared: Arc<Shared>) -> Self {
        Self { shared, own: OwnSessions::default(), level: Level::default(), subscribed: Subscribed::default() }
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

    fn asker<'c>(&self, context: &'c RequestContext<RoleServer>) -> Asker<'c> {
        let capabilities = context.client_capabilities().unwrap_or_default();
        // Before 2025-11-25 the capability has no members; since then a client may offer pages alone.
        let forms = capabilities.elicitation.as_ref().is_some_and(|c| c.form.is_some() || c.url.is_none());
        Asker {
            context,
            forms: forms && self.shared.options.elicit,
            models: model::offered(&capabilities),
            with_reply: modern(context),
            level: (!modern(context)).then(|| self.level.clone()),
            told: Mutex::new(-1.0),
        }
    }

    async fn call(
        &self,
        params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let began = (SystemTime::now(), Instant::now());
        let caller = self.caller(context);
        let tool = params.name.as_ref();
        if let Some(work) = self.authors().and_then(|()| authoring::Work::of(tool)) {
            let output = work.carry_out(self, &caller, params.arguments.unwrap_or_default()).await;
            return Ok(stamped(convert::output(&output), self, context).into());
        }
        let args = serde_json::to_string(params.arguments.as_ref().unwrap_or(&serde_json::Map::new()));
        let args = args.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let bound = ask::bound(&caller.owner, tool, &args);
        let asker = self.asker(context);
        let host = &self.shared.host;
        let first = match ask::redeem(&self.shared.codec, &params, &bound) {
            None => host.call(&caller, tool, &args).await,
            Some(Ok(redeemed)) => redeem::redeemed(host, &caller, &redeemed).await,
            Some(Err(message)) => return Err(ErrorData::invalid_params(message, None)),
        };
        let begun =
            first.as_ref().ok().and_then(|advanced| advanced.session).filter(|_| params.request_state.is_none());
        let driven = match first {
            Ok(advanced) => host.drive(&caller, advanced, &asker).await,
            Err(fault) => Err(fault),
        };
        self.tell_called(tool, &driven, began);
        match driven {
            Ok(mut driven) => {
                let tools = &host.catalogue().tools;
                // A client that checks results against a schema would take a text alone for a broken result.
                let schema = tools.get(tool).is_some_and(|t| t.tool.output_schema.is_some());
                driven.advanced.output.is_error |= driven.goes_on && schema;
                if schema && driven.advanced.session != begun {
                    self.mark_anothers(tool, &mut driven.advanced)?;
                }
                // A look at a session moves nothing, and who is told looks.
                let moves = tools.get(tool).is_some_and(|t| !t.tool.read_only);
                if let Some(session) = driven.advanced.session.filter(|_| moves) {
                    self.shared.listeners.tell_moved(&session.to_string()).await;
                }
                self.respond(driven, &bound, context)
            }
            Err(Fault::UnknownTool(name)) => Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None)),
            Err(fault) => Ok(stamped(convert::failed(&fault.to_string()), self, context).into()),
        }
    }

    /// A call gets the reply of the last session that it moved. That of another interpreter's does not fit this tool's schema,
    /// and clients let only errors pass there.
    fn mark_anothers(&self, tool: &str, advanced: &mut Advanced) -> Result<(), ErrorData> {
        let (host, output) = (&self.shared.host, &mut advanced.output);
        let catalogue = host.catalogue();
        let owner = catalogue.tools.get(tool).and_then(|tool| catalogue.offered.get(tool.owner));
        let head = advanced.session.map(|session| host.store().head(session)).transpose();
        let head = head.map_err(|fault| ErrorData::internal_error(fault.to_string(), None))?.flatten();
        if let (Some(owner), Some(head)) = (owner, head)
            && owner.plugin.about.name != head.interpreter
            && !output.is_error
        {
            let workflow = head.workflow;
            let words = if head.outcome.is_some() {
                format!(
                    "This is no failure: with this step `{workflow}` has come to its end as well, and this is its result."
                )
            } else {
                format!(
                    "This is no failure: `{workflow}` is at work, and this is what it says. Do that with its own tools."
                )
            };
            output.headline =
                Some(output.headline.take().map_or_else(|| words.clone(), |more| format!("{words}\n{more}")));
            output.is_error = true;
        }
        Ok(())
    }

    fn tell_called(&self, tool: &str, driven: &Result<Driven, Fault>, (began, at): (SystemTime, Instant)) {
        let Some(observers) = self.shared.host.observers() else { return };
        let (outcome, session) = match driven {
            Ok(driven) if driven.advanced.output.is_error => ("error", driven.advanced.session),
            Ok(driven) => ("ok", driven.advanced.session),
            Err(Fault::UnknownTool(_)) => ("unknown", None),
            Err(_) => ("fault", None),
        };
        let tool = (outcome != "unknown").then_some(tool);
        observers.called(&Called {
            tool,
            session,
            outcome,
            began,
            took: at.elapsed(),
            channel: self.shared.options.channel,
        });
    }

    fn respond(
        &self,
        driven: Driven,
        bound: &[u8],
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Only where the session could do nothing without a model is its absence the client's matter.
        if driven.no_model && driven.advanced.output.is_error && modern(context) {
            return Err(ErrorData::missing_required_client_capability(model::needed()));
        }
        let Some(asked) = ask::required(&self.shared.codec, &driven.asks, bound) else {
            return Ok(stamped(convert::output(&driven.advanced.output), self, context).into());
        };
        asked.map(CallToolResponse::from).map_err(|e| ErrorData::internal_error(e.to_string(), None))
    }

    /// Tools of documents that are not served, because a tool of this server's own has the name.
    #[must_use]
    pub fn hidden(&self) -> Vec<String> {
        let catalogue = self.shared.host.catalogue();
        let own = self.authors().map(|()| authoring::tools()).unwrap_or_default();
        own.into_iter().map(|tool| tool.name).filter(|name| catalogue.tools.contains_key(name)).collect()
    }

    fn listing(&self) -> Arc<Listing> {
        self.shared.listings.of(self.shared.host.catalogue(), self.shared.options.authoring)
    }

    /// Something, if clients may write documents.
    fn authors(&self) -> Option<()> {
        self.shared.options.authoring.then_some(())
    }

    fn implementation(&self) -> Implementation {
        Implementation::new(self.shared.options.name.clone(), env!("CARGO_PKG_VERSION"))
    }
}

impl ServerHandler for Server {
    #[expect(deprecated, reason = "legacy clients still ask for log messages")]
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_logging()
            .enable_prompts()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(self.implementation())
            .with_instructions(self.listing().instructions.clone())
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
        let mut result = ListToolsResult::with_all_items(self.listing().tools.clone())
            .with_ttl_ms(LIST_FRESH_MS)
            .with_cache_scope(CacheScope::Private);
        if modern(&context) {
            result.meta = Some(server_meta(&self.implementation()));
        }
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.listing().tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // On the heap: the dispatcher would move it about with every request of whichever kind.
        edge::guarded(&self.shared.gate, Box::pin(self.call(request, &context))).await
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let result = ListResourcesResult::with_all_items(views::resources(&self.shared.host.catalogue()));
        Ok(result.with_ttl_ms(LIST_FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let result = ListResourceTemplatesResult::with_all_items(views::templates(&self.shared.host.catalogue()));
        Ok(result.with_ttl_ms(LIST_FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.caller(&context);
        let work = async { views::resource(&self.shared.host, &caller, &request.uri) };
        let result = edge::guarded(&self.shared.gate, work).await?;
        // A session moves on: what it shows is stale at once.
        Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let result = ListPromptsResult::with_all_items(views::prompts(&self.shared.host.catalogue()));
        Ok(result.with_ttl_ms(LIST_FRESH_MS).with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let caller = self.caller(&context);
        let work = async { views::prompt(&self.shared.host, &caller, &request) };
        Ok(edge::guarded(&self.shared.gate, work).await?.into())
    }

    /// Sessions can be completed; of the values of other parameters nobody here knows.
    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let (name, prompt) = match &request.r#ref {
            Reference::Prompt(prompt) => (&prompt.name, true),
            Reference::Resource(resource) => (&resource.uri, false),
            _ => return Ok(CompleteResult::default()),
        };
        let catalogue = self.shared.host.catalogue();
        let Some((interpreter, workflow)) = views::workflow(&catalogue, name, prompt) else {
            return Err(ErrorData::invalid_params(format!("there is no `{name}` to complete for"), None));
        };
        if request.argument.name != views::SESSION {
            return Ok(CompleteResult::default());
        }
        let query = Query {
            owner: Some(self.caller(&context).owner),
            interpreter: Some(interpreter),
            workflow: Some(workflow),
            unfinished: false,
            after: None,
            limit: CompletionInfo::MAX_VALUES,
        };
        let listed = self.shared.host.list(&query);
        let listed = listed.map_err(|fault| ErrorData::internal_error(fault.to_string(), None))?;
        let ids = listed.into_iter().filter_map(|l| match l {
            Listed::Head(head) => Some(head.session.to_string()),
            Listed::Unreadable(..) => None,
        });
        let values = ids.filter(|id| id.starts_with(&request.argument.value)).collect();
        CompletionInfo::new(values).map(CompleteResult::new).map_err(|e| ErrorData::internal_error(e, None))
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

    async fn set_level(&self, request: LevelParams, _context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.level.set(&request);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !views::is_resource(&self.shared.host.catalogue(), &request.uri) {
            return Err(ErrorData::invalid_params("Resource not found", Some(serde_json::json!({"uri": request.uri}))));
        }
        self.subscribed.add(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.remove(&request.uri);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.shared.listeners.add_legacy(context.peer, self.subscribed.clone());
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed;
        accepted.resource_subscriptions.clone_from(&requested.resource_subscriptions);
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let number = self.shared.listeners.add_modern(context.sink().clone());
        context.cancelled().await;
        self.shared.listeners.forget(&[number]);
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
