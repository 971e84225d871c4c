//! The author's kit: projects for new plugins, the check of finished ones, and the operator's policy.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use wfhost::kit::templates::{self, Language};
use wfhost::kit::{self, Options, Report};
use wfhost::plugin::Version;
use wfhost::session::model::Digest;
use wfhost_tests::client::Client;
use wfhost_tests::lab::{PROBE, runtime};
use wfhost_tests::served::program_in;

use super::interop::{finished, installed, tell};
use crate::PROGRAM;

/// The interpreter that breaks a promise of the test's choice.
const BROKEN: &[u8] = include_bytes!(env!("WFHOST_BROKEN_WASM"));

fn check(name: &str, bytes: &[u8]) -> Report {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("right.broken"), "broken right\n").unwrap();
    std::fs::write(folder.path().join("wrong.broken"), "broken wrong\n").unwrap();
    let options = Options { documents: Some(folder.path().to_owned()), cases: None };
    kit::check(&runtime().unwrap(), name, bytes.into(), &options)
}

/// Codes of the findings, each once.
fn codes(report: &Report) -> Vec<&'static str> {
    let mut codes: Vec<&str> = report.findings.iter().map(|finding| finding.code).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

fn patched(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> =
        bytes.windows(from.len()).enumerate().filter(|(_, w)| *w == from.as_bytes()).map(|(i, _)| i).collect();
    assert!(!places.is_empty(), "{from}");
    for place in places {
        bytes[place..place + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}

#[test]
fn a_plugin_that_keeps_every_promise_has_no_findings() {
    let report = check("whole", BROKEN);
    assert_eq!(report.findings, []);
    let figures = report.figures;
    assert_eq!((figures.documents, figures.bad_documents, figures.tools), (2, 1, 3));
    assert!(figures.turns > 3 && figures.refusals > 3 && figures.call.fuel > 0 && figures.call.memory_bytes > 0);
}

#[test]
fn every_broken_promise_gives_its_finding_and_no_other() {
    for (promise, code) in [
        ("claims-foreign", "claims-foreign"),
        ("claims-none", "claims-none"),
        ("bad-document", "bad-document"),
        ("accepts-nonsense", "accepts-nonsense"),
        ("diagnostic", "diagnostic"),
        ("serves-bad", "serves-bad"),
        ("silent", "silent"),
        ("definition", "definition"),
        ("tool-name", "tool-name"),
        ("tool-schema", "tool-schema"),
        ("trap-route", "trap"),
        ("trap-failure", "trap"),
        ("route", "route"),
        ("requests-schema", "requests"),
        ("requests-twins", "requests"),
        ("requests-end", "requests"),
        ("not-json", "not-json"),
        ("not-drawn", "not-drawn"),
        ("error-moves", "error-moves"),
        ("limit", "limit"),
        ("state", "state"),
        ("refusal", "refusal"),
    ] {
        let word = format!("BROKEN={promise:.<25}");
        let mut bytes = patched(BROKEN, "BROKEN=nothing..................", &word);
        if promise == "claims-foreign" {
            // It must be asked for such files at all.
            bytes = patched(&bytes, "\"*.broken\"", "\"*.*\"     ");
            bytes = patched(&bytes, "\"marks\": [\"broken\"]", "\"marks\": [        ]");
        }
        let report = check(promise, &bytes);
        let mut want = vec![code];
        if promise == "silent" {
            // Then nothing can be walked either.
            want.insert(0, "claims-none");
        }
        assert_eq!(codes(&report), want, "{promise}: {:#?}", report.findings);
        assert!(report.findings.iter().all(|f| !f.reason.is_empty() && !f.cure.is_empty()), "{:?}", report.findings);
    }
}

/// A component of this world whose functions do nothing.
fn of_world(wit: &str) -> Vec<u8> {
    let mut resolve = wit_parser::Resolve::default();
    let package = resolve.push_str("engine.wit", wit).unwrap();
    let world = resolve.select_world(&[package], Some("interpreter")).unwrap();
    let mut core = wit_component::dummy_module(&resolve, world, wit_parser::ManglingAndAbi::Standard32);
    let encoding = wit_component::StringEncoding::UTF8;
    wit_component::embed_component_metadata(&mut core, &resolve, world, encoding, false).unwrap();
    wit_component::ComponentEncoder::default().module(&core).unwrap().encode().unwrap()
}

#[test]
fn what_the_type_of_a_component_lacks_is_told_before_it_runs() {
    let wit = Version::CURRENT.wit();
    let one = |name: &str, bytes: &[u8], code: &str, words: &[&str]| {
        let report = check(name, bytes);
        assert_eq!(codes(&report), [code], "{name}: {:#?}", report.findings);
        let told =
            report.findings.iter().map(|f| format!("{}: {}", f.subject, f.reason)).collect::<Vec<_>>().join("\n");
        assert!(words.iter().all(|word| told.contains(word)), "{name}: {told}");
        assert!(report.about.is_none());
    };
    one("core", b"\0asm\x01\0\0\0", "not-a-component", &["wfhost plugin pack"]);
    one("picture", b"\x89PNG\r\n\x1a\n....", "not-a-component", &[]);
    one("cut", &PROBE[..PROBE.len() / 2], "not-a-component", &[]);
    let clock = r#"(component (import "wasi:clocks/wall-clock@0.2.6" (instance (export "now" (func (result u64)))))
        (instance $i) (export "wfhost:engine/engine@9.9.9" (instance $i)))"#;
    let report = check("importing", &wat::parse_str(clock).unwrap());
    assert_eq!(codes(&report), ["contract", "imports"]);
    assert!(report.findings[0].cure.contains("--stub-wasi") && report.findings[0].cure.contains("disableFeatures"));
    let other = r#"(component (instance $i) (export "example:other/thing@1.0.0" (instance $i)))"#;
    one("other", &wat::parse_str(other).unwrap(), "contract", &["example:other/thing@1.0.0"]);
    let newer = of_world(&wit.replace(&format!("@{};", Version::CURRENT.number()), "@0.9.0;"));
    one("newer", &newer, "contract", &["speaks wfhost:engine 0.9.0, this host speaks 0.1.0 and 0.2.0"]);
    let start = wit.find("    render: func(").unwrap();
    let end = start + wit[start..].find(';').unwrap() + 1;
    let less = format!("{}{}", &wit[..start], &wit[end..]);
    one("less", &of_world(&less), "missing-export", &["render: needed `render: func(", "offered nothing"]);
    let changed = wit.replace("window: u32,", "window: u64,");
    one("changed", &of_world(&changed), "changed-export", &["turn: needed `record { state: string", "window: u64"]);
    let large = vec![0; usize::try_from(wfhost::limits::PLUGIN_BYTES_MAX).unwrap() + 1];
    one("large", &large, "too-large", &[]);
}

/// The recorded cases of an author are run, and what is not met is told with its place.
#[test]
fn cases_that_are_not_met_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let case = |name: &str, value: Value| std::fs::write(folder.path().join(name), value.to_string()).unwrap();
    let documents = json!({"r.broken": "broken right\n"});
    case("met.json", json!({"documents": documents, "calls": [{"tool": "broken_start", "result": {"count": 0}}]}));
    case(
        "otherwise.json",
        json!({"documents": documents, "calls": [{"tool": "broken_start", "result": {"count": 7}}]}),
    );
    case("unknown.json", json!({"documents": documents, "call": []}));
    case("lint.json", json!({"documents": {"w.broken": "broken wrong\n"}, "lint": [{"code": "other"}]}));
    let options = Options { documents: None, cases: Some(folder.path().to_owned()) };
    let report = kit::check(&runtime().unwrap(), "broken", BROKEN.into(), &options);
    let told: Vec<(&str, &str)> = report.findings.iter().map(|f| (f.subject.as_str(), f.reason.as_str())).collect();
    assert!(report.findings.iter().all(|f| f.code == "case"), "{told:?}");
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].0 == "unknown" && told[0].1.contains("unknown field `call`"), "{told:?}");
    assert!(told[1].0 == "lint" && told[1].1.contains("[wrong] at 1:1"), "{told:?}");
    assert!(told[2].0 == "otherwise" && told[2].1.contains("result.count is 0 instead of 7"), "{told:?}");
}

