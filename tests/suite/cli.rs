//! The command line, by the real program: what a user sees, with what exit code, and what is left on disk.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice, reason = "a test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use wfhost::catalogue::Plugins;
use wfhost::clock::System;
use wfhost::plugin::{Runtime, RuntimeOptions};
use wfhost::session::model::SessionId;
use wfhost::session::{Caller, Host, HostOptions};
use wfhost::store;

const END: &str = "  end: { type: terminal, outcome: finished, summary: The end. }\n";

/// A document of one question.
fn question(id: &str) -> String {
    format!(
        "mcptree: \"0.2\"\nid: {id}\ntitle: Sample\nentry: ask\nnodes:\n  ask: {{ type: ask, prompt: \"Go on?\", options: [{{ id: \"yes\", then: \
         end }}, {{ id: \"no\", then: end }}], human_only: true }}\n{END}"
    )
}

/// No YAML.
const BAD: &str = "mcptree: \"0.2\"\nid: bad\ntitle: Bad\nentry: a\nnodes:\n\ta: 1\n";
/// One error: a node that is not there.
const GHOST: &str = "mcptree: \"0.2\"\nid: t\ntitle: Sample\nentry: a\nnodes:\n  a: { type: action, tool: x, next: ghost, on_error: end }\n  \
    end: { type: terminal, outcome: finished, summary: The end. }\n";

/// A working directory of its own, and what the program finds in its environment.
struct Desk {
    folder: TempDir,
    home: bool,
}

/// How a run ended.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), home: true }
    }

    fn with(files: &[(&str, &str)]) -> Self {
        let desk = Self::new();
        for (name, text) in files {
            let path = desk.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wfhost-under-test"));
        command.args(args).current_dir(self.folder.path()).env_clear().stdin(Stdio::null());
        // Native code is shared by all tests: compiling it is not what they test.
        command.env("TMPDIR", self.folder.path());
        if self.home {
            command.env("HOME", self.folder.path()).env("XDG_CACHE_HOME", shared_cache());
        }
        command
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(args);
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
    }

    /// A host in this process over the desk's documents and data: what a running server is.
    fn host(&self) -> Host {
        let runtime = Arc::new(
            Runtime::new(RuntimeOptions { cache: Some(shared_cache().join("wfhost/native")), ..Default::default() })
                .unwrap(),
        );
        let plugins = Plugins::choose(&runtime, &[]).unwrap();
        let store = store::open(&self.path("data"), store::Options::default()).unwrap();
        Host::new(store, Arc::new(System), (plugins, vec![self.path("docs")]), HostOptions::default()).unwrap()
    }
}

fn shared_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

#[track_caller]
fn start(host: &Host, id: &str) -> SessionId {
    let caller = Caller { channel: "stdio", client: Some("test".into()), ..Caller::default() };
    host.blocking().call(&caller, "tree_start", &format!(r#"{{"tree_id":"{id}"}}"#)).unwrap().session.unwrap()
}

#[track_caller]
fn check(ran: &Ran, code: i32, out: &str) {
    assert_eq!(ran.out, out, "{}", ran.err);
    assert_eq!(ran.code, Some(code), "{}", ran.err);
}

#[test]
fn help_and_version_need_nothing() {
    let desk = Desk { home: false, ..Desk::new() };
    let version = desk.run(&["--version"]);
    check(&version, 0, &format!("wfhost {}\n", env!("CARGO_PKG_VERSION")));
    let help = desk.run(&["--help"]);
    assert_eq!(help.code, Some(0));
    for word in ["serve", "validate", "viz", "sessions", "primer", "plugin", "doctor", "Exit codes:"] {
        assert!(help.out.contains(word), "{word} in {}", help.out);
    }
    for command in ["serve", "validate", "viz", "primer", "doctor"] {
        assert_eq!(desk.run(&[command, "--help"]).code, Some(0), "{command}");
    }
}

#[test]
fn a_wrong_command_line_is_told_with_code_2() {
    let desk = Desk::new();
    for args in [&[][..], &["run", "x"], &["validate"], &["viz", "a", "--dot", "--terminal"], &["sessions"]] {
        let ran = desk.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.out.is_empty() && ran.err.contains("Usage:"), "{args:?}: {}", ran.err);
    }
}

#[test]
fn validate_says_which_documents_are_good() {
    let desk = Desk::with(&[
        ("docs/a.yaml", &question("ay")),
        ("docs/b.yml", &question("bee")),
        ("docs/notes.txt", "no document"),
    ]);
    let ran = desk.run(&["validate", "./docs/"]);
    check(&ran, 0, "OK   docs/a.yaml (id=ay)\nOK   docs/b.yml (id=bee)\n");
    assert_eq!(ran.err, "2 documents with 2 workflows: 0 errors, 0 warnings\n");
    assert!(!desk.path(".local").exists(), "a data folder was made");
}

#[test]
fn validate_shows_each_finding_with_its_source() {
    let desk = Desk::with(&[("docs/a.yaml", GHOST), ("docs/b.yaml", &question("b"))]);
    let ran = desk.run(&["validate", "docs"]);
    assert_eq!(ran.code, Some(1));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("FAIL docs/a.yaml: [a] ") && lines[0].contains("ghost"), "{}", ran.out);
    assert_eq!(lines[1], "OK   docs/b.yaml (id=b)");
    assert!(
        ran.err.contains(
            "  --> docs/a.yaml:6:37\n    |\n  6 |   a: { type: action, tool: x, next: ghost, on_error: end }\n    |"
        ),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("^^^^^"), "{}", ran.err);
}

