//! A guest's stack does not grow, and expressions recurse: this one's is larger than usual.

/// Half of the memory that a guest begins with.
const STACK_BYTES: usize = 2 << 20;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").as_deref() == Ok("wasm") {
        println!("cargo:rustc-link-arg-cdylib=-zstack-size={STACK_BYTES}");
    }
}
