//! The contract as Rust types and the glue that carries them over the component boundary. Generated; nothing is written by hand.

#[allow(
    unsafe_code,
    clippy::all,
    clippy::restriction,
    reason = "generated code: raw pointers of the canonical ABI, and functions as long as the contract's records"
)]
mod generated {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "interpreter",
        pub_export_macro: true,
        export_macro_name: "export_component",
        default_bindings_module: "wfhost_guest::bindings",
        additional_derives: [PartialEq],
    });
}

pub use generated::*;
