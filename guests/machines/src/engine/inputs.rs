//! What an action is called with: the document's own rules first, then the schemas. A refusal says every place that does
//! not fit.

use wfhost_guest::schema::{self, Problem};
use wfhost_guest::value::{Map, Value};

use super::perform::{Body, No, Stop, error, text};
use crate::expr::Inputs;

/// Checks what was sent and puts it into the scope.
pub(super) fn check(body: &mut Body<'_>, sent: &Map, schemas: &Map) -> Result<(), Stop> {
    if let Some(name) = sent.keys().find(|name| name.starts_with("__")) {
        let message = format!("the input `{name}` begins with two underscores, which no input may");
        return Err(error("ValueError", message));
    }
    body.scope.inputs = Some(taken(sent.clone(), schemas));
    require(body)?;
    if let Some(rules) = body.body.get("normalise").and_then(Value::as_map) {
        let normalised = body.engine.map(rules, &body.scope);
        let normalised = normalised.map_err(|failed| {
            refused(format!("the inputs cannot be brought into form: {}", failed.0), Value::Map(Map::default()))
        })?;
        body.scope.inputs = Some(taken(normalised, schemas));
    }
    fit(body, schemas)
}

fn taken(sent: Map, schemas: &Map) -> Inputs {
    let declared: Vec<String> = schemas.keys().map(str::to_owned).collect();
    let one = |(name, schema): (&str, &Value)| {
        let value = sent.get(name).or_else(|| schema.get("default"))?.clone();
        Some((name.to_owned(), value))
    };
    let taken = schemas.iter().filter_map(one).collect();
    Inputs { sent, taken, declared }
}

fn refused(reason: String, details: Value) -> Stop {
    Stop::Refused(No::Inputs { reason, details })
}

/// The first rule that does not hold; one that cannot be evaluated does not.
fn require(body: &Body<'_>) -> Result<(), Stop> {
    for rule in body.rules("require") {
        if body.holds(rule, "that").unwrap_or(false) {
            continue;
        }
        let told = |key: &str| body.value(rule, key).unwrap_or_default();
        let reason =
            told("reason").map_or_else(|| "a requirement of the action is not met".to_owned(), |reason| text(&reason));
        return Err(refused(reason, told("details").unwrap_or_else(|| Value::Map(Map::default()))));
    }
    Ok(())
}

/// Every input against its schema; members that are missing get their defaults first.
fn fit(body: &mut Body<'_>, schemas: &Map) -> Result<(), Stop> {
    let Some(inputs) = &mut body.scope.inputs else { return Ok(()) };
    let mut bad: Vec<(String, Vec<Problem>, String)> = Vec::new();
    for (name, schema) in schemas.iter() {
        let title = schema.get("title").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(value) = inputs.taken.get(name) else {
            let missing = Problem { path: Vec::new(), keyword: "required", message: "is missing".to_owned() };
            bad.push((name.to_owned(), vec![missing], title));
            continue;
        };
        // A default that the schema itself would refuse, such as null, is the author's word.
        if schema.get("default").is_some_and(|default| schema::equal(default, value)) {
            continue;
        }
        let full = schema::with_defaults(value.clone(), schema);
        let problems = schema::problems(&full, schema);
        if problems.is_empty() {
            inputs.taken.set(name, full);
        } else {
            bad.push((name.to_owned(), problems, title));
        }
    }
    let Some(((name, problems, title), rest)) = bad.split_first() else { return Ok(()) };
    let said = |name: &str, problem: &Problem| {
        let place = std::iter::once(name).chain(problem.path.iter().map(String::as_str)).collect::<Vec<_>>().join(".");
        format!("{place} {}", problem.message)
    };
    let all = bad.iter().flat_map(|(name, problems, _)| problems.iter().map(move |problem| said(name, problem)));
    let reason = format!("input {}", all.collect::<Vec<_>>().join("; "));
    let mut details = vec![("param", Value::from(name.as_str()))];
    if !title.is_empty() {
        details.push(("model", title.as_str().into()));
    }
    details.push(("errors", errors(problems)));
    if !rest.is_empty() {
        let also = rest
            .iter()
            .map(|(name, problems, _)| Value::from([("param", name.as_str().into()), ("errors", errors(problems))]));
        details.push(("also", Value::List(also.collect())));
    }
    let details: Map = details.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Err(refused(reason, details.into()))
}

fn errors(problems: &[Problem]) -> Value {
    let one = |problem: &Problem| {
        let kind = if problem.keyword == "required" { "missing" } else { problem.keyword };
        Value::from([
            ("type", kind.into()),
            ("loc", problem.path.clone().into()),
            ("msg", problem.message.as_str().into()),
        ])
    };
    Value::List(problems.iter().map(one).collect())
}
