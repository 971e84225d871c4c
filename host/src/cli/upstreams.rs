//! Which upstream servers there are, and what documents may start: the operator's words on the command line.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;

use super::print;
use crate::upstream::{File, Hub, HubOptions, Spawn};

/// Upstream MCP servers.
#[derive(Debug, Clone, Args)]
pub(crate) struct Upstreams {
    /// A file of upstream MCP servers (`{"mcpServers": {..}}`, as clients have it), and of tools bound to them.
    #[arg(long = "mcp", value_name = "FILE", env = "WFHOST_MCP")]
    file: Option<PathBuf>,
    /// Let documents start programs as their servers: any, or these alone. Without it they may when a local user serves
    /// them over standard input and output, and may not over HTTP.
    #[arg(long, value_name = "PROGRAM,..", num_args = 0..=1, require_equals = true, default_missing_value = "*",
        value_delimiter = ',')]
    allow_spawn: Option<Vec<String>>,
}

/// Who can reach this host, and so whether documents may start programs unless the operator says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// The local user, who named the documents.
    Locally,
    /// Whoever reaches its address.
    OverHttp,
}

impl Upstreams {
    /// The hub; nothing is started yet.
    pub(crate) fn hub(&self, reached: Reached) -> Result<Arc<Hub>> {
        let file = match &self.file {
            None => File::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("the file of upstream servers `{}` cannot be read", path.display()))?;
                File::read(&text).with_context(|| format!("the file of upstream servers `{}`", path.display()))?
            }
        };
        for (name, spec) in &file.servers {
            if !spec.unknown.is_empty() {
                let keys = spec.unknown.join("`, `");
                print::note(print::plain(&format!("the server `{name}` has keys that mean nothing here: `{keys}`")));
            }
        }
        Ok(Arc::new(Hub::new(HubOptions {
            file,
            spawn: self.spawn(reached),
            environment: Arc::new(|name| std::env::var(name).ok()),
            notice: Arc::new(|line| print::note(print::plain(line))),
        })))
    }

    fn spawn(&self, reached: Reached) -> Spawn {
        match &self.allow_spawn {
            Some(names) if names.iter().any(|name| name == "*") => Spawn::Any,
            Some(names) => Spawn::Only(names.clone()),
            None if reached == Reached::Locally => Spawn::Any,
            None => Spawn::Never,
        }
    }
}
