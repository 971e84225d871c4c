//! A disk for tests: two files that lose what was not synced, and a record of all that was done to them, so that any
//! moment can be had again.

use std::io;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

/// Which of the two files.
pub(super) const DATABASE: usize = 0;
pub(super) const LOG: usize = 1;

/// The two files, and what happened to them.
#[derive(Debug, Clone, Default)]
pub(super) struct World(Arc<Mutex<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    now: [Vec<u8>; 2],
    happened: Vec<Happened>,
    failing: bool,
    stuck: bool,
}

#[derive(Debug, Clone)]
enum Happened {
    Wrote(usize, usize, Vec<u8>),
    Synced(usize),
}

/// One of the files.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    world: World,
    which: usize,
}

/// Which of the writes since the last sync got through: by its place among them, and how many there are. And whether of
/// the last of those only the first half.
type Kept = (fn(usize, usize) -> bool, bool);

const KEPT: [Kept; 6] = [
    (|_, _| false, false),
    (|_, _| true, false),
    (|_, _| true, true),
    (|at, count| at < count / 2, false),
    (|at, count| at >= count / 2, false),
    (|at, _| at % 2 == 0, false),
];

impl World {
    pub(super) fn of(files: [Vec<u8>; 2]) -> Self {
        Self(Arc::new(Mutex::new(Inside { now: files, ..Inside::default() })))
    }

    pub(super) fn disks(&self) -> (Disk, Option<Disk>) {
        let disk = |which| Disk { world: self.clone(), which };
        (disk(DATABASE), Some(disk(LOG)))
    }

    pub(super) fn files(&self) -> [Vec<u8>; 2] {
        self.0.lock().unwrap().now.clone()
    }

    pub(super) fn fail(&self, failing: bool) {
        self.0.lock().unwrap().failing = failing;
    }

    /// Whether a sync waits until this is taken back.
    pub(super) fn stick(&self, stuck: bool) {
        self.0.lock().unwrap().stuck = stuck;
    }

    /// How much has happened.
    pub(super) fn age(&self) -> usize {
        self.0.lock().unwrap().happened.len()
    }

    /// How many syncs of a file there were.
    pub(super) fn syncs(&self, which: usize) -> usize {
        let inside = self.0.lock().unwrap();
        inside.happened.iter().filter(|what| matches!(what, Happened::Synced(w) if *w == which)).count()
    }

    /// What may be found if the power goes, for every sync after this age: before it, and after it. With the age of that
    /// moment. Both files began empty.
    pub(super) fn leftovers(&self, from: usize, found: &mut dyn FnMut(usize, [Vec<u8>; 2])) {
        let happened = self.0.lock().unwrap().happened.clone();
        let mut synced: [Vec<u8>; 2] = Default::default();
        let mut since: [Vec<(usize, Vec<u8>)>; 2] = Default::default();
        for (age, what) in happened.into_iter().enumerate() {
            match what {
                Happened::Wrote(which, offset, data) => since[which].push((offset, data)),
                Happened::Synced(which) => {
                    if age >= from {
                        combinations(&synced, &since, &mut |files| found(age, files));
                    }
                    let writes = std::mem::take(&mut since[which]);
                    synced[which] = after(&synced[which], &writes, (|_, _| true, false));
                    if age >= from {
                        combinations(&synced, &since, &mut |files| found(age + 1, files));
                    }
                }
            }
        }
    }
}

fn combinations(synced: &[Vec<u8>; 2], since: &[Vec<(usize, Vec<u8>)>; 2], found: &mut dyn FnMut([Vec<u8>; 2])) {
    let of = |which: usize| {
        let kept = if since[which].is_empty() { &KEPT[..1] } else { &KEPT[..] };
        kept.iter().map(move |kept| after(&synced[which], &since[which], *kept)).collect::<Vec<_>>()
    };
    let logs = of(LOG);
    for database in of(DATABASE) {
        for log in &logs {
            found([database.clone(), log.clone()]);
        }
    }
}

fn after(synced: &[u8], writes: &[(usize, Vec<u8>)], (keep, torn): Kept) -> Vec<u8> {
    let mut file = synced.to_vec();
    let count = writes.len();
    for (at, (offset, data)) in writes.iter().enumerate().filter(|(at, _)| keep(*at, count)) {
        let through = if torn && at + 1 == count { data.len() / 2 } else { data.len() };
        file.resize(file.len().max(offset + data.len()), 0);
        file[*offset..offset + through].copy_from_slice(&data[..through]);
    }
    file
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.world.0.lock().unwrap().now[self.which].len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let inside = self.world.0.lock().unwrap();
        let offset = usize::try_from(offset).unwrap();
        let found = inside.now[self.which].get(offset..offset + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.world.0.lock().unwrap().now[self.which].resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        while self.world.0.lock().unwrap().stuck {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let mut inside = self.world.0.lock().unwrap();
        if inside.failing {
            return Err(io::ErrorKind::StorageFull.into());
        }
        inside.happened.push(Happened::Synced(self.which));
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut inside = self.world.0.lock().unwrap();
        if inside.failing {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let offset = usize::try_from(offset).unwrap();
        inside.now[self.which][offset..offset + data.len()].copy_from_slice(data);
        inside.happened.push(Happened::Wrote(self.which, offset, data.to_vec()));
        Ok(())
    }
}
