//! One sentence after every step and refusal: what happened, and what may come next. A document may put its own in place.

use std::sync::Arc;

use wfhost_guest::python;
use wfhost_guest::value::Value;

use crate::args::Step;
use crate::engine::perform::No;
use crate::engine::refusals::Refused;
use crate::engine::ways::Way;
use crate::engine::{Now, seconds};
use crate::expr::{Clock, Engine, Scope};
use crate::reply::ending;

/// LIMIT: names in a hint after a step.
const NAMES_MAX: usize = 6;
/// LIMIT: characters of an error's text in a hint.
const TEXT_MAX: usize = 160;

/// After a step.
pub(crate) fn success(now: &Now<'_, '_>, ways: &[Way<'_>], hints: &Value) -> String {
    let ending = ending(now, ways);
    let occasions = match ending {
        Some("terminal") => ["success", "terminal"],
        _ => ["success", "success"],
    };
    if let Some(own) = own(now, hints, &occasions) {
        return own;
    }
    match ending {
        Some("terminal") => "Session is at a terminal state. No further actions are reachable.".to_owned(),
        Some(_) => {
            "Session is stuck: no transition holds in this state. Call reset_session, or fork_at an earlier step."
                .to_owned()
        }
        None => {
            let names: Vec<&str> = ways.iter().take(NAMES_MAX).map(|way| way.action.name).collect();
            let rest = ways.len() - names.len();
            let rest = if rest > 0 { format!(" (+{rest} more)") } else { String::new() };
            format!("Reachable actions from current state: {}{rest}.", names.join(", "))
        }
    }
}

/// After a refusal.
pub(crate) fn refusal(now: &Now<'_, '_>, step: &Step, refused: &Refused, ways: &[Way<'_>], hints: &Value) -> String {
    if let Some(own) = own(now, hints, &[refused.word(), "refusal"]) {
        return own;
    }
    let names: Vec<&str> = ways.iter().map(|way| way.action.name).collect();
    let reach = if names.is_empty() { "(none)".to_owned() } else { names.join(", ") };
    let action = if step.action.is_empty() { "?" } else { step.action.as_str() };
    match refused {
        Refused::Unknown => format!("'{action}' is not an action. Reachable now: {reach}."),
        Refused::Unreachable => {
            format!("Action '{action}' is not reachable from the current state. Reachable now: {reach}.")
        }
        Refused::Busy(busy) => format!("Action '{busy}' is still under way. Wait for it, or call reset_session."),
        Refused::No(No::Inputs { reason, .. }, _) => format!(
            "Action '{action}' failed input validation: {}. Check the action's required inputs, then retry -- or pick a different reachable action: {reach}.",
            cut(reason)
        ),
        Refused::No(No::Error { kind, message }, _) => format!(
            "Action '{action}' raised {kind}: {}. Vary the inputs, or pick a different reachable action: {reach}.",
            cut(message)
        ),
        Refused::No(No::Timeout(deadline), _) => format!(
            "Action '{action}' timed out after {}s without advancing state. Try a narrower-scoped probe, or a different reachable action: {reach}.",
            seconds(deadline.millis)
        ),
    }
}

/// A text, cut at a word.
fn cut(text: &str) -> String {
    if text.chars().count() <= TEXT_MAX {
        return text.to_owned();
    }
    let head: String = text.chars().take(TEXT_MAX).collect();
    let head = head.rsplit_once(char::is_whitespace).map_or(head.as_str(), |(head, _)| head);
    format!("{}...", head.trim_end())
}

/// The author's own hint: the first whose occasion it is and whose condition holds.
fn own(now: &Now<'_, '_>, hints: &Value, occasions: &[&str]) -> Option<String> {
    let hints = hints.as_list().filter(|hints| !hints.is_empty())?;
    let text = hints.iter().filter_map(|hint| hint.get("when").and_then(Value::as_str)).collect::<Vec<_>>().join(" ");
    let said = hints.iter().filter_map(|hint| hint.get("say").and_then(Value::as_str)).collect::<Vec<_>>().join(" ");
    let tables = now.machine.tables(&format!("{text} {said}")).ok()?;
    let scope = Scope { state: Arc::new(now.state.data.clone()), tables: Arc::new(tables), ..Scope::default() };
    let engine = Engine::new(&Clock { at: 0, seed: String::new() });
    let fits = |hint: &&Value| {
        let on = hint.get("on").and_then(Value::as_str);
        let when = match hint.get("when") {
            None | Some(Value::Bool(true)) => true,
            Some(Value::Str(source)) => engine.holds(source, &scope).unwrap_or(false),
            Some(_) => false,
        };
        on.is_none_or(|on| occasions.contains(&on)) && when
    };
    let hint = hints.iter().find(fits)?;
    engine.value(hint.get("say")?, &scope).ok().map(|said| python::str(&said))
}