#[test]
fn a_name_or_a_folder_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["", "Mine", "my dialect", "9lives", "a/b", "a-", &"x".repeat(25)] {
        let fault = templates::make(name, Language::Rust, &folder.path().join("new")).unwrap_err();
        assert!(fault.to_string().contains("is no name for a plugin"), "{name}: {fault}");
    }
    std::fs::write(folder.path().join("mine.txt"), "precious").unwrap();
    let fault = templates::make("mine", Language::C, folder.path()).unwrap_err();
    assert!(fault.to_string().contains("is there and not empty"), "{fault}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A project as `plugin new` leaves it.
fn project(name: &str, language: Language) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let words = ["plugin", "new", name, "--lang", language.name(), "--into", "project"];
    let made = program_in(Path::new(PROGRAM), folder.path()).args(words).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for file in std::fs::read_dir(folder.path().join("project")).unwrap().flatten().filter(|f| f.path().is_file()) {
        let text = std::fs::read_to_string(file.path()).unwrap();
        let places = ["{{name}}", "{{tool}}", "{{build}}", "{{files}}", "{{needs}}"];
        assert!(!places.iter().any(|place| text.contains(place)), "{:?} has a place that was not filled", file.path());
    }
    folder
}

/// Runs a command in the project. What fails shows all that it said.
fn built(project: &Path, command: &mut Command) {
    let output = command.current_dir(project).env("WFHOST", PROGRAM).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

/// The check that a project's README names, as the program runs it; then a walk over MCP. Gives the check's report.
fn checked(folder: &Path, name: &str) -> Value {
    let project = folder.join("project");
    let mut command = program_in(Path::new(PROGRAM), &project);
    command.args([
        "plugin",
        "check",
        &format!("{name}.wasm"),
        "--documents",
        "documents",
        "--cases",
        "cases",
        "--json",
    ]);
    let output = command.output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["ok"], &report["findings"]), (&json!(true), &json!([])), "{report:#}");
    assert_eq!(report["figures"]["cases"], 3);
    by_raw_client(&project, name);
    if let Some(client) = installed("python-legacy") {
        by_real_client(&project, name, &client.join("bin/python"));
    }
    let figures = &report["figures"];
    tell(&format!(
        "figures of the {name} project: {} bytes, compile {}, call {}",
        report["bytes"], figures["compile"], figures["call"]
    ));
    report
}

