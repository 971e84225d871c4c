//! `wfhost run`: one tool call of a document, to its end, in memory, with all that happened on the way.

mod shown;
mod stage;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde_json::{Value, json};

use self::stage::Stage;
use super::serve::tend;
use super::upstreams::{Reached, Upstreams};
use super::{Documents, code, findings, outline, place, print, time};
use crate::catalogue::Catalogue;
use crate::clock::{Clock, System};
use crate::session::model::{OpenRequest, SessionId, Standing};
use crate::session::outside::Outside;
use crate::session::wire::{self, NeedKind};
use crate::session::{Advanced, Caller, Driven, Host, HostOptions, OwnSessions, history};
use crate::store;

/// How often what the host carries out is looked at, milliseconds.
const LOOK_AGAIN_MS: u64 = 25;
/// A longer wait for a timer is told, milliseconds.
const PATIENCE_MS: u64 = 2_000;

/// What `run` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is kept. What the run asks a person is asked on standard error and read from standard input, a line an \
    answer.\nExit codes: 0 the call went well, 1 it failed or the document is bad, 2 wrong command line."
)]
pub(super) struct Run {
    /// The document, or a folder of them.
    #[arg(value_name = "DOCUMENT", value_parser = OsStringValueParser::new().map(super::tidied))]
    document: PathBuf,
    /// The tool to call; a wrong one lists them.
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Its arguments: a JSON object, or @FILE to read it from one.
    #[arg(long, value_name = "JSON|@FILE", default_value = "{}")]
    args: String,
    /// Wait for Enter after each entry, before anything else happens.
    #[arg(long)]
    step: bool,
    /// Print one JSON document instead: result, history, what it waits for.
    #[arg(long)]
    json: bool,
    /// A plugin that reads the document: a file, or the name of a built-in one. Repeatable; none means all built-in ones.
    #[arg(long = "plugin", value_name = "FILE|NAME")]
    plugins: Vec<String>,
    #[command(flatten)]
    upstreams: Upstreams,
}

impl Run {
    pub(super) fn run(self) -> Result<ExitCode> {
        let args = arguments(&self.args)?;
        let documents = Documents {
            places: vec![self.document.clone()],
            plugins: self.plugins.clone(),
            policy: std::env::var_os("WFHOST_POLICY").map(PathBuf::from),
            servers: self.upstreams.names()?,
        };
        let hub = self.upstreams.hub(Reached::Locally)?;
        let host = documents.host(store::open_ephemeral()?, place::cache(), HostOptions::default())?;
        let host = host.with_outside(Some(Arc::clone(&hub) as Arc<dyn Outside>));
        let catalogue = host.catalogue();
        for finding in catalogue.findings() {
            print::aside(format_args!("{}\n", findings::text(finding)));
        }
        place::insist(&documents, &catalogue, false)?;
        if !catalogue.tools.contains_key(&self.tool) {
            bail!("there is no tool `{}`; {}", print::plain(&self.tool), offered(&catalogue));
        }
        let host = Arc::new(host);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("the threads that run it cannot be started")?;
        let ran = runtime.block_on(self.call(&host, &args));
        runtime.block_on(hub.close());
        runtime.shutdown_background();
        ran
    }

    async fn call(&self, host: &Arc<Host>, args: &str) -> Result<ExitCode> {
        let caller = Caller { channel: "cli", own: Some(OwnSessions::default()), ..Caller::default() };
        tend(Arc::clone(host));
        let began = Instant::now();
        let first = host.call(&caller, &self.tool, args).await?;
        let stage = Stage::new(Arc::clone(host), first.session, (self.step, !self.json));
        let mut driven = host.drive(&caller, first, &stage).await?;
        stage.show_news();
        while let Some(session) = driven.advanced.session {
            let opened = self.waited(host, &caller, session, &stage).await?;
            if opened.is_empty() {
                break;
            }
            let next = Advanced { opened, progress: Vec::new(), ..driven.advanced.clone() };
            driven = host.drive(&caller, next, &stage).await?;
            stage.show_news();
        }
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.told(host, (&caller, &driven), milliseconds)
    }

