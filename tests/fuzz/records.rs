//! What a store finds on its disk: records of every kind, the files themselves, and journal lines of a session.

use std::sync::{Arc, Mutex};

use serde_json::json;
use wfhost::session::model::{Head, Line, SessionId};
use wfhost::session::{Caller, Instead};
use wfhost::store::{self, Expect, Local, Options, fuzzing};
use wfhost_tests::lab::Lab;
use wfhost_tests::twisted::Twisted;

use super::Target;
use super::guests::Maker;

pub(crate) fn targets() -> Vec<Maker> {
    vec![
        ("records".to_owned(), Box::new(records)),
        ("store-files".to_owned(), Box::new(files)),
        ("journal-lines".to_owned(), Box::new(lines)),
    ]
}

/// The first byte says which kind of record the others are read as.
fn records() -> Target {
    let corpus = fuzzing::examples();
    Target {
        name: "records".to_owned(),
        corpus,
        run: Box::new(|input| {
            fuzzing::read(input);
            Ok(())
        }),
    }
}

/// The first byte says which of the two files the others stand for.
fn files() -> Target {
    let folder = tempfile::tempdir().unwrap();
    let (database, log) = (folder.path().join("data/store.redb"), folder.path().join("data/store.log"));
    let whole = {
        let store =
            store::open(&folder.path().join("data"), Options { log_bytes: 64 << 10, ..Options::default() }).unwrap();
        let lab = Lab::with(&[("a.probe", "probe a")], Arc::clone(&store)).unwrap();
        for _ in 0..3 {
            let session = lab.value("probe_start", &json!({})).unwrap()["session"].clone();
            drop(lab.call("probe_do", &json!({"do": "x", "session": session})));
        }
        // As a crash leaves them.
        [std::fs::read(&database).unwrap(), std::fs::read(&log).unwrap()]
    };
    let pages = |which: usize| {
        whole[which].chunks(4096).take(64).enumerate().map(move |(page, bytes)| {
            let front = [u8::try_from(which).unwrap(), u8::try_from(page).unwrap()];
            [front.as_slice(), bytes].concat()
        })
    };
    let corpus = pages(0).chain(pages(1)).collect();
    Target {
        name: "store-files".to_owned(),
        corpus,
        run: Box::new(move |input| {
            let [which, page, bytes @ ..] = input else { return Ok(()) };
            let mut files = whole.clone();
            let file = &mut files[usize::from(*which) % 2];
            let from = (usize::from(*page) * 4096).min(file.len());
            let length = bytes.len().min(file.len() - from);
            file[from..from + length].copy_from_slice(&bytes[..length]);
            open(files)
        }),
    }
}

/// A store of any bytes opens or says why not, and then answers or says why not.
fn open([database, log]: [Vec<u8>; 2]) -> Result<(), String> {
    let backends = (fuzzing::disk(database), Some(fuzzing::disk(log)));
    let Ok(local) = Local::open_with_backends(backends, Expect::Tables, "disk", &Options::default()) else {
        return Ok(());
    };
    fuzzing::look(&local);
    // It is not closed: a page that makes no sense may be met on the way.
    std::mem::forget(local);
    Ok(())
}

/// A journal line that somebody else wrote: the checks say so, and nothing that reads it breaks.
fn lines() -> Target {
    let twist: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
    let inside = Arc::clone(&twist);
    let how = move |_: &mut Head, lines: &mut Vec<Line>| {
        if let Some(bytes) = inside.lock().unwrap().clone() {
            let at = 1 + bytes.len() % (lines.len() - 1);
            lines[at] = bytes.into();
        }
    };
    let store = Arc::new(Twisted::new(store::open_ephemeral().unwrap(), Box::new(how)));
    let lab = Lab::with(&[("a.probe", "probe a")], store.clone()).unwrap();
    let session: SessionId =
        lab.value("probe_start", &json!({})).unwrap()["session"].as_str().unwrap().parse().unwrap();
    for what in ["x", "refuse", "remember", "trap", "y", "back", "z"] {
        drop(lab.call("probe_do", &json!({"do": what, "n": 2, "session": session.to_string()})));
    }
    let corpus = store.lines_as_they_are(session).into_iter().map(|line| line.to_vec()).collect();
    let caller = Caller::operator();
    Target {
        name: "journal-lines".to_owned(),
        corpus,
        run: Box::new(move |input| {
            *twist.lock().unwrap() = Some(input.to_vec());
            let host = &lab.host;
            let same = store.lines_as_they_are(session).iter().any(|line| **line == *input);
            let verdict = host.verify(&caller, session, None);
            let whole = verdict.as_ref().is_ok_and(|verdict| verdict.damages.is_empty());
            drop((host.steps(&caller, session), host.trace_pages(&caller, session), host.show(&caller, session)));
            drop(host.replay(&caller, session, &Instead::default()));
            *twist.lock().unwrap() = None;
            if whole && !same { Err("a line of somebody else's goes unnoticed".to_owned()) } else { Ok(()) }
        }),
    }
}
