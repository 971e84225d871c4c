//! What a turn asked for is carried out, its result becomes the next event, until the session waits for someone who is not
//! here. Nothing is held while anything is waited for.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{Either, select};
use futures::stream::{self, FuturesUnordered};

use super::advance::Advanced;
use super::caller::Caller;
use super::effects::{Answered, Ask, Asked, Effects, Unattended, ask};
use super::fault::Fault;
use super::flights::{Flight, Landed};
use super::host::Host;
use super::line::NoteRow;
use super::outside::Heard;
use super::questions;
use super::timers::{Timers, is_timer};
use super::wire;
use crate::limits::{FORM_TIME, REPLIES_PER_CALL_MAX, ROUNDS_PER_CALL_MAX};
use crate::plugin::contract::{Failure, Mishap, Reply, Source};
use crate::session::model::{OpenRequest, SessionId, Standing};
use crate::waiting::waits;

/// The end of a call: what the caller gets, and what it must be asked with it.
#[derive(Debug)]
pub struct Driven {
    /// What became of it.
    pub advanced: Advanced,
    /// Questions to send with the reply.
    pub asks: Vec<Ask>,
    /// Whether a model was wanted and the client has none to offer.
    pub no_model: bool,
    /// Whether the output is not what the call gave: the session is still being worked on, here and without the caller, or
    /// somebody else has moved it.
    pub goes_on: bool,
    /// Whether somebody else has closed what the call waited for: its output says where the session stands now.
    pub overtaken: bool,
}

/// A session that goes on without a caller: of one who is gone, or who was told to look again later.
#[derive(Debug)]
pub enum Adrift {
    /// What was begun in a call.
    Begun(Box<Begun>),
    /// Requests that a host which is gone has left, or that nobody has begun.
    Left(SessionId),
    /// A session that has ended, and whose end another one waits for.
    Ended(SessionId),
}

impl Adrift {
    /// Requests of a session that this host is to carry out.
    pub(super) fn begun(caller: Caller, session: SessionId, requests: Vec<OpenRequest>) -> Self {
        let waiting = requests.into_iter().map(|r| (session, r)).collect();
        Self::Begun(Box::new(Begun { caller, waiting, flying: FuturesUnordered::new() }))
    }
}

/// What is under way, and what is still to begin.
#[derive(Debug)]
pub struct Begun {
    caller: Caller,
    waiting: VecDeque<(SessionId, OpenRequest)>,
    flying: FuturesUnordered<Flight>,
}

/// What is still to be carried out, and how it went so far.
struct Drive<'h> {
    host: &'h Host,
    caller: Caller,
    advanced: Advanced,
    waiting: VecDeque<(SessionId, OpenRequest)>,
    flying: FuturesUnordered<Flight>,
    keys: Vec<(SessionId, String)>,
    timers: Timers,
    told: (UnboundedSender<Heard>, UnboundedReceiver<Heard>),
    no_model: bool,
    overtaken: bool,
    asked: u32,
    until: Option<Instant>,
}

/// How one request ended.
enum Carried {
    Value(Result<String, Failure>, Source),
    Unanswered(String),
    NotNow,
    Later(Vec<Ask>),
}

/// What came first.
enum Came {
    Landed(Landed),
    Told(Heard),
    Due,
    GivenUp,
    TimeIsUp,
}

impl Host {
    /// Carries out what a turn asked for, and hands back what it gave. When the time of a call is up, the rest goes on
    /// without it.
    pub async fn drive<E: Effects>(&self, caller: &Caller, first: Advanced, effects: &E) -> Result<Driven, Fault> {
        let mut drive = Drive::of(self, caller.clone(), first, effects.patience());
        effects.tell(&drive.advanced.progress).await;
        let opened = drive.advanced.opened.clone();
        drive.wait_for(drive.advanced.session, opened);
        drive.hand_up(effects).await?;
        drive.run(effects).await
    }

    /// Goes on with a session that nobody waits for.
    pub async fn go_on(&self, adrift: Adrift) -> Result<(), Fault> {
        let clock = Caller { channel: "host", ..Caller::default() };
        let nothing = Advanced::only(crate::plugin::contract::Output {
            headline: None,
            value: "null".into(),
            content: None,
            is_error: false,
        });
        match adrift {
            Adrift::Begun(begun) => {
                let begun = *begun;
                let mut drive = Drive::of(self, begun.caller, nothing, None);
                (drive.waiting, drive.flying) = (begun.waiting, begun.flying);
                drive.run(&Unattended).await.map(|_| ())
            }
            Adrift::Left(session) => {
                let opened = self.take_over(&clock, session).await?;
                let owner = self.store.head(session)?.map(|h| h.owner).unwrap_or_default();
                let mut drive = Drive::of(self, Caller { owner, ..clock }, nothing, None);
                drive.wait_for(Some(session), opened);
                drive.run(&Unattended).await.map(|_| ())
            }
            Adrift::Ended(session) => {
                let owner = self.store.head(session)?.map(|h| h.owner).unwrap_or_default();
                let ended = Advanced { session: Some(session), hands_up: true, ..nothing };
                let mut drive = Drive::of(self, Caller { owner, ..clock }, ended, None);
                drive.hand_up(&Unattended).await?;
                drive.run(&Unattended).await.map(|_| ())
            }
        }
    }

