//! Where the time of a call goes, inside one process: `cargo bench -p wfhost-tests`. Prints microseconds, the median of many.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, reason = "a benchmark")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use wfhost::catalogue::Plugins;
use wfhost::clock::System;
use wfhost::plugin::contract::Call;
use wfhost::plugin::{Runtime, RuntimeOptions};
use wfhost::session::{Caller, Host, HostOptions};
use wfhost::store::{self, Options, Store};

fn median(what: &str, times: usize, mut work: impl FnMut(usize)) {
    for n in 0..times / 10 {
        work(n);
    }
    let mut taken: Vec<f64> = (0..times)
        .map(|n| {
            let began = Instant::now();
            work(n);
            began.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    taken.sort_by(f64::total_cmp);
    println!("{what:46} p50 {:8.1}   p99 {:8.1}", taken[times / 2], taken[times * 99 / 100]);
}

fn host(store: Arc<dyn Store>, cache: &Path) -> Host {
    let documents: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/incident/trees");
    let runtime =
        Arc::new(Runtime::new(RuntimeOptions { cache: Some(cache.to_owned()), ..RuntimeOptions::default() }).unwrap());
    let plugins = Plugins::choose(&runtime, &["trees".into()]).unwrap();
    Host::new(store, Arc::new(System), (plugins, vec![documents]), HostOptions::default()).unwrap()
}

fn calls(name: &str, host: &Host) {
    let caller = Caller { channel: "bench", ..Caller::default() };
    let call = |tool: &str, args: Value| -> Value {
        serde_json::from_str(&host.blocking().call(&caller, tool, &args.to_string()).unwrap().output.value).unwrap()
    };
    median(&format!("{name}: start"), 2_000, |_| drop(call("tree_start", json!({"tree_id": "incident-triage"}))));
    let session = call("tree_start", json!({"tree_id": "incident-triage"}))["session_id"].clone();
    median(&format!("{name}: status"), 2_000, |_| drop(call("tree_status", json!({"session_id": session}))));
    median(&format!("{name}: refused answer"), 2_000, |_| {
        drop(call("tree_answer", json!({"session_id": session, "step": 99, "value": 1})));
    });
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("native");
    let memory = host(store::open_ephemeral().unwrap(), &cache);
    let offered = &memory.catalogue().offered[0];
    let route = Call { tool: "tree_status".into(), args: json!({"session_id": "ses_x"}).to_string() };
    median("plugin: describe-sized call (route)", 5_000, |_| drop(offered.plugin.route(&route, &offered.ids).unwrap()));
    calls("memory", &memory);
    let disk = store::open(&folder.path().join("data"), Options::default()).unwrap();
    calls("disk", &host(disk, &cache));
}
