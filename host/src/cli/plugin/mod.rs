//! `wfhost plugin`: what plugins there are, what a file is, a project for a new one, and the check of a finished one.

mod check;
mod inspect;
mod list;
mod new;
mod pack;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{code, place, print};
use crate::limits::{CallLimits, PLUGIN_BYTES_MAX, PluginLimits};
use crate::plugin::builtins;

pub(super) use inspect::size;

/// What `plugin` is told.
#[derive(Debug, Args)]
pub(super) struct Plugin {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the built-in plugins, and those that are named: version, contract, digest, and whether they may run.
    List(list::List),
    /// Show what a plugin is: digest, contract, imports, exports, limits, and what it says of itself.
    Inspect(inspect::Inspect),
    /// Make a project for a new plugin: a whole dialect to begin with, in a language of your choice.
    New(new::New),
    /// Wrap a core module as a component.
    Pack(pack::Pack),
    /// Check a finished plugin: its type, its documents, its runs, and your recorded cases. Needs nothing but the file.
    Check(check::Check),
}

impl Plugin {
    pub(super) fn run(self) -> Result<ExitCode> {
        match self.command {
            Command::List(command) => command.run(),
            Command::Inspect(command) => command.run(),
            Command::New(command) => command.run(),
            Command::Pack(command) => command.run(),
            Command::Check(command) => command.run(),
        }
    }
}

/// A plugin's bytes, and whether it is built in or a file.
fn bytes(plugin: &str) -> Result<(&'static str, Arc<[u8]>)> {
    if let Some(builtin) = builtins().iter().find(|b| b.name == plugin) {
        return Ok(("built in", builtin.wasm.into()));
    }
    let known = || builtins().iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
    let path = Path::new(plugin);
    let size = std::fs::metadata(path)
        .with_context(|| format!("there is no plugin `{plugin}`; the built-in ones are {}", known()))?
        .len();
    if size > PLUGIN_BYTES_MAX {
        bail!("`{plugin}` has {size} bytes, a plugin may have {PLUGIN_BYTES_MAX}");
    }
    let bytes = std::fs::read(path).with_context(|| format!("`{plugin}` cannot be read"))?;
    Ok(("a file", bytes.into()))
}

fn limits_shown(limits: CallLimits) -> String {
    format!(
        "{} of memory, {} ms, {} units of instructions, {} in and out",
        size(limits.memory_bytes as u64),
        limits.time_ms,
        limits.fuel,
        size(limits.copied_bytes as u64)
    )
}

fn limits_json(limits: PluginLimits) -> Value {
    let each = |l: CallLimits| json!({"memory_bytes": l.memory_bytes, "time_ms": l.time_ms, "fuel": l.fuel, "copied_bytes": l.copied_bytes});
    json!({"call": each(limits.call), "load": each(limits.load)})
}
