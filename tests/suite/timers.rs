//! Timers of a call's own step: near ones are waited for, and their reply is the call's; whoever goes away, or comes between,
//! leaves the session as it would be without.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use wfhost::session::model::SessionId;
use wfhost::session::{Answered, Ask, Driven, Effects, Fault};
use wfhost_tests::client::Client;
use wfhost_tests::lab::Lab;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

/// A caller for whom time passes at once, after something else has happened.
struct Passing<'l> {
    lab: &'l Lab,
    meanwhile: Box<dyn Fn(Duration) -> bool + Sync + 'l>,
    /// Time that was waited, all in all.
    waited: Mutex<Duration>,
    gone: Mutex<Option<oneshot::Sender<()>>>,
    goes: Mutex<Option<oneshot::Receiver<()>>>,
}

impl<'l> Passing<'l> {
    /// `meanwhile` happens before the time has passed; false: the caller then goes away instead.
    fn new(lab: &'l Lab, meanwhile: impl Fn(Duration) -> bool + Sync + 'l) -> Self {
        let (gone, goes) = oneshot::channel();
        Self {
            lab,
            meanwhile: Box::new(meanwhile),
            waited: Mutex::default(),
            gone: Mutex::new(Some(gone)),
            goes: Mutex::new(Some(goes)),
        }
    }

    fn waited(&self) -> u128 {
        self.waited.lock().unwrap().as_millis()
    }
}

impl Effects for Passing<'_> {
    async fn ask(&self, _: &Ask, _: Duration) -> Answered {
        Answered::Cannot
    }
    fn can(&self, _: &Ask) -> bool {
        false
    }
    async fn tell(&self, _: &[String]) {}
    async fn given_up(&self) {
        let goes = self.goes.lock().unwrap().take();
        match goes {
            Some(goes) => goes.await.unwrap_or_default(),
            None => std::future::pending().await,
        }
    }
    async fn pause(&self, time: Duration) {
        *self.waited.lock().unwrap() += time;
        if (self.meanwhile)(time) {
            self.lab.clock.pass(u64::try_from(time.as_millis()).unwrap());
            return;
        }
        self.gone.lock().unwrap().take().map(|gone| gone.send(()));
        std::future::pending().await
    }
}

struct Desk {
    lab: Lab,
    session: String,
}

impl Desk {
    fn new() -> Self {
        let lab = Lab::probe(&[("a.probe", "probe a")]).unwrap();
        let session = lab.value("probe_start", &json!({})).unwrap()["session"].as_str().unwrap().to_owned();
        Self { lab, session }
    }

    fn id(&self) -> SessionId {
        self.session.parse().unwrap()
    }

    fn call(&self, what: &str, n: u64, effects: &Passing<'_>) -> Result<Driven, Fault> {
        let args = json!({"do": what, "n": n, "session": self.session});
        let first = self.lab.host.blocking().call(&self.lab.caller, "probe_do", &args.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.lab.host.drive(&self.lab.caller, first, effects))
    }

    /// What a call came to, if nothing happens meanwhile, and how long it waited.
    fn ends(&self, what: &str, n: u64) -> (String, u128) {
        let effects = Passing::new(&self.lab, |_| true);
        let driven = self.call(what, n, &effects).unwrap();
        (last(&driven), effects.waited())
    }

    fn open(&self) -> Vec<String> {
        let head = self.lab.host.store().head(self.id()).unwrap().unwrap();
        head.requests.into_iter().map(|request| request.id).collect()
    }

    fn whole(&self) {
        assert_eq!(self.lab.host.verify(&self.lab.caller, self.id(), None).unwrap().damages, []);
        let replayed = self.lab.host.replay(&self.lab.caller, self.id(), &Default::default()).unwrap();
        assert!(replayed.difference.is_none(), "{replayed:?}");
    }
}

