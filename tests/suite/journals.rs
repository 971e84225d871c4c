//! The journal as a product, by the real program: keys, forks, prunes, comparisons, reports, exports and walks.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

const TREE: &str = "mcptree: \"0.2\"\nid: t\ntitle: T\nentry: a\nnodes:\n  a: { type: ask, prompt: One, capture: x, next: b }\n  \
                    b: { type: condition, on: x, branches: [ { when: { eq: go }, then: end } ], default: stop }\n  \
                    end: { type: terminal, outcome: done, summary: Over. }\n  \
                    stop: { type: terminal, outcome: stopped, summary: Not. }\n";

struct Desk(TempDir);

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("trees")).unwrap();
        std::fs::write(folder.path().join("trees/t.yaml"), TREE).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = program_in(Path::new(PROGRAM), self.0.path());
        let output: Output = command.args(args).stderr(Stdio::piped()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    fn well(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.out, ran.err);
        ran.out
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(args);
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {}{}", ran.out, ran.err))
    }

    fn serve(&self, more: &[&str]) -> Client {
        let mut command = program_in(Path::new(PROGRAM), self.0.path());
        Client::start(command.args(["serve", "trees"]).args(more), &json!({})).unwrap()
    }

    /// A session with a refusal that ends with this answer.
    fn walked(&self, answer: &str, more: &[&str]) -> String {
        let mut client = self.serve(more);
        let start = client.structured("tree_start", &json!({"tree_id": "t"})).unwrap();
        let session = start["session_id"].as_str().unwrap().to_owned();
        let said = |step: u64| json!({"session_id": session, "step": step, "value": answer});
        client.structured("tree_answer", &said(9)).unwrap();
        client.structured("tree_answer", &said(1)).unwrap();
        client.close().unwrap();
        session
    }
}

#[test]
fn a_key_seals_what_a_server_writes_and_its_public_half_tells() {
    let desk = Desk::new();
    let printed = desk.well(&["key", "new", "key.pem"]);
    let public = printed.lines().last().unwrap().to_owned();
    assert_eq!(desk.well(&["key", "public", "key.pem"]), printed);
    assert!(desk.run(&["key", "new", "key.pem"]).err.contains("is there already"));
    let signed = desk.walked("go", &["--signing-key", "key.pem"]);
    let told = desk.well(&["verify", &signed, "--public-key", &public]);
    assert!(told.starts_with(&format!("OK   {signed}: 3 lines, head ")) && told.contains(&public), "{told}");
    let pem: Vec<&str> = printed.lines().take(3).collect();
    std::fs::write(desk.path("public.pem"), pem.join("\n")).unwrap();
    desk.well(&["verify", &signed, "--public-key", "public.pem"]);
    let unsigned = desk.walked("go", &[]);
    let told = desk.run(&["verify", "--public-key", &public]);
    assert_eq!(told.out, format!("FAIL {unsigned}: lines 1 to 3 bear no signature\n"));
    assert_eq!(told.code, Some(1));
    for wrong in ["nowhere.pem", "trees/t.yaml"] {
        let told = desk.run(&["verify", "--public-key", wrong]);
        assert!(told.code == Some(1) && told.err.contains("cannot be used"), "{}", told.err);
        let served = desk.run(&["serve", "trees", "--signing-key", wrong]);
        assert!(served.code == Some(1) && served.err.contains("cannot be used"), "{}", served.err);
    }
}

#[test]
fn a_fork_is_made_shown_and_whole() {
    let desk = Desk::new();
    let session = desk.walked("go", &[]);
    let fork = desk.json(&["sessions", "fork", &session, "--at", "1", "--json"]);
    assert_eq!(fork["forked_from"]["session"], session);
    let id = fork["session"].as_str().unwrap();
    let shown = desk.well(&["sessions", "show", id]);
    assert!(shown.contains(&format!("forked from {session} after entry 1")), "{shown}");
    assert_eq!(desk.json(&["verify", "--json"])["ok"], true);
    assert_eq!(desk.json(&["replay", "--json"])["summary"]["same"], 2);
    let none = desk.run(&["sessions", "fork", &session, "--at", "99"]);
    assert!(none.code == Some(1) && none.err.contains("and no entry 99"), "{}", none.err);
}

