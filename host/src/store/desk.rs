//! Where batches are written down: into the log, synced, and into the database, which follows in memory. When the log is
//! full, when a batch is too large for it, and at the first batch after opening, the database itself is made durable: the
//! checkpoint, after which the log begins anew.

use redb::{Database, Durability, StorageBackend};

use super::Fault;
use super::batch::{self, Done, Job};
use super::codec::Writer;
use super::log::{Ledger, Log};
use super::tables;
use super::trouble::{self, Trouble};

/// The ledger and the log, in the hands of whoever leads a batch.
#[derive(Debug)]
pub(super) struct Desk {
    ledger: Ledger,
    log: Option<Log>,
}

impl Desk {
    /// A desk without a log: every batch is a checkpoint.
    pub(super) fn plain(ledger: Ledger) -> Self {
        Self { ledger, log: None }
    }

    /// A desk with the log on this backend, which may get so many bytes long. What the log holds and the database lost is put into the database.
    pub(super) fn logged(
        database: &Database,
        ledger: Ledger,
        log: (Box<dyn StorageBackend>, u64),
        place: &str,
    ) -> Result<Self, Trouble> {
        let log = Log::on(log, &ledger, place)?;
        let mut desk = Self { ledger, log: Some(log) };
        if ledger.open {
            desk.recover(database, place)?;
        }
        Ok(desk)
    }

    fn recover(&mut self, database: &Database, place: &str) -> Result<(), Trouble> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let records = log.after(self.ledger.applied, place)?;
        let mut transaction = database.begin_write()?;
        transaction.set_quick_repair(true);
        let mut tables = tables::Writable::new(&transaction);
        for record in &records {
            let refused = |reason: String| trouble::damaged_log(place, &format!("batch {}: {reason}", record.number));
            let jobs = batch::read(&record.body).map_err(|broken| refused(broken.to_string()))?;
            for job in &jobs {
                if !matches!(batch::carry_out(&mut tables, job)?, Ok((_, true))) {
                    return Err(refused("it does not follow what the store holds".to_owned()).into());
                }
            }
        }
        drop(tables);
        let applied = records.last().map_or(self.ledger.applied, |last| last.number);
        let ledger = Ledger { applied, open: false, ..self.ledger };
        tables::put_ledger(&transaction, &ledger)?;
        transaction.commit()?;
        self.ledger = ledger;
        Ok(())
    }

    /// Carries out a batch durably and answers each of its jobs.
    pub(super) fn run(&mut self, database: &Database, jobs: &[&Job]) -> Result<Vec<Result<Done, Fault>>, Trouble> {
        let mut transaction = database.begin_write()?;
        let mut answers = Vec::with_capacity(jobs.len());
        let mut written: Vec<&Job> = Vec::with_capacity(jobs.len());
        let mut tables = tables::Writable::new(&transaction);
        for job in jobs {
            answers.push(batch::carry_out(&mut tables, job)?.map(|(answer, wrote)| {
                if wrote {
                    written.push(job);
                }
                answer
            }));
        }
        drop(tables);
        // What a job found in place was durable already, unless an earlier job of this very batch put it there.
        if written.is_empty() {
            transaction.abort()?;
            return Ok(answers);
        }
        let ledger = Ledger { applied: self.ledger.applied + 1, open: self.log.is_some(), ..self.ledger };
        tables::put_ledger(&transaction, &ledger)?;
        // INVARIANT: the log is synced before anybody can read the batch, in the database, or hears of it.
        if self.append(ledger.applied, &written)? {
            transaction.set_durability(Durability::None)?;
            transaction.commit()?;
        } else {
            // With the list of free pages, so that opening after a crash need not walk the file.
            transaction.set_quick_repair(self.log.is_some());
            transaction.commit()?;
            self.log.iter_mut().for_each(Log::rewind);
        }
        self.ledger = ledger;
        Ok(answers)
    }

    /// Whether the batch is in the log. It is not before the database says that it goes by its log.
    fn append(&mut self, number: u64, written: &[&Job]) -> Result<bool, Trouble> {
        let Some(log) = self.log.as_mut().filter(|_| self.ledger.open) else { return Ok(false) };
        let mut writer = Writer::default();
        batch::put(&mut writer, written);
        log.append(number, &writer.0)
    }

    /// The last checkpoint: from here on the database stands alone.
    pub(super) fn close(&mut self, database: &Database) -> Result<(), Trouble> {
        if !self.ledger.open {
            return Ok(());
        }
        let mut transaction = database.begin_write()?;
        let ledger = Ledger { open: false, ..self.ledger };
        tables::put_ledger(&transaction, &ledger)?;
        transaction.set_quick_repair(true);
        transaction.commit()?;
        self.ledger = ledger;
        Ok(())
    }
}
