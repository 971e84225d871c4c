//! Hostile and broken plugins: each gets its own fault, within its limit, and the next call works.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use wfhost::limits::{CALLS_AT_ONCE_MAX, DOCUMENT_BYTES_MAX, PluginLimits};
use wfhost::plugin::contract::Call;
use wfhost::plugin::{CallFault, LoadFault, Plugin, Runtime, RuntimeOptions};
use wfhost::session::Fault;
use wfhost_tests::lab::{Lab, PROBE, load};

/// What is asked for, and what must come of it.
fn fault_of(what: &str, lab: &Lab, session: &str) -> CallFault {
    let began = Instant::now();
    let args = json!({"do": what, "session": session}).to_string();
    let fault = lab.host.blocking().call(&lab.caller, "probe_do", &args).map(|a| a.output.value).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(20), "{what} took {:?}", began.elapsed());
    match fault {
        Fault::Call(fault) => fault,
        other => panic!("{what}: {other}"),
    }
}

#[test]
fn every_harm_in_a_turn_costs_that_call_only() {
    let lab = Lab::probe(&[("a.probe", "probe a")]).unwrap();
    let session = lab.value("probe_start", &json!({})).unwrap()["session"].as_str().unwrap().to_owned();
    let before = lab.value("probe_look", &json!({"session": session})).unwrap();
    for what in [
        "loop",
        "memory",
        "stack",
        "trap",
        "huge",
        "huge-state",
        "bad-state",
        "bad-reply",
        "bad-entry",
        "twins",
        "ends-asking",
    ] {
        let fault = fault_of(what, &lab, &session);
        let right = match what {
            "loop" => matches!(fault, CallFault::Time { .. } | CallFault::Instructions { .. }),
            "memory" => matches!(fault, CallFault::Memory { .. }),
            "stack" | "trap" => matches!(fault, CallFault::Trap { .. }),
            "huge" => matches!(fault, CallFault::Output { .. }),
            _ => matches!(fault, CallFault::Answer { .. }),
        };
        assert!(right, "{what}: {fault}");
        assert!(fault.to_string().contains("`probe`"), "{fault}");
        if what == "trap" {
            // The author's own function comes first, without what every abort goes through.
            let told = fault.to_string();
            assert!(told.contains("executed, in wfhost_probe::harm::harm < "), "{told}");
        }
        assert_eq!(lab.value("probe_look", &json!({"session": session})).unwrap(), before, "after {what}");
    }
    let after = lab.value("probe_do", &json!({"do": "nothing", "session": session})).unwrap();
    assert_eq!(after["state"]["count"], 2);
    // The journal tells of each of them.
    let steps = lab.host.steps(&lab.caller, session.parse().unwrap()).unwrap();
    assert_eq!(steps.iter().filter(|s| s.line.fault.is_some()).count(), 11);
}

#[test]
fn harm_at_the_first_call_leaves_no_session() {
    let lab = Lab::probe(&[("a.probe", "probe a")]).unwrap();
    for what in ["trap", "bad-state", "twins"] {
        let fault = lab.call("probe_start", &json!({"do": what})).unwrap_err();
        assert!(fault.to_string().contains("`probe`"), "{fault}");
    }
    let query = wfhost::store::Query { limit: 10, ..Default::default() };
    assert!(lab.host.list(&query).unwrap().is_empty());
}

#[test]
fn harm_at_load_leaves_the_other_documents_served() {
    for function in ["recognise", "compile"] {
        for what in ["loop", "memory", "trap"] {
            let bad = format!("probe bad\n{function} {what}");
            let lab = Lab::probe(&[("bad.probe", &bad), ("good.probe", "probe good")]).unwrap();
            let catalogue = lab.host.catalogue();
            assert_eq!(catalogue.offered[0].ids, ["good"], "{function} {what}");
            let told = catalogue.findings().next().unwrap();
            assert!(told.file.ends_with("bad.probe") && told.diagnostic.code == "plugin-fault", "{told:?}");
        }
    }
}

#[test]
fn files_that_are_no_plugins_are_told_apart() {
    let text = |name: &str, bytes: &[u8]| load(name, bytes).map(|p| p.about.name.clone()).unwrap_err();
    assert!(matches!(text("empty", b""), LoadFault::NotAComponent { .. }));
    assert!(matches!(text("picture", b"\x89PNG\r\n\x1a\n...."), LoadFault::NotAComponent { .. }));
    let module = text("module", b"\0asm\x01\0\0\0");
    assert!(module.to_string().contains("core module"), "{module}");
    for cut in [9, 100, PROBE.len() / 2, PROBE.len() - 1] {
        assert!(matches!(text("cut", &PROBE[..cut]), LoadFault::NotAComponent { .. }), "{cut}");
    }
}

