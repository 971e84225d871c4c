//! Plugins: files given to `--plugin` or built in, loaded, checked and called in a sandbox. wasmtime is used in this folder
//! and nowhere else; the rest of the host sees `contract` types and `Fault`.

mod backtrace;
mod bindings;
mod builtin;
mod cache;
mod call;
mod check;
mod fault;
mod lane;
mod load;
mod policy;
mod runtime;
mod versions;

pub use bindings::contract;
pub use builtin::{Builtin, builtins};
pub use cache::is_cached;
pub use call::{Spent, spent};
pub(crate) use check::before_it_runs;
pub use check::{Finding, Inspection, inspect};
pub use fault::{CallFault, LoadFault};
pub use load::Plugin;
pub use policy::{Policy, PolicyFault};
pub use runtime::{Runtime, RuntimeOptions};
pub use versions::Version;
