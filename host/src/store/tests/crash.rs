//! What is left when the world stops: at any write to the disk, or with a byte of the file changed.

use super::disk::{DATABASE, LOG, World};
use super::*;
use crate::store::{Expect, Local, Options};

/// A log so short that it begins anew every few turns.
fn options() -> Options {
    Options { log_bytes: 80 << 10, ..Options::default() }
}

fn begun(world: &World, place: &str) -> Local {
    Local::open_with_backends(world.disks(), Expect::Nothing, place, &options()).unwrap()
}

fn reopen(files: [Vec<u8>; 2]) -> Result<Local, Fault> {
    Local::open_with_backends(World::of(files).disks(), Expect::Tables, "disk", &options())
}

/// A session is whole, and as long as all its parts say. Returns its lines.
fn whole(found: &Local, session: SessionId) -> u64 {
    let lines = found.lines(session, 1, ALL).unwrap();
    let memories = found.memories(session, 0, 999).unwrap();
    let head = found.head(session).unwrap();
    let (count, chain) = head.map_or_else(Default::default, |head| (head.lines, head.chain));
    assert_eq!((count, count), (lines.len() as u64, memories.len() as u64));
    assert_eq!(chain, lines.iter().fold(Digest::default(), |c, l| Digest::of_parts(&[&c.0, l])));
    count
}

#[test]
fn whenever_the_power_goes_a_commit_is_there_whole_or_not_at_all() {
    let world = World::default();
    let local = begun(&world, "disk");
    let ready = world.age();
    let mut heads = [head(id(1), 1), head(id(2), 2)];
    // How much had happened when the turn was confirmed.
    let mut confirmed = Vec::new();
    for turn in 0..14 {
        for head in &mut heads {
            let long = format!("turn {turn} {}", "of many words ".repeat(100 * turn));
            *head = commit(&local, next(head, &[&long, "and more"]));
        }
        confirmed.push(world.age());
    }
    let synced = (world.syncs(DATABASE), world.syncs(LOG));
    let mut tried = 0;
    world.leftovers(ready, &mut |age, files| {
        let acked = confirmed.iter().filter(|at| **at <= age).count() as u64;
        let found = reopen(files).unwrap();
        for session in [id(1), id(2)] {
            let count = whole(&found, session);
            assert!(count >= 2 * acked, "at {age}: {count} lines, {acked} turns were confirmed");
        }
        assert_eq!(
            found.report().unwrap().sessions,
            found.list(&Query { limit: 9, ..Query::default() }).unwrap().len() as u64
        );
        tried += 1;
    });
    assert!(tried > 200, "{tried}");
    // Both ways were gone: batches that only the log had, and laps of it.
    assert!(synced.1 > 10 && synced.0 > 10, "{synced:?}");
}

#[test]
fn after_a_crash_a_store_goes_on_and_may_crash_again() {
    let world = World::default();
    let local = begun(&world, "disk");
    let mut head = head(id(1), 1);
    for turn in 0..5 {
        head = commit(&local, next(&head, &[&format!("turn {turn}")]));
    }
    // The world stops at any sync; what is found goes on, and stops again.
    let mut lives = Vec::new();
    world.leftovers(0, &mut |_, files| lives.push(files));
    let mut tried = 0;
    for files in lives.into_iter().step_by(3) {
        let second = World::of(files.clone());
        let Ok(local) = Local::open_with_backends(second.disks(), Expect::Tables, "disk", &options()) else { continue };
        let before = local.head(id(1)).unwrap().unwrap_or_else(|| self::head(id(1), 1));
        let first = commit(&local, next(&before, &["after the crash"]));
        let last = commit(&local, next(&first, &["and on"]));
        std::mem::forget(local);
        let found = reopen(second.files()).unwrap();
        assert_eq!(whole(&found, id(1)), last.lines);
        assert_eq!(found.head(id(1)).unwrap().unwrap().chain, last.chain);
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
}

#[test]
fn after_a_failed_write_nothing_is_confirmed_and_nothing_confirmed_is_lost() {
    let world = World::default();
    let local = begun(&world, "/data/store.redb");
    let begun = commit(&local, next(&head(id(1), 1), &["one"]));
    let first = commit(&local, next(&begun, &["and one more, in the log"]));
    world.fail(true);
    let fault = local.commit(next(&first, &["two"])).unwrap_err();
    assert!(
        matches!(&fault, Fault::Io(words) if words.contains("/data/store.redb") && words.contains("no storage space")),
        "{fault}"
    );
    world.fail(false);
    let again = [local.commit(next(&first, &["two"])).unwrap_err(), local.head(id(1)).unwrap_err()];
    assert!(again.iter().all(|later| later.to_string() == fault.to_string()), "{again:?}");
    let files = world.files();
    drop(local);
    let found = reopen(files).unwrap();
    assert!(whole(&found, id(1)) >= 2);
}

/// The files of a store with some sessions: closed, or as a crash leaves them, with the newest in the log alone.
fn store_files(closed: bool) -> [Vec<u8>; 2] {
    let world = World::default();
    let options = Options::default();
    let local = Local::open_with_backends(world.disks(), Expect::Nothing, "disk", &options).unwrap();
    for number in 1..=40 {
        let text = format!("a line of the session {number}, and then some more of it. ").repeat(8);
        commit(&local, next(&head(id(number), 1), &[&text, "two", "three"]));
    }
    if closed {
        drop(local);
    } else {
        std::mem::forget(local);
    }
    world.files()
}

/// Every answer that the store gives is right, or a fault that names the damage.
fn is_honest(found: &Local) -> bool {
    for number in 1..=40 {
        match found.head(id(number)) {
            Ok(Some(head)) if head.lines == 3 => {}
            Ok(_) => return false,
            Err(fault) => return is_damage(&fault),
        }
        match found.lines(id(number), 1, ALL) {
            Ok(lines) if lines.len() == 3 => {}
            Ok(_) => return false,
            Err(fault) => return is_damage(&fault),
        }
    }
    match found.list(&Query { limit: 99, ..Query::default() }) {
        Ok(listed) => listed.len() == 40,
        Err(fault) => is_damage(&fault),
    }
}

#[test]
fn a_damaged_page_is_named_and_never_an_empty_store() {
    let files = store_files(true);
    let mut refused = 0;
    for page in 0..files[DATABASE].len() / 4096 {
        let mut damaged = files.clone();
        for byte in &mut damaged[DATABASE][page * 4096 + 64..(page + 1) * 4096] {
            *byte ^= 0x55;
        }
        match reopen(damaged) {
            Ok(found) => assert!(is_honest(&found), "page {page}"),
            Err(fault) => {
                refused += 1;
                assert!(is_damage(&fault), "page {page}: {fault}");
                assert!(fault.to_string().contains("disk"), "{fault}");
            }
        }
    }
    assert!(refused > 5, "{refused}");
}

#[test]
fn what_is_no_database_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    for content in [&b""[..], b"not a database", &[0; 9000], &store_files(true)[DATABASE][..9000]] {
        std::fs::write(&path, content).unwrap();
        let fault = Local::open(&path, &Options::default()).unwrap_err();
        assert!(matches!(&fault, Fault::Damaged { path, .. } if path.ends_with("store.redb")), "{fault}");
        assert_eq!(std::fs::read(&path).unwrap(), content, "the file is left as it was found");
    }
}