#[test]
fn imports_and_missing_functions_are_named() {
    let importing =
        r#"(component (import "wasi:clocks/wall-clock@0.2.6" (instance (export "now" (func (result u64))))))"#;
    let fault = load("importing", &wat::parse_str(importing).unwrap()).map(drop).unwrap_err();
    assert!(matches!(fault, LoadFault::Imports { .. }), "{fault}");
    assert!(fault.to_string().contains("`wasi:clocks/wall-clock@0.2.6`"), "{fault}");
    let other = r#"(component (instance $i) (export "example:other/thing@1.0.0" (instance $i)))"#;
    let fault = load("other", &wat::parse_str(other).unwrap()).map(drop).unwrap_err();
    assert!(fault.to_string().contains("example:other/thing@1.0.0"), "{fault}");
    let empty = r#"(component (instance $i) (export "wfhost:engine/engine@0.2.0" (instance $i)))"#;
    let fault = load("empty", &wat::parse_str(empty).unwrap()).map(drop).unwrap_err();
    assert!(matches!(fault, LoadFault::Shape { .. }), "{fault}");
    assert!(fault.to_string().contains("`describe`") && fault.to_string().contains("`render`"), "{fault}");
}

/// A property of the slow lane, not a figure: short calls end while sixteen endless ones run.
#[test]
fn short_calls_go_on_beside_endless_ones() {
    let lab = Arc::new(Lab::probe(&[("a.probe", "probe a")]).unwrap());
    let session = lab.value("probe_start", &json!({})).unwrap()["session"].as_str().unwrap().to_owned();
    let endless: Vec<_> = (0..16)
        .map(|_| {
            let lab = Arc::clone(&lab);
            std::thread::spawn(move || {
                let session = lab
                    .host
                    .blocking()
                    .call(&wfhost::session::Caller::default(), "probe_start", "{}")
                    .unwrap()
                    .session
                    .unwrap();
                let args = json!({"do": "loop", "session": session.to_string()}).to_string();
                lab.host
                    .blocking()
                    .call(&wfhost::session::Caller::default(), "probe_do", &args)
                    .map(|a| a.output.value)
                    .unwrap_err()
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(200));
    for _ in 0..50 {
        lab.call("probe_do", &json!({"do": "nothing", "session": session})).unwrap();
    }
    assert!(endless.iter().any(|thread| !thread.is_finished()), "the endless calls were over too soon to tell");
    for thread in endless {
        assert!(matches!(thread.join().unwrap(), Fault::Call(CallFault::Time { .. } | CallFault::Instructions { .. })));
    }
}

/// Time and instructions are two limits, and each ends a loop by itself.
/// Twice as many threads as calls may be inside plugins: each waits for its place, and nobody finds none.
#[test]
fn more_callers_than_places_all_get_one() {
    let lab = Lab::probe(&[("a.probe", "probe a")]).unwrap();
    let faults: Vec<String> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..2 * CALLS_AT_ONCE_MAX)
            .map(|_| {
                scope.spawn(|| (0..30).find_map(|_| lab.call("probe_start", &json!({})).err().map(|e| e.to_string())))
            })
            .collect();
        callers.into_iter().filter_map(|caller| caller.join().unwrap()).collect()
    });
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn the_clock_and_the_count_of_instructions_each_stop_a_loop() {
    let stopped = |time_ms: u64, fuel: u64| {
        let mut limits = PluginLimits::default();
        (limits.call.time_ms, limits.call.fuel) = (time_ms, fuel);
        let runtime = Arc::new(Runtime::new(RuntimeOptions { cache: None, limits, policy: None }).unwrap());
        let plugin = Plugin::from_bytes(&runtime, "probe", PROBE.into()).unwrap();
        let args = json!({"route": "route loop"}).to_string();
        plugin.route(&Call { tool: "probe_do".into(), args }, &[]).map(drop).unwrap_err()
    };
    assert!(matches!(stopped(60_000, 10_000_000), CallFault::Instructions { fuel: 10_000_000, .. }));
    assert!(matches!(stopped(100, u64::MAX >> 1), CallFault::Time { limit_ms: 100, .. }));
}

#[test]
fn a_document_that_is_too_large_is_told_and_its_neighbours_are_served() {
    let large = "probe large\n".to_owned() + &" ".repeat(usize::try_from(DOCUMENT_BYTES_MAX).unwrap());
    let lab = Lab::probe(&[("large.probe", &large), ("small.probe", "probe small")]).unwrap();
    let catalogue = lab.host.catalogue();
    assert_eq!(catalogue.offered[0].ids, ["small"]);
    let told = catalogue.findings().next().unwrap();
    assert!(told.file.ends_with("large.probe") && told.diagnostic.message.contains("8388608"), "{told:?}");
}
