//! `wfhost doctor`: everything that a server needs, checked one by one, and the lines to paste into a client.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use serde_json::{Value, json};

use super::findings::{self, counted};
use super::snippet::Snippet;
use super::upstreams::{Reached, Upstreams};
use super::{Data, code, place, plugin, print, tidied, validate};
use crate::catalogue::{Catalogue, Plugins};
use crate::plugin::{Plugin, Runtime, builtins, contract, is_cached};
use crate::session::model::Digest;
use crate::store::{Listed, Query, Store};

/// What `doctor` is told.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 nothing fails (warnings are allowed), 1 something fails, 2 wrong command line.")]
pub(super) struct Doctor {
    /// Folders of workflow documents, or single documents.
    #[arg(value_name = "DOCUMENTS", value_parser = OsStringValueParser::new().map(tidied))]
    places: Vec<PathBuf>,
    /// A plugin: a file, or the name of a built-in one. Repeatable; none means all built-in ones.
    #[arg(long = "plugin", value_name = "FILE|NAME")]
    plugins: Vec<String>,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    upstreams: Upstreams,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    Warn,
    Fail,
}

/// One thing that was looked at.
struct Check {
    verdict: Verdict,
    about: &'static str,
    message: String,
}

/// LIMIT: sessions whose records are looked at, the newest.
const RECORDS_MAX: usize = 10_000;

impl Doctor {
    pub(super) fn run(self) -> Result<ExitCode> {
        let mut checks = Vec::new();
        let runtime = place::runtime(self.data.cache())?;
        let loaded = self.check_plugins(&runtime, &mut checks);
        if let Some(plugins) = loaded.filter(|_| !self.places.is_empty()) {
            self.check_documents(&plugins, &mut checks)?;
        }
        self.check_data(&mut checks);
        let snippet = self.snippet();
        let well = checks.iter().all(|c| c.verdict != Verdict::Fail);
        if self.json {
            print::json(&report(well, &checks, &snippet));
            return Ok(code(well));
        }
        for check in &checks {
            print::line(format_args!("{} {:<9} {}", word(check.verdict), check.about, print::plain(&check.message)));
        }
        self.tell(&snippet);
        Ok(code(well))
    }

    /// Loads each plugin. None if any of those that were named cannot be.
    fn check_plugins(&self, runtime: &Arc<Runtime>, checks: &mut Vec<Check>) -> Option<Plugins> {
        let _progress = print::Progress::of("loading plugins");
        let all: Vec<&str> = builtins().iter().map(|b| b.name).collect();
        let named: Vec<&str> =
            if self.plugins.is_empty() { all } else { self.plugins.iter().map(String::as_str).collect() };
        for name in named {
            checks.push(check_plugin(runtime, name));
        }
        match Plugins::choose(runtime, &self.plugins) {
            Ok(plugins) => Some(plugins),
            Err(fault) => {
                // A file that cannot be loaded has its line; two that cannot be loaded together have not.
                if checks.iter().all(|c| c.verdict == Verdict::Pass) {
                    checks.push(Check { verdict: Verdict::Fail, about: "plugin", message: fault.to_string() });
                }
                None
            }
        }
    }

    /// Starts each upstream server and asks what it offers.
    fn check_upstreams(&self, declared: &[contract::Server], checks: &mut Vec<Check>) -> Result<()> {
        let _progress = print::Progress::of("asking upstream servers");
        let hub = self.upstreams.hub(Reached::Locally)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listings = runtime.block_on(async {
            let listings = hub.offers(declared).await;
            hub.close().await;
            listings
        });
        checks.extend(listings.into_iter().map(|listing| match listing.tools {
            Ok(tools) => {
                let message = format!("{} offers {}", listing.server, counted(tools.len(), "tool"));
                Check { verdict: Verdict::Pass, about: "upstream", message }
            }
            Err(why) => {
                Check { verdict: Verdict::Warn, about: "upstream", message: format!("{}: {why}", listing.server) }
            }
        }));
        Ok(())
    }

