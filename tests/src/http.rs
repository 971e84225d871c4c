//! A server process over HTTP, and requests written by hand, so that what is seen is the server and no SDK.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// How long a response may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server process that listens. Dropped, the process is killed.
#[derive(Debug)]
pub struct HttpServer {
    child: Child,
    /// `127.0.0.1:PORT`
    pub address: String,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Its status code.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its text, unpacked.
    pub body: String,
}

impl HttpServer {
    /// Starts `wfhost serve ...` with `--http` on a port that is free, and waits until it listens.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.args(["--http", "127.0.0.1:0"]).stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stderr.take().context("no standard error")?).lines();
        for line in lines.by_ref().map_while(Result::ok) {
            if let Some(rest) = line.split("listening on http://").nth(1) {
                let address = rest.trim_end_matches("/mcp").to_owned();
                // A full pipe would stop the server.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(Self { child, address });
            }
        }
        let _ = child.wait();
        bail!("the server ended before it listened")
    }

    /// Sends a request with exactly these headers and those of its body.
    pub fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Result<Response> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut head = format!("{line} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        // A server that refuses a body need not read it.
        let _ = stream.write_all(body.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        parse(&String::from_utf8_lossy(&bytes))
    }

    /// Posts a JSON-RPC message to a path, as a client of this machine does.
    pub fn post(&self, path: &str, more: &[(&str, &str)], message: &Value) -> Result<Response> {
        let mut headers = vec![
            ("host", self.address.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        headers.extend_from_slice(more);
        self.send(&format!("POST {path}"), &headers, &message.to_string())
    }

    /// A request of the stateless era, and its result.
    pub fn modern(&self, method: &str, mut params: Value) -> Result<Value> {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.post("/mcp", &headers, &message)?;
        response.message()
    }
}

impl Response {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC message in it, also if it came as an event.
    pub fn message(&self) -> Result<Value> {
        let event =
            self.body.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| data.contains("\"id\""));
        serde_json::from_str(event.unwrap_or(&self.body)).with_context(|| format!("{} {}", self.status, self.body))
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse(text: &str) -> Result<Response> {
    let (head, body) = text.split_once("\r\n\r\n").with_context(|| format!("no response: {text:?}"))?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).context("no status")?.parse()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    Ok(Response { status, headers, body: if chunked { unchunked(body) } else { body.to_owned() } })
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or_default();
        let Some(chunk) = rest.get(..size).filter(|chunk| !chunk.is_empty()) else { break };
        whole.push_str(chunk);
        body = rest.get(size + 2..).unwrap_or_default();
    }
    whole
}
