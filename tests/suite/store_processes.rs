//! Several processes on one data directory: all of them work, whoever comes first, and whoever is killed. What was
//! confirmed is there, once.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stderr, reason = "a test")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use wfhost::session::model::SessionId;
use wfhost::store::{self, Fault, Limit, Options, Store};

const ALL: Limit = Limit { lines: usize::MAX, bytes: usize::MAX };
/// How soon a killed owner must have a successor that answers.
const RECOVERY_MAX: Duration = Duration::from_secs(2);

/// A worker; it is killed when the test is over, however that ends.
struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Worker {
    /// Its lines arrive on the channel, with its process id.
    fn start(directory: &Path, arguments: &[&str], lines: &Sender<(u32, String)>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_store-worker"));
        command.arg(directory).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (output, id, lines) = (child.stdout.take().unwrap(), child.id(), lines.clone());
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if lines.send((id, line)).is_err() {
                    return;
                }
            }
        });
        Self { input: child.stdin.take(), child, reader: Some(reader) }
    }

    /// Lets it come to its end, and says whether it ended well.
    fn finish(mut self) -> bool {
        drop(self.input.take());
        let ended = self.child.wait().unwrap().success();
        self.reader.take().unwrap().join().unwrap();
        ended
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn owner(directory: &Path) -> Option<u32> {
    std::fs::read_to_string(directory.join("lock")).ok()?.trim().parse().ok()
}

fn texts(store: &dyn Store, session: SessionId) -> Vec<String> {
    let lines = store.lines(session, 1, ALL).unwrap();
    lines.iter().map(|line| String::from_utf8(line.to_vec()).unwrap()).collect()
}

#[test]
fn three_processes_started_at_once_race_and_each_round_has_one_winner() {
    let folder = tempfile::tempdir().unwrap();
    let session = SessionId::from_bits(1);
    let rounds = 300;
    let (sender, receiver) = channel();
    let names: Vec<String> = (0..3).map(|number| format!("worker-{number}")).collect();
    let workers: Vec<Worker> = names
        .iter()
        .map(|name| {
            let arguments = ["race", &session.to_string(), &rounds.to_string(), name];
            Worker::start(folder.path(), &arguments, &sender)
        })
        .collect();
    let ids: Vec<u32> = workers.iter().map(|worker| worker.child.id()).collect();
    assert!(workers.into_iter().all(Worker::finish));
    drop(sender);
    let mut winners = BTreeMap::new();
    let mut owners = 0;
    for (id, line) in receiver {
        if let Some(number) = line.strip_prefix("accepted ") {
            let name = &names[ids.iter().position(|known| *known == id).unwrap()];
            let doubled = winners.insert(number.parse::<u64>().unwrap(), format!("{number} by {name}"));
            assert_eq!(doubled, None, "two won round {number}");
        }
        owners += usize::from(line == "open owner");
    }
    assert!(owners >= 1);
    let store = store::open(folder.path(), Options::default()).unwrap();
    let found = texts(&*store, session);
    assert_eq!(found.len(), 300);
    assert_eq!(found, winners.into_values().collect::<Vec<_>>());
    assert_eq!(store.memories(session, 0, 999).unwrap().len(), 300);
}

/// What was confirmed, by session.
#[derive(Default)]
struct Acked {
    newest: BTreeMap<String, u64>,
    count: usize,
    slowest: Duration,
}

impl Acked {
    /// Whether the line is a confirmation; anything that must not happen ends the test.
    fn note(&mut self, line: &str) -> bool {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["acked", session, number, took] => {
                let number = number.parse().unwrap();
                let before = self.newest.insert((*session).to_owned(), number);
                assert!(before.is_none_or(|before| before < number), "{session}: {number} after {before:?}");
                self.count += 1;
                self.slowest = self.slowest.max(Duration::from_micros(took.parse().unwrap()));
                true
            }
            ["open" | "notice", ..] => false,
            _ => panic!("{line}"),
        }
    }
}