#[test]
fn validate_for_machines_is_one_document() {
    let desk = Desk::with(&[("docs/a.yaml", GHOST), ("docs/b.yaml", &question("t")), ("docs/c.yaml", &question("t"))]);
    let report = desk.json(&["validate", "docs", "nowhere", "--json"]);
    assert_eq!(report["ok"], false);
    assert_eq!(report["documents"][0]["ok"], false);
    assert_eq!(report["documents"][0]["findings"][0]["span"]["start"]["line"], 6);
    assert_eq!(report["documents"][1]["workflows"][0]["id"], "t");
    assert_eq!(report["documents"][2]["findings"][0]["code"], "duplicate-id");
    assert_eq!(report["unreadable"][0]["place"], "nowhere");
}

#[test]
fn validate_tells_what_is_missing() {
    let desk = Desk::with(&[("empty/notes.txt", "")]);
    check(&desk.run(&["validate", "empty"]), 1, "no documents found in empty\n");
    let missing = desk.run(&["validate", "nowhere"]);
    check(&missing, 1, "no documents found in nowhere\n");
    assert!(missing.err.contains("`nowhere` cannot be read"), "{}", missing.err);
    let plugin = desk.run(&["validate", "empty", "--plugin", "no-such"]);
    check(&plugin, 1, "");
    assert!(plugin.err.contains("no such file") && plugin.err.contains("trees"), "{}", plugin.err);
}

#[test]
fn validate_survives_bad_yaml_and_hostile_names() {
    let desk = Desk::with(&[("docs/bad.yaml", BAD), ("docs/\u{1b}[2Jx.yaml", &question("esc"))]);
    let ran = desk.run(&["validate", "docs"]);
    assert_eq!(ran.code, Some(1));
    assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{:?}", ran.out);
    assert!(ran.out.contains("OK   docs/␛[2Jx.yaml (id=esc)\n"), "{}", ran.out);
}

#[test]
fn validate_works_without_home() {
    let desk = Desk { home: false, ..Desk::with(&[("docs/a.yaml", &question("a"))]) };
    check(&desk.run(&["validate", "docs"]), 0, "OK   docs/a.yaml (id=a)\n");
    assert_eq!(std::fs::read_dir(desk.folder.path()).unwrap().count(), 1, "something was written");
}

const WALK: &str = "mcptree: \"0.2\"\nid: walk\ntitle: Sample\nentry: a\nnodes:\n  a: { type: action, tool: 'x\"y', next: c, on_error: end }\n  \
    c: { type: condition, on: f, branches: [{ when: { eq: \"q\" }, then: end }], default: a }\n  end: { type: terminal, outcome: finished, \
    summary: The end. }\n";

