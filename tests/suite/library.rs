//! The host as a library: mounted into another application, as the example does it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::PROGRAM;

#[test]
fn the_router_mounts_into_another_application() {
    let example = Path::new(PROGRAM).parent().unwrap().join("examples/mount");
    if !example.is_file() {
        println!("left out: {} is built by `cargo test --workspace` only", example.display());
        return;
    }
    let trees = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("trees");
    let mut child = Command::new(example).arg(trees).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let get = |path: &str, host: &str| {
        let mut stream = TcpStream::connect(address.trim()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    };
    assert!(get("/", "anything.example").contains("an application of my own"));
    assert!(get("/health", "localhost").contains("ok"));
    assert!(get("/health", "evil.example").starts_with("HTTP/1.1 403"));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
