//! Calls of upstream tools and of other workflows: one, or one for each item of a list, with tries and pauses.

use wfhost_guest::json;
use wfhost_guest::model::{Failure, Mishap, Need, Reply, Request, ToolCall, WorkflowCall};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::Value;
use wfhost_jsonata::Data;

use crate::code::{Call, Callee, Node, Step};
use crate::document::model::Retry;
use crate::results;
use crate::state::{Maybe, Open, Waiting};
use crate::trouble::Trouble;
use crate::walk::Walk;

/// LIMIT: items of a `foreach`.
const ITEMS_MAX: usize = 10_000;
/// LIMIT: a pause before another try, in milliseconds.
const PAUSE_MAX: u64 = 3_600_000;
/// Codes of JSON-RPC that say the request itself is wrong; it would be so again.
const HOPELESS: [i64; 3] = [-32600, -32601, -32602];

/// A call node begins.
pub(crate) fn begin<'c>(walk: &mut Walk<'c>, node: Node<'c>, call: Call<'c>) -> Result<(), Broken> {
    let items = match call.items {
        None => None,
        Some(expr) => {
            let context = walk.context()?;
            match walk.scope.expression(expr, &context).and_then(|items| listed(&items)) {
                Ok(items) => Some(items),
                Err(trouble) => {
                    walk.fail(node, trouble, call.on_error);
                    return Ok(());
                }
            }
        }
    };
    let count = items.as_ref().map_or(1, Vec::len);
    let done = vec![None; count];
    walk.state.waiting = Some(Waiting { since: walk.now, items, done, ..Waiting::default() });
    go_on(walk, node, call)
}

/// What a `foreach` goes through: a list, one value, or nothing.
fn listed(items: &Data) -> Result<Vec<Value>, Trouble> {
    let items = match items.value() {
        Some(Value::List(items)) => items,
        Some(one) => vec![one],
        None => Vec::new(),
    };
    if items.len() > ITEMS_MAX {
        let message = format!("the list has {} items, more than the {ITEMS_MAX} of one `foreach`", items.len());
        return Err(Trouble::new("limit_items", message));
    }
    Ok(items)
}

/// Makes as many calls as may be out at once; a node with none left is done.
fn go_on<'c>(walk: &mut Walk<'c>, node: Node<'c>, call: Call<'c>) -> Result<(), Broken> {
    let args = json::read(call.args).map_err(|_| Broken)?;
    let context = walk.context()?;
    let parallel = usize::try_from(call.parallel).unwrap_or(1);
    loop {
        let Some(waiting) = &mut walk.state.waiting else { return Err(Broken) };
        let item = waiting.begun;
        if waiting.open.len() >= parallel || item >= waiting.done.len() {
            break;
        }
        waiting.begun += 1;
        let value = waiting.items.as_ref().and_then(|items| items.get(item));
        let value = value.map_or_else(Data::nothing, Data::from);
        let made = walk.scope.for_item(&args, &context, (value, item)).and_then(an_object);
        match made {
            Ok(args) => {
                let deadline = call.timeout_ms.map(|ms| walk.now.saturating_add(u64::from(ms)));
                let Some(waiting) = &mut walk.state.waiting else { return Err(Broken) };
                waiting.open.push(Open { item, attempt: 1, args, deadline, due: None });
            }
            Err(trouble) => {
                if !settle(walk, node, call, (item, Err(trouble))) {
                    return Ok(());
                }
            }
        }
    }
    let Some(waiting) = &walk.state.waiting else { return Err(Broken) };
    if waiting.open.is_empty() {
        finish(walk, node, call);
    }
    Ok(())
}

/// The arguments of a call are an object.
fn an_object(args: Value) -> Result<Value, Trouble> {
    if args.as_map().is_some() {
        return Ok(args);
    }
    let kind = wfhost_guest::schema::type_name(&args);
    Err(Trouble::new("arguments", format!("the arguments of a call are an object, and these are of type {kind}")))
}

fn finish<'c>(walk: &mut Walk<'c>, node: Node<'c>, call: Call<'c>) {
    let done = walk.state.waiting.as_mut().map(|waiting| std::mem::take(&mut waiting.done)).unwrap_or_default();
    let outputs = done.into_iter().map(Option::unwrap_or_default);
    let output = match call.items {
        Some(_) => Data::from(&Value::List(outputs.map(Option::unwrap_or_default).collect())),
        None => outputs.flatten().next().as_ref().map_or_else(Data::nothing, Data::from),
    };
    walk.done(node, output, call.next);
}

/// An item came to its end. False: and so did the node.
fn settle<'c>(
    walk: &mut Walk<'c>,
    node: Node<'c>,
    call: Call<'c>,
    (item, end): (usize, Result<Maybe, Trouble>),
) -> bool {
    let output = match end {
        Ok(output) => output,
        Err(trouble) if call.keep_errors => Some(Value::from([("error", trouble.value())])),
        Err(trouble) => {
            let trouble =
                if call.items.is_some() { trouble.with("item", crate::state::whole_of(item)) } else { trouble };
            walk.fail(node, trouble, call.on_error);
            return false;
        }
    };
    if let Some(place) = walk.state.waiting.as_mut().and_then(|waiting| waiting.done.get_mut(item)) {
        *place = Some(output);
    }
    true
}