fn served(project: &Path, name: &str) -> Command {
    let mut command = program_in(Path::new(PROGRAM), project);
    command.args(["serve", "documents", "--plugin", &format!("{name}.wasm"), "--ephemeral"]);
    command
}

fn by_raw_client(project: &Path, name: &str) {
    let mut client = Client::start(&mut served(project, name), &json!({"elicitation": {"form": {}}})).unwrap();
    let tool = |verb: &str| format!("{}_{verb}", name.replace('-', "_"));
    let run = client.structured(&tool("start"), &json!({"checklist": "release"})).unwrap()["run"].clone();
    client.structured(&tool("check"), &json!({"run": run, "item": 1})).unwrap();
    client.replies.push_back(json!({"action": "decline"}));
    let open = client.structured(&tool("check"), &json!({"run": run, "item": 2})).unwrap();
    assert_eq!((&open["done"], client.elicited.len()), (&json!(2), 1), "{open}");
}

fn by_real_client(project: &Path, name: &str, python: &Path) {
    let server = served(project, name);
    let words: Vec<String> = std::iter::once(server.get_program())
        .chain(server.get_args())
        .map(|w| w.to_string_lossy().into_owned())
        .collect();
    let env = server.get_envs().filter_map(|(key, value)| Some((key.to_str()?.to_owned(), json!(value?.to_str()?))));
    let say = json!({"command": words, "tool": name.replace('-', "_"), "env": env.collect::<serde_json::Map<_, _>>()});
    let script = super::interop::here().join("python/kit.py");
    let output = finished(Command::new(python).arg(script).arg(say.to_string()).current_dir(project));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    tell(&format!(
        "calls of the {name} project by the Python SDK, microseconds: {}",
        String::from_utf8_lossy(&output.stdout).trim()
    ));
}

