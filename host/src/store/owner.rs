//! The process that holds the database: it serves the others on the socket, a thread for each connection, so that a
//! client that hangs holds up nobody else. It gives the database up before it gives up the lock.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::limits::{CLIENT_SILENCE_MAX, CLIENT_STACK_BYTES, CLIENTS_MAX};
use super::local::Local;
use super::protocol::{self, Call};
use super::queue::lock;
use super::{Fault, Options, directory, socket};

/// The pause after a connection could not be taken, for want of handles as a rule.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// The owner's side.
#[derive(Debug)]
pub(super) struct Owner {
    house: Arc<House>,
    directory: PathBuf,
    porter: Option<JoinHandle<()>>,
    clerk: Option<JoinHandle<()>>,
}

/// What the serving threads share. INVARIANT: `local` stands before `_lock`, so the database is closed while the lock is
/// still held.
#[derive(Debug)]
struct House {
    local: Local,
    guests: Mutex<Guests>,
    closing: AtomicBool,
    _lock: File,
}

#[derive(Debug, Default)]
struct Guests {
    newest: u64,
    present: BTreeMap<u64, Guest>,
}

#[derive(Debug)]
struct Guest {
    stream: Arc<UnixStream>,
    thread: JoinHandle<()>,
}

impl Owner {
    /// Opens the database and serves it. `lock` is held already.
    pub(super) fn start(directory: &Path, mut lock: File, options: &Options) -> Result<Self, Fault> {
        // For the messages of others only; nothing is decided by it.
        let _ = sign(&mut lock);
        // Others may knock while the database is still being checked: they wait in the queue, and need not poll.
        let listener = socket::listen(directory);
        let local = Local::open(&directory::database(directory), options)?;
        let (guests, closing) = (Mutex::new(Guests::default()), AtomicBool::new(false));
        let house = Arc::new(House { local, guests, closing, _lock: lock });
        let porter = listener.and_then(|listener| {
            let house = Arc::clone(&house);
            thread::Builder::new().name("store-porter".to_owned()).spawn(move || receive(&listener, &house))
        });
        if let Err(error) = &porter {
            let shown = directory.display();
            (options.notice)(&format!("the store in `{shown}` cannot be shared with other processes: {error}"));
        }
        let clerk = clerk(&house);
        Ok(Self { house, directory: directory.to_owned(), porter: porter.ok(), clerk })
    }

    pub(super) fn local(&self) -> &Local {
        &self.house.local
    }
}

/// The thread that commits for those who await it. Without one they commit themselves.
fn clerk(house: &Arc<House>) -> Option<JoinHandle<()>> {
    let inside = Arc::clone(house);
    let clerk = thread::Builder::new().name("store-clerk".to_owned()).spawn(move || inside.local.serve()).ok()?;
    house.local.expect_clerk();
    Some(clerk)
}

/// Writes the process id into the lock file.
fn sign(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.house.closing.store(true, Ordering::SeqCst);
        if let Some(porter) = self.porter.take() {
            // It waits for a connection, so it gets one.
            let woken = socket::connect(&self.directory, CLIENT_SILENCE_MAX).is_ok();
            if woken {
                let _ = porter.join();
            }
            let _ = std::fs::remove_file(socket::path(&self.directory));
        }
        self.house.local.hush();
        self.house.local.dismiss_clerk();
        if let Some(clerk) = self.clerk.take() {
            let _ = clerk.join();
        }
        let leaving = std::mem::take(&mut lock(&self.house.guests).present);
        for guest in leaving.values() {
            let _ = guest.stream.shutdown(std::net::Shutdown::Both);
        }
        for guest in leaving.into_values() {
            let _ = guest.thread.join();
        }
    }
}

/// Takes connections until the house closes.
fn receive(listener: &UnixListener, house: &Arc<House>) {
    loop {
        let taken = listener.accept();
        if house.closing.load(Ordering::SeqCst) {
            return;
        }
        match taken {
            Ok((stream, _)) if socket::is_ours(&stream) => admit(house, stream),
            Ok(_) => {}
            Err(_) => thread::sleep(ACCEPT_PAUSE),
        }
    }
}

/// Gives a connection its thread. One that gets none is closed, and its process tries again.
fn admit(house: &Arc<House>, stream: UnixStream) {
    let mut guests = lock(&house.guests);
    if guests.present.len() >= CLIENTS_MAX {
        return;
    }
    guests.newest += 1;
    let number = guests.newest;
    let stream = Arc::new(stream);
    let (served, inside) = (Arc::clone(&stream), Arc::clone(house));
    let builder = thread::Builder::new().name("store-client".to_owned()).stack_size(CLIENT_STACK_BYTES);
    let thread = builder.spawn(move || {
        // However it ended, the client sees a closed connection and knows what to do.
        let _ = serve(&inside, &served);
        lock(&inside.guests).present.remove(&number);
    });
    if let Ok(thread) = thread {
        guests.present.insert(number, Guest { stream, thread });
    }
}

fn serve(house: &House, stream: &UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(CLIENT_SILENCE_MAX))?;
    stream.set_write_timeout(Some(CLIENT_SILENCE_MAX))?;
    let greeting = protocol::receive(stream)?;
    protocol::send(stream, &protocol::greeting())?;
    if protocol::read_greeting(&greeting).is_err() {
        return Ok(());
    }
    while let Some(first) = first_byte(stream)? {
        let body = protocol::receive_rest(first, stream)?;
        let call = Call::read(&body).map_err(|_| io::ErrorKind::InvalidData)?;
        protocol::send(stream, &protocol::outcome_bytes(&call.run(&house.local)))?;
    }
    Ok(())
}

/// The first byte of the next frame. Between two calls a client may be silent as long as it likes.
fn first_byte(mut stream: &UnixStream) -> io::Result<Option<u8>> {
    let mut first = [0];
    loop {
        match stream.read(&mut first) {
            Ok(0) => return Ok(None),
            Ok(_) => {
                let [first] = first;
                return Ok(Some(first));
            }
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
