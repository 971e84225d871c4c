//! Questions that an upstream server has in the midst of a call: put to the person behind the call, and written down with what
//! came of them before the server hears it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::caller::Caller;
use super::effects::{Answered, Ask, Asked, Effects};
use super::fault::Fault;
use super::host::Host;
use super::line::NoteRow;
use super::outside::Question;
use crate::waiting::waits;

/// Puts a question, and waits at most so long for its answer. The note is of the kind `asked`.
pub(super) async fn put<E: Effects>(
    (host, caller): (&Host, &Caller),
    question: Question,
    (effects, time): (&E, Duration),
) -> Result<(), Fault> {
    let Question { session, request, prompt, schema, answer } = question;
    let began = Instant::now();
    let what = Asked::Form { prompt: prompt.clone(), schema };
    let waiting = waits();
    let answered = match effects.ask(&Ask { session, request: request.clone(), what }, time).await {
        // The server waits within its call; what is asked with a reply would come after it.
        Answered::Later => Answered::Cannot,
        answered @ (Answered::Value(_) | Answered::Declined | Answered::Unanswered(_) | Answered::Cannot) => answered,
    };
    drop(waiting);
    let waited_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (how, more) = words(&answered);
    let members = [("prompt", json!(prompt)), ("waited_ms", json!(waited_ms)), ("how", json!(how))];
    let detail: Value = members.into_iter().chain(more).map(|(key, value)| (key.to_owned(), value)).collect();
    host.note(caller, session, &NoteRow { kind: "asked".into(), request: Some(request), detail }).await?;
    // The call may have ended meanwhile.
    let _ = answer.send(answered);
    Ok(())
}

fn words(answered: &Answered) -> (&'static str, Option<(&'static str, Value)>) {
    match answered {
        Answered::Value(value) => ("answered", Some(("value", serde_json::from_str(value).unwrap_or_default()))),
        Answered::Declined => ("declined", None),
        Answered::Unanswered(why) => ("unanswered", Some(("why", why.as_str().into()))),
        Answered::Cannot | Answered::Later => {
            ("declined", Some(("why", "nobody can be asked in the midst of this call".into())))
        }
    }
}
