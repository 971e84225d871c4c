//! One client on standard input and output. Nothing but the protocol is written there, and the end of the input is the end.

use std::future::Future;

use rmcp::ServiceExt;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};

use super::server::Server;
use crate::limits::STDIO_LINE_BYTES_MAX;

/// Serves until the input ends.
pub async fn serve(server: Server) -> Result<(), StdioFault> {
    let (read, write) = stdio_pipes();
    let transport = AsyncRwTransport::new_server(read, write).with_max_line_length(STDIO_LINE_BYTES_MAX);
    let running = match server.serve(Patient { inner: transport, opened: false }).await {
        Ok(running) => running,
        // A client that leaves before it has said anything is no failure.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(StdioFault(error.to_string())),
    };
    running.waiting().await.map(drop).map_err(|e| StdioFault(e.to_string()))
}

/// The conversation broke off.
#[derive(Debug, thiserror::Error)]
#[error("the conversation on standard input broke off: {0}")]
pub struct StdioFault(String);

/// Lets no notification through before the first request has chosen how the two sides speak: rmcp ends at one, and there
/// are clients that send some.
struct Patient<T> {
    inner: T,
    opened: bool,
}

impl<R, W> Transport<RoleServer> for Patient<AsyncRwTransport<RoleServer, R, W>>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message: ClientJsonRpcMessage = self.inner.receive().await?;
            match &message {
                JsonRpcMessage::Notification(_) if !self.opened => {}
                JsonRpcMessage::Request(request) => {
                    // `server/discover` and `ping` leave the choice open.
                    let method = request.request.method();
                    self.opened |= !matches!(method, "server/discover" | "ping");
                    return Some(message);
                }
                JsonRpcMessage::Notification(_) | JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                    return Some(message);
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
