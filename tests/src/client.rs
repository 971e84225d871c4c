//! A client that speaks raw JSON-RPC to a server process on its standard input and output, so that what is seen is the
//! server and no SDK.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};

use crate::driver::Asked;

/// How long any reply may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server process and the conversation with it. Dropped, the process is killed.
#[derive(Debug)]
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
    /// What a person at this client says when asked, one after the other.
    pub replies: VecDeque<Value>,
    /// What the person was asked.
    pub elicited: Vec<Asked>,
    /// What `initialize` gave.
    pub initialized: Value,
}

impl Client {
    /// Starts a server and shakes hands.
    pub fn start(command: &mut Command, capabilities: &Value) -> Result<Self> {
        let mut client = Self::spawn(command)?;
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "tests", "version": "1"}});
        client.initialized = client.request("initialize", &params)?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    /// Starts a server and says nothing.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("the server does not start")?;
        let stdout = child.stdout.take().context("no standard output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let (replies, elicited) = (VecDeque::new(), Vec::new());
        Ok(Self { child, stdin, lines, next: 0, replies, elicited, initialized: Value::Null })
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a message as it is.
    pub fn send(&mut self, message: &Value) -> Result<()> {
        self.send_text(&message.to_string())
    }

    /// Sends a line as it is.
    pub fn send_text(&mut self, line: &str) -> Result<()> {
        self.send_bytes(line.as_bytes())
    }

    /// Sends a line of any bytes.
    pub fn send_bytes(&mut self, line: &[u8]) -> Result<()> {
        let stdin = self.stdin.as_mut().context("the conversation is over")?;
        stdin.write_all(&[line, b"\n"].concat())?;
        stdin.flush()?;
        Ok(())
    }

    /// The next message of the server. INVARIANT of every test: each line of its output is JSON-RPC.
    pub fn receive(&mut self, time: Duration) -> Result<Value> {
        let line = match self.lines.recv_timeout(time) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => bail!("no message within {time:?}"),
            Err(RecvTimeoutError::Disconnected) => bail!("the server has closed its output"),
        };
        let message: Value = serde_json::from_str(&line).with_context(|| format!("not JSON: {line:?}"))?;
        ensure!(message.get("jsonrpc") == Some(&json!("2.0")), "not JSON-RPC: {line:?}");
        Ok(message)
    }

    /// Sends a request and gives its number.
    pub fn ask(&mut self, method: &str, params: &Value) -> Result<u64> {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}))?;
        Ok(self.next)
    }

    /// The whole response to a request, while the server's own requests are answered.
    pub fn response(&mut self, id: u64) -> Result<Value> {
        let until = Instant::now() + PATIENCE;
        loop {
            let message = self.receive(until.saturating_duration_since(Instant::now()))?;
            if message.get("method").is_some() {
                self.answer(&message)?;
            } else if message.get("id") == Some(&json!(id)) {
                return Ok(message);
            }
        }
    }

    fn answer(&mut self, message: &Value) -> Result<()> {
        let Some(id) = message.get("id") else { return Ok(()) };
        let result = if message["method"] == "elicitation/create" {
            let params = &message["params"];
            let text = params["message"].as_str().unwrap_or_default().to_owned();
            self.elicited.push(Asked { message: text, schema: params["requestedSchema"].clone() });
            self.replies.pop_front().unwrap_or_else(|| json!({"action": "decline"}))
        } else {
            json!({})
        };
        // A scripted reply with a `code` is a client that cannot do what it says it can.
        let reply = match result.get("error").or_else(|| result.get("code").map(|_| &result)) {
            Some(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
            None => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        };
        self.send(&reply)
    }

    /// The result of a request; its error is an error.
    pub fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        let id = self.ask(method, params)?;
        let mut response = self.response(id)?;
        match response.get("error") {
            Some(error) => Err(anyhow!("{method}: {error}")),
            None => Ok(response["result"].take()),
        }
    }

    /// A tool's result, whole.
    pub fn tool(&mut self, name: &str, arguments: &Value) -> Result<Value> {
        self.request("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// A tool's structured content.
    pub fn structured(&mut self, name: &str, arguments: &Value) -> Result<Value> {
        let mut result = self.tool(name, arguments)?;
        ensure!(result["isError"] != json!(true), "{name}: {}", result["content"]);
        Ok(result["structuredContent"].take())
    }

    /// Kills the server at once.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Ends the conversation; the server must end by itself.
    pub fn close(mut self) -> Result<ExitStatus> {
        self.stdin.take();
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        bail!("the server does not end when its input does")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
