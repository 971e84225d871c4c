//! What a store does while nothing goes wrong, and how it says no.

use std::sync::Barrier;
use std::thread;

use super::*;
use crate::store::format as records;
use crate::store::{Local, Options};

fn query(limit: usize) -> Query {
    Query { limit, ..Query::default() }
}

#[test]
fn a_commit_is_read_back_whole() {
    let store = Local::ephemeral().unwrap();
    let first = commit(&store, next(&head(id(7), 100), &["one", "two"]));
    let second = commit(&store, next(&first, &["three"]));
    assert_eq!(store.head(id(7)).unwrap(), Some(second));
    assert_eq!(texts(&store.lines(id(7), 1, ALL).unwrap()), ["one", "two", "three"]);
    assert_eq!(texts(&store.lines(id(7), 2, Limit { lines: 1, bytes: 9 }).unwrap()), ["two"]);
    assert_eq!(texts(&store.lines(id(7), 1, Limit { lines: 9, bytes: 0 }).unwrap()), ["one"]);
    assert_eq!(texts(&store.lines(id(7), 1, Limit { lines: 9, bytes: 6 }).unwrap()), ["one", "two"]);
    assert!(store.lines(id(7), 4, ALL).unwrap().is_empty());
    assert_eq!(store.memories(id(7), 1, 1).unwrap(), ["memory of two"]);
    assert_eq!(store.memories(id(7), 1, 9).unwrap().len(), 2);
    assert_eq!(store.head(id(8)).unwrap(), None);
    assert!(store.lines(id(8), 1, ALL).unwrap().is_empty());
}

#[test]
fn a_change_that_names_an_old_version_is_a_conflict() {
    let store = Local::ephemeral().unwrap();
    let start = head(id(1), 5);
    let first = commit(&store, next(&start, &["one"]));
    assert_eq!(store.commit(next(&start, &["another one"])).unwrap(), Committed::Conflict);
    let mut ahead = first.clone();
    ahead.lines = 9;
    assert_eq!(store.commit(next(&ahead, &["ten"])).unwrap(), Committed::Conflict);
    assert_eq!(store.commit(next(&Head { lines: 3, ..head(id(2), 5) }, &["x"])).unwrap(), Committed::Conflict);
    assert_eq!(store.head(id(1)).unwrap(), Some(first));
    assert_eq!(store.head(id(2)).unwrap(), None);
}

#[test]
fn a_change_sent_again_is_done_and_not_done_twice() {
    let store = Local::ephemeral().unwrap();
    let change = next(&head(id(1), 5), &["one", "two"]);
    let first = commit(&store, change.clone());
    commit(&store, change.clone());
    assert_eq!(store.lines(id(1), 1, ALL).unwrap().len(), 2);
    // The session may have gone on before the change comes again.
    let second = commit(&store, next(&first, &["three"]));
    commit(&store, change.clone());
    assert_eq!(store.head(id(1)).unwrap(), Some(second));
    assert_eq!(store.memories(id(1), 0, 9).unwrap().len(), 3);
    let mut other = change;
    other.lines[1] = line("deux");
    assert_eq!(store.commit(other).unwrap(), Committed::Conflict);
}

#[test]
fn a_change_without_lines_is_written() {
    let store = Local::ephemeral().unwrap();
    let first = commit(&store, next(&head(id(1), 5), &["one"]));
    let mut marked = next(&first, &[]);
    marked.head.requests[0].standing = Standing::Refused(77);
    let marked = commit(&store, marked);
    assert_eq!(store.head(id(1)).unwrap(), Some(marked));
}

#[test]
fn a_change_that_does_not_add_up_is_refused() {
    let store = Local::ephemeral().unwrap();
    let mut change = next(&head(id(1), 5), &["one"]);
    change.head.lines = 5;
    assert!(store.commit(change).is_err());
    let mut change = next(&head(id(1), 5), &["one"]);
    change.memories.push("too many".to_owned());
    assert!(store.commit(change).is_err());
    assert_eq!(store.head(id(1)).unwrap(), None);
}

#[test]
fn a_listing_is_newest_first_and_knows_its_filters() {
    let store = Local::ephemeral().unwrap();
    for number in 1..=9u128 {
        let mut start = head(id(number), 100 * u64::try_from(number).unwrap());
        start.owner = if number % 2 == 0 { "even" } else { "odd" }.to_owned();
        start.workflow = format!("w{}", number % 3);
        start.interpreter = if number > 5 { "graphs" } else { "trees" }.to_owned();
        let begun = commit(&store, next(&start, &["begin"]));
        if number % 4 == 0 {
            commit(&store, finished(&begun));
        }
    }
    assert_eq!(sessions(&store, &query(3)), [id(9), id(8), id(7)]);
    assert_eq!(sessions(&store, &query(99)).len(), 9);
    let even = Query { owner: Some("even".to_owned()), ..query(99) };
    assert_eq!(sessions(&store, &even), [id(8), id(6), id(4), id(2)]);
    assert_eq!(sessions(&store, &Query { unfinished: true, ..even.clone() }), [id(6), id(2)]);
    let narrow = Query { workflow: Some("w0".to_owned()), interpreter: Some("graphs".to_owned()), ..even };
    assert_eq!(sessions(&store, &narrow), [id(6)]);
    assert_eq!(sessions(&store, &Query { owner: Some("nobody".to_owned()), ..query(9) }), []);
    let report = store.report().unwrap();
    assert_eq!((report.sessions, report.unfinished, report.role.as_str()), (9, 7, "memory"));
}

