//! Reads: where a session stands, what happened in it, which there are. Nothing here takes a lock or writes.

use super::advance::{Advanced, Incoming, Routed, absent, record};
use super::caller::Caller;
use super::fault::Fault;
use super::host::{Host, Pinned};
use super::keeping::{listed_outcome, told_dropped};
use super::turn::Draft;
use super::wire;
use crate::limits::PAGE_ENTRIES_MAX;
use crate::plugin::contract::{self, Input, Source};
use crate::session::model::{Head, SessionId, Standing};
use crate::store::{Listed, Query};

/// Entries that a listing names at most.
const RUNS_MAX: u32 = 1_000;

/// A session and the plugin's word on it.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Where it stands.
    pub head: Head,
    /// The plugin's status of it.
    pub status: contract::Output,
}

/// A view that is asked for as a resource or a prompt.
#[derive(Debug, Clone)]
pub struct Viewed<'v> {
    /// Whose it is.
    pub interpreter: &'v str,
    /// Of which workflow.
    pub workflow: &'v str,
    /// Of which session; the caller's own if none, or a start that is thrown away.
    pub session: Option<String>,
    /// Its name.
    pub view: &'v str,
    /// Its parameters, JSON text.
    pub args: &'v contract::Json,
}

/// A session that can be read: one that is there, or a start that is thrown away.
enum Readable {
    There(Box<Head>, Pinned),
    Absent(contract::Output),
}

/// What nobody knows the result of, in the host's words: the plugin cannot know.
fn doubt(head: &Head) -> Option<String> {
    let doubtful = head.requests.iter().filter(|r| matches!(r.standing, Standing::Doubtful(_)));
    let named: Vec<String> = doubtful.filter_map(|r| wire::upstream(&r.need)).collect();
    (!named.is_empty()).then(|| {
        format!(
            "In doubt: {} had been sent when the host ended, and nobody knows whether it was carried out. It is not sent again by \
             itself. The operator decides: `wfhost sessions answer {} --again`, `--lost`, or with its result.",
            named.join(", "),
            head.session
        )
    })
}

impl Host {
    pub(super) fn look_up(&self, routed: &Routed<'_>, query: Option<&contract::RunQuery>) -> Result<Advanced, Fault> {
        let plugin = &routed.offered.plugin;
        let runs = match query {
            None => Vec::new(),
            Some(query) => {
                let query = Query {
                    owner: Some(routed.caller.owner.clone()),
                    interpreter: Some(plugin.about.name.clone()),
                    workflow: query.workflow.clone(),
                    unfinished: query.unfinished,
                    after: None,
                    limit: usize::try_from(query.limit.min(RUNS_MAX)).unwrap_or_default(),
                };
                self.store.list(&query)?.into_iter().map(run).collect()
            }
        };
        Ok(Advanced::only(plugin.catalogue(routed.call, &routed.offered.workflows, &runs)?))
    }

    pub(super) fn status(&self, routed: &Routed<'_>, target: &contract::Target) -> Result<Advanced, Fault> {
        let (head, pinned) = match self.readable(routed, target)? {
            Readable::There(head, pinned) => (head, pinned),
            Readable::Absent(output) => return Ok(Advanced::only(output)),
        };
        Ok(Advanced::about(head.session, self.stands(&head, &pinned)?))
    }

    /// Where a session stands, in the plugin's words and, where it cannot know, in the host's.
    fn stands(&self, head: &Head, pinned: &Pinned) -> Result<contract::Output, Fault> {
        let mut output = pinned.plugin.status(&pinned.definition.code, &record(head), &head.state)?;
        for told in [doubt(head), told_dropped(head)].into_iter().flatten() {
            output.headline = Some(output.headline.map_or(told.clone(), |headline| format!("{told}\n{headline}")));
        }
        Ok(output)
    }

