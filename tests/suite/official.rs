//! The official conformance suite, three editions of it, against our own fixture over HTTP. What fails must be in
//! `interop/conformance/expected-*.yml`, and what is there must fail.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use wfhost_tests::http::HttpServer;
use wfhost_tests::served::program_in;

use crate::PROGRAM;
use crate::interop::{here, installed, node, tell};

/// Node must be of this version at least.
const NODE_MIN: u32 = 22;

#[test]
fn every_scenario_passes_but_for_those_with_a_reason() {
    let Some(clients) = installed("node") else { return };
    let node = node(&clients);
    let version =
        Command::new(&node).arg("--version").output().ok().map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    let major = version.as_deref().and_then(|v| v.trim_start_matches('v').split('.').next()?.parse::<u32>().ok());
    if major.is_none_or(|major| major < NODE_MIN) {
        tell(&format!("left out: the conformance suite needs Node {NODE_MIN}, there is {version:?}"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let documents = here().join("conformance");
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    command.arg("serve").arg(documents).args(["--ephemeral", "--plugin", env!("WFHOST_FIXTURE_WASM")]);
    let server = HttpServer::start(&mut command).unwrap();
    let url = format!("http://{}/mcp", server.address);
    let mut run = Command::new(here().join("conformance.sh"));
    let output = run.arg(clients).arg(node).arg(url).arg(folder.path().join("reports")).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    tell(told.trim_end());
}