    /// Whether a request waits for its answer.
    pub fn still_open(&self, caller: &Caller, session: SessionId, request: &str) -> Result<bool, Fault> {
        let head = self.visible(caller, session)?;
        Ok(head.is_some_and(|h| h.requests.iter().any(|r| r.id == request)))
    }
}

impl<'h> Drive<'h> {
    fn of(host: &'h Host, caller: Caller, advanced: Advanced, patience: Option<Duration>) -> Self {
        Self {
            host,
            caller,
            advanced,
            waiting: VecDeque::new(),
            flying: FuturesUnordered::new(),
            keys: Vec::new(),
            timers: Timers::within(patience),
            told: unbounded(),
            no_model: false,
            overtaken: false,
            asked: 0,
            until: patience.map(|time| Instant::now() + time),
        }
    }

    fn wait_for(&mut self, session: Option<SessionId>, opened: Vec<OpenRequest>) {
        if let Some(session) = session {
            self.waiting.extend(opened.into_iter().map(|request| (session, request)));
        }
    }

    /// Until nothing more can be done without somebody who is not here.
    async fn run<E: Effects>(&mut self, effects: &E) -> Result<Driven, Fault> {
        for _ in 0..REPLIES_PER_CALL_MAX {
            self.launch(effects).await?;
            let question = self.flying.is_empty().then(|| self.waiting.pop_front()).flatten();
            if let Some((session, request)) = question {
                // Nobody listens to the clock while a person is asked.
                self.waiting.extend(self.timers.leave());
                if let Some(asks) = self.put(session, &request, effects).await? {
                    return self.done(asks);
                }
                continue;
            }
            if self.flying.is_empty() && !self.rests()? {
                break;
            }
            match self.hear(effects).await {
                Came::Landed(landed) => self.landed(landed, effects).await?,
                Came::Told(Heard::Part(part)) => effects.tell(&[part]).await,
                Came::Told(Heard::Question(question)) => {
                    questions::put((self.host, &self.caller), question, (effects, self.time_for_a_form())).await?;
                }
                Came::Due => self.timers.ended(self.host),
                Came::GivenUp => return self.give_up(effects).await,
                Came::TimeIsUp if self.flying.is_empty() => break,
                Came::TimeIsUp => return Ok(self.working()),
            }
        }
        self.done(Vec::new())
    }

    /// Whether the session whose reply the caller would get can do nothing before a timer fires that this call waits for.
    fn rests(&mut self) -> Result<bool, Fault> {
        let Some(session) = self.advanced.session.filter(|_| !self.timers.running.is_empty()) else { return Ok(false) };
        let Some(head) = self.host.visible(&self.caller, session)? else { return Ok(false) };
        self.overtaken |= self.timers.are_closed(&head);
        Ok(!self.overtaken && head.requests.iter().all(is_timer))
    }

    fn done(&mut self, asks: Vec<Ask>) -> Result<Driven, Fault> {
        // What is left waits for somebody; it is not for the background.
        self.waiting.clear();
        if let Some(session) = self.advanced.session.filter(|_| self.overtaken) {
            self.advanced.output = self.host.stands_now(&self.caller, session)?;
        }
        let goes_on = self.overtaken || !self.flying.is_empty();
        Ok(Driven { asks, goes_on, overtaken: self.overtaken, ..self.driven() })
    }

    fn driven(&self) -> Driven {
        let (advanced, no_model) = (self.advanced.clone(), self.no_model);
        Driven { advanced, asks: Vec::new(), no_model, goes_on: true, overtaken: false }
    }

    /// Puts a question to the client. Some: it is asked with the reply. The drive ends when nobody answers.
    async fn put<E: Effects>(
        &mut self,
        session: SessionId,
        request: &OpenRequest,
        effects: &E,
    ) -> Result<Option<Vec<Ask>>, Fault> {
        let asked = Instant::now();
        let time = self.time_for_a_form();
        // Nobody is asked who could not answer any more: the question stays open.
        if time.is_zero() || self.asked >= ROUNDS_PER_CALL_MAX {
            return Ok(Some(Vec::new()));
        }
        self.asked += 1;
        match self.carry(session, request, (effects, time)).await {
            Carried::Value(value, source) => {
                let reply = Reply { request: request.id.clone(), value };
                if !self.handed_over(session, (&request.need, &reply, source), effects).await? {
                    return Ok(Some(Vec::new()));
                }
            }
            Carried::Unanswered(how) => {
                let note = unanswered(&request.id, &how, asked.elapsed());
                self.host.note(&self.caller, session, &note).await?;
                return Ok(Some(Vec::new()));
            }
            Carried::NotNow => {}
            Carried::Later(asks) => return Ok(Some(asks)),
        }
        Ok(None)
    }