    /// The same for the caller of a session that somebody else has moved meanwhile.
    pub(super) fn stands_now(&self, caller: &Caller, session: SessionId) -> Result<contract::Output, Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        self.stands(&head, &self.pinned(&head)?)
    }

    pub(super) fn trace(&self, routed: &Routed<'_>, page: &contract::Page) -> Result<Advanced, Fault> {
        let (head, pinned) = match self.readable(routed, &page.target)? {
            Readable::There(head, pinned) => (head, pinned),
            Readable::Absent(output) => return Ok(Advanced::only(output)),
        };
        let journal = self.page(&head, page.after, page.limit)?;
        let output = pinned.plugin.trace(&pinned.definition.code, &record(&head), &head.state, &journal)?;
        Ok(Advanced::about(head.session, output))
    }

    pub(super) fn render(&self, routed: &Routed<'_>, view: &contract::ViewCall) -> Result<Advanced, Fault> {
        let (head, pinned) = match self.readable(routed, &view.target)? {
            Readable::There(head, pinned) => (head, pinned),
            Readable::Absent(output) => return Ok(Advanced::only(output)),
        };
        let output = match self.view(&head, &pinned, (&view.name, &view.args))? {
            Ok(text) => contract::Output {
                headline: None,
                value: serde_json::Value::from(text).to_string(),
                content: None,
                is_error: false,
            },
            Err(refusal) => refusal.reply,
        };
        Ok(Advanced::about(head.session, output))
    }

    /// The text of a view, for a client that reads it as a resource or a prompt.
    pub fn view_of(&self, caller: &Caller, viewed: Viewed<'_>) -> Result<Result<String, contract::Output>, Fault> {
        let catalogue = self.catalogue();
        let unknown = || Fault::UnknownSession(viewed.session.clone().unwrap_or_default());
        let offered = catalogue.of(viewed.interpreter).ok_or_else(unknown)?;
        let call = contract::Call { tool: String::new(), args: viewed.args.clone() };
        let routed = Routed { caller, offered, call: &call };
        let workflow = Some(viewed.workflow.to_owned());
        let target = contract::Target { session: viewed.session.clone(), workflow, absent: None };
        let (head, pinned) = match self.readable(&routed, &target)? {
            Readable::There(head, pinned) => (head, pinned),
            Readable::Absent(output) => return Ok(Err(output)),
        };
        if head.workflow != viewed.workflow || head.interpreter != viewed.interpreter {
            return Err(unknown());
        }
        Ok(self.view(&head, &pinned, (viewed.view, viewed.args))?.map_err(|refusal| refusal.reply))
    }

    fn view(
        &self,
        head: &Head,
        pinned: &Pinned,
        (name, args): (&str, &str),
    ) -> Result<Result<String, contract::Refusal>, Fault> {
        let declared = pinned.definition.views.iter().find(|v| v.name == name);
        let journal = match declared {
            Some(view) if view.journal => self.page(head, None, PAGE_ENTRIES_MAX)?,
            Some(_) | None => contract::Journal { total: head.entries, entries: Vec::new() },
        };
        let state = (head.state.as_str(), &journal);
        Ok(pinned.plugin.render(&pinned.definition.code, &record(head), state, (name, args))?)
    }

    /// A session for a reader, by its id: head and status.
    pub fn show(&self, caller: &Caller, session: SessionId) -> Result<Shown, Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        let pinned = self.pinned(&head)?;
        let status = pinned.plugin.status(&pinned.definition.code, &record(&head), &head.state)?;
        Ok(Shown { head, status })
    }

    /// A session's trace in its dialect's own shape, from an entry on.
    pub fn trace_of(&self, caller: &Caller, session: SessionId, after: Option<u32>) -> Result<contract::Output, Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        let pinned = self.pinned(&head)?;
        let journal = self.page(&head, after, PAGE_ENTRIES_MAX)?;
        Ok(pinned.plugin.trace(&pinned.definition.code, &record(&head), &head.state, &journal)?)
    }

    /// A session's trace in its dialect's own shape, page by page from the first entry on.
    pub fn trace_pages(&self, caller: &Caller, session: SessionId) -> Result<Vec<contract::Output>, Fault> {
        let head = self.visible(caller, session)?.ok_or_else(|| Fault::UnknownSession(session.to_string()))?;
        let pinned = self.pinned(&head)?;
        let (mut pages, mut after) = (Vec::new(), 0);
        loop {
            let journal = self.page(&head, Some(after), PAGE_ENTRIES_MAX)?;
            pages.push(pinned.plugin.trace(&pinned.definition.code, &record(&head), &head.state, &journal)?);
            match journal.entries.last() {
                Some(last) if last.seq < head.entries => after = last.seq,
                Some(_) | None => return Ok(pages),
            }
        }
    }

    /// Sessions, newest first.
    pub fn list(&self, query: &Query) -> Result<Vec<Listed>, Fault> {
        Ok(self.store.list(query)?)
    }

    fn readable(&self, routed: &Routed<'_>, target: &contract::Target) -> Result<Readable, Fault> {
        let session = match self.named(routed, target) {
            Ok(session) => session,
            Err(output) => return Ok(Readable::Absent(output)),
        };
        if let Some(session) = session {
            let named = session.to_string();
            return Ok(match self.of_dialect(routed, session)? {
                Some(head) => {
                    let pinned = self.pinned(&head)?;
                    Readable::There(Box::new(head), pinned)
                }
                None => Readable::Absent(absent(target, &named)),
            });
        }
        let Some(workflow) = &target.workflow else { return Ok(Readable::Absent(absent(target, ""))) };
        let (pinned, mut head) = self.fresh(routed.caller, routed.offered, workflow)?;
        // What is shown of it is true when it begins.
        if let Some(own) = &routed.caller.own {
            (head.session, head.started) = own.promise(&head.interpreter, workflow, (head.session, head.started));
        }
        let mut draft = Draft::of(head);
        let open = Incoming { input: Input::Open("{}".into()), source: Source::Agent };
        Ok(match self.begin(routed.caller, &pinned, &mut draft, open)? {
            Ok(_) => Readable::There(Box::new(draft.head), pinned),
            Err(refused) => Readable::Absent(refused),
        })
    }
}

/// A listed session in the contract's form.
fn run(listed: Listed) -> contract::Run {
    match listed {
        Listed::Head(head) => contract::Run {
            session: record(&head),
            workflow: head.workflow.clone(),
            changed: head.changed,
            entries: head.entries,
            current: head.current.clone(),
            outcome: listed_outcome(&head),
            unreadable: None,
        },
        Listed::Unreadable(session, why) => contract::Run {
            session: contract::Session {
                id: session.to_string(),
                started: 0,
                definition_hash: String::new(),
                human_only: false,
            },
            workflow: String::new(),
            changed: 0,
            entries: 0,
            current: Vec::new(),
            outcome: None,
            unreadable: Some(why),
        },
    }
}
