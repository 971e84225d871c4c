//! Sessions: the life of a call from the route to the reply. `advance` is the one place where a session changes; `read`
//! never writes; `drive` carries out what a turn asks for. No foreign crate but serde_json is used here.

mod adrift;
mod advance;
mod caller;
mod carry;
mod child;
mod drive;
mod fault;
mod flights;
mod history;
mod host;
pub mod line;
mod locks;
pub mod model;
pub mod outside;
mod past;
pub mod patch;
mod read;
mod replay;
mod turn;
mod verify;
pub mod wire;

pub use advance::Advanced;
pub use caller::{Caller, OwnSessions};
pub use drive::{Adrift, Answered, Ask, Asked, Driven, Effects, Unattended, ask};
pub use fault::Fault;
pub use history::history;
pub use host::{Host, HostOptions};
pub use past::Step;
pub use read::{Shown, Viewed};
pub use replay::{Difference, Instead, Replayed};
pub use verify::{Damage, Verdict};