#[test]
fn the_rust_project_builds_and_is_in_order() {
    let folder = project("round-trip", Language::Rust);
    // What is built of it once is built for all runs of the tests.
    let target = Path::new(PROGRAM).parent().unwrap().join("tests-kit");
    let project = folder.path().join("project");
    std::os::unix::fs::symlink(&target, project.join("target")).unwrap();
    std::fs::create_dir_all(&target).unwrap();
    built(&project, &mut Command::new("./build.sh"));
    let report = checked(folder.path(), "round-trip");
    assert!(report["bytes"].as_u64().unwrap() < 400_000, "{}", report["bytes"]);
}

#[test]
fn the_javascript_project_builds_and_is_in_order() {
    let Some(tools) = installed("kit-javascript") else { return };
    let folder = project("rounds", Language::JavaScript);
    let project = folder.path().join("project");
    std::os::unix::fs::symlink(tools.join("node_modules"), project.join("node_modules")).unwrap();
    built(&project, Command::new("npm").args(["run", "build"]));
    checked(folder.path(), "rounds");
}

#[test]
fn the_python_project_builds_and_is_in_order() {
    let Some(tools) = installed("kit-python") else { return };
    let folder = project("rota", Language::Python);
    let project = folder.path().join("project");
    std::os::unix::fs::symlink(&tools, project.join(".venv")).unwrap();
    built(&project, &mut Command::new("./build.sh"));
    checked(folder.path(), "rota");
}

#[test]
fn the_c_project_builds_and_is_in_order() {
    let Some(tools) = installed("kit-c") else { return };
    let folder = project("probes", Language::C);
    let path = format!("{}:{}", tools.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    built(&folder.path().join("project"), Command::new("./build.sh").env("PATH", path));
    let report = checked(folder.path(), "probes");
    assert!(report["bytes"].as_u64().unwrap() < 100_000, "{}", report["bytes"]);
}

#[test]
fn a_policy_allows_what_it_names_and_limits_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("docs")).unwrap();
    std::fs::write(folder.path().join("docs/a.probe"), "probe a").unwrap();
    std::fs::write(folder.path().join("probe.wasm"), PROBE).unwrap();
    let digest = Digest::of(PROBE);
    let policy = |text: String| std::fs::write(folder.path().join("policy.toml"), text).unwrap();
    let run = |words: &[&str]| {
        let mut command = program_in(Path::new(PROGRAM), folder.path());
        let output = command.args(words).stderr(std::process::Stdio::piped()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let serve = ["serve", "docs", "--plugin", "probe.wasm", "--policy", "policy.toml", "--ephemeral"];
    policy(String::new());
    let (code, _, err) = run(&serve);
    assert!(
        code == Some(1) && err.contains(&format!("its digest sha256:{digest} is not among those that the policy")),
        "{err}"
    );
    policy("[call]\nmemory_mib = \"64M\"\n".into());
    let (code, _, err) = run(&serve);
    assert!(code == Some(1) && err.contains("policy.toml:2: the policy cannot be taken"), "{err}");
    policy(format!("built_in = false\n[[plugin]]\ndigest = \"sha256:{digest}\"\n[plugin.call]\nmemory_mib = 8\n"));
    let mut client = Client::start(program_in(Path::new(PROGRAM), folder.path()).args(serve), &json!({})).unwrap();
    let session = client.structured("probe_start", &json!({})).unwrap()["session"].clone();
    let fault = client.tool("probe_do", &json!({"do": "memory", "session": session}));
    let told = fault.map_or_else(|error| error.to_string(), |result| result.to_string());
    assert!(told.contains("asked for more than 8 MiB"), "{told}");
    drop(client);
    let (code, out, _) = run(&["plugin", "list", "probe.wasm", "--policy", "policy.toml"]);
    assert!(
        code == Some(1) && out.contains(&format!("sha256:{digest}")) && out.contains("8192 KiB of memory"),
        "{out}"
    );
    assert!(out.contains("nothing: it may not run") && out.contains("wfhost:engine 0.2.0"), "{out}");
    let (code, out, _) = run(&["plugin", "inspect", "probe.wasm", "--policy", "policy.toml", "--json"]);
    let seen: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &seen["limits"]["call"]["memory_bytes"]), (Some(0), &json!(8 << 20)), "{out}");
}
