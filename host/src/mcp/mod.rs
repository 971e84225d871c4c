//! The wire: MCP over stdio and streamable HTTP, both protocol eras, on rmcp. This folder turns the wire into calls of the
//! host and back; it opens no store and sees no sandbox.

mod ask;
mod authoring;
mod capped;
mod changes;
mod convert;
mod edge;
mod http;
mod listing;
mod logs;
mod model;
mod redeem;
mod server;
mod stdio;
mod views;

pub(crate) use http::guarded;
pub use http::{HttpFault, HttpOptions, Text, router, serve as serve_http};
pub use server::{Server, ServerOptions};
pub use stdio::{StdioFault, serve as serve_stdio};