#[test]
fn viz_draws_mermaid() {
    let desk = Desk::with(&[("t.yaml", WALK), ("odd.txt", WALK)]);
    let expected = "flowchart TD\n  a[\"a<br/>action: x#quot;y\"]\n  c{\"c<br/>on f\"}\n  end([\"end<br/>finished\"])\n  a --> c\n  \
        a -- on_error --> end\n  c -- eq q --> end\n  c -- default --> a\n";
    check(&desk.run(&["viz", "t.yaml"]), 0, expected);
    check(&desk.run(&["viz", "odd.txt"]), 0, expected);
    check(&desk.run(&["viz", "./t.yaml", "--workflow", "walk"]), 0, expected);
}

#[test]
fn viz_draws_dot_and_lines() {
    let desk = Desk::with(&[("t.yaml", WALK)]);
    let dot = desk.run(&["viz", "t.yaml", "--dot"]);
    assert!(dot.out.starts_with("digraph \"walk\" {\n"), "{}", dot.out);
    assert!(dot.out.contains("  \"a\" [label=\"a\\naction: x\\\"y\", shape=box, penwidth=2];\n"), "{}", dot.out);
    let lines = "□ a · action: x\"y\n├─ on_error → ● end · finished\n↓ ◇ c · on f\n├─ eq q → ● end\n└─ default → □ a ↑\n\n□ action   ◇ \
        branch   ● end   ↑ drawn above\n";
    check(&desk.run(&["viz", "t.yaml", "--terminal"]), 0, lines);
}

#[test]
fn viz_tells_why_it_does_not_draw() {
    let desk = Desk::with(&[("t.yaml", GHOST), ("u.yaml", WALK), ("v.txt", "hello")]);
    let bad = desk.run(&["viz", "t.yaml"]);
    assert_eq!(bad.code, Some(1));
    assert!(bad.out.starts_with("FAIL t.yaml: [a] ") && bad.err.contains("t.yaml:6:37"), "{}{}", bad.out, bad.err);
    assert!(desk.run(&["viz", "."]).out.starts_with("FAIL .: the document cannot be read: it is a folder"));
    assert!(desk.run(&["viz", "w.yaml"]).out.starts_with("FAIL w.yaml: the document cannot be read: "));
    assert_eq!(desk.run(&["viz", "v.txt"]).code, Some(1));
    let unknown = desk.run(&["viz", "u.yaml", "--workflow", "x"]);
    check(&unknown, 1, "");
    assert!(unknown.err.contains("it holds `walk`"), "{}", unknown.err);
}

