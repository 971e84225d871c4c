//! Owner and followers, here within one process: each opened store is as separate as a process of its own.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::store::codec::Writer;
use crate::store::{Options, open, protocol, socket};

fn opened(directory: &Path) -> Arc<dyn Store> {
    open(directory, Options::default()).unwrap()
}

fn role(store: &dyn Store) -> String {
    store.report().unwrap().role
}

#[test]
fn a_follower_can_do_all_that_the_owner_can() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, follower) = (opened(folder.path()), opened(folder.path()));
    assert_eq!((role(&*owner).as_str(), role(&*follower).as_str()), ("owner", "follower"));
    let start = next(&head(id(1), 5), &["one"]);
    let first = commit(&*follower, Change { due: Some(7), ..start.clone() });
    commit(&*follower, start.clone());
    let mut other = start;
    other.lines = vec![line("another")];
    assert_eq!(follower.commit(other).unwrap(), Committed::Conflict);
    let second = commit(&*owner, next(&first, &["two"]));
    for store in [&owner, &follower] {
        assert_eq!(store.head(id(1)).unwrap().as_ref(), Some(&second));
        assert_eq!(texts(&store.lines(id(1), 1, ALL).unwrap()), ["one", "two"]);
        assert_eq!(store.memories(id(1), 0, 9).unwrap().len(), 2);
        assert_eq!(sessions(&**store, &Query { limit: 9, ..Query::default() }), [id(1)]);
        assert_eq!(store.report().unwrap().sessions, 1);
        let digest = store.keep(b"content").unwrap();
        assert_eq!(store.blob(digest).unwrap().as_deref(), Some(&b"content"[..]));
    }
    assert!(follower.commit(Change { expected: 9, ..next(&first, &["x"]) }).is_err());
    assert_eq!(follower.due(9, 9).unwrap(), []);
}

#[test]
fn when_the_owner_goes_a_follower_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let owner = opened(folder.path());
    let followers = [opened(folder.path()), opened(folder.path())];
    let first = commit(&*followers[0], next(&head(id(1), 5), &["one"]));
    drop(owner);
    assert_eq!(followers[0].head(id(1)).unwrap().as_ref(), Some(&first));
    commit(&*followers[1], next(&first, &["two"]));
    assert_eq!(followers.each_ref().map(|store| role(&**store)), ["owner", "follower"]);
    let [last, other] = followers;
    drop(last);
    assert_eq!(role(&*other), "owner");
    assert_eq!(other.head(id(1)).unwrap().unwrap().lines, 2);
}

#[test]
fn only_its_owner_may_look_into_the_directory() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("made/for/it");
    let _store = opened(&directory);
    let rights = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(rights(&directory), 0o700);
    for name in ["store.redb", "store.log", "lock", "socket"] {
        assert_eq!(rights(&directory.join(name)), 0o600, "{name}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_deep_directory_is_shared_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("a-long-name-".repeat(12)).join("b".repeat(100));
    let (owner, follower) = (opened(&directory), opened(&directory));
    let first = commit(&*follower, next(&head(id(1), 5), &["one"]));
    assert_eq!(owner.head(id(1)).unwrap(), Some(first));
    drop(owner);
    assert_eq!(role(&*follower), "owner");
}

#[test]
fn a_directory_that_cannot_be_used_is_named_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for directory in [file.clone(), file.join("below")] {
        let fault = open(&directory, Options::default()).unwrap_err();
        let words = fault.to_string();
        assert!(matches!(fault, Fault::Directory { .. }), "{words}");
        for wanted in [directory.to_str().unwrap(), "--data DIR", "--ephemeral", "ot a directory"] {
            assert!(words.contains(wanted) || words.contains(&wanted.replace("ot a", "not a")), "{words}");
        }
    }
}

#[test]
fn a_client_that_hangs_holds_up_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let owner = opened(folder.path());
    let silent = UnixStream::connect(folder.path().join("socket")).unwrap();
    let mut half = UnixStream::connect(folder.path().join("socket")).unwrap();
    half.write_all(&[9, 0]).unwrap();
    let mut liar = UnixStream::connect(folder.path().join("socket")).unwrap();
    liar.write_all(&[0xff; 64]).unwrap();
    let begun = Instant::now();
    let follower = opened(folder.path());
    commit(&*follower, next(&head(id(1), 5), &["one"]));
    assert!(begun.elapsed() < Duration::from_secs(1));
    // Nor do they keep the owner from leaving.
    drop(owner);
    assert_eq!(role(&*follower), "owner");
    assert!(begun.elapsed() < Duration::from_secs(2));
    drop((silent, half, liar));
}

/// A process that holds the lock and speaks like this when somebody knocks.
fn impostor(directory: &Path, speak: impl Fn(UnixStream) + Send + 'static) -> std::fs::File {
    let lock = std::fs::File::create(directory.join("lock")).unwrap();
    lock.lock().unwrap();
    writeln!(&lock, "4711").unwrap();
    let listener = socket::listen(directory).unwrap();
    thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(speak));
    lock
}

#[test]
fn an_owner_of_another_version_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let _lock = impostor(folder.path(), |stream| {
        let mut greeting = Writer(b"wfhost-store".to_vec());
        greeting.number(99);
        greeting.number(4711);
        let _ = protocol::receive(&stream).and_then(|_| protocol::send(&stream, &greeting.0));
    });
    let fault = open(folder.path(), Options::default()).unwrap_err();
    let words = fault.to_string();
    assert!(matches!(fault, Fault::Owner(_)) && words.contains("4711") && words.contains("version 99"), "{words}");
}

#[test]
fn a_silent_owner_is_a_fault_and_not_a_hang() {
    let folder = tempfile::tempdir().unwrap();
    let _lock = impostor(folder.path(), std::mem::forget);
    let begun = Instant::now();
    let patience = Duration::from_millis(200);
    let fault = open(folder.path(), Options { patience, ..Options::default() }).unwrap_err();
    assert!(fault.to_string().contains("process 4711"), "{fault}");
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn many_calls_at_once_share_few_connections() {
    let folder = tempfile::tempdir().unwrap();
    let (_owner, follower) = (opened(folder.path()), opened(folder.path()));
    thread::scope(|scope| {
        for number in 0..40 {
            let follower = &follower;
            scope.spawn(move || {
                let mut head = head(id(number), 1);
                for turn in 0..5 {
                    head = commit(&**follower, next(&head, &[&format!("turn {turn}")]));
                }
            });
        }
    });
    assert_eq!(follower.report().unwrap().sessions, 40);
}
