//! Which upstream servers there are, and what documents may start: the operator's words on the command line.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;

use super::print;
use crate::upstream::{File, Hub, HubOptions, Spawn};

/// The operator's own upstream MCP servers.
#[derive(Debug, Clone, Args)]
pub(crate) struct Own {
    /// A file of upstream MCP servers (`{"mcpServers": {..}}`, as clients have it), and of tools bound to them.
    #[arg(long = "mcp", value_name = "FILE", env = "WFHOST_MCP")]
    file: Option<PathBuf>,
}

/// Upstream MCP servers.
#[derive(Debug, Clone, Args)]
pub(crate) struct Upstreams {
    #[command(flatten)]
    own: Own,
    /// Let documents start programs as their servers: any, or these alone. Without it they may when a local user serves
    /// them over standard input and output; over HTTP, or where clients write documents, they may not.
    #[arg(long, value_name = "PROGRAM,..", num_args = 0..=1, require_equals = true, default_missing_value = "*",
        value_delimiter = ',')]
    allow_spawn: Option<Vec<String>>,
}

/// Who can reach this host, and so whether documents may start programs unless the operator says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// The local user, who named the documents.
    Locally,
    /// Whoever reaches its address, or may write its documents.
    ByOthers,
}

impl Own {
    /// The names of these servers.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        Ok(self.read()?.servers.into_keys().collect())
    }

    fn read(&self) -> Result<File> {
        let Some(path) = &self.file else { return Ok(File::default()) };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("the file of upstream servers `{}` cannot be read", path.display()))?;
        File::read(&text).with_context(|| format!("the file of upstream servers `{}`", path.display()))
    }
}

impl Upstreams {
    /// The hub; nothing is started yet.
    pub(crate) fn hub(&self, reached: Reached) -> Result<Arc<Hub>> {
        let file = self.own.read()?;
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

    /// The names of the operator's own servers.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        self.own.names()
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