    /// Begins on all that is the host's own to carry out, and on timers that are near; what is somebody else's stays in the
    /// queue.
    async fn launch<E: Effects>(&mut self, effects: &E) -> Result<(), Fault> {
        let mut others = VecDeque::new();
        while let Some((session, request)) = self.waiting.pop_front() {
            if !matches!(request.standing, Standing::Sent(_)) {
                if !self.timers.wait(self.host, session, &request) {
                    others.push_back((session, request));
                }
                continue;
            }
            if let Some(flight) = self.host.launch(session, &request, &self.told.0)? {
                self.keys.push((session, request.id.clone()));
                self.timers.note(session, &request);
                self.flying.push(flight);
            } else if let Some(next) = self.host.child(&self.caller, session, &request).await? {
                self.moved(next, effects).await?;
            }
        }
        self.waiting = others;
        Ok(())
    }

    fn time_for_a_form(&self) -> Duration {
        let left = self.until.map_or(FORM_TIME, |until| until.saturating_duration_since(Instant::now()));
        FORM_TIME.min(left)
    }

    async fn hear<E: Effects>(&mut self, effects: &E) -> Came {
        let left = self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        let next = self.timers.next(self.host.clock.now());
        let (time, then) = match next {
            Some(next) if next < left => (next, Came::Due),
            Some(_) | None => (left, Came::TimeIsUp),
        };
        let _waiting = waits();
        let (given_up, time_is_up) = (pin!(effects.given_up()), pin!(effects.pause(time)));
        let ends = select(given_up, time_is_up);
        let mut landing = stream::select(&mut self.flying, &mut self.timers.running);
        let news = select(landing.next(), self.told.1.next());
        match select(news, ends).await {
            Either::Left((Either::Left((Some(landed), _)), _)) => Came::Landed(landed),
            Either::Left((Either::Right((Some(heard), _)), _)) => Came::Told(heard),
            Either::Left(_) => Came::TimeIsUp,
            Either::Right((Either::Right(_), _)) => then,
            Either::Right((Either::Left(_), _)) => Came::GivenUp,
        }
    }

    async fn landed<E: Effects>(&mut self, landed: Landed, effects: &E) -> Result<(), Fault> {
        let Landed { session, request, value } = landed;
        let waited_for = self.timers.forget(session, &request);
        if value.is_none() {
            // Because the clock has ended it, or it was closed, or the client gave its call up.
            match self.host.settle(&self.caller, session).await? {
                Some(next) => self.moved(next, effects).await?,
                None if is_timer(&request) => {
                    self.overtaken |= waited_for && self.advanced.session == Some(session);
                }
                None => {}
            }
            if is_timer(&request) || !self.host.still_open(&self.caller, session, &request.id)? {
                return Ok(());
            }
        }
        let source = if value.is_some() { Source::Upstream } else { Source::Host };
        let value = value.unwrap_or_else(|| Err(failure(Mishap::Cancelled, "the client gave its call up")));
        let reply = Reply { request: request.id, value };
        self.handed_over(session, (&request.need, &reply, source), effects).await.map(|_| ())
    }

    /// A session has moved: the caller gets the reply of the last one that did.
    async fn moved<E: Effects>(&mut self, next: Advanced, effects: &E) -> Result<(), Fault> {
        effects.tell(&next.progress).await;
        self.wait_for(next.session, next.opened.clone());
        self.advanced = next;
        self.overtaken = false;
        if let Some(session) = self.advanced.session {
            self.timers.keep(self.host, session)?;
        }
        self.hand_up(effects).await
    }

    /// The client gave its call up: so are the calls that were made for it, and the sessions are told.
    async fn give_up<E: Effects>(&mut self, effects: &E) -> Result<Driven, Fault> {
        self.timers.leave();
        for (session, request) in self.keys.drain(..) {
            self.host.flights.give_up(session, &request);
        }
        while let Some(landed) = self.flying.next().await {
            self.landed(landed, effects).await?;
        }
        self.done(Vec::new())
    }

