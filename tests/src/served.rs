//! The driver that reaches the interpreters as users do: the program itself, its plugins in the sandbox, MCP over stdio, and
//! its command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Client;
use crate::corpus::{Change, Files, Setup};
use crate::driver::{CallOutcome, CliOutcome, Driver, Found, Validation};

/// The program, in a folder of its own.
#[derive(Debug)]
pub struct Served {
    program: PathBuf,
    plugin: &'static str,
    folder: TempDir,
    arguments: Vec<String>,
    capabilities: Value,
    client: Option<Client>,
    /// Turns of the upstream's script so far.
    turn: u64,
    /// Further clients by name; the one in hand is not among them.
    others: BTreeMap<String, Client>,
    named: String,
}

impl Served {
    /// A driver of this program with one built-in plugin.
    pub fn new(program: &Path, plugin: &'static str) -> Result<Self> {
        Ok(Self {
            program: program.to_owned(),
            plugin,
            folder: tempfile::tempdir()?,
            arguments: Vec::new(),
            capabilities: json!({}),
            client: None,
            turn: 0,
            others: BTreeMap::new(),
            named: String::new(),
        })
    }

    fn command(&self) -> Command {
        program_in(&self.program, self.folder.path())
    }

    /// What `validate` says of documents: whether they would be served, and each finding.
    fn report(&self, documents: &Files) -> Result<(bool, Vec<Value>)> {
        std::fs::create_dir_all(self.folder.path().join("trees"))?;
        self.write(documents)?;
        let output = self.command().args(["validate", "trees", "--json", "--plugin", self.plugin]).output()?;
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stdout).into_owned())?;
        let documents = report["documents"].as_array().into_iter().flatten();
        let findings = documents.flat_map(|document| document["findings"].as_array().into_iter().flatten());
        Ok((output.status.success(), findings.cloned().collect()))
    }

    fn write(&self, files: &Files) -> Result<()> {
        for (path, bytes) in files {
            let path = self.folder.path().join("trees").join(path);
            std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
            std::fs::write(path, self.with_stand_in(bytes))?;
        }
        Ok(())
    }

    /// The file that the stand-in of upstream servers reads.
    fn script(&self) -> PathBuf {
        self.folder.path().join("script.json")
    }

    /// A document whose upstream server is the stand-in beside the program.
    fn with_stand_in(&self, bytes: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(bytes) else { return bytes.to_vec() };
        let stand_in = self.program.with_file_name("recorded-upstream");
        let script = self.script().display().to_string();
        text.replace("command: python3", &format!("command: {}", stand_in.display()))
            .replace("cwd: sub", "cwd: trees/sub")
            .replace("../upstream_server.py", &script)
            .replace("upstream_server.py", &script)
            .into_bytes()
    }

    fn begin(&mut self) -> Result<()> {
        let mut command = self.command();
        command.args(["serve", "trees", "--strict", "--plugin", self.plugin]).args(&self.arguments);
        self.client = Some(Client::start(&mut command, &self.capabilities)?);
        Ok(())
    }

    /// Every session once more from its middle on: a fork must be as whole as what it comes from.
    fn fork_all(&self) -> Result<()> {
        let output = self.command().args(["sessions", "list", "--all", "--limit", "1000", "--json"]).output()?;
        let list: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        for session in list["sessions"].as_array().into_iter().flatten() {
            let (id, entries) = (session["session"].as_str().unwrap_or_default(), session["entries"].as_u64());
            // Where nothing has happened there is nothing to go on from.
            let Some(entries) = entries.filter(|entries| *entries > 0) else { continue };
            let middle = entries.div_ceil(2).to_string();
            let forked = self.command().args(["sessions", "fork", id, "--at", &middle, "--json"]).output()?;
            anyhow::ensure!(forked.status.success(), "{id} cannot be forked at entry {middle} of {entries}");
        }
        Ok(())
    }

    fn client(&mut self) -> Result<&mut Client> {
        self.client.as_mut().context("the server is not running")
    }
}

/// A program with data of its own in this folder, and the native code of plugins shared by all tests of a run.
pub fn program_in(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    let cache = program.parent().unwrap_or(folder).join("tests-cache");
    command
        .current_dir(folder)
        .env_remove("WFHOST_DATA")
        .env("HOME", folder)
        .env("XDG_DATA_HOME", folder.join("data"))
        .env("XDG_CACHE_HOME", cache)
        .stderr(std::process::Stdio::null());
    command
}

impl Driver for Served {
    fn start(&mut self, setup: &Setup) -> Result<bool> {
        std::fs::create_dir_all(self.folder.path().join("trees"))?;
        for directory in &setup.directories {
            std::fs::create_dir_all(self.folder.path().join("trees").join(directory))?;
        }
        self.write(&setup.documents)?;
        self.arguments.clone_from(&setup.serve_args);
        self.capabilities = setup.client_capabilities.clone().unwrap_or_else(|| json!({}));
        Ok(self.begin().is_ok())
    }

    fn restart(&mut self, change: &Change) -> Result<()> {
        if let Some(client) = self.client.take() {
            client.close()?;
        }
        for path in &change.removed {
            std::fs::remove_file(self.folder.path().join("trees").join(path))?;
        }
        self.write(&change.written)?;
        self.begin()
    }