#[test]
fn pruning_is_a_dry_run_first_and_leaves_a_record() {
    let desk = Desk::new();
    let ended = desk.walked("go", &[]);
    let open = {
        let mut client = desk.serve(&[]);
        let start = client.structured("tree_start", &json!({"tree_id": "t"})).unwrap();
        client.close().unwrap();
        start["session_id"].as_str().unwrap().to_owned()
    };
    let heads = desk.well(&["verify", "--export-heads"]);
    std::fs::write(desk.path("heads"), heads).unwrap();
    assert_eq!(desk.run(&["sessions", "prune"]).code, Some(2), "what is to be pruned must be said");
    let dry = desk.run(&["sessions", "prune", "--older-than", "0s"]);
    assert!(dry.out.starts_with(&ended) && !dry.out.contains(&open), "{}", dry.out);
    assert!(dry.err.contains("1 session would be taken out; `--yes` does it"), "{}", dry.err);
    assert_eq!(desk.json(&["sessions", "list", "--all", "--json"])["sessions"].as_array().unwrap().len(), 2);
    desk.well(&["sessions", "prune", "--older-than", "0s", "--yes"]);
    desk.well(&["sessions", "prune", &open, "--yes"]);
    assert_eq!(desk.json(&["sessions", "list", "--all", "--json"])["sessions"], json!([]));
    let pruned = desk.json(&["sessions", "list", "--pruned", "--json"]);
    let states: Vec<&Value> = pruned["pruned"].as_array().unwrap().iter().map(|row| &row["standing"]).collect();
    assert!(states.contains(&&json!("ended")) && states.contains(&&json!("open")), "{pruned}");
    let told = desk.well(&["verify", &ended]);
    assert!(told.starts_with(&format!("GONE {ended}: pruned at ")), "{told}");
    let report = desk.json(&["verify", "--heads", "heads", "--json"]);
    assert_eq!((report["ok"].clone(), report["pruned"].clone()), (json!(true), json!(2)));
    desk.well(&["compact"]);
    let status = desk.json(&["status", "--json"]);
    assert_eq!((status["store"]["pruned"].clone(), status["store"]["sessions"].clone()), (json!(2), json!(0)));
    // What was dropped with them is kept anew for the next one.
    let next = desk.walked("go", &[]);
    assert!(desk.well(&["verify", &next]).starts_with("OK"));
}

#[test]
fn two_sessions_are_compared() {
    let desk = Desk::new();
    let (one, other) = (desk.walked("go", &[]), desk.walked("stay", &[]));
    let found = desk.json(&["sessions", "diff", &one, &other, "--json"]);
    assert_eq!(found["same"], false);
    let comparison = &found["comparison"];
    assert_eq!(comparison["answers"][0]["node"], "a");
    assert_eq!(comparison["parting"]["first"]["branch"], "end");
    assert_eq!(comparison["parting"]["second"]["branch"], "stop");
    let shown = desk.run(&["sessions", "diff", &one, &other]);
    assert!(shown.code == Some(1) && shown.out.contains("they part at entry 2"), "{}", shown.out);
    let same = desk.walked("go", &[]);
    assert_eq!(desk.run(&["sessions", "diff", &one, &same]).code, Some(0));
    let fork = desk.json(&["sessions", "fork", &one, "--json"]);
    let shared = desk.json(&["sessions", "diff", &one, fork["session"].as_str().unwrap(), "--json"]);
    assert_eq!(shared["comparison"]["shared_lines"], 3);
}