    /// Waits for the session's timers and for what the host carries out, until there is neither or a question for a person
    /// has come up: that is given.
    async fn waited(
        &self,
        host: &Host,
        caller: &Caller,
        session: SessionId,
        stage: &Stage,
    ) -> Result<Vec<OpenRequest>> {
        let before = host.show(caller, session)?.head.requests;
        loop {
            let open = host.show(caller, session)?.head.requests;
            let news: Vec<OpenRequest> =
                open.iter().filter(|request| is_question(request) && !before.contains(request)).cloned().collect();
            let (due, busy) = (open.iter().filter_map(due_of).min(), open.iter().any(is_under_way));
            if !news.is_empty() || due.is_none() && !busy {
                return Ok(news);
            }
            let left = due.map_or(LOOK_AGAIN_MS, |due| due.saturating_sub(System.now()));
            if let Some(due) = due.filter(|_| left > PATIENCE_MS && !busy) {
                print::note(format_args!("waiting for a timer until {}; Ctrl-C ends the run", time::utc(due)));
            }
            // One more, so that the moment has passed when the host looks.
            let pause = if busy { left.min(LOOK_AGAIN_MS) } else { left + 1 };
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let (_, faults) = host.sweep()?;
            if let Some(fault) = faults.into_iter().next() {
                return Err(fault.into());
            }
            stage.show_news();
        }
    }

    fn told(&self, host: &Host, (caller, driven): (&Caller, &Driven), milliseconds: u64) -> Result<ExitCode> {
        let output = &driven.advanced.output;
        let value: Value = serde_json::from_str(&output.value).unwrap_or_else(|_| output.value.clone().into());
        let (head, lines) = match driven.advanced.session {
            None => (None, Vec::new()),
            Some(session) => (Some(host.show(caller, session)?.head), history(&host.steps(caller, session)?)),
        };
        let failed = head.as_ref().is_some_and(|head| matches!(head.outcome, Some(Err(_))));
        let well = !output.is_error && !failed;
        let waits =
            head.iter().filter(|head| head.outcome.is_none()).flat_map(super::sessions::waits).collect::<Vec<_>>();
        if self.json {
            print::json(&json!({
                "ok": well, "tool": self.tool, "is_error": output.is_error, "result": value,
                "workflow": head.as_ref().map(|head| &head.workflow), "ended": head.as_ref().map(|head| head.outcome.is_some()),
                "waits": waits, "milliseconds": milliseconds, "history": lines,
            }));
            return Ok(code(well));
        }
        print::line(if output.is_error { "\nresult (an error)" } else { "\nresult" });
        for line in outline::outline(&value) {
            print::line(format_args!("  {line}"));
        }
        for clause in waits {
            print::line(format_args!("it waits for {clause}"));
        }
        let entries = lines.iter().filter_map(|line| line.get("entries")?.as_array()).map(Vec::len).sum();
        print::line(format_args!("{} in {milliseconds} ms", findings::counted_as(entries, "entry", "entries")));
        Ok(code(well))
    }
}

/// When the clock answers a request, milliseconds since the Unix epoch.
fn due_of(request: &OpenRequest) -> Option<u64> {
    match wire::need_kind(&request.need) {
        Some(NeedKind::Timer(at)) => Some(at),
        Some(_) | None => None,
    }
}

/// Whether a person could answer it.
fn is_question(request: &OpenRequest) -> bool {
    matches!(wire::need_kind(&request.need), Some(NeedKind::Answer { audience, .. }) if audience != "agent")
}

/// Whether this host carries it out just now.
fn is_under_way(request: &OpenRequest) -> bool {
    matches!(request.standing, Standing::Sent(_) | Standing::Begun(_))
}

/// The arguments as JSON text. They are not checked against the tool's schema: that is the interpreter's.
fn arguments(given: &str) -> Result<String> {
    let (text, whose) = match given.strip_prefix('@') {
        Some(file) => {
            let text = std::fs::read_to_string(Path::new(file)).with_context(|| format!("`{file}` cannot be read"))?;
            (text, format!("`{file}`"))
        }
        None => (given.to_owned(), "--args".to_owned()),
    };
    let value: Value = serde_json::from_str(&text).with_context(|| format!("the arguments in {whose} are no JSON"))?;
    if !value.is_object() {
        bail!("the arguments in {whose} must be a JSON object, such as {{\"name\": \"value\"}}");
    }
    Ok(text)
}

fn offered(catalogue: &Catalogue) -> String {
    let names: Vec<&str> = catalogue.tools.keys().map(String::as_str).collect();
    if names.is_empty() { "the documents offer none".into() } else { format!("there are {}", names.join(", ")) }
}
