//! `wfhost tools`: what the upstream servers offer, without a model and without a session.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde_json::{Value, json};

use super::upstreams::{Reached, Upstreams};
use super::{Data, code, place, print, tidied};
use crate::catalogue::Plugins;
use crate::plugin::contract;
use crate::upstream::{Listing, Offer};

/// What `tools` is told.
#[derive(Debug, Args)]
pub(super) struct Tools {
    /// Folders of workflow documents, or single documents, whose servers are asked as well.
    #[arg(value_name = "DOCUMENTS", value_parser = OsStringValueParser::new().map(tidied))]
    places: Vec<PathBuf>,
    /// A plugin that reads them: a file, or the name of a built-in one. Repeatable; none means all built-in ones.
    #[arg(long = "plugin", value_name = "FILE|NAME")]
    plugins: Vec<String>,
    #[command(flatten)]
    upstreams: Upstreams,
    #[command(flatten)]
    data: Data,
    /// Print one JSON document, with whole schemas.
    #[arg(long)]
    json: bool,
}

impl Tools {
    pub(super) fn run(self) -> Result<ExitCode> {
        let declared = self.declared()?;
        let hub = self.upstreams.hub(Reached::Locally)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.context("the threads that ask cannot be started")?;
        let listings = runtime.block_on(async {
            let listings = hub.offers(&declared).await;
            hub.close().await;
            listings
        });
        if listings.is_empty() {
            bail!("no upstream servers are named: give a file with `--mcp FILE`, or documents that declare some");
        }
        if self.json {
            print::json(&json!({"servers": listings.iter().map(for_machines).collect::<Vec<_>>()}));
        } else {
            listings.iter().for_each(show);
        }
        Ok(code(listings.iter().all(|l| l.tools.is_ok())))
    }

    /// The servers that the documents declare, each once.
    fn declared(&self) -> Result<Vec<contract::Server>> {
        if self.places.is_empty() {
            return Ok(Vec::new());
        }
        let plugins = Plugins::choose(&place::runtime(self.data.cache())?, &self.plugins)?;
        let (catalogue, faults) = place::survey(&plugins, &self.places)?;
        faults.iter().for_each(|fault| print::note(print::plain(&fault.to_string())));
        let mut servers: Vec<contract::Server> = Vec::new();
        for server in catalogue.files.iter().flat_map(|f| &f.definitions).flat_map(|d| d.servers.iter()) {
            if !servers.iter().any(|s| s.name == server.name && s.spec == server.spec) {
                servers.push(server.clone());
            }
        }
        Ok(servers)
    }
}

fn for_machines(listing: &Listing) -> Value {
    let took = u64::try_from(listing.took.as_millis()).unwrap_or(u64::MAX);
    let mut shown = json!({"server": listing.server, "protocol": listing.protocol, "took_ms": took});
    let (key, value) = match &listing.tools {
        Ok(tools) => ("tools", tools.iter().map(|t| json!({"allowed": t.allowed, "tool": t.tool})).collect()),
        Err(why) => ("unavailable", Value::from(why.as_str())),
    };
    if let Some(shown) = shown.as_object_mut() {
        shown.insert(key.into(), value);
    }
    shown
}

fn show(listing: &Listing) {
    let name = print::plain(&listing.server);
    match &listing.tools {
        Err(why) => print::line(format_args!("{name}: unavailable: {}", print::plain(why))),
        Ok(tools) => {
            let speaks = listing.protocol.as_deref().unwrap_or("an unknown version");
            let plural = if tools.len() == 1 { "" } else { "s" };
            let took = listing.took.as_millis();
            print::line(format_args!("{name}: {} tool{plural} ({}, {took} ms)", tools.len(), print::plain(speaks)));
            let rows: Vec<Vec<String>> = tools.iter().map(row).collect();
            print::table(&rows).iter().for_each(|line| print::line(format_args!("  {line}")));
        }
    }
}

fn row(offer: &Offer) -> Vec<String> {
    let says = |key: &str| offer.tool.get("annotations").and_then(|a| a.get(key)) == Some(&Value::Bool(true));
    let mut marks = Vec::new();
    marks.extend((!offer.allowed).then_some("denied"));
    marks.extend(says("readOnlyHint").then_some("read-only"));
    marks.extend(says("idempotentHint").then_some("idempotent"));
    marks.extend(says("destructiveHint").then_some("destructive"));
    let description = offer.tool.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = description.lines().next().unwrap_or_default();
    vec![
        print::plain(&format!("{}({})", offer.name, arguments(&offer.tool))),
        marks.join(", "),
        print::cut(&print::plain(description), 80),
    ]
}

/// The names of the arguments; those that may be left out have a question mark.
fn arguments(tool: &Value) -> String {
    let schema = tool.get("inputSchema");
    let required = schema.and_then(|s| s.get("required")).and_then(Value::as_array);
    let needed = |name: &str| required.is_some_and(|r| r.iter().any(|n| n == name));
    let properties = schema.and_then(|s| s.get("properties")).and_then(Value::as_object);
    let names = properties.into_iter().flatten().map(|(name, _)| name);
    names.map(|name| if needed(name) { name.clone() } else { format!("{name}?") }).collect::<Vec<_>>().join(", ")
}
