//! What an action asks of others. What was answered is taken, what was not is asked; the action goes on when all of it is
//! there.

use wfhost_guest::json;
use wfhost_guest::model::{Audience, Mishap, Need, Question, Request, ToolCall, WorkflowCall};
use wfhost_guest::value::{Map, Value};

use super::classify;
use super::perform::{Body, No, Place, Run, Stop, engine, error, text};
use super::state::Failed;
use super::submachine;
use crate::document::duration;

/// All effects of an action, in order. One that joins waits until those before it are through.
pub(super) fn effects(run: &mut Run<'_, '_>, body: &mut Body<'_>) -> Result<(), Stop> {
    let Some(effects) = body.body.get("effects").and_then(Value::as_list) else { return Ok(()) };
    let (mut waits, mut latest) = (false, body.place.now);
    for (index, effect) in effects.iter().enumerate() {
        if effect.get("join").is_some() {
            if waits {
                return Err(Stop::Waits);
            }
            if latest > body.place.now {
                body.place.now = latest;
                body.waves += 1;
                body.engine = engine(run, &body.place, body.waves);
            }
        }
        let mut place = Place { path: format!("{}{index}", body.place.path), ..body.place.clone() };
        let brought = if effect.get("when").is_none() || body.holds(effect, "when")? {
            one(run, body, effect, &mut place)
        } else {
            Ok(Value::Null)
        };
        match brought {
            Ok(value) => {
                latest = latest.max(place.now);
                if let Some(into) = effect.get("into").and_then(Value::as_str) {
                    body.scope.locals.set(into, value);
                }
            }
            Err(Stop::Waits) => waits = true,
            Err(stop) => return Err(stop),
        }
    }
    if waits {
        return Err(Stop::Waits);
    }
    if latest > body.place.now {
        body.place.now = latest;
        body.waves += 1;
        body.engine = engine(run, &body.place, body.waves);
    }
    Ok(())
}

fn one(run: &mut Run<'_, '_>, body: &Body<'_>, effect: &Value, place: &mut Place) -> Result<Value, Stop> {
    match effect.get("kind").and_then(Value::as_str) {
        Some("wait") => wait(run, body, effect, place),
        Some("ask") => ask(run, body, effect, place),
        Some("ask_model") => ask_model(run, body, effect, place),
        Some("run") => runs(run, body, effect, place),
        Some("call") => call(run, body, effect, place),
        _ => Err(Stop::Broken),
    }
}

/// What came of a request, or that it is still to be waited for. `own` is a time of the request's own.
fn reply(
    run: &mut Run<'_, '_>,
    need: Need,
    place: &mut Place,
    own: Option<u32>,
) -> Result<Result<Value, Failed>, Stop> {
    let id = format!("{}{}", run.prefix, place.path);
    let limit = own.map(|millis| place.now.saturating_add(u64::from(millis)));
    let earlier = place.deadline.filter(|deadline| limit.is_none_or(|limit| deadline.at <= limit));
    match run.replies.get(&id) {
        Some(came) => {
            place.now = place.now.max(came.at);
            match (&came.value, earlier) {
                (Err(Failed { kind: Mishap::TimedOut, .. }), Some(deadline)) => {
                    Err(Stop::Refused(No::Timeout(deadline)))
                }
                (value, _) => Ok(value.clone()),
            }
        }
        None => {
            let deadline = earlier.map(|deadline| deadline.at).or(limit);
            run.requests.push(Request { id, need, deadline });
            Err(Stop::Waits)
        }
    }
}

fn time(body: &Body<'_>, effect: &Value, key: &str) -> Result<Option<u32>, Stop> {
    match body.value(effect, key)? {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match duration(&value) {
            Some(millis) => Ok(Some(millis)),
            None => Err(error("ExpressionError", format!("`{key}` gives {}, which is no time", json::text(&value)))),
        },
    }
}

