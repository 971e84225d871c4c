//! Clients at the other end of a wire. What is parsed of a reply is as little as will do: the step that it names.

use std::cell::RefCell;
use std::process::Stdio;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use super::figures;

/// How long clients run before anything is measured.
const WARM: Duration = Duration::from_millis(700);

type Times = Rc<RefCell<Vec<f64>>>;

/// Calls of one client: the first begins a session, the others answer its steps.
struct Calls {
    session: Option<String>,
    step: u64,
    echo: bool,
}

impl Calls {
    fn next(&self) -> (&'static str, Value) {
        match (&self.session, self.echo) {
            (_, true) => (
                "echo",
                json!({"session_id": "ses_00000000000000000000000000000000", "step": self.step, "value": "on"}),
            ),
            (None, false) => ("tree_start", json!({"tree_id": "ring9"})),
            (Some(session), false) => ("tree_answer", json!({"session_id": session, "step": self.step, "value": "on"})),
        }
    }

    fn note(&mut self, body: &str) -> Result<()> {
        if self.echo {
            ensure!(body.contains("\"value\":\"on\""), "unexpected: {body}");
            self.step += 1;
            return Ok(());
        }
        if self.session.is_none() {
            let value: Value = serde_json::from_str(body)?;
            let session = value["result"]["structuredContent"]["session_id"].as_str();
            self.session = Some(session.with_context(|| format!("no session: {body}"))?.to_owned());
        }
        // The reply's own number, wherever it stands: the text and the structure say the same.
        let step = body.split("\"step\":").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
        let step: u64 = step.and_then(|digits| digits.parse().ok()).with_context(|| format!("no step: {body}"))?;
        ensure!(step == self.step, "step {step} after {}: {body}", self.step - 1);
        Ok(())
    }
}

fn local<F: Future<Output = Result<Value>>>(work: F) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, work)
}

/// Clients with a connection each.
pub(super) fn http(address: &str, clients: usize, time: Duration, what: &str) -> Result<Value> {
    let echo = what == "echo";
    local(async move {
        let times = Times::default();
        let began = Instant::now();
        let tasks: Vec<_> = (0..clients)
            .map(|_| {
                let (times, address) = (Rc::clone(&times), address.to_owned());
                tokio::task::spawn_local(async move { client(&address, echo, (began, time), &times).await })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
        let measured = began + WARM;
        let mut shown = figures(times.take(), measured);
        shown["clients"] = json!(clients);
        shown["over"] = json!(format!("http {what}"));
        Ok(shown)
    })
}

async fn client(address: &str, echo: bool, (began, time): (Instant, Duration), times: &Times) -> Result<()> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let mut calls = Calls { session: None, step: 1, echo };
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"}});
    let mut id = 0;
    while began.elapsed() < WARM + time {
        id += 1;
        let (tool, arguments) = calls.next();
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments, "_meta": meta}})
        .to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
             Mcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let asked = Instant::now();
        write.write_all(request.as_bytes()).await?;
        let body = reply(&mut read).await?;
        let took = asked.elapsed();
        if calls.session.is_some() {
            calls.step += 1;
        }
        calls.note(&body)?;
        if asked > began + WARM {
            times.borrow_mut().push(took.as_secs_f64());
        }
    }
    Ok(())
}

async fn reply(read: &mut BufReader<tokio::net::tcp::OwnedReadHalf>) -> Result<String> {
    let (mut line, mut length, mut status) = (String::new(), 0usize, String::new());
    loop {
        line.clear();
        ensure!(read.read_line(&mut line).await? > 0, "the server closed the connection");
        if status.is_empty() {
            line.clone_into(&mut status);
        }
        if line == "\r\n" {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    read.read_exact(&mut body).await?;
    let body = String::from_utf8(body)?;
    ensure!(status.contains(" 200 "), "{status} {body}");
    Ok(body)
}

/// Sessions over one process's standard input and output.
pub(super) fn stdio(clients: usize, time: Duration, command: &[&str]) -> Result<Value> {
    let [program, arguments @ ..] = command else { bail!("no command") };
    local(async move {
        let mut child = tokio::process::Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let mut stdin = child.stdin.take().context("no input")?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
        let spoken = format!("{hello}\n{}\n", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        stdin.write_all(spoken.as_bytes()).await?;
        lines.next_line().await?;
        let mut all: Vec<Calls> = (0..clients).map(|_| Calls { session: None, step: 1, echo: false }).collect();
        let mut asked = vec![Instant::now(); clients];
        for (number, calls) in all.iter().enumerate() {
            stdin.write_all(message(number, calls).as_bytes()).await?;
        }
        let (began, mut times) = (Instant::now(), Vec::new());
        while began.elapsed() < WARM + time {
            let line = lines.next_line().await?.context("the server ended")?;
            let head = line.get(..60).unwrap_or(&line);
            let number = head.split("\"id\":").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
            let Some(number) = number.and_then(|digits| digits.parse::<usize>().ok()) else { continue };
            if asked[number] > began + WARM {
                times.push(asked[number].elapsed().as_secs_f64());
            }
            if all[number].session.is_some() {
                all[number].step += 1;
            }
            all[number].note(&line)?;
            asked[number] = Instant::now();
            stdin.write_all(message(number, &all[number]).as_bytes()).await?;
        }
        let mut shown = figures(times, began + WARM);
        shown["clients"] = json!(clients);
        shown["over"] = json!("stdio");
        Ok(shown)
    })
}

fn message(number: usize, calls: &Calls) -> String {
    let (tool, arguments) = calls.next();
    let params = json!({"name": tool, "arguments": arguments});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}))
}