/// The reply to a request. False: nobody waits for it.
pub(crate) fn replied(walk: &mut Walk<'_>, reply: &Reply) -> Result<bool, Broken> {
    let node = walk.code.node(walk.state.at)?;
    let runs = walk.state.runs;
    let Some(waiting) = &mut walk.state.waiting else { return Ok(false) };
    if waiting.breath {
        let ours = reply.request == breath(runs);
        if ours {
            walk.state.waiting = None;
        }
        return Ok(ours);
    }
    let Step::Call(call) = node.step else { return Err(Broken) };
    let place = waiting.open.iter().position(|open| id(runs, open) == reply.request);
    let Some(open) = place.and_then(|place| waiting.open.get_mut(place)) else { return Ok(false) };
    if open.due.take().is_some() {
        open.deadline = call.timeout_ms.map(|ms| walk.now.saturating_add(u64::from(ms)));
        return Ok(true);
    }
    let end = match &reply.value {
        Ok(text) => results::output(text, matches!(call.callee, Callee::Upstream { .. })),
        Err(failure) => Err(Trouble::of_failure(failure)),
    };
    let item = open.item;
    match end {
        Err(trouble) if open.attempt < call.retry.attempts && may_repeat(&trouble, reply) => {
            let pause = pause(call.retry, open.attempt);
            open.attempt += 1;
            open.due = (pause > 0).then(|| walk.now.saturating_add(pause));
            open.deadline = match open.due {
                Some(_) => None,
                None => call.timeout_ms.map(|ms| walk.now.saturating_add(u64::from(ms))),
            };
        }
        end => {
            waiting.open.retain(|open| open.item != item);
            let end = end.map_err(|trouble| called(trouble, call.callee));
            if settle(walk, node, call, (item, end)) {
                go_on(walk, node, call)?;
            }
        }
    }
    Ok(true)
}

fn called(trouble: Trouble, callee: Callee<'_>) -> Trouble {
    match callee {
        Callee::Upstream { server, tool } => trouble.with("server", server).with("tool", tool),
        Callee::Workflow { interpreter, workflow } => match interpreter {
            Some(interpreter) => trouble.with("interpreter", interpreter).with("workflow", workflow),
            None => trouble.with("workflow", workflow),
        },
    }
}

/// Whether another try could fare better: not after a "no" of somebody, nor where nobody can say what happened.
fn may_repeat(trouble: &Trouble, reply: &Reply) -> bool {
    let hopeless = trouble.more.get("code").and_then(Value::as_i64).is_some_and(|code| HOPELESS.contains(&code));
    !hopeless
        && match &reply.value {
            Ok(_) => true,
            Err(Failure { kind: Mishap::Failed | Mishap::TimedOut | Mishap::Unavailable, .. }) => true,
            Err(Failure { kind: Mishap::Declined | Mishap::Cancelled | Mishap::Denied | Mishap::Lost, .. }) => false,
        }
}

/// How long to wait after that many tries.
fn pause(retry: Retry, attempt: u32) -> u64 {
    let mut pause = u64::from(retry.delay_ms);
    for _ in 1..attempt {
        pause = (pause.saturating_mul(u64::from(retry.backoff_percent)) / 100).min(PAUSE_MAX);
    }
    pause.min(PAUSE_MAX)
}

/// All that a run waits for.
pub(crate) fn requests(walk: &Walk<'_>) -> Result<Vec<Request>, Broken> {
    let Some(waiting) = &walk.state.waiting else { return Ok(Vec::new()) };
    let runs = walk.state.runs;
    if waiting.breath {
        return Ok(vec![Request { id: breath(runs), need: Need::Timer(waiting.since), deadline: None }]);
    }
    let Step::Call(call) = walk.code.node(walk.state.at)?.step else { return Err(Broken) };
    let request = |open: &Open| {
        let args = json::text(&open.args);
        let need = match (open.due, call.callee) {
            (Some(due), _) => Need::Timer(due),
            (None, Callee::Upstream { server, tool }) => {
                Need::Tool(ToolCall { server: Some(server.to_owned()), tool: tool.to_owned(), args })
            }
            (None, Callee::Workflow { interpreter, workflow }) => Need::Workflow(WorkflowCall {
                interpreter: interpreter.map(str::to_owned),
                workflow: workflow.to_owned(),
                args,
            }),
        };
        Request { id: id(runs, open), need, deadline: open.deadline }
    };
    Ok(waiting.open.iter().map(request).collect())
}

/// Unique in a session: the node run, the item, the try, and whether it is the pause before it.
fn id(runs: u32, open: &Open) -> String {
    let word = if open.due.is_some() { "pause" } else { "call" };
    format!("{word}-{runs}.{}.{}", open.item, open.attempt)
}

fn breath(runs: u32) -> String {
    format!("breath-{runs}")
}
