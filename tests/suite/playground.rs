//! The playground in a real browser: its own tests run here where Node, Chromium and its packages are, and every recorded walk
//! gives there what it gives on the host, to the byte.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use wfhost::catalogue::Plugins;
use wfhost::session::{Caller, Host, HostOptions, OwnSessions};
use wfhost::store::{self, Limit};
use wfhost_tests::corpus::{self, Act, Case, Step};
use wfhost_tests::lab::{self, PROBE, Still};
use wfhost_tests::runner::{self, Verdict};
use wfhost_tests::served::{Served, program_in};

use crate::PROGRAM;
use crate::interop::{finished, finished_within, tell};

/// How long all tests of the page may take, also on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(600);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("host/playground")
}

/// Why the tests cannot run here, if they cannot.
fn missing() -> Option<&'static str> {
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !runs("node") {
        return Some("there is no Node here");
    }
    if !["chromium", "chromium-browser", "google-chrome"].iter().any(|program| runs(program)) {
        return Some("there is no Chromium here (Debian: apt-get install chromium)");
    }
    let installed = folder().join("node_modules/playwright-core").is_dir();
    (!installed).then_some("the page's packages are not installed (npm ci in host/playground)")
}

#[test]
fn the_page_does_in_a_browser_what_the_host_does() {
    if let Some(why) = missing() {
        tell(&format!("left out: the playground's tests, since {why}"));
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let plugins = lab::built(Path::new(PROGRAM), "");
    let dist = work.path().join("dist");
    let mut build = Command::new("node");
    build.current_dir(folder()).arg("build.mjs").arg(&plugins).arg("--out").arg(&dist);
    let built = finished(&mut build);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    std::fs::write(work.path().join("probe.wasm"), PROBE).unwrap();
    std::fs::write(work.path().join("walks.json"), json!(walks()).to_string()).unwrap();
    let cases = work.path().join("cases");
    std::fs::create_dir(&cases).unwrap();
    let files = std::fs::read_dir(folder().join("test")).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.to_string_lossy().ends_with(".test.mjs"));
    let mut test = Command::new("node");
    test.current_dir(folder())
        .args(["--test", "--test-concurrency=1"])
        .args(files)
        .env("PLAYGROUND_DIST", &dist)
        .env("PLAYGROUND_PROBE", work.path().join("probe.wasm"))
        .env("PLAYGROUND_WALKS", work.path().join("walks.json"))
        .env("PLAYGROUND_CASES", &cases)
        .env("PLAYGROUND_WFHOST", PROGRAM);
    let output = finished_within(&mut test, PATIENCE);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("# skipped 0"), "{told}");
    // What the page saves as a case is one, and the host meets it.
    let saved = corpus::load(&cases).unwrap();
    assert!(saved.len() >= 2, "{told}");
    for case in saved {
        let mut served = Served::new(Path::new(PROGRAM), "trees").unwrap();
        assert_eq!(
            runner::run(&case, &std::collections::BTreeMap::new(), &mut served).unwrap(),
            Verdict::Met,
            "{}",
            case.name
        );
    }
}

/// Answer to a GET: status line and headers, and the body.
fn get(at: &str, host: &str, path: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(at).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let end = all.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    (String::from_utf8_lossy(&all[..end]).into_owned(), all[end + 4..].to_vec())
}

/// The program with a page, until it is dropped.
struct Serving(Child, String);

impl Serving {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut command = program_in(Path::new(PROGRAM), folder);
        command.args(["playground", "--page", "page", "--at", "127.0.0.1:0"]).args(args);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        let line = told.lines().map(Result::unwrap).find(|line| line.contains("http://")).unwrap();
        let at = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        Self(child, at)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_program_serves_a_page_its_components_and_a_folder() {
    let work = tempfile::tempdir().unwrap();
    for folder in ["page", "documents"] {
        std::fs::create_dir(work.path().join(folder)).unwrap();
    }
    std::fs::write(work.path().join("page/index.html"), "<title>page</title>").unwrap();
    std::fs::write(work.path().join("page/dialects.json"), "[]").unwrap();
    std::fs::write(work.path().join("secret.txt"), "secret").unwrap();
    std::fs::write(work.path().join("probe.wasm"), PROBE).unwrap();
    std::fs::write(work.path().join("documents/a.probe"), "probe a").unwrap();
    std::fs::write(work.path().join("documents/more.beside"), "more").unwrap();
    std::fs::write(work.path().join("documents/other.txt"), "nobody's").unwrap();
    std::fs::write(work.path().join("documents/bad.probe"), [0xff, 0xfe]).unwrap();
    let serving = Serving::start(work.path(), &["documents", "--plugin", "probe.wasm"]);
    let at = serving.1.as_str();
    let body = |path: &str| get(at, at, path).1;
    assert_eq!(body("/"), b"<title>page</title>");
    assert!(get(at, at, "/").0.contains("text/html"));
    // A document and what it reads beside itself; not what is nobody's, nor what is no text.
    let shown: Value = serde_json::from_slice(&body("/documents.json")).unwrap();
    let paths: Vec<&str> = shown["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a.probe", "more.beside"]);
    // Read anew each time.
    std::fs::write(work.path().join("documents/a.probe"), "probe b").unwrap();
    let shown: Value = serde_json::from_slice(&body("/documents.json")).unwrap();
    assert_eq!(shown["files"][0]["text"], "probe b");
    let dialects: Value = serde_json::from_slice(&body("/dialects.json")).unwrap();
    assert_eq!(dialects[0]["name"], "probe");
    assert_eq!(body("/guests/probe.wasm"), PROBE);
    for dialect in dialects.as_array().unwrap().iter().skip(1) {
        let file = dialect["wasm"].as_str().unwrap();
        assert_eq!(
            body(&format!("/{file}")),
            std::fs::read(lab::built(Path::new(PROGRAM), file.trim_start_matches("guests/"))).unwrap()
        );
        // No code that was made for other bytes.
        assert_eq!(dialect["glue"], Value::Null);
    }
    for path in ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/nothing.js"] {
        let (head, body) = get(at, at, path);
        assert!(!head.starts_with("HTTP/1.1 200") && body != b"secret", "{path}: {head}");
    }
    assert!(get(at, "evil.example", "/documents.json").0.starts_with("HTTP/1.1 403"));
}

