//! Who is told what happens while `serve` runs: counters for `/metrics`, the operator's hooks, a collector of
//! OpenTelemetry. Told once in its options, ended with the server.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use tokio::runtime::Handle;

use super::print;
use crate::mcp::Text;
use crate::observe::{Exporter, Hook, Hooks, MEDIA_TYPE, Metrics, Observer, Observers};
use crate::session::Host;
use crate::store::Notice;
use crate::web;

/// Where the token for hooks that are called comes from: not from the command line, which others can read.
const TOKEN: &str = "WFHOST_HOOK_TOKEN";

/// What `serve` is told about it.
#[derive(Debug, Clone, Args)]
pub(super) struct Watched {
    /// Run this command line after every commit, with the event as JSON on its standard input. Repeatable. It never holds
    /// a call up; it gets nothing of the environment but PATH, HOME and the like, and no values, only names and numbers.
    #[arg(long = "hook", value_name = "COMMAND")]
    commands: Vec<String>,
    /// Post the event to this address after every commit, with WFHOST_HOOK_TOKEN as bearer token if that is set. Repeatable.
    #[arg(long = "hook-url", value_name = "URL")]
    addresses: Vec<String>,
    /// Send traces and metrics to this OpenTelemetry collector, by OTLP over HTTP: http://127.0.0.1:4318. Names and
    /// numbers only.
    #[arg(long = "otlp", value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    collector: Option<String>,
}

/// What is told, for as long as the server runs.
#[derive(Debug)]
pub(super) struct Watching {
    metrics: Option<Arc<Metrics>>,
    hooks: Option<Arc<Hooks>>,
    exporter: Option<Arc<Exporter>>,
}

impl Watched {
    /// Begins to tell. Counters are kept only where somebody can ask for them.
    pub(super) fn begin(&self, host: &Host, (name, counted): (&str, bool), runtime: &Handle) -> Result<Watching> {
        let hooks = self.hooks(runtime)?.map(Arc::new);
        let collector = self.collector.as_deref().filter(|address| !address.is_empty());
        let exporter =
            collector.map(|address| Exporter::begin(address, name, runtime.clone())).transpose()?.map(Arc::new);
        let metrics = counted.then(|| Arc::new(Metrics::default()));
        let mut observers = Observers::default();
        metrics.iter().for_each(|m| observers.add(Arc::clone(m) as Arc<dyn Observer>));
        hooks.iter().for_each(|h| observers.add(Arc::clone(h) as Arc<dyn Observer>));
        exporter.iter().for_each(|e| observers.add(Arc::clone(e) as Arc<dyn Observer>));
        if !observers.is_empty() {
            host.observe(observers);
        }
        Ok(Watching { metrics, hooks, exporter })
    }

    fn hooks(&self, runtime: &Handle) -> Result<Option<Hooks>> {
        let mut hooks: Vec<Hook> = self.commands.iter().cloned().map(Hook::Command).collect();
        for address in &self.addresses {
            hooks.push(post(address, runtime.clone())?);
        }
        if hooks.is_empty() {
            return Ok(None);
        }
        let notice: Notice = Arc::new(|line: &str| print::note(print::plain(line)));
        Ok(Some(Hooks::begin(hooks, notice).context("the thread for hooks cannot be started")?))
    }
}

/// A hook that is called. The address is checked now, so that a wrong one is told at the start.
fn post(address: &str, runtime: Handle) -> Result<Hook> {
    let address: http::Uri = address.parse().context("`--hook-url` is no address")?;
    anyhow::ensure!(
        matches!(address.scheme_str(), Some("http" | "https")) && address.host().is_some(),
        "`--hook-url` is no address: it begins with http:// or https://"
    );
    let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
    let bearer = token.map(|token| http::HeaderValue::from_str(&format!("Bearer {token}")));
    let bearer = bearer.transpose().with_context(|| format!("{TOKEN} holds what no header can carry"))?;
    let send = move |event: &str, time: Duration| {
        let mut request = http::Request::post(&address).header(http::header::CONTENT_TYPE, "application/json");
        if let Some(bearer) = &bearer {
            request = request.header(http::header::AUTHORIZATION, bearer);
        }
        let request = request.body(event.as_bytes().to_vec()).map_err(|error| error.to_string())?;
        let answer =
            runtime.block_on(web::exchange(request, time)).map_err(|reason| format!("its address: {reason}"))?;
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(format!("its address answered {status}")) }
    };
    Ok(Hook::Post(Arc::new(send)))
}

impl Watching {
    /// What `/metrics` gives.
    pub(super) fn metrics(&self, host: &Arc<Host>) -> Option<Text> {
        let (metrics, hooks, host) = (Arc::clone(self.metrics.as_ref()?), self.hooks.clone(), Arc::clone(host));
        let text = move || metrics.text(&**host.store(), hooks.as_ref());
        Some(Text { media_type: MEDIA_TYPE, text: Arc::new(text) })
    }

    /// Sends what waits, for a short while.
    pub(super) fn close(&self) {
        self.hooks.iter().for_each(|hooks| hooks.close());
        self.exporter.iter().for_each(|exporter| exporter.close());
    }
}
