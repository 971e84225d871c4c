//! What a bad plugin does. Each of these must cost one call and nothing else.

use wfhost_guest::model::{Audience, Need, Question, Request, Turn};

/// Harm at load: the text names the function, then what to do in it, such as `compile loop`.
pub(crate) fn at_load(function: &str, text: &str) {
    for line in text.lines() {
        if let Some(what) = line.strip_prefix(function) {
            harm(what.trim());
        }
    }
}

/// Harm in a turn.
pub(crate) fn in_turn(what: &str, turn: &mut Turn) {
    harm(what);
    if what.starts_with("reply trap") {
        harm("trap");
    }
    match what {
        "bad-state" => turn.state = "{not json".into(),
        "bad-reply" => turn.reply.value = "}".into(),
        "bad-entry" => turn.entries.iter_mut().for_each(|e| e.input = Some("[".into())),
        "huge" => turn.reply.value = long(17 << 20),
        "huge-state" => turn.state = long(5 << 20),
        "twins" => turn.requests = vec![question(), question()],
        "ends-asking" => {
            turn.requests = vec![question()];
            turn.outcome = Some(Ok("null".into()));
        }
        _ => {}
    }
}

fn harm(what: &str) {
    match what {
        "loop" => endless(),
        "memory" => bomb(),
        "stack" => {
            deep(1);
        }
        "trap" => trap(),
        _ => {}
    }
}

#[expect(clippy::empty_loop, reason = "this is the harm")]
fn endless() {
    loop {}
}

fn bomb() {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        kept.push(vec![1; 1 << 20]);
        std::hint::black_box(&kept);
    }
}

#[expect(unconditional_recursion, reason = "this is the harm")]
fn deep(n: u64) -> u64 {
    std::hint::black_box(deep(n + 1)) + n
}

#[expect(clippy::panic, reason = "this is the harm")]
fn trap() {
    panic!("told to trap");
}

fn question() -> Request {
    let question = Question { audience: Audience::Agent, prompt: "?".into(), schema: "{}".into() };
    Request { id: "r".into(), need: Need::Answer(question), deadline: None }
}

/// A JSON text of so many bytes, made without a second copy of it.
fn long(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 2);
    text.push('"');
    text.extend(std::iter::repeat_n('x', bytes));
    text.push('"');
    text
}