#[test]
fn a_page_that_is_not_there_or_an_open_address_is_told() {
    let work = tempfile::tempdir().unwrap();
    let told = |args: &[&str]| {
        let output = program_in(Path::new(PROGRAM), work.path())
            .arg("playground")
            .args(args)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = told(&["--page", "."]);
    assert!(text.contains("holds no built page") && text.contains("npm run build"), "{text}");
    let text = told(&["--at", "0.0.0.0:0"]);
    assert!(text.contains("can be reached from other machines"), "{text}");
}

/// All recorded cases that are walks without a restart, as the host walks them. Folders of another form hold no walks.
fn walks() -> Vec<Value> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let folders = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let cases = folders
        .filter(|path| path.join("DEVIATIONS.toml").is_file())
        .flat_map(|path| corpus::load(&path).unwrap_or_default());
    let walks: Vec<Value> = cases.filter_map(|case| walk(&case)).collect();
    assert!(walks.len() >= 100, "only {} walks", walks.len());
    walks
}

/// None if the case is no walk, or not one that a page can do: files that are no text, documents of several dialects.
fn walk(case: &Case) -> Option<Value> {
    let Act::Calls(steps) = &case.act else { return None };
    if steps.iter().any(|step| step.restart.is_some()) {
        return None;
    }
    let place = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (path, bytes) in &case.setup.documents {
        let at = place.path().join(path);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, bytes).unwrap();
        files.push(json!({"path": path, "text": String::from_utf8(bytes.clone()).ok()?}));
    }
    files.sort_by_key(|file| file["path"].to_string());
    let plugins = Plugins::choose(&lab::runtime().unwrap(), &[]).unwrap();
    let clock = Arc::new(Still::default());
    let places = vec![place.path().to_owned()];
    let host = Host::new(store::open_ephemeral().unwrap(), clock.clone(), (plugins, places), HostOptions::default());
    let mut walker = Walker { host: host.ok()?, clock, known: Vec::new() };
    let interpreter = match walker.host.catalogue().offered.as_slice() {
        [only] => only.plugin.about.name.clone(),
        _ => return None,
    };
    let steps: Vec<Value> = steps.iter().map_while(|step| walker.step(step)).collect();
    Some(json!({"name": case.name, "interpreter": interpreter, "files": files, "steps": steps}))
}

/// A host and the sessions it has, each with the lines that were looked at.
struct Walker {
    host: Host,
    clock: Arc<Still>,
    known: Vec<(String, u64)>,
}

impl Walker {
    /// One call, what it gave, and the journal lines that it wrote. None if the host itself broke on it.
    fn step(&mut self, step: &Step) -> Option<Value> {
        self.clock.pass(7);
        let caller = Caller { channel: "test", own: Some(OwnSessions::default()), ..Caller::default() };
        let args = self.filled(&step.arguments.clone().unwrap_or_else(|| json!({}))).to_string();
        let advanced = self.host.blocking().call(&caller, &step.tool, &args).ok()?;
        let output = &advanced.output;
        let mut told = json!({
            "tool": step.tool, "args": args, "lines": [],
            "output": {"headline": output.headline, "value": output.value, "content": output.content, "isError": output.is_error},
        });
        if let Some(session) = advanced.session {
            let head = self.host.show(&caller, session).ok()?.head;
            let id = session.to_string();
            let before = self.known.iter().find(|(known, _)| *known == id).map_or(0, |(_, lines)| *lines);
            let lines = self.host.store().lines(session, before + 1, Limit { lines: 1_000, bytes: usize::MAX }).ok()?;
            let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
            told["session"] = json!({"id": id, "started": head.started, "state": head.state});
            told["lines"] = json!(lines);
            match self.known.iter_mut().find(|(known, _)| *known == id) {
                Some((_, lines)) => *lines = head.lines,
                None => self.known.push((id, head.lines)),
            }
        }
        Some(told)
    }

    /// Arguments with the identifiers of this run in the place of those that were recorded.
    fn filled(&self, args: &Value) -> Value {
        let mut text = args.to_string();
        for (index, (id, _)) in self.known.iter().enumerate() {
            let number = if index == 0 { String::new() } else { format!("_{}", index + 1) };
            for name in ["session_id", "app_id", "run_id"] {
                text = text.replace(&format!("<{name}{number}>"), id);
            }
        }
        serde_json::from_str(&text).unwrap()
    }
}