#[test]
fn logs_hold_names_and_values_only_when_asked_for() {
    let desk = Desk::new();
    let session = desk.walked("s3cret", &[]);
    let all = desk.well(&["logs"]);
    assert_eq!(all.lines().count(), 3, "{all}");
    assert!(all.contains("tree_answer") && all.contains("step_mismatch"), "{all}");
    assert!(!all.contains("s3cret"), "{all}");
    let refused = desk.well(&["logs", "--refusals"]);
    assert!(refused.lines().count() == 1 && refused.starts_with(&session), "{refused}");
    assert!(!desk.well(&["logs", "--json"]).contains("s3cret"));
    assert!(desk.well(&["logs", "--values"]).contains("s3cret"));
    assert_eq!(desk.well(&["logs", "--faults"]), "");
    let status = desk.well(&["status"]);
    assert!(status.contains("1: 0 unfinished, 1 finished, 0 pruned") && !status.contains("s3cret"), "{status}");
}

#[test]
fn a_report_is_a_page_and_blackens_what_it_is_told_to() {
    let desk = Desk::new();
    let session = desk.walked("tok_abc|*x*", &[]);
    let page = desk.well(&["report", &session]);
    for part in [
        "# Session ses",
        "## Proof\n\nThe journal is whole",
        "## Refused",
        "step\\_mismatch",
        "## The state at the end",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(page.contains("tok\\_abc\\|\\*x\\*"), "{page}");
    let black = desk.well(&["report", &session, "--redact", "tok_[a-z]+"]);
    assert!(black.contains("redacted") && !black.contains("tok_abc") && !black.contains("tok\\_abc"), "{black}");
    let bare = desk.well(&["report", &session, "--no-values"]);
    assert!(!bare.contains("tok") && bare.contains("step\\_mismatch"), "{bare}");
    desk.well(&["report", &session, "-o", "page.md"]);
    assert!(std::fs::read_to_string(desk.path("page.md")).unwrap().starts_with("# Session"));
}

#[test]
fn a_report_is_posted_and_a_refusal_of_it_is_told() {
    let desk = Desk::new();
    let session = desk.walked("go", &[]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let answers = std::thread::spawn(move || {
        ["200 OK", "500 No"].map(|status| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut text = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                text.push_str(&line);
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
            (text.to_lowercase(), String::from_utf8(body).unwrap())
        })
    });
    desk.well(&["report", &session, "--webhook", &url]);
    let refused = desk.run(&["report", &session, "--webhook", &url]);
    assert!(refused.code == Some(1) && refused.err.contains("status 500"), "{}", refused.err);
    let [(head, body), _] = answers.join().unwrap();
    assert!(head.starts_with("post /hook ") && head.contains("content-type: text/markdown"), "{head}");
    assert!(head.contains(&format!("x-wfhost-session: {session}")) && body.starts_with("# Session"), "{head}");
    let nowhere = desk.run(&["report", &session, "--webhook", "ftp://127.0.0.1/"]);
    assert!(nowhere.code == Some(1) && nowhere.err.contains("no http or https address"), "{}", nowhere.err);
}

#[test]
fn what_is_exported_is_taken_in_elsewhere_and_whole_there() {
    let desk = Desk::new();
    desk.well(&["key", "new", "key.pem"]);
    let public = desk.well(&["key", "public", "key.pem"]).lines().last().unwrap().to_owned();
    let session = desk.walked("go", &["--signing-key", "key.pem"]);
    let fork = desk.json(&["sessions", "fork", &session, "--at", "1", "--signing-key", "key.pem", "--json"]);
    desk.well(&["sessions", "export", "--all", "--jsonl", "-o", "all.jsonl"]);
    let there = ["--data", "elsewhere"];
    let taken = desk.run(&["sessions", "import", "all.jsonl", "--public-key", &public, there[0], there[1]]);
    assert!(taken.code == Some(0) && taken.err.contains("2 sessions taken in, 0 were here"), "{}", taken.err);
    let report = desk.json(&["verify", "--json", "--public-key", &public, there[0], there[1]]);
    assert_eq!(report["ok"], true, "{report}");
    assert_eq!(desk.json(&["replay", "--json", there[0], there[1]])["summary"]["same"], 2);
    for id in [session.as_str(), fork["session"].as_str().unwrap()] {
        let heads = |more: &[&str]| desk.json(&[&["sessions", "show", id, "--json"], more].concat())["head"].clone();
        assert_eq!(heads(&[]), heads(&there));
    }
    let again = desk.run(&["sessions", "import", "all.jsonl", there[0], there[1]]);
    assert!(again.code == Some(0) && again.err.contains("0 sessions taken in, 2 were here already"), "{}", again.err);
    // Edited on the way: it never gets into the store.
    let text = std::fs::read_to_string(desk.path("all.jsonl")).unwrap();
    for (edited, told) in [
        (text.replace("\"value\":\"go\"", "\"value\":\"no\""), "was altered"),
        (text.lines().take(3).collect::<Vec<_>>().join("\n"), "the file ends"),
        (text.lines().skip(1).collect::<Vec<_>>().join("\n"), "does not begin with `wfhost-export`"),
        (String::new(), "the file is empty"),
        (text.replacen("{\"wfhost-export\":1}", "{\"wfhost-export\":9}", 1), "form 9"),
    ] {
        std::fs::write(desk.path("edited.jsonl"), edited).unwrap();
        let ran = desk.run(&["sessions", "import", "edited.jsonl", "--data", "nowhere"]);
        assert!(ran.code == Some(1) && (ran.out + &ran.err).contains(told), "{told}: {}", ran.err);
        let kept = desk.json(&["sessions", "list", "--all", "--json", "--data", "nowhere"]);
        assert_eq!(kept["sessions"].as_array().unwrap().iter().filter(|s| s["session"] == session).count(), 0);
    }
    let black = desk.well(&["sessions", "export", &session, "--jsonl", "--redact", "\\bgo\\b"]);
    assert!(black.starts_with("{\"wfhost-redacted\":1}\n") && !black.contains("\"go\""), "{black}");
}

#[test]
fn a_watcher_sees_what_another_process_does() {
    let desk = Desk::new();
    let mut client = desk.serve(&[]);
    let first = client.structured("tree_start", &json!({"tree_id": "t"})).unwrap()["session_id"].clone();
    let mut command = program_in(Path::new(PROGRAM), desk.0.path());
    let mut watcher = command
        .args(["sessions", "watch", first.as_str().unwrap(), "--from-start", "--lines", "3"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watcher.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("tree_start"));
    let answer = |step: u64| json!({"session_id": first, "step": step, "value": "s3cret"});
    client.structured("tree_answer", &answer(9)).unwrap();
    assert!(lines.next().unwrap().contains("refused step_mismatch"));
    client.structured("tree_answer", &answer(1)).unwrap();
    let last = lines.next().unwrap();
    assert!(last.contains("ended") && !last.contains("s3cret"), "{last}");
    assert!(watcher.wait().unwrap().success());
    client.close().unwrap();
}

#[test]
fn a_recorded_walk_is_a_test_of_the_document() {
    let desk = Desk::new();
    let session = desk.walked("go", &[]);
    desk.well(&["sessions", "export", &session, "--as-test", "-o", "trees/go.walk.yaml"]);
    assert_eq!(desk.well(&["test", "trees"]), "OK   trees/go.walk.yaml\n");
    assert!(desk.well(&["validate", "trees"]).starts_with("OK   trees/t.yaml (id=t)\n"), "a walk is no document");
    // Other words: every field is compared, and the place is named.
    std::fs::write(desk.path("trees/t.yaml"), TREE.replace("Over.", "All over.")).unwrap();
    let ran = desk.run(&["test", "trees", "--junit", "report.xml"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.starts_with("FAIL trees/go.walk.yaml:") && ran.out.contains(": step 3, "), "{}", ran.out);
    let xml = std::fs::read_to_string(desk.path("report.xml")).unwrap();
    assert!(xml.contains("tests=\"1\" failures=\"1\"") && xml.contains("All over."), "{xml}");
    // What a step leaves out is not compared.
    let walk = std::fs::read_to_string(desk.path("trees/go.walk.yaml")).unwrap();
    let mut loose = String::new();
    let mut skipping = false;
    for line in walk.lines() {
        let field = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' '));
        skipping = field.map_or(skipping && line.starts_with("      "), |field| {
            ["reply:", "outcome:", "headline:"].iter().any(|name| field.starts_with(name))
        });
        if !skipping {
            loose.push_str(line);
            loose.push('\n');
        }
    }
    // That it ends is not to be overlooked, whatever the words.
    std::fs::write(desk.path("trees/go.walk.yaml"), &loose).unwrap();
    let ran = desk.run(&["test", "trees"]);
    assert!(ran.out.contains("step 3, outcome"), "{}", ran.out);
    let blessed = desk.run(&["test", "trees", "--bless"]);
    assert!(blessed.code == Some(0) && blessed.out.ends_with(": written anew\n"), "{}", blessed.out);
    assert_eq!(desk.run(&["test", "trees"]).code, Some(0));
    // Another way.
    std::fs::write(desk.path("trees/t.yaml"), TREE.replace("eq: go", "eq: come")).unwrap();
    let ran = desk.run(&["test", "trees"]);
    assert!(ran.code == Some(1) && ran.out.contains("step 3, entries"), "{}", ran.out);
    std::fs::write(desk.path("trees/t.yaml"), TREE.replace("id: t", "id: u")).unwrap();
    let ran = desk.run(&["test", "trees"]);
    assert!(ran.code == Some(1) && ran.out.contains("it is a walk of `t`"), "{}", ran.out);
    std::fs::remove_file(desk.path("trees/go.walk.yaml")).unwrap();
    let ran = desk.run(&["test", "trees"]);
    assert!(ran.code == Some(1) && ran.err.contains("no walks"), "{}", ran.err);
}

#[test]
fn a_fork_is_a_walk_too() {
    let desk = Desk::new();
    let session = desk.walked("go", &[]);
    let fork = desk.json(&["sessions", "fork", &session, "--json"]);
    let mut client = desk.serve(&[]);
    client.structured("tree_answer", &json!({"session_id": fork["session"], "step": 7, "value": "late"})).unwrap();
    client.close().unwrap();
    let id = fork["session"].as_str().unwrap();
    desk.well(&["sessions", "export", id, "--as-test", "-o", "trees/fork.walk.yaml"]);
    assert_eq!(desk.well(&["test", "trees"]), "OK   trees/fork.walk.yaml\n");
}

#[test]
fn replay_with_another_version_tells_ways_from_words() {
    let desk = Desk::new();
    let (gone, stayed) = (desk.walked("go", &[]), desk.walked("stay", &[]));
    std::fs::write(desk.path("words.yaml"), TREE.replace("Over.", "All over.")).unwrap();
    let words = desk.json(&["replay", "--with", "words.yaml", "--json"]);
    assert_eq!(words["summary"], json!({"same": 1, "words": 1, "another_way": 0, "failed": 0}));
    assert_eq!(words["ok"], true);
    std::fs::write(desk.path("way.yaml"), TREE.replace("eq: go", "eq: come")).unwrap();
    let way = desk.run(&["replay", "--with", "way.yaml", "--with", "trees"]);
    assert_eq!(way.code, Some(1));
    assert!(way.out.starts_with(&format!("DIFF {gone}: line 3, entries")) && !way.out.contains(&stayed), "{}", way.out);
    assert!(way.err.contains("t  1 of 2") && way.err.contains("1 of 2 sessions would go another way"), "{}", way.err);
}
