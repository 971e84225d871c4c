//! JSONata for interpreters: the one door to the crate jsonata-core. What the language could take from the world, time and
//! chance, comes from the `Moment` that a caller supplies; what could go on without end is bounded.
//!
//! - `expression`: a text that was read, and where one cannot be
//! - `data`: values that are copied for nothing, and their way from and to the kit's
//! - `machine`: evaluation at a moment, with functions of the caller's own; `signature`: the check of their arguments
//! - `evaluate`: an expression and its data as JSON texts, for `evaluate` of the contract
//! - `nesting`: how deep an expression is, before anything recurses into it
//! - `entropy`: random bytes in a guest, which has none
//!
//! LIMIT: the text of an expression, its nesting, the depth of calls and the length of a result list are bounded by the constants of
//! these modules. An endless loop without nesting ends where the host's instructions for the call end.

mod data;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod entropy;
mod evaluate;
mod expression;
mod fault;
mod machine;
mod nesting;
mod signature;
#[cfg(test)]
mod tests;

pub use data::{Data, Fields};
pub use evaluate::{LANGUAGE, evaluate};
pub use expression::Expression;
pub use fault::Fault;
pub use machine::{DEPTH_MAX, LENGTH_MAX, Machine, Moment, Native};