#[test]
fn sessions_are_listed_beside_a_running_host() {
    let desk = Desk::with(&[("docs/a.yaml", &question("q"))]);
    let host = desk.host();
    let (first, second) = (start(&host, "q"), start(&host, "q"));
    let ran = desk.run(&["sessions", "list", "--data", "data"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("SESSION ") && lines.len() == 3, "{}", ran.out);
    assert!(lines[1].starts_with(&second.to_string()) && lines[2].starts_with(&first.to_string()), "{}", ran.out);
    let listed = desk.json(&["sessions", "list", "--data", "data", "--json", "--limit", "1"]);
    assert_eq!(listed["sessions"][0]["session"], second.to_string());
    assert_eq!(listed["more"], true);
    let none = desk.run(&["sessions", "list", "--data", "data", "--workflow", "other"]);
    check(&none, 0, "");
}

#[test]
fn an_operator_answers_and_the_journal_says_so() {
    let desk = Desk::with(&[("docs/a.yaml", &question("q"))]);
    let host = desk.host();
    let session = start(&host, "q");
    let id = session.to_string();
    let beginning = &id[..12];
    let refused = desk.run(&["sessions", "answer", beginning, "maybe", "--data", "data"]);
    assert_eq!(refused.code, Some(1), "{}", refused.out);
    assert!(refused.err.contains("refused: invalid_option"), "{}", refused.err);
    let answered = desk.run(&["sessions", "answer", beginning, "yes", "--data", "data"]);
    check(
        &answered,
        0,
        "answered step-1 with yes\nthe session now waits for nothing: it has ended: finished, The end.\n",
    );
    let again = desk.run(&["sessions", "answer", beginning, "yes", "--data", "data"]);
    check(&again, 1, "");
    assert!(again.err.contains("asks nothing; it waits for nothing: it has ended"), "{}", again.err);

    let shown = desk.json(&["sessions", "show", &id, "--data", "data", "--json"]);
    let kinds: Vec<&str> = shown["journal"].as_array().unwrap().iter().map(|l| l["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["turn", "refusal", "turn"]);
    assert_eq!(shown["journal"][0]["line"]["by"]["client"], "test");
    assert_eq!(shown["journal"][2]["line"]["by"]["channel"], "cli");
    assert_eq!(shown["journal"][2]["line"]["event"]["source"], "operator");
    assert!(shown["journal"][2]["change"]["set"].is_object());
    assert_eq!(shown["status"]["outcome"], "finished");

    let trace = desk.json(&["sessions", "trace", &id, "--data", "data", "--json"]);
    assert_eq!(trace["trace"][0]["source"], "operator");
    assert_eq!(trace["session_id"], id);
}

#[test]
fn show_and_trace_are_readable() {
    let desk = Desk::with(&[("docs/a.yaml", &question("q"))]);
    let session = { start(&desk.host(), "q").to_string() };
    let shown = desk.run(&["sessions", "show", &session, "--data", "data"]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    for part in [
        "waits for   an answer of a person: Go on? (yes, no) [step-1]",
        "\nstatus\n",
        "\njournal\n#1 ",
        "agent via stdio (test)  tree_start",
        " -> turn\n",
    ] {
        assert!(shown.out.contains(part), "{part} in {}", shown.out);
    }
    let trace = desk.run(&["sessions", "trace", &session, "--data", "data"]);
    assert!(trace.out.starts_with(&format!("session_id: {session}\ntree_id: q\n")), "{}", trace.out);
}

#[test]
fn unknown_sessions_are_told() {
    let desk = Desk::with(&[("docs/a.yaml", &question("q"))]);
    let nowhere = desk.run(&["sessions", "show", "ses_0", "--data", "nowhere"]);
    check(&nowhere, 1, "");
    assert!(nowhere.err.contains("`nowhere` does not exist") && !desk.path("nowhere").exists(), "{}", nowhere.err);
    drop(desk.host());
    let whole = format!("ses_{}", "0".repeat(32));
    for (id, told) in [
        (whole.as_str(), "there is no session"),
        ("ses_0", "no session's id begins with"),
        ("../x", "is no session id"),
    ] {
        let ran = desk.run(&["sessions", "trace", id, "--data", "data"]);
        check(&ran, 1, "");
        assert!(ran.err.contains(told), "{id}: {}", ran.err);
    }
    let nothing = desk.run(&["sessions", "list"]);
    check(&nothing, 0, "");
    assert!(!desk.path(".local").exists(), "a data folder was made");
}

#[test]
fn without_home_the_data_folder_must_be_named() {
    let desk = Desk { home: false, ..Desk::with(&[("docs/a.yaml", &question("q"))]) };
    let ran = desk.run(&["sessions", "list"]);
    check(&ran, 1, "");
    assert!(ran.err.contains("`--data DIR`") && ran.err.contains("WFHOST_DATA"), "{}", ran.err);
    let mut named = desk.command(&["sessions", "list"]);
    assert_eq!(named.env("WFHOST_DATA", desk.path("data")).output().unwrap().status.code(), Some(0));
}

#[test]
fn the_primer_leaves_nothing() {
    let desk = Desk { home: false, ..Desk::new() };
    let ran = desk.run(&["primer"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    for part in ["rationale_required", "human_only", "started again", "outcome          shipped", "operator", "SHA-256"]
    {
        assert!(ran.out.contains(part), "{part} in {}", ran.out);
    }
    assert!(!ran.out.contains("(not there)"), "something that the script shows is missing: {}", ran.out);
    assert_eq!(std::fs::read_dir(desk.folder.path()).unwrap().count(), 0);
}

#[test]
fn a_plugin_is_inspected() {
    let desk = Desk::with(&[("x.wasm", "hello, world"), ("core.wasm", "\0asm\u{1}\0\0\0")]);
    let seen = desk.json(&["plugin", "inspect", "trees", "--json"]);
    assert_eq!(seen["ok"], true);
    assert_eq!(seen["contract"], "0.2.0");
    assert_eq!(seen["imports"], serde_json::json!([]));
    assert_eq!(seen["about"]["name"], "trees");
    assert!(seen["limits"]["call"]["fuel"].as_u64().unwrap() > 0);
    let shown = desk.run(&["plugin", "inspect", "trees"]);
    assert!(shown.out.ends_with("OK   this host runs it\n") && shown.code == Some(0), "{}", shown.out);
    for (file, told) in [("x.wasm", "does not begin like WebAssembly"), ("core.wasm", "core module")] {
        let ran = desk.run(&["plugin", "inspect", file]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.out.contains("FAIL ") && ran.out.contains(told), "{}", ran.out);
    }
    let missing = desk.run(&["plugin", "inspect", "nowhere.wasm"]);
    check(&missing, 1, "");
    assert!(missing.err.contains("the built-in ones are"), "{}", missing.err);
}

#[test]
fn doctor_checks_and_prints_what_to_paste() {
    let desk = Desk::with(&[("docs/a.yaml", &question("q"))]);
    let ran = desk.run(&["doctor", "docs", "--data", "data"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("PASS documents trees serves 1 workflow with 6 tools: q\n"), "{}", ran.out);
    assert!(ran.out.contains("claude mcp add wfhost -- /") && ran.out.contains("\"mcpServers\""), "{}", ran.out);
    let docs = desk.path("docs").canonicalize().unwrap();
    let report = desk.json(&["doctor", "docs", "--json"]);
    let args = report["snippets"]["mcp_servers"]["mcpServers"]["wfhost"]["args"].as_array().unwrap();
    assert_eq!(args[0], "serve");
    assert_eq!(Path::new(args[1].as_str().unwrap()).canonicalize().unwrap(), docs);
}

#[test]
fn doctor_fails_on_what_would_not_work() {
    let desk = Desk::with(&[("docs/a.yaml", GHOST), ("file", "")]);
    let ran = desk.run(&["doctor", "docs", "nowhere", "--data", "file/data", "--plugin", "trees"]);
    assert_eq!(ran.code, Some(1));
    for part in
        ["WARN plugin ", "FAIL documents docs/a.yaml: 1 error", "FAIL documents `nowhere` cannot be read", "FAIL data "]
    {
        assert!(ran.out.contains(part), "{part} in {}", ran.out);
    }
    let plugin = desk.run(&["doctor", "--plugin", "nothing.wasm"]);
    assert_eq!(plugin.code, Some(1));
    assert!(plugin.out.contains("FAIL plugin "), "{}", plugin.out);
}

#[cfg(unix)]
#[test]
fn a_root_that_cannot_be_written_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::with(&[("docs/a.yaml", &question("q")), ("sealed/x", "")]);
    std::fs::set_permissions(desk.path("sealed"), std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(desk.path("sealed/y"), "").is_ok() {
        // Permissions do not bind the superuser: a file in the way stands in for the sealed folder.
        std::fs::remove_file(desk.path("sealed/y")).unwrap();
        std::fs::write(desk.path("wall"), "").unwrap();
        let ran = desk.run(&["doctor", "docs", "--data", "wall"]);
        assert!(ran.code == Some(1) && ran.out.contains("FAIL data "), "{}", ran.out);
        return;
    }
    let ran = desk.run(&["doctor", "docs", "--data", "sealed/data"]);
    assert!(ran.code == Some(1) && ran.out.contains("cannot be made"), "{}", ran.out);
    assert_eq!(desk.run(&["validate", "docs"]).code, Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let desk = Desk::with(&[("t.yaml", WALK)]);
    for args in [&["viz", "t.yaml"][..], &["validate", "t.yaml"], &["--help"], &["doctor"]] {
        let mut child = desk.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!told.contains("panicked"), "{args:?}: {told}");
        assert!(output.status.code().is_some(), "{args:?} was killed");
    }
}
