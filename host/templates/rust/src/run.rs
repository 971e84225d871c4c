//! One run of a checklist. Every function here is pure: what it needs comes as an argument, what it changes goes back as
//! a turn, and the host keeps it.

use serde_json::{Value, json};

use crate::contract::{
    Audience, Entry, Event, Failure, Input, Journal, Mishap, Need, Output, Question, Refusal, Reply, Request, Session,
    Source, Turn,
};
use crate::{output, refusal};

/// A definition and a state, laid out for one call. The state is a list: what each item is.
struct Standing {
    title: String,
    items: Vec<Item>,
}

struct Item {
    text: String,
    /// Only a person can say that it is done.
    person: bool,
    /// `open`, `done` or `denied`.
    mark: String,
}

impl Standing {
    fn of(code: &[u8], state: &str) -> Self {
        let code: Value = serde_json::from_slice(code).unwrap_or_default();
        let state: Value = serde_json::from_str(state).unwrap_or_default();
        let items = code["items"].as_array().into_iter().flatten().enumerate().map(|(index, item)| Item {
            text: item[0].as_str().unwrap_or_default().to_owned(),
            person: item[1] == true,
            mark: state[index].as_str().unwrap_or("open").to_owned(),
        });
        Self { items: items.collect(), title: code["title"].as_str().unwrap_or_default().to_owned() }
    }

    fn item(&mut self, number: usize) -> Option<&mut Item> {
        self.items.get_mut(number.checked_sub(1)?)
    }

    /// The number of the first item of that mark.
    fn first(&self, mark: &str) -> Option<usize> {
        self.items.iter().position(|item| item.mark == mark).map(|index| index + 1)
    }

    /// What the caller is told.
    fn told(&self, session: &Session) -> Output {
        let open = self.items.iter().enumerate().filter(|(_, item)| item.mark != "done").map(|(index, item)| {
            json!({"item": index + 1, "text": item.text, "by": if item.person { "a person" } else { "you" }})
        });
        let open: Vec<Value> = open.collect();
        let done = self.items.len() - open.len();
        let mut value = json!({
            "run": session.id, "title": self.title, "done": done, "of": self.items.len(), "finished": open.is_empty(),
            "open": open,
        });
        if let Some(number) = self.first("denied") {
            value["denied"] = json!(number);
        }
        output(value)
    }

    /// The session as it now stands: its state, what it waits for, whether it is over, and what the caller is told.
    fn turn(&self, session: &Session, entry: Entry) -> Turn {
        let state: Vec<&str> = self.items.iter().map(|item| item.mark.as_str()).collect();
        let outcome = match (self.first("denied"), self.first("open")) {
            (Some(number), _) => Some(Err(Failure {
                kind: Mishap::Denied,
                message: format!("a person said no to item {number}"),
                detail: None,
            })),
            (None, None) => Some(Ok(json!({"done": state.len()}).to_string())),
            (None, Some(_)) => None,
        };
        let next = if outcome.is_none() { self.first("open") } else { None };
        Turn {
            state: json!(state).to_string(),
            entries: vec![entry],
            remember: Vec::new(),
            window: 0,
            progress: Vec::new(),
            requests: next.and_then(|number| self.request(number)).into_iter().collect(),
            current: next.map(|number| format!("item-{number}")).into_iter().collect(),
            outcome,
            reply: self.told(session),
        }
    }

    /// What the session waits for: that the next item is done, as the agent or a person says.
    fn request(&self, number: usize) -> Option<Request> {
        let item = self.items.get(number - 1)?;
        let question = Question {
            audience: if item.person { Audience::Human } else { Audience::Agent },
            prompt: item.text.clone(),
            schema: json!({"type": "boolean", "title": "done"}).to_string(),
        };
        Some(Request { id: format!("item-{number}"), need: Need::Answer(question), deadline: None })
    }
}

/// Begins a run.
pub fn start(code: &[u8], session: &Session) -> Result<Turn, Refusal> {
    Ok(Standing::of(code, "[]").turn(session, entry(1, "started")))
}

/// Moves a run: the agent checks an item off, or a person says of one whether it is done.
pub fn answer(code: &[u8], session: &Session, state: &str, event: &Event) -> Result<Turn, Refusal> {
    let standing = Standing::of(code, state);
    if standing.first("denied").is_some() || standing.first("open").is_none() {
        return Err(refusal("over", "this run is over".to_owned()));
    }
    match &event.input {
        Input::Call(call) => {
            let args: Value = serde_json::from_str(&call.args).unwrap_or_default();
            let number = args["item"].as_u64().and_then(|number| usize::try_from(number).ok());
            checked(standing, session, number.unwrap_or(0))
        }
        Input::Reply(reply) => said(standing, session, reply),
        Input::Open(_) | Input::Recalled(_) => Err(refusal("not-here", "a run is begun once".to_owned())),
    }
}

fn checked(mut standing: Standing, session: &Session, number: usize) -> Result<Turn, Refusal> {
    let of = standing.items.len();
    let Some(item) = standing.item(number) else {
        return Err(refusal("no-such-item", format!("`item` is a number from 1 to {of}")));
    };
    if item.mark == "done" {
        return Err(refusal("already-done", format!("item {number} is done")));
    }
    if item.person {
        return Err(refusal("for-a-person", format!("only a person can say item {number}")));
    }
    item.mark = "done".to_owned();
    Ok(standing.turn(session, entry(number, "checked")))
}

fn said(mut standing: Standing, session: &Session, reply: &Reply) -> Result<Turn, Refusal> {
    let yes = match &reply.value {
        Ok(value) => value == "true",
        Err(failure) => return Err(refusal("unanswered", format!("nobody said it: {}", failure.message))),
    };
    let number = reply.request.strip_prefix("item-").and_then(|number| number.parse().ok()).unwrap_or(0);
    let Some(item) = standing.item(number) else {
        return Err(refusal("no-such-item", format!("there is no `{}`", reply.request)));
    };
    item.mark = if yes { "done" } else { "denied" }.to_owned();
    Ok(standing.turn(session, entry(number, if yes { "agreed" } else { "denied" })))
}

/// Where a run stands.
pub fn status(code: &[u8], session: &Session, state: &str) -> Output {
    Standing::of(code, state).told(session)
}

/// Who did what, as the host kept it.
pub fn trace(session: &Session, journal: &Journal) -> Output {
    let entries = journal.entries.iter().map(|kept| {
        let who = match kept.source {
            Source::Agent => "agent",
            Source::Human => "person",
            Source::Operator => "operator",
            Source::Host | Source::Upstream | Source::Model | Source::Clock => "host",
        };
        json!({"seq": kept.seq, "at": kept.at, "who": who, "what": kept.entry.kind, "item": kept.entry.node})
    });
    let entries: Vec<Value> = entries.collect();
    output(json!({"run": session.id, "total": journal.total, "entries": entries}))
}

/// One line of the audit trail.
fn entry(item: usize, kind: &str) -> Entry {
    Entry { node: format!("item-{item}"), kind: kind.to_owned(), input: None, branch: None, detail: None }
}
