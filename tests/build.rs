//! Compiles the interpreters that only tests use, and tells the tests where the components are.

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";
/// Folders beside this file that hold such an interpreter.
const GUESTS: [&str; 3] = ["probe", "fixture", "broken"];

fn main() -> Result<(), Box<dyn Error>> {
    let tests = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let root = tests.parent().ok_or("no folder above the tests")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let target = out.ancestors().nth(4).ok_or("no target folder above OUT_DIR")?.join("guests");
    for library in ["sdk", "jsonlogic"] {
        println!("cargo:rerun-if-changed={}", root.join("guests").join(library).display());
    }
    println!("cargo:rerun-if-changed={}", root.join("wit").display());
    for guest in GUESTS {
        println!("cargo:rerun-if-changed={}", tests.join(guest).display());
        let package = format!("wfhost-{guest}");
        let mut cargo = Command::new(env::var("CARGO")?);
        cargo.current_dir(root).args(["build", "--lib", "--profile", "guest", "--target", TARGET, "--locked"]);
        cargo.args(["-p", &package, "--target-dir"]).arg(&target);
        // What the outer cargo sets for this package must not reach the guests.
        for (name, _) in env::vars() {
            if name.starts_with("CARGO_") && name != "CARGO_HOME" && name != "CARGO_NET_OFFLINE"
                || name.ends_with("RUSTFLAGS")
                || name == "RUSTC_WORKSPACE_WRAPPER"
            {
                cargo.env_remove(name);
            }
        }
        if !cargo.status()?.success() {
            return Err(format!("the test interpreter `{guest}` does not compile (see above)").into());
        }
        let module = target.join(TARGET).join("guest").join(format!("{}.wasm", package.replace('-', "_")));
        let component = out.join(format!("{guest}.wasm"));
        fs::write(&component, wfhost_pack::component(&fs::read(module)?)?)?;
        println!("cargo:rustc-env=WFHOST_{}_WASM={}", guest.to_uppercase(), component.display());
    }
    Ok(())
}
