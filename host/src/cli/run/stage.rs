//! Where a run shows itself while it goes on: new journal lines as they are written, a stop after each entry if that is
//! wanted, and the questions that it has for a person.

use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::shown;
use crate::cli::sessions::{choices, wants_text};
use crate::cli::{outline, print};
use crate::session::model::SessionId;
use crate::session::{Answered, Ask, Asked, Caller, Effects, Host, history};

/// The terminal of one run.
pub(super) struct Stage {
    host: Arc<Host>,
    session: Option<SessionId>,
    step: AtomicBool,
    shows: bool,
    lines: Mutex<usize>,
}

impl Stage {
    /// A stage for this session. `step`: it stops after each entry; `shows`: the history goes to standard output.
    pub(super) fn new(host: Arc<Host>, session: Option<SessionId>, (step, shows): (bool, bool)) -> Self {
        Self { host, session, step: AtomicBool::new(step), shows, lines: Mutex::new(0) }
    }

    /// Shows what was written since the last time.
    pub(super) fn show_news(&self) {
        let Some(session) = self.session else { return };
        let mut seen = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = history(&self.host.steps(&Caller::operator(), session).unwrap_or_default());
        for line in lines.iter().skip(*seen) {
            for part in shown::parts(line) {
                self.show(&part);
            }
        }
        *seen = lines.len();
    }

    fn show(&self, part: &shown::Part) {
        if self.shows {
            print::line(&part.text);
        }
        if part.stops && self.step.load(Ordering::Relaxed) {
            if !self.shows {
                print::aside(&part.text);
            }
            print::aside("-- Enter goes on, `c` and Enter to the end");
            match line() {
                Some(word) if word.trim() != "c" => {}
                Some(_) | None => self.step.store(false, Ordering::Relaxed),
            }
        }
    }
}

impl Effects for Stage {
    async fn ask(&self, ask: &Ask, time: Duration) -> Answered {
        let Asked::Form { prompt, schema } = &ask.what else { return Answered::Cannot };
        print::aside(format_args!("{}{}", print::plain(prompt), choices(schema)));
        print::aside("-- your answer (an empty line leaves the question open):");
        let said = tokio::time::timeout(time, tokio::task::spawn_blocking(line)).await;
        match said {
            Ok(Ok(Some(said))) if !said.is_empty() => Answered::Value(answer(schema, &said).to_string()),
            Ok(Ok(Some(_))) => Answered::Unanswered("an empty line".into()),
            Ok(Ok(None) | Err(_)) => Answered::Cannot,
            Err(_) => Answered::Unanswered("nothing came in time".into()),
        }
    }

    fn can(&self, ask: &Ask) -> bool {
        matches!(ask.what, Asked::Form { .. })
    }

    async fn tell(&self, parts: &[String]) {
        self.show_news();
        for part in parts {
            let part: Value = serde_json::from_str(part).unwrap_or_else(|_| part.clone().into());
            print::aside(format_args!("... {}", outline::inline(&part)));
        }
    }

    async fn given_up(&self) {
        std::future::pending::<()>().await;
    }

    async fn pause(&self, _time: Duration) {
        std::future::pending::<()>().await;
    }

    /// Whoever started the run waits for its end, or ends it.
    fn patience(&self) -> Option<Duration> {
        None
    }
}

/// What was said, in the form that the question wants.
fn answer(schema: &str, said: &str) -> Value {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    match serde_json::from_str(said) {
        Ok(value) if !wants_text(&schema, said) => value,
        Ok(_) | Err(_) => said.into(),
    }
}

/// A line of standard input without its end; none when there is no more.
fn line() -> Option<String> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
    }
}