/// Until a worker other than `gone` confirms `more` lines that it sent after `since`.
fn recovery(lines: &Receiver<(u32, String)>, gone: u32, acked: &mut Acked, since: Instant) -> Duration {
    loop {
        match lines.recv_timeout(RECOVERY_MAX * 2) {
            Ok((id, line)) => {
                if acked.note(&line) && id != gone {
                    return since.elapsed();
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => panic!("nobody took over"),
        }
    }
}

fn drain(lines: &Receiver<(u32, String)>, acked: &mut Acked, time: Duration) {
    let until = Instant::now() + time;
    while let Ok((_, line)) = lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
        acked.note(&line);
    }
}

#[test]
fn a_killed_owner_is_succeeded_and_nothing_confirmed_is_lost_or_doubled() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, receiver) = channel();
    let mut acked = Acked::default();
    let mut workers = BTreeMap::new();
    let start = |first: u32| {
        let worker = Worker::start(folder.path(), &["stream", &first.to_string(), "4"], &sender);
        (worker.child.id(), (first, worker))
    };
    workers.extend([100, 200, 300].map(start));
    let mut times = Vec::new();
    for _ in 0..12 {
        drain(&receiver, &mut acked, Duration::from_millis(150));
        let gone = owner(folder.path()).unwrap();
        let (first, mut worker) = workers.remove(&gone).unwrap();
        worker.child.kill().unwrap();
        worker.child.wait().unwrap();
        let killed = Instant::now();
        // What the others were told before the kill is still on its way to us.
        while let Ok((_, line)) = receiver.try_recv() {
            acked.note(&line);
        }
        times.push(recovery(&receiver, gone, &mut acked, killed));
        drop(worker.input.take());
        drop(worker);
        workers.extend([start(first)]);
    }
    for (_, worker) in workers.into_values() {
        assert!(worker.finish());
    }
    while let Ok((_, line)) = receiver.try_recv() {
        acked.note(&line);
    }
    eprintln!("confirmed {} lines; slowest call {:?}; successors after {times:?}", acked.count, acked.slowest);
    assert!(times.iter().all(|time| *time < RECOVERY_MAX), "{times:?}");
    assert!(acked.slowest < RECOVERY_MAX, "{:?}", acked.slowest);
    let store = store::open(folder.path(), Options::default()).unwrap();
    for (session, newest) in acked.newest {
        let found = texts(&*store, session.parse().unwrap());
        let wanted: Vec<String> = (1..=found.len()).map(|number| format!("line {number}")).collect();
        assert_eq!(found, wanted, "{session}");
        assert!(found.len() as u64 >= newest, "{session}: {} of {newest}", found.len());
    }
}

fn signal(worker: &Worker, name: &str) {
    let sent = Command::new("kill").args([name, &worker.child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_stopped_owner_is_a_fault_in_time_and_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, receiver) = channel();
    let worker = Worker::start(folder.path(), &["stream", "100", "1"], &sender);
    assert_eq!(receiver.recv().unwrap().1, "open owner");
    let patience = Duration::from_millis(400);
    let options = Options { patience, ..Options::default() };
    let follower = store::open(folder.path(), options.clone()).unwrap();
    let before = follower.report().unwrap();
    assert_eq!(before.role, "follower");
    signal(&worker, "-STOP");
    // A stop takes a moment to reach every thread.
    let deadline = Instant::now() + RECOVERY_MAX;
    while follower.report().is_ok() {
        assert!(Instant::now() < deadline, "it was not stopped");
    }
    let begun = Instant::now();
    for fault in [follower.report().unwrap_err(), store::open(folder.path(), options).unwrap_err()] {
        let words = fault.to_string();
        assert!(matches!(fault, Fault::Owner(_)) && words.contains(&worker.child.id().to_string()), "{words}");
    }
    assert!(begun.elapsed() < patience * 5, "{:?}", begun.elapsed());
    signal(&worker, "-CONT");
    assert_eq!(follower.report().unwrap().role, "follower");
    assert!(worker.finish());
    assert_eq!(follower.report().unwrap().role, "owner");
}
