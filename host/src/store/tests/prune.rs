//! Sessions that are taken out, what is kept of them, and who still needs what they were pinned to.

use super::*;
use crate::session::model::Millis;
use crate::store::{Inherit, Local, Options, memory};

fn stores() -> [Box<dyn Store>; 2] {
    [Box::new(Local::ephemeral().unwrap()), Box::new(memory::Memory::default())]
}

fn record(head: &Head) -> Pruned {
    Pruned { lines: head.lines, started: head.started, ..pruned(head.session) }
}

fn kept(store: &dyn Store) -> Digest {
    store.keep(b"plugin").unwrap();
    store.keep(b"definition").unwrap()
}

#[test]
fn what_is_taken_out_leaves_its_record_and_nothing_else() {
    for store in stores() {
        kept(&*store);
        let open = commit(&*store, Change { due: Some(7), ..next(&head(id(1), 5), &["one", "two"]) });
        let stays = commit(&*store, next(&head(id(2), 6), &["one"]));
        assert_eq!(store.prune(&[record(&Head { lines: 1, ..open.clone() })]).unwrap(), [], "it went on meanwhile");
        assert_eq!(store.prune(&[record(&open), record(&head(id(9), 1))]).unwrap(), [id(1)]);
        assert_eq!(store.head(id(1)).unwrap(), None);
        assert!(store.lines(id(1), 1, ALL).unwrap().is_empty() && store.memories(id(1), 0, 9).unwrap().is_empty());
        assert_eq!(store.due(9, 9).unwrap(), []);
        for unfinished in [true, false] {
            assert_eq!(sessions(&*store, &Query { unfinished, limit: 9, ..Query::default() }), [id(2)]);
        }
        assert_eq!(store.pruned(id(1)).unwrap(), Some(record(&open)));
        assert_eq!(store.pruned(id(2)).unwrap(), None);
        let report = store.report().unwrap();
        assert_eq!((report.sessions, report.unfinished, report.lines, report.pruned), (1, 1, 1, 1));
        assert_eq!(store.head(id(2)).unwrap(), Some(stays));
    }
}

#[test]
fn records_of_what_is_gone_come_in_pages() {
    for store in stores() {
        let heads: Vec<Head> = (1..=5).map(|n| commit(&*store, next(&head(id(n), 5), &["one"]))).collect();
        let records: Vec<Pruned> = heads.iter().map(record).collect();
        assert_eq!(store.prune(&records).unwrap().len(), 5);
        let first = store.pruned_after(None, 3).unwrap();
        let rest = store.pruned_after(Some(first[2].session), 3).unwrap();
        assert_eq!([first, rest].concat(), records);
    }
}

#[test]
fn content_goes_with_the_last_session_that_needs_it() {
    let store = Local::ephemeral().unwrap();
    let definition = kept(&store);
    let [first, second] = [1, 2].map(|n| commit(&store, next(&head(id(n), 5), &["one"])));
    store.prune(&[record(&first)]).unwrap();
    assert!(store.blob(definition).unwrap().is_some());
    store.prune(&[record(&second)]).unwrap();
    assert!(store.blob(definition).unwrap().is_none());
    // A host that believes it kept is told, and keeps it again.
    let third = next(&head(id(3), 5), &["one"]);
    assert_eq!(store.commit(third.clone()).unwrap(), Committed::Dropped);
    assert_eq!(store.head(id(3)).unwrap(), None);
    assert_eq!(kept(&store), definition);
    commit(&store, third);
    assert!(store.blob(definition).unwrap().is_some());
}

#[test]
fn a_beginning_is_inherited_and_survives_its_parent() {
    for store in stores() {
        let parent = commit(&*store, next(&head(id(1), 5), &["one", "two", "three"]));
        let change = |from, lines, memories| {
            let mut change = next(&Head { lines, memories, ..head(id(2), 6) }, &["mine"]);
            (change.expected, change.inherit) = (0, Some(Inherit { from, lines, memories }));
            change
        };
        assert_eq!(store.commit(change(id(1), 4, 2)).unwrap(), Committed::Conflict);
        assert_eq!(store.commit(change(id(9), 2, 2)).unwrap(), Committed::Conflict);
        commit(&*store, change(id(1), 2, 2));
        // Sent again because the answer was lost.
        commit(&*store, change(id(1), 2, 2));
        store.prune(&[record(&parent)]).unwrap();
        assert_eq!(texts(&store.lines(id(2), 1, ALL).unwrap()), ["one", "two", "mine"]);
        assert_eq!(store.memories(id(2), 1, 9).unwrap(), ["memory of two", "memory of mine"]);
    }
}

#[test]
fn a_listing_goes_on_where_the_page_before_ended() {
    for store in stores() {
        let starts: [Millis; 5] = [5, 5, 6, 7, 7];
        for (n, start) in (1..).zip(starts) {
            commit(&*store, next(&head(id(n), start), &["one"]));
        }
        let page = |after| Query { limit: 2, after, ..Query::default() };
        let pages = [None, Some((7, id(4))), Some((5, id(2)))].map(|after| sessions(&*store, &page(after)));
        assert_eq!(pages, [vec![id(5), id(4)], vec![id(3), id(2)], vec![id(1)]]);
    }
}

#[test]
fn a_file_in_which_nobody_counted_is_counted_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let store = Local::open(&path, &Options::default()).unwrap();
    let definition = kept(&store);
    let heads = [1, 2].map(|n| commit(&store, next(&head(id(n), 5), &["one"])));
    store.forget_pins();
    drop(store);
    let store = Local::open(&path, &Options::default()).unwrap();
    store.prune(&[record(&heads[0])]).unwrap();
    assert!(store.blob(definition).unwrap().is_some(), "the other one needs it");
    store.prune(&[record(&heads[1])]).unwrap();
    assert!(store.blob(definition).unwrap().is_none());
}

#[test]
fn a_file_is_made_smaller_only_when_nobody_works_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let large = "x".repeat(100_000);
    let store = crate::store::open(folder.path(), Options::default()).unwrap();
    let heads: Vec<Head> = (1..40).map(|n| commit(&*store, next(&head(id(n), 5), &[&large]))).collect();
    let idle = store.keep(b"kept for a session that never began").unwrap();
    store.prune(&heads.iter().skip(1).map(record).collect::<Vec<_>>()).unwrap();
    let told = crate::store::compact(folder.path(), &Options::default()).unwrap_err().to_string();
    assert!(told.contains(&format!("process {} works on the store", std::process::id())), "{told}");
    drop(store);
    let (before, after) = crate::store::compact(folder.path(), &Options::default()).unwrap();
    assert!(after * 2 < before, "{before} {after}");
    let store = crate::store::open(folder.path(), Options::default()).unwrap();
    assert_eq!(store.head(id(1)).unwrap().as_ref(), Some(&heads[0]));
    assert_eq!((store.report().unwrap().pruned, store.blob(idle).unwrap()), (38, None));
}
