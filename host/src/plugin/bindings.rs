//! The contract's types and calls, generated from `wit/`: the current version, whose records are the host's own model of a
//! plugin's answers too (plain, without anything of the sandbox in them), and the released ones before it.

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

/// `wfhost:engine@0.1.0` as it was released.
pub(super) mod v0_1_0 {
    wasmtime::component::bindgen!({
        path: "../wit/released/0.1.0",
        world: "interpreter",
    });
    pub(in crate::plugin) mod contract {
        pub(in crate::plugin) use super::exports::wfhost::engine::engine::Interpreter;
    }
}
