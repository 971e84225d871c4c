//! A program with the probe, upstream servers that do what they are told, and a record of what they carried out.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Client;
use crate::lab::PROBE;
use crate::served::program_in;

/// A folder with documents of the probe, a file of upstream servers, and a program over them.
#[derive(Debug)]
pub struct Bench {
    /// All of it lies here.
    pub folder: TempDir,
    program: PathBuf,
    worker: PathBuf,
}

impl Bench {
    /// Documents, and the operator's servers with what is special about each (merged into its entry).
    pub fn new((program, worker): (&str, &str), documents: &[(&str, &str)], servers: &[(&str, Value)]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("probe.wasm"), PROBE)?;
        std::fs::create_dir(folder.path().join("documents"))?;
        for (name, text) in documents {
            std::fs::write(folder.path().join("documents").join(name), text)?;
        }
        let bench = Self { folder, program: program.into(), worker: worker.into() };
        let entries: serde_json::Map<String, Value> =
            servers.iter().map(|(name, special)| ((*name).to_owned(), bench.entry(name, special))).collect();
        bench.mcp(&json!({ "mcpServers": entries }))?;
        Ok(bench)
    }

    /// An entry that starts the worker, its record beside the documents.
    #[must_use]
    pub fn entry(&self, name: &str, special: &Value) -> Value {
        let mut entry = json!({"command": self.worker, "env": {"UPSTREAM_LOG": self.record_path(name)}});
        for (key, value) in special.as_object().into_iter().flatten() {
            match (key.as_str(), entry.get_mut(key).and_then(Value::as_object_mut)) {
                ("env", Some(env)) => {
                    env.extend(value.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())))
                }
                _ => entry[key.as_str()] = value.clone(),
            }
        }
        entry
    }

    /// Writes the operator's file.
    pub fn mcp(&self, file: &Value) -> Result<()> {
        Ok(std::fs::write(self.folder.path().join("mcp.json"), file.to_string())?)
    }

    fn record_path(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.record"))
    }

    /// What a server has carried out, a line each.
    #[must_use]
    pub fn record(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.record_path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until a server has carried that out.
    pub fn until(&self, name: &str, line: &str) -> Result<()> {
        let until = Instant::now() + Duration::from_secs(20);
        while !self.record(name).iter().any(|l| l == line) {
            ensure!(Instant::now() < until, "{name} never did `{line}`: {:?}", self.record(name));
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The program, told to do this.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program_in(&self.program, self.folder.path());
        command.args(arguments);
        command
    }

    /// The program, serving.
    #[must_use]
    pub fn serve(&self, more: &[&str]) -> Command {
        let mut command = self.command(&["serve", "--plugin", "probe.wasm", "documents", "--mcp", "mcp.json"]);
        command.args(more);
        command
    }

    /// A client of it.
    pub fn client(&self) -> Result<Client> {
        Client::start(&mut self.serve(&[]), &json!({}))
    }
}

/// Has the probe make these calls, and gives its state at the end of the call.
pub fn calls(client: &mut Client, session: Option<&str>, calls: &Value) -> Result<Value> {
    let result = client.tool("probe_do", &json!({"do": "call", "calls": calls, "session": session}))?;
    let state = result.get("structuredContent").and_then(|s| s.get("state")).cloned();
    state.with_context(|| format!("no state in {result}"))
}

/// The processes whose command line names this file.
#[must_use]
pub fn processes(of: &Path) -> usize {
    let of = of.to_string_lossy();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = entries.filter_map(|e| std::fs::read(e.path().join("environ")).ok());
    lines.filter(|environ| String::from_utf8_lossy(environ).contains(&*of)).count()
}
