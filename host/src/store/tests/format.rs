//! The stored bytes stay what they are: one golden file for each kind of record, written as hexadecimal lines.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::*;
use crate::store::format as records;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/store").join(name)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for row in bytes.chunks(16) {
        let digits: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
        let shown: String = row.iter().map(|b| if b.is_ascii_graphic() { char::from(*b) } else { '.' }).collect();
        writeln!(text, "{:47}  {shown}", digits.join(" ")).unwrap();
    }
    text
}

fn check(name: &str, record: &[u8]) {
    let path = golden(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, hex(record)).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(wanted, hex(record), "{name}: stored records of version {} changed", records::VERSION);
}

fn full_head() -> Head {
    let mut head = next(&head(id(0x0123_4567_89ab_cdef), 1_700_000_000_000), &["one"]).head;
    head.requests[0].standing = Standing::Sent(Sent { at: 1_700_000_000_500, by: 7, nonce: 9 });
    head.parent = Some(Parent { session: id(3), request: "r1".into(), depth: 1, told: false });
    head
}

#[test]
fn records_are_as_they_were() {
    check("session.hex", &records::row(&full_head(), Some(1_700_000_001_000)));
    check("session-failed.hex", &records::row(&finished(&full_head()).head, None));
    let mut done = full_head();
    done.outcome = Some(Ok("{\"restarted\":true}".to_owned()));
    check("session-done.hex", &records::row(&done, None));
    let fork = Head { fork: Some(fork()), seal: Some(seal()), ..full_head() };
    check("session-forked.hex", &records::row(&fork, None));
    check("pruned.hex", &crate::store::provenance::pruned(&pruned(id(7))));
    check("line.hex", &records::wrap(b"{\"seq\":1,\"kind\":\"call\"}"));
    check("memory.hex", &records::wrap("the disk was full".as_bytes()));
    check("content.hex", &records::blob(b"a definition"));
    let label = records::Label { owner: "ops", interpreter: "trees", workflow: "restart-database" };
    check("label.hex", &records::label(label));
}

#[test]
fn a_row_is_read_back_and_its_front_agrees() {
    for head in [full_head(), finished(&full_head()).head] {
        for due in [None, Some(0), Some(u64::MAX)] {
            let record = records::row(&head, due);
            let row = records::read_row(&record, head.session).unwrap();
            let stub = records::read_stub(&record, head.session).unwrap();
            assert_eq!((&row.head, row.due), (&head, due));
            assert_eq!((stub.due, stub.lines, stub.chain), (due, head.lines, head.chain));
            assert_eq!((stub.memories, stub.started), (head.memories, head.started));
            assert_eq!(stub.finished, head.outcome.is_some());
        }
    }
}

#[test]
fn no_changed_byte_goes_unnoticed() {
    let head = full_head();
    let record = records::row(&head, Some(5));
    for at in 0..record.len() {
        let mut changed = record.clone();
        changed[at] ^= 0x40;
        assert!(records::read_row(&changed, head.session).is_err(), "byte {at}");
        assert!(records::read_row(&record[..at], head.session).is_err(), "cut at {at}");
    }
    assert!(records::read_row(&record, id(1)).is_err());
}

#[test]
fn a_row_of_version_1_is_still_read() {
    let text = std::fs::read_to_string(golden("session-of-version-1.hex")).unwrap();
    let digits = text.lines().flat_map(|line| line.split("  ").next().unwrap_or_default().split_whitespace());
    let record: Vec<u8> = digits.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    let wanted = full_head();
    let read = records::read_row(&record, wanted.session).unwrap().head;
    assert_eq!(read.requests[0].standing, Standing::Refused(1_700_000_000_500));
    assert_eq!((&read.state, &read.outcome, read.parent), (&wanted.state, &wanted.outcome, None));
    assert_eq!(read.current, wanted.current);
}
