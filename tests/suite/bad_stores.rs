//! Stores that cannot be used, by the real program: the message names the file and what to do, and nothing is lost.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;
use wfhost_tests::client::Client;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

const TREE: &str = "mcptree: \"0.2\"\nid: t\ntitle: T\nentry: a\nnodes:\n  a: { type: ask, prompt: One, capture: x, next: end }\n  \
                    end: { type: terminal, outcome: done, summary: Over. }\n";

fn desk() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("trees")).unwrap();
    std::fs::write(folder.path().join("trees/t.yaml"), TREE).unwrap();
    folder
}

fn run(mut command: Command) -> (Option<i32>, String) {
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
}

fn wfhost(folder: &TempDir, args: &[&str]) -> (Option<i32>, String) {
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    command.args(args).args(["--data", "data"]);
    run(command)
}

/// A session that waits for its answer.
fn open_session(folder: &TempDir) -> String {
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    let mut client = Client::start(command.args(["serve", "trees", "--data", "data"]), &json!({})).unwrap();
    let start = client.structured("tree_start", &json!({"tree_id": "t"})).unwrap();
    client.close().unwrap();
    start["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_no_store_is_named_with_a_remedy_and_left_as_it_is() {
    let folder = desk();
    let store = folder.path().join("data/store.redb");
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let random: Vec<u8> = (0_u64..20_000).map(|n| (n.wrapping_mul(6_364_136_223_846_793_005) >> 33) as u8).collect();
    for content in [&b""[..], &[0; 9_000], &random, b"SQLite format 3\0"] {
        std::fs::write(&store, content).unwrap();
        for args in [&["sessions", "list"][..], &["verify"], &["status"], &["serve", "trees"], &["compact"]] {
            let (code, told) = wfhost(&folder, args);
            assert_eq!(code, Some(1), "{args:?}: {told}");
            assert!(told.contains("store.redb") && told.contains("away to begin anew"), "{args:?}: {told}");
            assert!(!told.contains("panicked"), "{args:?}: {told}");
        }
        assert_eq!(std::fs::read(&store).unwrap(), content, "the file is left as it was found");
    }
}

#[test]
fn a_store_whose_end_is_missing_is_named_and_no_other_is_made_in_its_place() {
    let folder = desk();
    open_session(&folder);
    let store = folder.path().join("data/store.redb");
    let bytes = std::fs::read(&store).unwrap();
    std::fs::write(&store, &bytes[..bytes.len() / 2]).unwrap();
    let (code, told) = wfhost(&folder, &["sessions", "list"]);
    assert!(code == Some(1) && told.contains("store.redb"), "{told}");
    std::fs::write(&store, &bytes).unwrap();
    assert_eq!(wfhost(&folder, &["verify"]).0, Some(0), "a copy put in its place is as good as before");
}

/// Like a full disk, for one process: no file may grow past this, and no byte be written past it.
#[cfg(unix)]
fn without_room(folder: &TempDir, args: &[&str]) -> (Option<i32>, String) {
    let mut command = program_in(Path::new("sh"), folder.path());
    command.env("XDG_CACHE_HOME", Path::new(PROGRAM).parent().unwrap().join("tests-cache"));
    command.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "sh", PROGRAM]).args(args).args(["--data", "data"]);
    run(command)
}

#[cfg(unix)]
#[test]
fn without_room_on_the_disk_nothing_is_confirmed_and_nothing_is_lost() {
    let folder = desk();
    let session = open_session(&folder);
    let (code, told) = without_room(&folder, &["sessions", "answer", &session, "yes"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("store.") && told.contains("see to the disk"), "{told}");
    // What was confirmed is there, whole, and it goes on from there.
    let (code, told) = wfhost(&folder, &["verify", &session]);
    assert!(code == Some(0) && told.contains("1 lines"), "{told}");
    let (code, told) = wfhost(&folder, &["sessions", "answer", &session, "yes"]);
    assert!(code == Some(0), "{told}");
    assert_eq!(wfhost(&folder, &["verify"]).0, Some(0));
}

#[cfg(unix)]
#[test]
fn without_room_for_a_first_store_there_is_none() {
    let folder = desk();
    let (code, told) = without_room(&folder, &["serve", "trees"]);
    assert!(code == Some(1) && told.contains("store.") && told.contains("see to the disk"), "{told}");
    open_session(&folder);
    assert_eq!(wfhost(&folder, &["verify"]).0, Some(0));
}

#[cfg(unix)]
#[test]
fn a_store_that_may_not_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = desk();
    open_session(&folder);
    let store = folder.path().join("data/store.redb");
    std::fs::set_permissions(&store, std::fs::Permissions::from_mode(0o400)).unwrap();
    // Rights do not bind the superuser: to it the file is as good as any.
    let bound = std::fs::OpenOptions::new().write(true).open(&store).is_err();
    let (code, told) = wfhost(&folder, &["sessions", "list", "--all"]);
    if bound {
        assert!(code == Some(1) && told.contains("store.redb") && told.contains("--data DIR"), "{told}");
    } else {
        assert_eq!(code, Some(0), "{told}");
    }
    std::fs::set_permissions(&store, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(wfhost(&folder, &["verify"]).0, Some(0));
}