    fn upstream(&mut self, recorded: &[Value]) {
        self.turn += 1;
        let script = json!({"turn": self.turn, "calls": recorded});
        // A script that cannot be written shows in what the stand-in says.
        let _ = std::fs::write(self.script(), script.to_string());
    }

    fn call(&mut self, tool: &str, arguments: Option<&Value>, replies: &[Value]) -> Result<CallOutcome> {
        let client = self.client()?;
        client.replies = replies.iter().cloned().collect();
        client.elicited.clear();
        let mut params = json!({"name": tool});
        if let Some(arguments) = arguments {
            params["arguments"] = arguments.clone();
        }
        let id = client.ask("tools/call", &params)?;
        let response = client.response(id)?;
        let elicited = std::mem::take(&mut client.elicited);
        if let Some(error) = response.get("error") {
            return Ok(CallOutcome { is_error: true, value: error["message"].clone(), headline: None, elicited });
        }
        let result = &response["result"];
        let texts: Vec<&str> =
            result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect();
        let text = texts.last().copied().unwrap_or_default();
        let headline = (texts.len() > 1).then(|| texts[0].to_owned());
        let value = match result.get("structuredContent") {
            Some(value) => {
                anyhow::ensure!(value.to_string() == text, "the text is not the structured content: {text}");
                value.clone()
            }
            None => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
        };
        Ok(CallOutcome { is_error: result["isError"] == json!(true), value, headline, elicited })
    }

    fn as_client(&mut self, name: &str) -> Result<bool> {
        if self.named.is_empty() {
            self.named = name.to_owned();
        }
        if self.named != name {
            if let Some(client) = self.client.take() {
                self.others.insert(std::mem::replace(&mut self.named, name.to_owned()), client);
            }
            match self.others.remove(name) {
                Some(client) => self.client = Some(client),
                None => self.begin()?,
            }
        }
        Ok(true)
    }

    /// As a resource and by the tool: both must say the same.
    fn view(&mut self, path: &str) -> Result<Option<String>> {
        let client = self.client()?;
        let id = client.ask("resources/read", &json!({"uri": format!("wfhost://machines/machine/{path}")}))?;
        let response = client.response(id)?;
        let text = response.pointer("/result/contents/0/text").and_then(Value::as_str).map(str::to_owned);
        let read = client.request("tools/call", &json!({"name": "read_resource", "arguments": {"uri": path}}))?;
        let told = read.pointer("/content/0/text").and_then(Value::as_str).map(str::to_owned);
        let told = told.filter(|_| read["isError"] != json!(true));
        anyhow::ensure!(text == told, "the resource says {text:?}, the tool {told:?}");
        Ok(text)
    }

    fn look_back(&mut self) -> Result<()> {
        for client in self.client.take().into_iter().chain(std::mem::take(&mut self.others).into_values()) {
            client.close()?;
        }
        self.fork_all()?;
        for command in ["verify", "replay"] {
            let output = self.command().args([command, "--json"]).output()?;
            let report = String::from_utf8_lossy(&output.stdout);
            // A case may leave no session, and then no data folder.
            let none = report.is_empty() && !self.folder.path().join("data/wfhost").exists();
            anyhow::ensure!(output.status.success() || none, "{command}: {report}");
        }
        Ok(())
    }

    fn list_tools(&mut self) -> Result<Value> {
        Ok(self.client()?.request("tools/list", &json!({}))?["tools"].take())
    }

    fn initialize(&mut self) -> Result<Option<Value>> {
        Ok(Some(self.client()?.initialized.clone()))
    }

    fn findings(&mut self, documents: &Files) -> Result<Option<Vec<Found>>> {
        let found = |finding: &Value| {
            let text = |key: &str| finding[key].as_str().map(str::to_owned);
            let word = |key: &str| text(key).unwrap_or_default();
            Found { level: word("severity"), code: word("code"), subject: text("subject"), message: word("message") }
        };
        Ok(Some(self.report(documents)?.1.iter().map(found).collect()))
    }

    fn validate(&mut self, documents: &Files) -> Result<Validation> {
        let (accepted, findings) = self.report(documents)?;
        let errors = findings.iter().filter(|f| f["severity"] == "error").map(|f| {
            let text = |key: &str| f[key].as_str().unwrap_or_default().to_owned();
            let at = &f["span"]["start"];
            format!(
                "{}: {}:{}: {} {} {}",
                text("file").trim_start_matches("trees/"),
                at["line"],
                at["column"],
                text("subject"),
                text("message"),
                text("help")
            )
        });
        Ok(Validation { accepted, errors: errors.collect() })
    }

    fn cli(&mut self, setup: &Setup, args: &[String]) -> Result<Option<CliOutcome>> {
        // Words of the peer's own parser, and its server, are not ours.
        let ours = matches!(args.first().map(String::as_str), Some("validate" | "viz"));
        if !ours {
            return Ok(None);
        }
        std::fs::create_dir_all(self.folder.path().join("trees"))?;
        self.write(&setup.documents)?;
        let output = self.command().args(args).args(["--plugin", self.plugin]).output()?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Some(CliOutcome { exit: i64::from(output.status.code().unwrap_or(-1)), stdout }))
    }
}
