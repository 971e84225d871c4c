//! One upstream server: started when it is first wanted and once, kept, started again after it ended, and given pauses that
//! grow while it fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::Tool;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Environment;
use super::call::{Line, Wanted, failure};
use super::config::Spec;
use super::connect::{self, Connection, Service};
use super::expand;
use super::secret::Secrets;
use crate::limits::{UPSTREAM_END_TIME, UPSTREAM_PAUSE, UPSTREAM_PAUSE_MAX, UPSTREAM_START_TIME};
use crate::plugin::contract::{Failure, Mishap};
use crate::session::outside::{Told, ToolCall};

/// A server that ended sooner than this after its start counts as one that failed.
const TOO_SOON: Duration = Duration::from_secs(10);

/// A server and all that is known of it.
#[derive(Debug)]
pub(super) struct Server {
    name: String,
    spec: Spec,
    state: Mutex<State>,
    calls: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    failures: u32,
    not_before: Option<Instant>,
    last: String,
    secrets: Secrets,
    closed: bool,
}

#[derive(Debug)]
struct Running {
    service: Service,
    line: Line,
    since: Instant,
    tools: Option<Arc<[Tool]>>,
}

impl Server {
    pub(super) fn new(name: String, spec: Spec) -> Arc<Self> {
        Arc::new(Self { name, spec, state: Mutex::default(), calls: AtomicUsize::new(0) })
    }

    pub(super) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Calls a tool. What it gives holds no value of the environment that was filled into the entry.
    pub(super) async fn call(
        self: Arc<Self>,
        environment: Environment,
        call: ToolCall,
        told: Told,
    ) -> Result<String, Failure> {
        let _counted = Counted::new(&self);
        let (line, secrets) = self.line(&environment).await?;
        let wanted = Wanted { tool: call.tool, args: call.args, time: self.spec.time };
        let result = line.call(&wanted, told).await;
        result.map(|value| secrets.hide(&value)).map_err(|failure| Failure {
            message: secrets.hide(&failure.message),
            detail: failure.detail.map(|detail| secrets.hide(&detail)),
            ..failure
        })
    }

    /// What it offers, in its own order. The tools that the operator denies are among them.
    pub(super) async fn tools(self: &Arc<Self>, environment: &Environment) -> Result<Arc<[Tool]>, Failure> {
        let _counted = Counted::new(self);
        let (line, secrets) = self.line(environment).await?;
        if let Some(running) = &self.state.lock().await.running
            && let Some(tools) = running.tools.clone().filter(|_| !line.handler.has_changed())
        {
            return Ok(tools);
        }
        let listed = tokio::time::timeout(self.spec.time, line.peer.list_all_tools()).await;
        let unavailable = |why: String| {
            failure(Mishap::Unavailable, format!("`{}` did not say what it offers: {}", self.name, secrets.hide(&why)))
        };
        let listed = listed.map_err(|_| unavailable(format!("no answer within {} ms", self.spec.time.as_millis())))?;
        let tools: Arc<[Tool]> = listed.map_err(|error| unavailable(connect::chain(&error)))?.into();
        if let Some(running) = &mut self.state.lock().await.running {
            running.tools = Some(Arc::clone(&tools));
        }
        Ok(tools)
    }

    /// The protocol version that was agreed on, if it runs.
    pub(super) async fn protocol(&self) -> Option<String> {
        let state = self.state.lock().await;
        let running = state.running.as_ref()?;
        running.line.peer.peer_info().map(|info| info.protocol_version.to_string())
    }

    /// The line to it, made if there is none.
    async fn line(self: &Arc<Self>, environment: &Environment) -> Result<(Line, Secrets), Failure> {
        let mut state = self.state.lock().await;
        if let Some(running) = &state.running {
            if !running.line.peer.is_transport_closed() && !running.service.is_closed() {
                return Ok((running.line.clone(), state.secrets.clone()));
            }
            self.has_ended(&mut state);
        }
        let unavailable = |why: &str| failure(Mishap::Unavailable, format!("the server `{}`: {why}", self.name));
        if state.closed {
            return Err(unavailable("this host is ending"));
        }
        if let Some(pause) =
            state.not_before.map(|at| at.saturating_duration_since(Instant::now())).filter(|p| !p.is_zero())
        {
            let (last, times) = (&state.last, state.failures);
            let why = format!("{last} (it failed {times} times and is tried again in {} ms)", pause.as_millis());
            return Err(unavailable(&why));
        }
        let filled =
            expand::fill(&self.spec.reach, self.spec.auth.as_ref(), environment).map_err(|why| unavailable(&why))?;
        state.secrets = filled.secrets.clone();
        let started = tokio::time::timeout(UPSTREAM_START_TIME, connect::connect(&filled, environment)).await;
        let started =
            started.unwrap_or_else(|_| Err(format!("it did not greet within {} s", UPSTREAM_START_TIME.as_secs())));
        match started {
            Ok(connection) => {
                let running = self.running(connection);
                let line = running.line.clone();
                state.running = Some(running);
                state.not_before = None;
                Ok((line, state.secrets.clone()))
            }
            Err(why) => {
                let why = state.secrets.hide(&why);
                self.has_failed(&mut state, &why);
                Err(unavailable(&why))
            }
        }
    }

    fn running(&self, connection: Connection) -> Running {
        let Connection { service, handler, tail } = connection;
        let line = Line { name: self.name.clone(), peer: service.peer().clone(), handler, tail };
        Running { service, line, since: Instant::now(), tools: None }
    }

    fn has_ended(&self, state: &mut State) {
        let Some(ended) = state.running.take() else { return };
        let said = state.secrets.hide(&ended.line.tail.text());
        let said = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
        if ended.since.elapsed() < TOO_SOON {
            self.has_failed(state, &format!("it ended by itself{said}"));
            // The first start after an end waits for nothing.
            if state.failures == 1 {
                state.not_before = None;
            }
        } else {
            state.failures = 0;
        }
    }

    fn has_failed(&self, state: &mut State, why: &str) {
        let doubled = UPSTREAM_PAUSE.saturating_mul(1 << state.failures.min(16));
        state.failures = state.failures.saturating_add(1);
        state.not_before = Some(Instant::now() + doubled.min(UPSTREAM_PAUSE_MAX));
        why.clone_into(&mut state.last);
    }

    /// Ends it, if it runs, and starts it no more.
    pub(super) async fn close(&self) {
        let mut state = self.state.lock().await;
        state.closed = true;
        Self::end(state.running.take()).await;
    }

    async fn end(running: Option<Running>) {
        if let Some(mut running) = running {
            let _ = running.service.close_with_timeout(UPSTREAM_END_TIME).await;
        }
    }

    /// Ends one that is not to be kept and that nobody uses.
    async fn rest(self: Arc<Self>) {
        let mut state = self.state.lock().await;
        if self.calls.load(Ordering::SeqCst) == 0 {
            Self::end(state.running.take()).await;
        }
    }
}

/// Counts a use of the server as long as it lasts.
struct Counted(Arc<Server>);

impl Counted {
    fn new(server: &Arc<Server>) -> Self {
        server.calls.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(server))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let last = self.0.calls.fetch_sub(1, Ordering::SeqCst) == 1;
        if last
            && !self.0.spec.keep_alive
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(Arc::clone(&self.0).rest());
        }
    }
}