    fn check_documents(&self, plugins: &Plugins, checks: &mut Vec<Check>) -> Result<()> {
        let (catalogue, faults) = place::survey(plugins, &self.places)?;
        let servers = catalogue.files.iter().flat_map(|f| &f.definitions).flat_map(|d| d.servers.iter());
        let servers: Vec<contract::Server> = servers.cloned().collect();
        self.check_upstreams(&servers, checks)?;
        let mut say = |verdict, message| checks.push(Check { verdict, about: "documents", message });
        faults.iter().for_each(|fault| say(Verdict::Fail, fault.to_string()));
        for file in &catalogue.files {
            let (errors, others) = findings::counts(file.findings.iter());
            if errors > 0 {
                say(
                    Verdict::Fail,
                    format!("{}: {} (`wfhost validate` shows them)", file.shown, counted(errors, "error")),
                );
            } else if others > 0 {
                say(
                    Verdict::Warn,
                    format!("{}: {} (`wfhost validate` shows them)", file.shown, counted(others, "warning")),
                );
            }
        }
        validate::tool_clashes(&catalogue).iter().for_each(|clash| say(Verdict::Fail, findings::clash(clash)));
        if catalogue.files.is_empty() {
            say(Verdict::Fail, format!("no documents found in {}", place::shown(&self.places)));
        } else if catalogue.offered.is_empty() {
            say(Verdict::Fail, "none of the documents can be served".into());
        }
        served(&catalogue).into_iter().for_each(|line| say(Verdict::Pass, line));
        Ok(())
    }

    fn check_data(&self, checks: &mut Vec<Check>) {
        let mut say = |verdict, message| checks.push(Check { verdict, about: "data", message });
        let folder = match self.data.folder() {
            Ok(folder) => folder,
            Err(error) => return say(Verdict::Fail, error.to_string()),
        };
        match self.data.store_if_there() {
            Ok(None) => match can_be_made(&folder) {
                Ok(()) => say(Verdict::Pass, format!("{} will be made when the first server starts", folder.display())),
                Err(reason) => say(
                    Verdict::Fail,
                    format!("{} cannot be made: {reason}; name another with `--data`", folder.display()),
                ),
            },
            Err(error) => say(Verdict::Fail, format!("{error:#}")),
            Ok(Some(store)) => check_store(store.as_ref(), &folder, &mut say),
        }
    }

    fn snippet(&self) -> Snippet {
        let command = std::env::current_exe().map_or_else(|_| "wfhost".into(), |path| path.display().to_string());
        let absolute =
            |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
        let mut args = vec!["serve".to_owned()];
        for name in &self.plugins {
            let builtin = builtins().iter().any(|b| b.name == name);
            args.extend(["--plugin".to_owned(), if builtin { name.clone() } else { absolute(Path::new(name)) }]);
        }
        // The client's environment need not be this one.
        if let Some(folder) = &self.data.data {
            args.extend(["--data".to_owned(), absolute(folder)]);
        }
        if self.places.is_empty() {
            args.push("/path/to/your/documents".into());
        }
        args.extend(self.places.iter().map(|path| absolute(path)));
        Snippet::of(command, args)
    }

    fn tell(&self, snippet: &Snippet) {
        if self.places.is_empty() {
            print::line("\nNo documents were named: `wfhost doctor FOLDER` checks them too and puts them in below.");
        }
        print::line(format_args!("\nClaude Code:\n  {}", snippet.claude_code()));
        print::line(format_args!(
            "\nClaude Desktop (claude_desktop_config.json), Cursor (.cursor/mcp.json) and most others:\n{:#}",
            snippet.mcp_servers()
        ));
        print::line(format_args!("\nVS Code (.vscode/mcp.json):\n{:#}", snippet.vs_code()));
    }
}

