//! The contract's types and calls, generated from `wit/engine.wit`. They are the host's own model of a plugin's answers too:
//! plain records, without anything of the sandbox in them.

#![allow(missing_debug_implementations, unreachable_pub, reason = "generated code")]
#![allow(clippy::pedantic, clippy::too_many_arguments, clippy::indexing_slicing, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "interpreter",
    additional_derives: [PartialEq],
});

/// The records and variants of the contract.
pub mod contract {
    pub use super::exports::wfhost::engine::engine::*;
}
