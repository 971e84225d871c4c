//! `wfhost primer`: one run from its start to its trace, offline. The document and the calls of the agent are data beside
//! the documents; all that is written goes to a temporary folder, which is removed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::sessions::joined;
use super::{code, outline, place, print};
use crate::catalogue::Plugins;
use crate::clock::{Clock, System};
use crate::files::make_private_folder;
use crate::plugin::contract::{Output, Reply, Source};
use crate::session::model::SessionId;
use crate::session::{Caller, Host, HostOptions};
use crate::store;

const SCRIPT: &str = include_str!("../../../trees/primer.json");
const DOCUMENT: &str = include_str!("../../../trees/deploy-gate.yaml");

/// What `primer` is told: nothing.
#[derive(Debug, Args)]
pub(super) struct Primer {}

#[derive(Deserialize)]
struct Script {
    document: String,
    opening: String,
    scenes: Vec<Scene>,
    trace: Trace,
    closing: String,
}

/// What of the trace is shown: a list in it, and some fields of its items.
#[derive(Deserialize)]
struct Trace {
    list: String,
    fields: Vec<String>,
}

/// Something happens, and some of what comes of it is shown.
#[derive(Deserialize)]
struct Scene {
    say: String,
    #[serde(default)]
    call: Option<Call>,
    #[serde(default)]
    restart: bool,
    #[serde(default)]
    person: Option<Value>,
    #[serde(default)]
    show: Vec<String>,
}

#[derive(Deserialize)]
struct Call {
    tool: String,
    args: Value,
}

/// Characters of a line of prose.
const LINE_MAX: usize = 88;

impl Primer {
    #[expect(clippy::unused_self, reason = "every command runs on what it was told")]
    pub(super) fn run(self) -> Result<ExitCode> {
        let script: Script = serde_json::from_str(SCRIPT).context("the embedded script is damaged")?;
        let folder = Temporary::make()?;
        let documents = folder.0.join("documents");
        make_private_folder(&documents)?;
        std::fs::write(documents.join(&script.document), DOCUMENT)?;
        prose(&script.opening, "");
        let mut stage = Stage { host: Some(host(&folder.0)?), session: None };
        for (n, scene) in script.scenes.iter().enumerate() {
            print::line("");
            prose(&scene.say, &format!("{}. ", n + 1));
            if scene.restart {
                // The first host must be gone before the second one opens the store, as with two processes.
                stage.host = None;
                stage.host = Some(host(&folder.0)?);
            }
            if let Some(output) = stage.play(scene)? {
                shown(&output, &scene.show);
            }
        }
        stage.trace(&script.trace)?;
        print::line("");
        prose(&script.closing, "");
        Ok(code(true))
    }
}

/// The host and the run on it.
struct Stage {
    host: Option<Host>,
    session: Option<SessionId>,
}

impl Stage {
    fn host(&self) -> Result<&Host> {
        self.host.as_ref().context("the host is not running")
    }

    fn session(&self) -> Result<SessionId> {
        self.session.context("the script has not started a session")
    }

    fn play(&mut self, scene: &Scene) -> Result<Option<Output>> {
        let caller = Caller { channel: "primer", ..Caller::default() };
        if let Some(call) = &scene.call {
            let session = self.session.map(|s| s.to_string()).unwrap_or_default();
            prose(&filled(&call.args, &print::cut(&session, 9)), &format!("   > {} ", call.tool));
            let advanced = self.host()?.blocking().call(&caller, &call.tool, &filled(&call.args, &session))?;
            self.session = self.session.or(advanced.session);
            return Ok(Some(advanced.output));
        }
        let session = self.session()?;
        let Some(answer) = &scene.person else { return Ok(Some(self.host()?.show(&caller, session)?.status)) };
        let head = self.host()?.show(&caller, session)?.head;
        let request = head.requests.first().context("the session asks nothing")?.clone();
        print::line(format_args!("   > (a person) {}", outline::inline(answer)));
        let reply = Reply { request: request.id, value: Ok(answer.to_string()) };
        let advanced =
            self.host()?.blocking().reply(&Caller::operator(), (session, &request.need), &reply, Source::Operator)?;
        Ok(Some(advanced.context("the question is not open any more")?.output))
    }

    fn trace(&self, wanted: &Trace) -> Result<()> {
        let (caller, session) = (Caller::operator(), self.session()?);
        print::line("");
        prose("What is kept of it, in the document's own words:", "");
        let mut trace = joined(&self.host()?.trace_pages(&caller, session)?);
        let items = trace.get_mut(&wanted.list).context("the trace holds no such list")?;
        for item in items.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            item.retain(|field, _| wanted.fields.contains(field));
        }
        for line in outline::outline(items) {
            print::line(format_args!("   {line}"));
        }
        let steps = self.host()?.steps(&caller, session)?;
        let refused = steps.iter().filter(|s| s.line.refusal.is_some()).count();
        let head = self.host()?.show(&caller, session)?.head;
        print::line("");
        let lines = format!(
            "Behind it stand {} journal lines, {refused} of them refusals. Each is bound to the one before by its SHA-256, so none \
             can be changed, taken out or slipped in unnoticed; the last link is {}.",
            head.lines, head.chain
        );
        prose(&lines, "");
        Ok(())
    }
}

fn host(folder: &Path) -> Result<Host> {
    let _progress = print::Progress::of("compiling the interpreter");
    let data = folder.join("data");
    let plugins = Plugins::choose(&place::runtime(Some(data.join("native")))?, &[])?;
    let store = store::open(&data, store::Options::default())?;
    Ok(Host::new(store, Arc::new(System), (plugins, vec![folder.join("documents")]), HostOptions::default())?)
}

/// Arguments with the session's id where the script says `<session>`.
fn filled(args: &Value, session: &str) -> String {
    args.to_string().replace("\"<session>\"", &format!("\"{session}\""))
}

/// The parts of a reply that the script points at.
fn shown(output: &Output, pointers: &[String]) {
    let value: Value = serde_json::from_str(&output.value).unwrap_or_else(|_| output.value.clone().into());
    for pointer in pointers {
        let name = pointer.trim_start_matches('/').replace('/', ".");
        let found = value.pointer(pointer).map_or_else(|| "(not there)".to_owned(), outline::inline);
        prose(&found, &format!("   {name:<16} "));
    }
}

/// A paragraph, broken into lines; all but the first are set in below the lead.
fn prose(text: &str, lead: &str) {
    let mut line = lead.to_owned();
    let blank = " ".repeat(lead.chars().count());
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > LINE_MAX && line.trim() != lead.trim() {
            print::line(line.trim_end());
            line.clone_from(&blank);
        }
        line.push_str(word);
        line.push(' ');
    }
    print::line(line.trim_end());
}

/// A folder that is gone when this is.
struct Temporary(PathBuf);

impl Temporary {
    fn make() -> Result<Self> {
        let base = std::env::temp_dir();
        let folder = base.join(format!("wfhost-primer-{:032x}", System.entropy()));
        make_private_folder(&folder).with_context(|| {
            format!("no folder can be made in `{}`; name another place with TMPDIR", base.display())
        })?;
        Ok(Self(folder))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