/// What a reply says that the session saw last.
fn last(driven: &Driven) -> String {
    let value: Value = serde_json::from_str(&driven.advanced.output.value).unwrap();
    value["state"]["seen"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned()
}

#[test]
fn a_near_timer_is_waited_for_and_its_reply_is_the_call_s() {
    let desk = Desk::new();
    assert_eq!(desk.ends("timer", 1_000), ("reply r null".into(), 1_000));
    assert!(desk.open().is_empty());
    let steps = desk.lab.host.steps(&desk.lab.caller, desk.id()).unwrap();
    let fired = &steps.last().unwrap().line;
    assert_eq!(fired.event.as_ref().unwrap().source, "clock");
    assert_eq!(fired.by.as_ref().unwrap().channel, "clock");
    desk.whole();
    // One after the other, as long as all of it is near.
    assert_eq!(desk.ends("two-timers", 500), ("reply r null".into(), 501));
}

#[test]
fn a_far_timer_is_not_waited_for() {
    let desk = Desk::new();
    assert_eq!(desk.ends("timer", 30_001), ("timer".into(), 0));
    assert_eq!(desk.open(), ["r"]);
    desk.lab.clock.pass(30_001);
    assert_eq!(desk.lab.host.sweep().unwrap().0, 1);
    assert!(desk.open().is_empty());
}

#[test]
fn a_question_beside_a_timer_is_told_at_once() {
    let desk = Desk::new();
    assert_eq!(desk.ends("timer-and-question", 10), ("timer-and-question".into(), 0));
    assert_eq!(desk.open(), ["r", "q"]);
}

#[test]
fn a_timer_whose_deadline_comes_first_is_timed_out_however_late_anybody_looks() {
    let desk = Desk::new();
    assert_eq!(desk.ends("timed-timer", 1_000), ("reply r Mishap::TimedOut".into(), 500));
    let args = json!({"do": "timed-timer", "n": 1_000, "session": desk.session});
    desk.lab.call("probe_do", &args).unwrap();
    desk.lab.clock.pass(5_000);
    assert_eq!(desk.lab.host.sweep().unwrap().0, 1);
    let seen = desk.lab.value("probe_look", &json!({"session": desk.session})).unwrap();
    assert_eq!(seen["state"]["seen"].as_array().unwrap().last().unwrap(), "reply r Mishap::TimedOut");
}

#[test]
fn a_caller_who_goes_away_leaves_the_timer_to_the_clock() {
    let desk = Desk::new();
    let effects = Passing::new(&desk.lab, |_| false);
    assert_eq!(last(&desk.call("timer", 1_000, &effects).unwrap()), "timer");
    assert_eq!(desk.open(), ["r"]);
    desk.lab.clock.pass(1_000);
    assert_eq!(desk.lab.host.sweep().unwrap().0, 1);
    assert!(desk.open().is_empty());
    desk.whole();
}

#[test]
fn a_call_that_is_dropped_leaves_the_timer_to_the_clock() {
    let desk = Desk::new();
    let args = json!({"do": "timer", "n": 1_000, "session": desk.session});
    let first = desk.lab.call("probe_do", &args).unwrap();
    let effects = Passing::new(&desk.lab, |_| false);
    {
        let mut driven = Box::pin(desk.lab.host.drive(&desk.lab.caller, first, &effects));
        // It has begun to wait, and is then given up without a word.
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(driven.as_mut().poll(&mut context).is_pending());
    }
    desk.lab.clock.pass(1_000);
    assert_eq!(desk.lab.host.sweep().unwrap().0, 1);
}

#[test]
fn whoever_comes_between_is_served_and_the_call_tells_where_the_session_stands() {
    let desk = Desk::new();
    let between = json!({"do": "between", "session": desk.session});
    let effects = Passing::new(&desk.lab, |_| {
        // Its turn leaves the timer out.
        assert!(!desk.lab.call("probe_do", &between).unwrap().output.is_error);
        true
    });
    let driven = desk.call("timer", 1_000, &effects).unwrap();
    assert!(driven.overtaken);
    assert_eq!(last(&driven), "between");
    desk.whole();
}

#[test]
fn a_look_at_what_is_due_leaves_the_timer_to_the_call_that_waits_for_it() {
    let desk = Desk::new();
    let effects = Passing::new(&desk.lab, |time| {
        desk.lab.clock.pass(u64::try_from(time.as_millis()).unwrap());
        assert_eq!(desk.lab.host.sweep().unwrap().0, 0);
        true
    });
    let driven = desk.call("timer", 1_000, &effects).unwrap();
    assert_eq!((last(&driven), driven.overtaken), ("reply r null".into(), false));
}

#[test]
fn another_process_may_be_faster() {
    let desk = Desk::new();
    let other = desk.lab.another(Default::default()).unwrap();
    let effects = Passing::new(&desk.lab, |time| {
        desk.lab.clock.pass(u64::try_from(time.as_millis()).unwrap());
        assert_eq!(other.sweep().unwrap().0, 1);
        true
    });
    let driven = desk.call("timer", 1_000, &effects).unwrap();
    assert_eq!((last(&driven), driven.overtaken), ("reply r null".into(), true));
    desk.whole();
}

#[test]
fn a_timer_on_which_the_plugin_breaks_is_the_call_s_fault() {
    let desk = Desk::new();
    let effects = Passing::new(&desk.lab, |_| true);
    assert!(matches!(desk.call("bad-timer", 10, &effects), Err(Fault::Call(_))));
    // It is the clock's again, and rests after that.
    assert_eq!(desk.lab.host.sweep().unwrap().1.len(), 1);
    assert_eq!(desk.lab.host.sweep().unwrap().1.len(), 0);
}

const MACHINE: &str = "machine: slow\nentry: rest\nstate: {n: 0}\nactions:\n  rest: {inputs: {seconds: number}, writes: [n], \
                       wait: \"{{ seconds }}\", set: {n: \"{{ n + 1 }}\"}}\ntransitions:\n  - {from: rest, to: rest}\n";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("all")).unwrap();
    std::fs::write(folder.path().join("all/slow.yaml"), MACHINE).unwrap();
    folder
}

