//! What every interpreter for wfhost needs once: the contract as Rust types, a trait to implement, and the parts that
//! dialects share. An interpreter is a type that implements `Dialect` and one line: `export!(Mine, include_str!(..))`.
//!
//! - contract: `model` (its records), `Dialect`, `export!`
//! - values: `value`, `json`, `python`
//! - documents: `yaml`, `diagnostic`, `nearest`, `offers`
//! - running: `packed`, `template`, `reply`, `time`; `schema` (a feature): JSON Schema
//! - tests: `native`, a host in memory that drives a dialect without wasm

pub mod bindings;
pub mod diagnostic;
mod dialect;
pub mod export;
#[cfg(target_arch = "wasm32")]
mod heap;
pub mod json;
pub mod model;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
pub mod nearest;
pub mod offers;
pub mod packed;
pub mod python;
pub mod reply;
#[cfg(feature = "schema")]
pub mod schema;
pub mod template;
pub mod time;
pub mod value;
pub mod yaml;

pub use dialect::{At, Dialect};
