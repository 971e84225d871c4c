//! What is left when the world stops: at any write to the disk, or with a byte of the file changed.

use std::io;
use std::sync::Mutex;

use redb::StorageBackend;

use super::*;
use crate::store::{Expect, Local, Options};

/// A disk that loses what was not synced, and keeps all that it was at every sync.
#[derive(Debug, Clone, Default)]
struct Disk(Arc<Mutex<Platter>>);

#[derive(Debug, Default)]
struct Platter {
    now: Vec<u8>,
    written: Vec<(usize, Vec<u8>)>,
    /// What may be found after the power went: the state of a sync, and the writes since that may have got through.
    moments: Vec<Moment>,
    failing: bool,
}

#[derive(Debug, Clone)]
struct Moment {
    synced: Vec<u8>,
    since: Vec<(usize, Vec<u8>)>,
}

impl Disk {
    fn of(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(Platter { now: bytes, ..Platter::default() })))
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let platter = self.0.lock().unwrap();
        let offset = usize::try_from(offset).unwrap();
        let found = platter.now.get(offset..offset + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().unwrap().now.resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.0.lock().unwrap();
        if platter.failing {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let since = std::mem::take(&mut platter.written);
        let synced = platter.now.clone();
        // Before this sync: the last synced state with some of the writes. After it: this state.
        if let Some(last) = platter.moments.last_mut() {
            last.since = since;
        }
        platter.moments.push(Moment { synced, since: Vec::new() });
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut platter = self.0.lock().unwrap();
        if platter.failing {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let offset = usize::try_from(offset).unwrap();
        platter.now[offset..offset + data.len()].copy_from_slice(data);
        platter.written.push((offset, data.to_vec()));
        Ok(())
    }
}

/// Files that may be found: no write since the sync, all of them, the first half, the second half, and every second.
fn leftovers(moment: &Moment) -> Vec<Vec<u8>> {
    let count = moment.since.len();
    let kept: [fn(usize, usize) -> bool; 5] =
        [|_, _| false, |_, _| true, |at, count| at < count / 2, |at, count| at >= count / 2, |at, _| at % 2 == 0];
    let file = |keep: &fn(usize, usize) -> bool| {
        let mut file = moment.synced.clone();
        for (at, (offset, data)) in moment.since.iter().enumerate() {
            if keep(at, count) {
                file.resize(file.len().max(offset + data.len()), 0);
                file[*offset..offset + data.len()].copy_from_slice(data);
            }
        }
        file
    };
    kept.iter().map(file).collect()
}

fn reopen(bytes: Vec<u8>) -> Result<Local, Fault> {
    Local::open_with_backend(Disk::of(bytes), Expect::Tables, "disk", &Options::default())
}

#[test]
fn whenever_the_power_goes_a_commit_is_there_whole_or_not_at_all() {
    let disk = Disk::default();
    let local = Local::open_with_backend(disk.clone(), Expect::Nothing, "disk", &Options::default()).unwrap();
    let ready = disk.0.lock().unwrap().moments.len();
    let mut heads = [head(id(1), 1), head(id(2), 2)];
    // How many syncs had been made when the turn was confirmed.
    let mut confirmed = Vec::new();
    for turn in 0..12 {
        for head in &mut heads {
            let long = format!("turn {turn} {}", "of many words ".repeat(100 * turn));
            *head = commit(&local, next(head, &[&long, "and more"]));
        }
        confirmed.push(disk.0.lock().unwrap().moments.len());
    }
    let moments = std::mem::take(&mut disk.0.lock().unwrap().moments);
    let mut tried = 0;
    for (at, moment) in moments.iter().enumerate().skip(ready - 1) {
        let acked = confirmed.iter().filter(|syncs| **syncs <= at + 1).count() as u64;
        for bytes in leftovers(moment) {
            let found = reopen(bytes).unwrap();
            for session in [id(1), id(2)] {
                let lines = found.lines(session, 1, ALL).unwrap();
                let memories = found.memories(session, 0, 999).unwrap();
                let head = found.head(session).unwrap();
                let (count, chain) = head.map_or_else(Default::default, |head| (head.lines, head.chain));
                assert_eq!((count, count), (lines.len() as u64, memories.len() as u64));
                assert_eq!(chain, lines.iter().fold(Digest::default(), |c, l| Digest::of_parts(&[&c.0, l])));
                assert!(count >= 2 * acked, "sync {at}: {count} lines, {acked} turns were confirmed");
            }
            assert_eq!(
                found.report().unwrap().sessions,
                found.list(&Query { limit: 9, ..Query::default() }).unwrap().len() as u64
            );
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn after_a_failed_write_nothing_is_confirmed_and_nothing_confirmed_is_lost() {
    let disk = Disk::default();
    let local =
        Local::open_with_backend(disk.clone(), Expect::Nothing, "/data/store.redb", &Options::default()).unwrap();
    let first = commit(&local, next(&head(id(1), 1), &["one"]));
    disk.0.lock().unwrap().failing = true;
    let fault = local.commit(next(&first, &["two"])).unwrap_err();
    assert!(
        matches!(&fault, Fault::Io(words) if words.contains("/data/store.redb") && words.contains("no storage space")),
        "{fault}"
    );
    disk.0.lock().unwrap().failing = false;
    let again = [local.commit(next(&first, &["two"])).unwrap_err(), local.head(id(1)).unwrap_err()];
    assert!(again.iter().all(|later| later.to_string() == fault.to_string()), "{again:?}");
    let bytes = disk.0.lock().unwrap().now.clone();
    drop(local);
    let found = reopen(bytes).unwrap();
    assert!(found.head(id(1)).unwrap().unwrap().lines >= 1);
}

/// A file with some sessions, as a closed store leaves it.
fn closed_file() -> Vec<u8> {
    let disk = Disk::default();
    let local = Local::open_with_backend(disk.clone(), Expect::Nothing, "disk", &Options::default()).unwrap();
    for number in 1..=40 {
        let text = format!("a line of the session {number}, and then some more of it. ").repeat(8);
        commit(&local, next(&head(id(number), 1), &[&text, "two", "three"]));
    }
    drop(local);
    disk.0.lock().unwrap().now.clone()
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
    let bytes = closed_file();
    let mut refused = 0;
    for page in 0..bytes.len() / 4096 {
        let mut damaged = bytes.clone();
        for byte in &mut damaged[page * 4096 + 64..(page + 1) * 4096] {
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
    for content in [&b""[..], b"not a database", &[0; 9000], &closed_file()[..9000]] {
        std::fs::write(&path, content).unwrap();
        let fault = Local::open(&path, &Options::default()).unwrap_err();
        assert!(matches!(&fault, Fault::Damaged { path, .. } if path.ends_with("store.redb")), "{fault}");
        assert_eq!(std::fs::read(&path).unwrap(), content, "the file is left as it was found");
    }
}