    /// The time of a call is up: the session goes on, and the caller is told how to look at it.
    fn working(&mut self) -> Driven {
        let session = self.advanced.session.map(|s| s.to_string()).unwrap_or_default();
        let text = format!(
            "Still working: what this call began goes on without it. Ask for the status of session {session} to see how it ends."
        );
        self.advanced.output = crate::plugin::contract::Output {
            headline: None,
            value: serde_json::Value::from(text).to_string(),
            content: None,
            is_error: false,
        };
        self.driven()
    }

    /// Hands a reply to the session. False if it was refused: then nothing more is to be done.
    async fn handed_over<E: Effects>(
        &mut self,
        session: SessionId,
        (asked, reply, source): (&str, &Reply, Source),
        effects: &E,
    ) -> Result<bool, Fault> {
        // Closed meanwhile, by someone else or by the turn before.
        let Some(next) = self.host.reply(&self.caller, (session, asked), reply, source).await? else {
            if matches!(source, Source::Upstream) {
                self.host.note(&self.caller, session, &late(reply)).await?;
            }
            return Ok(true);
        };
        let refused = next.opened.is_empty() && self.host.still_open(&self.caller, session, &reply.request)?;
        // A refused value is told with its reason; a refused failure leaves what the turn before said.
        if reply.value.is_ok() || !refused {
            self.moved(next, effects).await?;
        } else {
            effects.tell(&next.progress).await;
            self.wait_for(next.session, next.opened);
        }
        Ok(!refused)
    }

    /// While the session that moved last has ended and another waits for that: it is told, and moves.
    async fn hand_up<E: Effects>(&mut self, effects: &E) -> Result<(), Fault> {
        while self.advanced.hands_up {
            let Some(child) = self.advanced.session else { break };
            let Some(next) = self.host.hand_up(&self.caller, child).await? else { break };
            effects.tell(&next.progress).await;
            self.wait_for(next.session, next.opened.clone());
            self.advanced = next;
        }
        Ok(())
    }

    async fn carry<E: Effects>(
        &mut self,
        session: SessionId,
        request: &OpenRequest,
        (effects, time): (&E, Duration),
    ) -> Carried {
        let Some(ask) = ask(session, request) else { return Carried::NotNow };
        let by_model = matches!(ask.what, Asked::Completion { .. });
        let source = if by_model { Source::Model } else { Source::Human };
        let answered = {
            let _waiting = waits();
            effects.ask(&ask, time).await
        };
        match answered {
            Answered::Value(value) => Carried::Value(Ok(value), source),
            Answered::Declined => Carried::Value(Err(failure(Mishap::Declined, "the form was declined")), source),
            // Nobody else will give it, so the session must know; a person may still come.
            Answered::Unanswered(how) if by_model => Carried::Value(Err(failure(Mishap::Failed, &how)), source),
            Answered::Unanswered(how) => Carried::Unanswered(how),
            Answered::Cannot if by_model => {
                self.no_model = true;
                let message = "the client offers no model to carry out a `completion` request";
                Carried::Value(Err(failure(Mishap::Unavailable, message)), Source::Host)
            }
            Answered::Cannot => Carried::NotNow,
            Answered::Later => {
                let more = self.waiting.iter().filter_map(|(s, r)| self::ask(*s, r)).filter(|ask| effects.can(ask));
                Carried::Later(std::iter::once(ask).chain(more).collect())
            }
        }
    }
}

impl Drop for Drive<'_> {
    /// Whoever waited is gone, or its time is up; what is under way is not.
    fn drop(&mut self) {
        let left = self.waiting.iter().any(|(_, r)| matches!(r.standing, Standing::Sent(_)));
        if self.flying.is_empty() && !left {
            return;
        }
        let begun = Begun {
            caller: self.caller.clone(),
            waiting: std::mem::take(&mut self.waiting),
            flying: std::mem::take(&mut self.flying),
        };
        self.host.set_adrift(Adrift::Begun(Box::new(begun)));
    }
}

fn failure(kind: Mishap, message: &str) -> Failure {
    Failure { kind, message: message.to_owned(), detail: None }
}

fn unanswered(request: &str, how: &str, waited: Duration) -> NoteRow {
    let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
    NoteRow {
        kind: "unanswered".into(),
        request: Some(request.to_owned()),
        detail: serde_json::json!({"how": how, "waited_ms": waited_ms}),
    }
}

/// An answer to what is not asked any more is kept, and goes no further.
fn late(reply: &Reply) -> NoteRow {
    let value = match &reply.value {
        Ok(value) => {
            serde_json::json!({"bytes": value.len(), "sha256": super::model::Digest::of(value.as_bytes()).to_string()})
        }
        Err(failure) => {
            serde_json::json!({"failure": {"kind": wire::mishap(failure.kind), "message": failure.message}})
        }
    };
    NoteRow { kind: "late".into(), request: Some(reply.request.clone()), detail: value }
}
