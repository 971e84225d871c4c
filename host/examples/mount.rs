//! wfhost inside an application of your own: its MCP server is a route among others.
//!
//! `cargo run --example mount -- trees/` prints the address; the end of its input ends it.

use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tokio_util::sync::CancellationToken;
use wfhost::catalogue::Plugins;
use wfhost::clock::System;
use wfhost::mcp::{HttpOptions, Server, ServerOptions, router};
use wfhost::plugin::{Runtime, RuntimeOptions};
use wfhost::session::{Host, HostOptions};
use wfhost::store;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example tells where it listens")]
async fn main() -> anyhow::Result<()> {
    let documents: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let plugins = Plugins::choose(&Arc::new(Runtime::new(RuntimeOptions::default())?), &[])?;
    let host = Host::new(store::open_ephemeral()?, Arc::new(System), (plugins, documents), HostOptions::default())?;
    let server = Server::new(Arc::new(host), ServerOptions { channel: "http", ..ServerOptions::default() });

    let ending = CancellationToken::new();
    let app = Router::new().route("/", get(|| async { "an application of my own\n" })).merge(router(
        &server,
        &HttpOptions::default(),
        ending.clone(),
    ));
    let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    println!("{}", listener.local_addr()?);

    let over = ending.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        over.cancel();
    });
    axum::serve(listener, app).with_graceful_shutdown(async move { ending.cancelled().await }).await?;
    Ok(())
}
