//! wfhost: a WebAssembly component host that makes AI agents follow procedures.
//!
//! The agent does the acting, the document does the deciding, the host does the remembering. In reading order: `catalogue`
//! (documents and the workflows in them), `plugin` (the sandbox), `session` (the life of a call), `store` (what is kept),
//! `mcp` (the wire), `playground` (a page for browsers), `kit` (for authors of plugins), `cli` (the command line).
//! `host/README.md` holds the invariants.

pub mod catalogue;
pub mod cli;
pub mod clock;
mod files;
mod heap;
pub mod kit;
pub mod limits;
pub mod mcp;
pub mod observe;
pub mod playground;
pub mod plugin;
pub mod seal;
pub mod session;
pub mod store;
pub mod upstream;
mod waiting;
pub mod web;
