//! Bytes that were cut or changed: an error or another meaning, never a panic.

use wfhost_guest::model::{Call, Event, Input, Journal, Memory, Session, Source};
use wfhost_guest::{At, Dialect};

use super::flows::{Chance, flow};
use super::{compiled, document};
use crate::Guides;

fn session() -> Session {
    Session { id: "ses_1".to_owned(), started: 0, definition_hash: String::new(), human_only: false }
}

fn event(tool: &str, args: &str) -> Event {
    let call = Call { tool: tool.to_owned(), args: args.to_owned() };
    Event { input: Input::Call(call), source: Source::Agent, at: 0, seed: 0, seq: 1 }
}

/// Everything that can be done with a session.
fn use_all(code: &[u8], state: &str) {
    let session = session();
    let at = At { code, session: &session, state };
    let memory = Memory { total: 0, items: Vec::new() };
    let _ = Guides::start(code, &session, event("guide_start", r#"{"flow_id":"q","values":{"n0":"l0","s0":"x"}}"#));
    for args in [
        r#"{"run_id":"r","choice":"l0"}"#,
        r#"{"run_id":"r","choice":"__unknown__"}"#,
        r#"{"run_id":"r","values":{"s0":"1","n1":"l1"}}"#,
        r#"{"run_id":"r"}"#,
    ] {
        let _ = Guides::answer(at, &memory, event("guide_answer", args));
    }
    let _ = Guides::status(at);
    let _ = Guides::trace(at, &Journal { total: 0, entries: Vec::new() });
}

fn states(code: &[u8]) -> Vec<String> {
    let session = session();
    let start = event("guide_start", r#"{"flow_id":"q","values":{"x":"y"}}"#);
    let turn = Guides::start(code, &session, start).unwrap();
    let at = At { code, session: &session, state: &turn.state };
    let memory = Memory { total: 0, items: Vec::new() };
    let next = Guides::answer(at, &memory, event("guide_answer", r#"{"run_id":"r","choice":"__unknown__"}"#));
    [Some(turn.state.clone()), next.ok().map(|turn| turn.state)].into_iter().flatten().collect()
}

#[test]
fn damaged_code_is_never_a_panic() {
    for seed in 0..5 {
        let mut chance = Chance(seed);
        let code = compiled("q", &flow(&mut chance)).definitions.remove(0).code;
        let states = states(&code);
        for cut in 0..code.len() {
            use_all(&code[..cut], &states[cut % states.len()]);
        }
        for at in 0..code.len() {
            let mut bytes = code.clone();
            bytes[at] = [0, 0xff, bytes[at] ^ 1, bytes[at].wrapping_add(4)][chance.below(4)];
            use_all(&bytes, &states[at % states.len()]);
        }
    }
}

#[test]
fn damaged_states_are_never_a_panic() {
    for seed in 0..20 {
        let mut chance = Chance(seed);
        let code = compiled("q", &flow(&mut chance)).definitions.remove(0).code;
        for state in states(&code) {
            for (cut, _) in state.char_indices() {
                use_all(&code, state.get(..cut).unwrap_or_default());
            }
            for _ in 0..60 {
                let mut bytes = state.clone().into_bytes();
                let at = chance.below(bytes.len());
                bytes[at] = b"\"{}[],:0nlxe"[chance.below(12)];
                use_all(&code, std::str::from_utf8(&bytes).unwrap_or_default());
            }
        }
    }
}

#[test]
fn damaged_documents_are_findings_and_never_a_panic() {
    let look = |bytes: &[u8]| {
        let mut damaged = document("payment_failed", "");
        damaged.bytes = bytes.to_vec();
        let _ = Guides::recognise(&damaged);
        let compiled = Guides::compile(&wfhost_guest::model::Bundle { main: damaged, companions: Vec::new() });
        assert!(!compiled.definitions.is_empty() || !compiled.diagnostics.is_empty(), "refused without a word");
    };
    let text = include_bytes!("../../flows/payment_failed.yaml");
    for cut in (0..text.len()).step_by(7) {
        look(&text[..cut]);
    }
    let mut chance = Chance(7);
    for _ in 0..800 {
        let mut bytes = text.to_vec();
        for _ in 0..=chance.below(3) {
            let at = chance.below(bytes.len());
            bytes[at] = b"\"{}[],:- \n\t&*!|>%@`#'\xff\x00ae0"[chance.below(26)];
        }
        look(&bytes);
    }
}
