//! Upstream MCP servers: what a document or the operator names is started when it is first wanted, kept, and called on behalf
//! of sessions. The rest of the host sees only [`Hub`].

mod bearer;
mod call;
mod config;
mod connect;
mod expand;
mod file;
mod handler;
mod hub;
mod policy;
mod process;
mod secret;
mod server;
mod sse;
#[cfg(test)]
mod tests;
mod token;

pub use config::{Spec, SpecFault};
pub use file::{File, FileFault};
pub use hub::{Hub, HubOptions, Listing, Offer};
pub use policy::Spawn;

/// Looks a variable of the environment up; tests bring their own.
pub type Environment = std::sync::Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;