fn serve(folder: &TempDir) -> Client {
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    Client::start(command.args(["serve", "all"]), &json!({})).unwrap()
}

fn step(client: &mut Client, arguments: &Value) -> u64 {
    client.ask("tools/call", &json!({"name": "step", "arguments": arguments})).unwrap()
}

fn state(client: &mut Client, session: &Value) -> Value {
    let read = client.tool("read_resource", &json!({"uri": "state", "session": session})).unwrap();
    serde_json::from_str(read["content"][0]["text"].as_str().unwrap()).unwrap()
}

/// A session that waits, as long as nobody lets it go, in a call that goes on.
fn waiting(client: &mut Client, seconds: f64) -> (Value, u64) {
    let first = client.structured("step", &json!({"action": "rest", "inputs": {"seconds": 0}})).unwrap();
    let session = first["session"].clone();
    let call = step(client, &json!({"action": "rest", "inputs": {"seconds": seconds}, "session": session}));
    // Until the step is committed another one would be taken.
    loop {
        let read = client.tool("read_resource", &json!({"uri": "session", "session": session})).unwrap();
        if read["content"][0]["text"].as_str().unwrap().contains("in_progress") {
            return (session, call);
        }
    }
}

#[test]
fn the_program_answers_others_while_a_call_waits() {
    let folder = folder();
    let mut client = serve(&folder);
    let (session, call) = waiting(&mut client, 25.0);
    let refused = client.structured("step", &json!({"action": "rest", "inputs": {"seconds": 0}, "session": session}));
    assert_eq!(refused.unwrap()["in_progress"], "rest");
    // Whoever begins anew closes the timer, and the call that waited is told where the session stands.
    let reset = step_of(&mut client, "reset_session", &json!({"session": session}));
    let mut came = std::collections::BTreeMap::new();
    while came.len() < 2 {
        let message = client.receive(Duration::from_secs(20)).unwrap();
        came.extend(message["id"].as_u64().map(|id| (id, message["result"]["structuredContent"].clone())));
    }
    assert_eq!(came[&reset]["state"], json!({"n": 0}));
    assert_eq!(came[&call]["state"], json!({"n": 0}));
    client.close().unwrap();
    whole(&folder);
}

fn step_of(client: &mut Client, tool: &str, arguments: &Value) -> u64 {
    client.ask("tools/call", &json!({"name": tool, "arguments": arguments})).unwrap()
}

fn whole(folder: &TempDir) {
    for command in ["verify", "replay"] {
        assert!(program_in(Path::new(PROGRAM), folder.path()).args([command, "--json"]).status().unwrap().success());
    }
}

#[test]
fn a_session_whose_host_was_killed_while_a_call_waited_goes_on_with_the_next() {
    let folder = folder();
    let mut client = serve(&folder);
    let (session, _) = waiting(&mut client, 1.5);
    client.kill().unwrap();
    let mut client = serve(&folder);
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while state(&mut client, &session) != json!({"n": 2}) {
        assert!(std::time::Instant::now() < until, "the timer does not fire");
        std::thread::sleep(Duration::from_millis(50));
    }
    client.close().unwrap();
    whole(&folder);
}

#[test]
fn a_client_that_gives_its_call_up_or_leaves_leaves_the_session_waiting() {
    let folder = folder();
    let mut client = serve(&folder);
    let (session, call) = waiting(&mut client, 20.0);
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}}))
        .unwrap();
    assert_eq!(state(&mut client, &session), json!({"n": 1}));
    client.structured("reset_session", &json!({"session": session})).unwrap();
    let (session, _) = waiting(&mut client, 20.0);
    // It ends although a call waits.
    client.close().unwrap();
    let mut client = serve(&folder);
    assert_eq!(state(&mut client, &session), json!({"n": 1}));
    let refused = client.structured("step", &json!({"action": "rest", "inputs": {"seconds": 0}, "session": session}));
    assert_eq!(refused.unwrap()["in_progress"], "rest");
    client.close().unwrap();
    whole(&folder);
}