fn wait(run: &mut Run<'_, '_>, body: &Body<'_>, effect: &Value, place: &mut Place) -> Result<Value, Stop> {
    let millis = time(body, effect, "seconds")?.unwrap_or(0);
    if millis == 0 {
        return Ok(Value::Null);
    }
    let until = place.now.saturating_add(u64::from(millis));
    match reply(run, Need::Timer(until), place, None)? {
        Ok(_) => Ok(Value::Null),
        Err(failed) => Err(error("WaitError", failed.message)),
    }
}

fn ask(run: &mut Run<'_, '_>, body: &Body<'_>, effect: &Value, place: &mut Place) -> Result<Value, Stop> {
    let prompt = body.value(effect, "message")?.map(|message| text(&message)).unwrap_or_default();
    let schema = match (body.value(effect, "choices")?, effect.get("schema")) {
        (Some(choices), _) => {
            let texts = choices.as_list().is_some_and(|items| items.iter().all(|item| item.as_str().is_some()));
            let mut schema = Map::default();
            if texts {
                schema.set("type", "string".into());
            }
            schema.set("enum", choices);
            Value::Map(schema)
        }
        (None, Some(schema)) => schema.clone(),
        (None, None) => Value::from([("type", "string".into())]),
    };
    let question = Question { audience: Audience::Human, prompt, schema: json::text(&schema) };
    let own = time(body, effect, "timeout")?;
    match reply(run, Need::Answer(question), place, own)? {
        Ok(value) => {
            let problems = wfhost_guest::schema::problems(&value, &schema);
            match problems.first() {
                None => Ok(value),
                Some(first) => Err(error("AskError", format!("the answer {}", first.message))),
            }
        }
        Err(Failed { kind: Mishap::Declined, .. }) => Ok(Value::Null),
        Err(failed) => Err(error("AskError", format!("nobody answered: {}", failed.message))),
    }
}

/// LIMIT: tokens of a model's answer, unless the document says another.
const TOKENS: i64 = 1024;

fn ask_model(run: &mut Run<'_, '_>, body: &Body<'_>, effect: &Value, place: &mut Place) -> Result<Value, Stop> {
    let prompt = body.value(effect, "prompt")?.map(|prompt| text(&prompt)).unwrap_or_default();
    let content = Value::from([("type", "text".into()), ("text", prompt.into())]);
    let message = Value::from([("role", "user".into()), ("content", content)]);
    let tokens = body.value(effect, "max_tokens")?.unwrap_or_else(|| TOKENS.into());
    let mut params = vec![("messages", Value::List(vec![message])), ("maxTokens", tokens)];
    if let Some(system) = body.value(effect, "system")? {
        params.push(("systemPrompt", system));
    }
    let params: Map = params.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let own = time(body, effect, "timeout")?;
    match reply(run, Need::Completion(json::text(&params.into())), place, own)? {
        Ok(result) => {
            let content = result.get("content").cloned().unwrap_or_default();
            let blocks = content.as_list().unwrap_or(std::slice::from_ref(&content));
            let texts = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str));
            Ok(texts.collect::<Vec<_>>().join("\n").into())
        }
        Err(failed) => Err(error("ModelError", failed.message)),
    }
}