#[test]
fn due_sessions_come_soonest_first() {
    let store = Local::ephemeral().unwrap();
    let mut heads = Vec::new();
    for (number, due) in [(1, 300), (2, 100), (3, 200)] {
        let change = Change { due: Some(due), ..next(&head(id(number), 5), &["one"]) };
        heads.push(commit(&store, change));
    }
    assert_eq!(store.due(250, 9).unwrap(), [id(2), id(3)]);
    assert_eq!(store.due(300, 9).unwrap(), [id(2), id(3), id(1)]);
    assert_eq!(store.due(300, 1).unwrap(), [id(2)]);
    commit(&store, next(&heads[1], &["answered"]));
    commit(&store, Change { due: Some(150), ..next(&heads[0], &["sooner"]) });
    assert_eq!(store.due(300, 9).unwrap(), [id(1), id(3)]);
}

#[test]
fn content_is_kept_once_and_found_by_digest() {
    let store = Local::ephemeral().unwrap();
    let digest = store.keep(b"a definition").unwrap();
    assert_eq!(store.keep(b"a definition").unwrap(), digest);
    assert_eq!(store.blob(digest).unwrap().as_deref(), Some(&b"a definition"[..]));
    assert_eq!(store.blob(Digest::of(b"other")).unwrap(), None);
    let large = vec![0; super::super::limits::BLOB_BYTES_MAX + 1];
    assert!(matches!(store.keep(&large), Err(Fault::TooLarge { .. })));
}

#[test]
fn many_threads_commit_in_groups_and_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = Local::open(&folder.path().join("store.redb"), &Options::default()).unwrap();
    let barrier = Barrier::new(64);
    thread::scope(|scope| {
        for number in 0..64 {
            let (store, barrier) = (&store, &barrier);
            scope.spawn(move || {
                barrier.wait();
                let mut head = head(id(number), 1);
                for turn in 0..20 {
                    head = commit(store, next(&head, &[&format!("turn {turn}")]));
                }
            });
        }
    });
    for number in 0..64 {
        let head = store.head(id(number)).unwrap().unwrap();
        let lines = store.lines(id(number), 1, ALL).unwrap();
        assert_eq!((head.lines, lines.len()), (20, 20));
        assert_eq!(head.chain, lines.iter().fold(Digest::default(), |c, l| Digest::of_parts(&[&c.0, l])));
    }
}

#[test]
fn of_racing_changes_of_one_session_exactly_one_is_accepted() {
    let store = Local::ephemeral().unwrap();
    let mut current = commit(&store, next(&head(id(1), 1), &["begin"]));
    for round in 0..50 {
        let barrier = Barrier::new(8);
        let accepted: usize = thread::scope(|scope| {
            let racers: Vec<_> = (0..8)
                .map(|racer| {
                    let change = next(&current, &[&format!("round {round} of racer {racer}")]);
                    let (store, barrier) = (&store, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        usize::from(store.commit(change).unwrap() == Committed::Done)
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).sum()
        });
        assert_eq!(accepted, 1);
        current = store.head(id(1)).unwrap().unwrap();
    }
    assert_eq!(current.lines, 51);
}

#[test]
fn an_unreadable_record_hides_no_other() {
    let store = Local::ephemeral().unwrap();
    for number in 1..=3 {
        commit(&store, next(&head(id(number), u64::try_from(number).unwrap()), &["one"]));
    }
    store.put_row(id(2), b"\x01garbage of all kinds");
    let newer = [&[records::VERSION + 1][..], b"from the future"].concat();
    store.put_row(id(3), &newer);
    assert_eq!(sessions(&store, &query(9)), [id(3), id(2), id(1)]);
    let listed = store.list(&query(9)).unwrap();
    assert!(matches!(&listed[0], Listed::Unreadable(_, why) if why.contains("newer wfhost")), "{listed:?}");
    assert!(matches!(&listed[1], Listed::Unreadable(_, why) if why.contains("checksum")), "{listed:?}");
    assert!(matches!(&listed[2], Listed::Head(_)));
    assert!(matches!(store.head(id(3)), Err(Fault::Newer { found: 3, known: 2, .. })));
    assert!(matches!(store.head(id(2)), Err(Fault::Unreadable { .. })));
    // Neither is replaced by a change, and neither stops others.
    assert!(store.commit(next(&head(id(2), 2), &["one"])).is_err());
    commit(&store, next(&head(id(4), 4), &["one"]));
}

#[test]
fn a_store_of_a_newer_wfhost_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    Local::open(&path, &Options::default()).unwrap().put_version(records::FILE_VERSION + 1);
    let fault = Local::open(&path, &Options::default()).unwrap_err();
    assert!(matches!(&fault, Fault::Newer { found: 4, known: 3, what } if what.contains("store.redb")), "{fault}");
}

#[test]
fn a_store_of_a_time_before_there_was_a_log_goes_on_with_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let local = Local::open(&path, &Options::default()).unwrap();
    let first = commit(&local, next(&head(id(1), 1), &["one"]));
    local.forget_log();
    drop(local);
    std::fs::remove_file(folder.path().join("store.log")).unwrap();
    let local = Local::open(&path, &Options::default()).unwrap();
    assert_eq!(local.head(id(1)).unwrap().as_ref(), Some(&first));
    let second = commit(&local, next(&first, &["two"]));
    let third = commit(&local, next(&second, &["three"]));
    drop(local);
    let local = Local::open(&path, &Options::default()).unwrap();
    assert_eq!(local.head(id(1)).unwrap(), Some(third));
}

#[test]
fn a_log_without_its_store_is_not_taken_for_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    commit(&Local::open(&path, &Options::default()).unwrap(), next(&head(id(1), 1), &["one"]));
    std::fs::remove_file(&path).unwrap();
    let fault = Local::open(&path, &Options::default()).unwrap_err();
    assert!(matches!(&fault, Fault::Damaged { reason, .. } if reason.contains("its log is there")), "{fault}");
}
