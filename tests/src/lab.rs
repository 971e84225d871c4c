//! A host inside the test's own process, over documents in a folder of its own, with a clock that the test moves.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;
use wfhost::catalogue::Plugins;
use wfhost::clock::{Clock, System};
use wfhost::plugin::{Plugin, Runtime, RuntimeOptions};
use wfhost::session::{Advanced, Caller, Host, HostOptions, OwnSessions};
use wfhost::store::{self, Store};

/// The interpreter that does what it is told, good and bad.
pub const PROBE: &[u8] = include_bytes!(env!("WFHOST_PROBE_WASM"));

/// Time that stands still until a test moves it; entropy is the system's.
#[derive(Debug, Default)]
pub struct Still(AtomicU64);

impl Still {
    /// Moves the clock on.
    pub fn pass(&self, milliseconds: u64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

impl Clock for Still {
    fn now(&self) -> u64 {
        1_700_000_000_000 + self.0.load(Ordering::SeqCst)
    }

    fn entropy(&self) -> u128 {
        System.entropy()
    }
}

/// A host and what it stands on.
#[derive(Debug)]
pub struct Lab {
    /// The documents' folder.
    pub folder: TempDir,
    /// The host.
    pub host: Arc<Host>,
    /// Its clock.
    pub clock: Arc<Still>,
    /// Who calls.
    pub caller: Caller,
}

/// One engine for all tests of a process: what is compiled once is compiled for all.
pub fn runtime() -> Result<Arc<Runtime>> {
    static RUNTIME: OnceLock<Arc<Runtime>> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(Arc::clone(runtime));
    }
    let cache = std::env::current_exe()?.parent().map(|folder| folder.join("tests-cache-lab"));
    let runtime = Arc::new(Runtime::new(RuntimeOptions { cache, ..RuntimeOptions::default() })?);
    Ok(Arc::clone(RUNTIME.get_or_init(|| runtime)))
}

impl Lab {
    /// A host with the probe and these documents, in memory.
    pub fn probe(documents: &[(&str, &str)]) -> Result<Self> {
        Self::with(documents, store::open_ephemeral()?)
    }

    /// The same in this store.
    pub fn with(documents: &[(&str, &str)], store: Arc<dyn Store>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let plugin = folder.path().join("probe.wasm");
        std::fs::write(&plugin, PROBE)?;
        let place = folder.path().join("documents");
        std::fs::create_dir(&place)?;
        for (name, text) in documents {
            std::fs::write(place.join(name), text)?;
        }
        let named = plugin.to_str().context("a path of text")?.to_owned();
        let plugins = Plugins::choose(&runtime()?, &[named])?;
        let clock = Arc::new(Still::default());
        let host = Host::new(store, clock.clone(), (plugins, vec![place]), HostOptions::default())?;
        let caller = Caller { channel: "test", own: Some(OwnSessions::default()), ..Caller::default() };
        Ok(Self { folder, host: Arc::new(host), clock, caller })
    }

    /// Another host on the same store, documents and clock, as another process would be.
    pub fn another(&self, options: HostOptions) -> Result<Host> {
        let plugin = self.folder.path().join("probe.wasm");
        let plugins = Plugins::choose(&runtime()?, &[plugin.to_str().context("a path of text")?.to_owned()])?;
        let store = Arc::clone(self.host.store());
        Ok(Host::new(store, self.clock.clone(), (plugins, vec![self.documents()]), options)?)
    }

    /// Calls a tool; a fault is an error.
    pub fn call(&self, tool: &str, args: &Value) -> Result<Advanced> {
        Ok(self.host.blocking().call(&self.caller, tool, &args.to_string())?)
    }

    /// Calls a tool and reads what it gives.
    pub fn value(&self, tool: &str, args: &Value) -> Result<Value> {
        Ok(serde_json::from_str(&self.call(tool, args)?.output.value)?)
    }

    /// Where the documents lie.
    #[must_use]
    pub fn documents(&self) -> std::path::PathBuf {
        self.folder.path().join("documents")
    }
}

/// Loads a plugin from bytes, for tests of loading.
pub fn load(name: &str, bytes: &[u8]) -> Result<Plugin, wfhost::plugin::LoadFault> {
    let runtime =
        runtime().map_err(|e| wfhost::plugin::LoadFault::File { plugin: name.into(), reason: e.to_string() })?;
    Plugin::from_bytes(&runtime, name, bytes.into())
}

/// A built-in plugin.
pub fn builtin(name: &str) -> Result<Plugin> {
    let builtin = wfhost::plugin::builtins().iter().find(|builtin| builtin.name == name).context("no such plugin")?;
    Ok(load(name, builtin.wasm)?)
}

/// The components that the build leaves beside the program: `trees.wasm` and the others.
#[must_use]
pub fn built(program: &Path, name: &str) -> std::path::PathBuf {
    let target = program.parent().and_then(Path::parent).unwrap_or(program);
    target.join("plugins").join(name)
}