fn call(run: &mut Run<'_, '_>, body: &Body<'_>, effect: &Value, place: &mut Place) -> Result<Value, Stop> {
    let word = |key: &str| Ok::<_, Stop>(body.value(effect, key)?.map(|value| text(&value)).unwrap_or_default());
    let (server, tool) = (word("server")?, word("tool")?);
    let args = body.value(effect, "arguments")?.unwrap_or_else(|| Value::Map(Map::default()));
    if args.as_map().is_none() {
        return Err(error("ExpressionError", "`arguments` gives no map"));
    }
    let own = time(body, effect, "timeout")?;
    let need = Need::Tool(ToolCall { server: Some(server.clone()), tool: tool.clone(), args: json::text(&args) });
    let answer = match reply(run, need, place, own)? {
        Ok(result) => classify::answer(&result),
        Err(failed) if failed.kind == Mishap::TimedOut => {
            let time = seconds(own.unwrap_or(0));
            classify::Answer::Unavailable(format!("upstream '{server}' tool '{tool}' timed out after {time}s"))
        }
        Err(failed) => classify::Answer::Unavailable(failed.message),
    };
    match effect.get("classify").and_then(Value::as_str) {
        Some(name) => Ok(classify::classified(name, answer, &word("expect")?)),
        None => match answer {
            classify::Answer::Value(value) => Ok(value),
            classify::Answer::Failed(message) | classify::Answer::Unavailable(message) => {
                Err(error("UpstreamError", message))
            }
        },
    }
}

/// Milliseconds as seconds, without a fraction that is zero.
pub(crate) fn seconds(millis: u32) -> String {
    let text = format!("{}", f64::from(millis) / 1000.0);
    if text.contains('.') { text } else { format!("{text}.0") }
}

fn runs(run: &mut Run<'_, '_>, body: &Body<'_>, effect: &Value, place: &mut Place) -> Result<Value, Stop> {
    let Some(name) = effect.get("each").and_then(Value::as_str) else {
        return one_run(run, body, effect, place);
    };
    let source = effect.get("for").and_then(Value::as_str).unwrap_or_default();
    let list = body.engine.evaluate(source, &body.scope)?;
    let Value::List(items) = list else {
        return Err(error("ExpressionError", format!("`{}` gives no list", source.trim())));
    };
    let (mut brought, mut waits, start) = (Vec::new(), false, place.clone());
    for (index, item) in items.into_iter().enumerate() {
        let mut scope = body.scope.clone();
        scope.locals.set(name, item);
        let mut own = Place { path: format!("{}.{index}", start.path), ..start.clone() };
        let inner = Body { body: body.body, engine: engine(run, &own, 0), scope, place: own.clone(), waves: 0 };
        match one_run(run, &inner, effect, &mut own) {
            Ok(value) => {
                place.now = place.now.max(own.now);
                brought.push(value);
            }
            Err(Stop::Waits) => waits = true,
            Err(stop) => return Err(stop),
        }
    }
    if waits { Err(Stop::Waits) } else { Ok(Value::List(brought)) }
}

fn one_run(run: &mut Run<'_, '_>, body: &Body<'_>, effect: &Value, place: &mut Place) -> Result<Value, Stop> {
    let map = |key: &str| match body.value(effect, key)? {
        None | Some(Value::Null) => Ok(Map::default()),
        Some(Value::Map(map)) => Ok(map),
        Some(_) => Err(error("ExpressionError", format!("`{key}` gives no map"))),
    };
    let (with, inputs) = (map("with")?, map("inputs")?);
    let word = |key: &str| effect.get(key).and_then(Value::as_str);
    if let Some(workflow) = word("workflow") {
        let args = if with.is_empty() { inputs } else { with };
        let call = WorkflowCall {
            interpreter: word("interpreter").map(str::to_owned),
            workflow: workflow.to_owned(),
            args: json::text(&args.into()),
        };
        return match reply(run, Need::Workflow(call), place, None)? {
            Ok(value) => Ok(value),
            Err(failed) => Err(error("WorkflowError", format!("{workflow}: {}", failed.message))),
        };
    }
    let name = word("machine").unwrap_or_default();
    let halt = match body.value(effect, "halt")? {
        None | Some(Value::Null) => None,
        Some(Value::List(items)) => Some(items.iter().map(text).collect()),
        Some(one) => Some(vec![text(&one)]),
    };
    let label = body.value(effect, "label")?.map_or_else(|| name.to_owned(), |label| text(&label));
    submachine::run(run, submachine::Order { name, label, with, inputs, halt }, place)
}