fn check_plugin(runtime: &Arc<Runtime>, name: &str) -> Check {
    let builtin = builtins().iter().find(|b| b.name == name);
    let bytes: Option<Arc<[u8]>> = match builtin {
        Some(builtin) => Some(builtin.wasm.into()),
        None => std::fs::read(name).ok().map(Into::into),
    };
    let cached = bytes.as_ref().is_some_and(|bytes| is_cached(runtime, Digest::of(bytes)));
    let loaded = match (builtin, bytes) {
        (Some(builtin), Some(bytes)) => Plugin::from_bytes(runtime, builtin.name, bytes),
        (Some(_) | None, _) => Plugin::from_file(runtime, Path::new(name)),
    };
    match loaded {
        Err(fault) => Check { verdict: Verdict::Fail, about: "plugin", message: fault.to_string() },
        Ok(plugin) => {
            let kept = is_cached(runtime, plugin.digest);
            let code = match (cached, kept) {
                (true, _) => "native code kept",
                (false, true) => "native code kept from now on",
                (false, false) => "compiled at every start: native code cannot be kept",
            };
            let about = &plugin.about;
            let digest = plugin.digest.to_string().get(..12).unwrap_or_default().to_owned();
            let origin = if builtin.is_some() { "built in" } else { name };
            let message = format!("{} {} ({origin}, {digest}), {code}", about.name, about.version);
            Check { verdict: if kept { Verdict::Pass } else { Verdict::Warn }, about: "plugin", message }
        }
    }
}

fn served(catalogue: &Catalogue) -> Vec<String> {
    catalogue
        .offered
        .iter()
        .map(|o| {
            let tools = catalogue
                .tools
                .values()
                .filter(|t| catalogue.offered.get(t.owner).is_some_and(|owner| std::ptr::eq(owner, o)));
            let ids: Vec<String> = o.ids.iter().take(8).cloned().collect();
            let more = if o.ids.len() > 8 { ", …" } else { "" };
            let (workflows, tools) = (counted(o.ids.len(), "workflow"), counted(tools.count(), "tool"));
            format!("{} serves {workflows} with {tools}: {}{more}", o.plugin.about.name, ids.join(", "))
        })
        .collect()
}

fn check_store(store: &dyn Store, folder: &Path, say: &mut dyn FnMut(Verdict, String)) {
    match store.report() {
        Err(fault) => say(Verdict::Fail, fault.to_string()),
        Ok(report) => {
            let role = match report.role.as_str() {
                "follower" => ", another wfhost works on it too",
                _ => "",
            };
            let sessions = counted(usize::try_from(report.sessions).unwrap_or(usize::MAX), "session");
            say(
                Verdict::Pass,
                format!(
                    "{}: {sessions}, {} unfinished, {}{role}",
                    report.place,
                    report.unfinished,
                    plugin::size(report.bytes)
                ),
            );
        }
    }
    let listed = store.list(&Query { limit: RECORDS_MAX, ..Query::default() }).unwrap_or_default();
    for record in listed {
        if let Listed::Unreadable(session, why) = record {
            say(Verdict::Warn, format!("session {session} cannot be read: {why}"));
        }
    }
    #[cfg(unix)]
    if let Ok(meta) = std::fs::metadata(folder)
        && std::os::unix::fs::MetadataExt::mode(&meta) & 0o077 != 0
    {
        say(Verdict::Warn, format!("others can enter {0}: `chmod 700 {0}` keeps sessions private", folder.display()));
    }
}

/// Whether a folder could be made here, by the nearest one above it that is there.
fn can_be_made(folder: &Path) -> Result<(), String> {
    let folder = std::path::absolute(folder).map_err(|e| e.to_string())?;
    let above = folder.ancestors().find(|path| path.exists()).ok_or("there is nothing above it")?;
    if !above.is_dir() {
        return Err(format!("`{}` is no folder", above.display()));
    }
    #[cfg(unix)]
    rustix::fs::access(above, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
        .map_err(|error| format!("`{}` cannot be written: {error}", above.display()))?;
    Ok(())
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "PASS",
        Verdict::Warn => "WARN",
        Verdict::Fail => "FAIL",
    }
}

fn report(well: bool, checks: &[Check], snippet: &Snippet) -> Value {
    let checks = checks.iter().map(|c| json!({"verdict": word(c.verdict), "about": c.about, "message": c.message}));
    json!({
        "ok": well,
        "version": env!("CARGO_PKG_VERSION"),
        "checks": checks.collect::<Vec<_>>(),
        "snippets": {"claude_code": snippet.claude_code(), "mcp_servers": snippet.mcp_servers(), "vs_code": snippet.vs_code()},
    })
}