#[test]
fn a_damaged_log_is_named_and_never_forgotten() {
    let files = store_files(false);
    assert_eq!(whole(&reopen(files.clone()).unwrap(), id(40)), 3);
    let blocks = files[LOG].len() / 4096;
    let mut refused = 0;
    for block in 0..blocks {
        let mut damaged = files.clone();
        damaged[LOG][block * 4096 + 20] ^= 1;
        match reopen(damaged) {
            // Behind the last record, or in it: that cannot be told from one that was not finished.
            Ok(found) => assert!((1..=39).all(|number| whole(&found, id(number)) == 3), "block {block}"),
            Err(fault) => {
                refused += 1;
                assert!(
                    matches!(&fault, Fault::Damaged { path, .. } if path.contains("log")),
                    "block {block}: {fault}"
                );
            }
        }
    }
    // The first batch is in the database, the others in the log; the file's first block says whose it is.
    assert_eq!(refused, 1 + 38);
}

#[test]
fn a_store_and_a_log_of_different_times_are_told() {
    let (early, late) = (store_files(true), store_files(false));
    let [missing, other, older] =
        [[late[DATABASE].clone(), Vec::new()], [late[DATABASE].clone(), early[LOG].clone()], older()];
    for (files, words) in [(missing, "missing"), (other, "another store"), (older, "goes on with batch")] {
        let fault = reopen(files).unwrap_err();
        assert!(matches!(&fault, Fault::Damaged { reason, .. } if reason.contains(words)), "{fault}");
    }
    // Closed, a store needs no log.
    let alone = reopen([early[DATABASE].clone(), Vec::new()]).unwrap();
    assert_eq!(whole(&alone, id(40)), 3);
}

/// A copy of a store's database that is older than its log.
fn older() -> [Vec<u8>; 2] {
    let world = World::default();
    let local = begun(&world, "disk");
    let mut head = commit(&local, next(&head(id(1), 1), &["one"]));
    let [database, _] = world.files();
    for turn in 0..60 {
        head = commit(&local, next(&head, &[&format!("turn {turn}")]));
    }
    let [_, log] = world.files();
    std::mem::forget(local);
    [database, log]
}

#[test]
fn a_batch_that_is_too_large_for_the_log_is_kept_all_the_same() {
    let world = World::default();
    let local = begun(&world, "disk");
    let first = commit(&local, next(&head(id(1), 1), &["one"]));
    let second = commit(&local, next(&first, &["two"]));
    let large = vec![7; 3 << 20];
    let digest = local.keep(&large).unwrap();
    let third = commit(&local, next(&second, &["three"]));
    std::mem::forget(local);
    let found = reopen(world.files()).unwrap();
    assert_eq!(whole(&found, id(1)), third.lines);
    assert_eq!(found.blob(digest).unwrap().as_deref(), Some(&large[..]));
}

#[test]
fn while_a_commit_waits_for_the_disk_readers_do_not_and_see_what_was() {
    let world = World::default();
    let local = begun(&world, "disk");
    let first = commit(&local, next(&head(id(1), 1), &["one"]));
    let second = commit(&local, next(&first, &["two"]));
    world.stick(true);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| local.commit(next(&second, &["three"])));
        for _ in 0..200 {
            assert_eq!(local.head(id(1)).unwrap().as_ref(), Some(&second));
            assert_eq!(local.lines(id(1), 1, ALL).unwrap().len(), 2);
            assert_eq!(local.report().unwrap().sessions, 1);
        }
        assert!(!writer.is_finished());
        world.stick(false);
        assert_eq!(writer.join().unwrap().unwrap(), Committed::Done);
    });
    assert_eq!(local.head(id(1)).unwrap().unwrap().lines, 3);
}
