//! The processes of the simulation: three hosts on one data folder, each killed and started again at any time.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// How many processes there are.
pub(crate) const WORKERS: usize = 3;
/// How long a reply may take: a store is taken over within two seconds, on a busy machine within some more.
const PATIENCE: Duration = Duration::from_secs(40);

/// A question that leads to itself: every accepted answer is a step. `stop` ends it.
const DOCUMENT: &str = r#"mcptree: "0.2"
id: walk
title: A walk
max_steps: 100000
entry: again
nodes:
  again: { type: ask, prompt: "Which word?", capture: word, next: more }
  more:
    type: condition
    on: word
    branches: [ { when: { eq: "stop" }, then: end } ]
    default: again
  end: { type: terminal, outcome: stopped, summary: Stopped. }
"#;

/// The processes, and where they work.
pub(crate) struct Crew {
    folder: TempDir,
    plant: String,
    workers: Vec<Mutex<Arc<Worker>>>,
    killed: AtomicUsize,
}

/// Those who wait for an answer, by its number; none once there will be no more.
type Waiting = Arc<Mutex<Option<HashMap<u64, Sender<Value>>>>>;

struct Worker {
    child: Mutex<Child>,
    stdin: Mutex<ChildStdin>,
    waiting: Waiting,
    next: AtomicU64,
}

impl Crew {
    pub(crate) fn hire(plant: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("documents")).unwrap();
        std::fs::write(folder.path().join("documents/walk.yaml"), DOCUMENT).unwrap();
        let mut crew = Self { folder, plant: plant.to_owned(), workers: Vec::new(), killed: AtomicUsize::new(0) };
        for _ in 0..WORKERS {
            crew.workers.push(Mutex::new(Arc::new(crew.start())));
        }
        crew
    }

    fn start(&self) -> Worker {
        let cache: PathBuf = std::env::current_exe().unwrap().parent().unwrap().join("tests-cache-lab");
        let mut command = Command::new(env!("CARGO_BIN_EXE_sim-worker"));
        command.arg(self.folder.path().join("data")).arg(self.folder.path().join("documents")).arg(cache);
        command.arg(&self.plant).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.next();
        assert!(matches!(&ready, Some(Ok(line)) if line.contains("ready")), "a worker does not start: {ready:?}");
        let waiting: Waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let inside = Arc::clone(&waiting);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                // A line may be cut by the kill.
                let Ok(mut reply) = serde_json::from_str::<Value>(&line) else { break };
                let sender = inside.lock().unwrap().as_mut().and_then(|all| all.remove(&reply["id"].as_u64()?));
                sender.map(|sender| sender.send(reply["answer"].take()));
            }
            // Whoever waits learns that nothing comes.
            inside.lock().unwrap().take();
        });
        let stdin = Mutex::new(child.stdin.take().unwrap());
        Worker { child: Mutex::new(child), stdin, waiting, next: AtomicU64::new(1) }
    }

    /// Kills a process and starts another in its place.
    pub(crate) fn kill(&self, which: u64) {
        let slot = &self.workers[usize::try_from(which).unwrap() % WORKERS];
        {
            let worker = Arc::clone(&slot.lock().unwrap());
            worker.end();
        }
        self.killed.fetch_add(1, Ordering::Relaxed);
        let next = Arc::new(self.start());
        *slot.lock().unwrap() = next;
    }

    pub(crate) fn kills(&self) -> usize {
        self.killed.load(Ordering::Relaxed)
    }

    /// Gives an order and waits for what comes of it; none if the process ended before it said.
    pub(crate) fn order(&self, which: u64, order: &Value) -> Option<Value> {
        let worker = Arc::clone(&self.workers[usize::try_from(which).unwrap() % WORKERS].lock().unwrap());
        let id = worker.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = channel();
        worker.waiting.lock().unwrap().as_mut()?.insert(id, sender);
        let mut order = order.clone();
        order["id"] = json!(id);
        {
            let mut stdin = worker.stdin.lock().unwrap();
            stdin.write_all(format!("{order}\n").as_bytes()).and_then(|()| stdin.flush()).ok()?;
        }
        match answer.recv_timeout(PATIENCE) {
            Ok(answer) => Some(answer),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("no answer within {PATIENCE:?}: {order}"),
        }
    }
}

impl Worker {
    fn end(&self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}
