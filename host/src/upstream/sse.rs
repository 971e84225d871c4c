//! The HTTP+SSE transport of MCP 2024-11-05, which rmcp no longer has: a stream of events on which the server names an address,
//! to which each message of the client is posted.

use futures::StreamExt as _;
use http::HeaderMap;
use reqwest::{Client, Response, Url};
use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::bearer::Bearer;
use crate::limits::UPSTREAM_RESULT_BYTES_MAX;
use crate::web;

/// The two halves of the conversation.
#[derive(Debug)]
pub(super) struct Legacy {
    client: Client,
    headers: HeaderMap,
    bearer: Bearer,
    address: Url,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
    reader: tokio::task::JoinHandle<()>,
}

/// A message could not be sent.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct SendFault(String);

/// Opens the stream and waits for the address.
pub(super) async fn open(url: &str, headers: HeaderMap, bearer: Bearer) -> Result<Legacy, String> {
    let client = web::streaming()?;
    let base = Url::parse(url).map_err(|error| format!("`{url}` is no address: {error}"))?;
    let request = client.get(base.clone()).headers(headers.clone()).header("Accept", "text/event-stream");
    let response = bearer.send(request).await?;
    if !response.status().is_success() {
        return Err(format!("it answered {} to the request for its events", response.status()));
    }
    let (sender, messages) = mpsc::channel(64);
    let (found, address) = tokio::sync::oneshot::channel();
    let reader = tokio::spawn(read(response, found, sender));
    let address = address.await.map_err(|_| "its stream of events ended before it named an address".to_owned())?;
    let address =
        base.join(&address).map_err(|error| format!("the address `{address}` that it named is none: {error}"))?;
    // A server must not send what it is told, secrets with it, to another one.
    if address.origin() != base.origin() {
        return Err(format!("it named the address {address}, which is another server's"));
    }
    Ok(Legacy { client, headers, bearer, address, messages, reader })
}

async fn read(
    response: Response,
    found: tokio::sync::oneshot::Sender<String>,
    sender: mpsc::Sender<ServerJsonRpcMessage>,
) {
    let mut found = Some(found);
    let mut lines = Lines::default();
    let mut stream = response.bytes_stream();
    while let Some(Ok(bytes)) = stream.next().await {
        let Some(events) = lines.take_in(&bytes) else { break };
        for (event, data) in events {
            if event == "endpoint" {
                // A second address would be another conversation.
                if let Some(found) = found.take() {
                    let _ = found.send(data);
                }
            } else if let Ok(message) = serde_json::from_str(&data)
                && sender.send(message).await.is_err()
            {
                return;
            }
        }
    }
}

/// Events from bytes as they come.
#[derive(Debug, Default)]
struct Lines {
    pending: Vec<u8>,
    event: String,
    data: String,
}

impl Lines {
    /// The events that these bytes end. None: one is larger than any may be.
    fn take_in(&mut self, bytes: &[u8]) -> Option<Vec<(String, String)>> {
        self.pending.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.pending.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            self.line(line.trim_end_matches(['\n', '\r']), &mut events);
        }
        (self.pending.len() + self.data.len() <= UPSTREAM_RESULT_BYTES_MAX).then_some(events)
    }

    fn line(&mut self, line: &str, events: &mut Vec<(String, String)>) {
        if line.is_empty() {
            let (event, data) = (std::mem::take(&mut self.event), std::mem::take(&mut self.data));
            if !data.is_empty() {
                events.push((event, data));
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" if self.data.is_empty() => value.clone_into(&mut self.data),
            "data" => {
                self.data.push('\n');
                self.data.push_str(value);
            }
            _ => {}
        }
    }
}

impl Transport<RoleClient> for Legacy {
    type Error = SendFault;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let request = self.client.post(self.address.clone()).headers(self.headers.clone()).json(&item);
        let bearer = self.bearer.clone();
        async move {
            let response = bearer.send(request).await.map_err(SendFault)?;
            if response.status().is_success() {
                return Ok(());
            }
            Err(SendFault(format!("it answered {} to a message", response.status())))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.reader.abort();
        Ok(())
    }
}

impl Drop for Legacy {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text =
            b": hello\r\nevent: endpoint\r\ndata: /messages?id=1\r\n\r\nevent: message\ndata: {\"a\":\ndata: 1}\n\n";
        for step in 1..text.len() {
            let mut lines = Lines::default();
            let events: Vec<_> = text.chunks(step).flat_map(|bytes| lines.take_in(bytes).unwrap()).collect();
            let wanted = [("endpoint", "/messages?id=1"), ("message", "{\"a\":\n1}")];
            assert_eq!(events, wanted.map(|(e, d)| (e.to_owned(), d.to_owned())), "in steps of {step}");
        }
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut lines = Lines::default();
        let bytes = vec![b'x'; 1 << 20];
        let last = (0..64).map(|_| lines.take_in(&bytes)).find(Option::is_none);
        assert!(last.is_some());
    }
}
