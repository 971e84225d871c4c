//! `wfhost plugin pack`: a core module that carries its world, wrapped as a component.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use super::{code, print, size};
use crate::session::model::Digest;

/// What `plugin pack` is told.
#[derive(Debug, Args)]
pub(super) struct Pack {
    /// The core module, as a compiler for wasm32 leaves it.
    #[arg(value_name = "MODULE")]
    module: PathBuf,
    /// Where the component goes.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

impl Pack {
    pub(super) fn run(self) -> Result<ExitCode> {
        let (from, to) = (self.module.display().to_string(), self.output.display().to_string());
        let core = std::fs::read(&self.module).with_context(|| format!("`{from}` cannot be read"))?;
        let component = wfhost_pack::component(&core).map_err(|error| {
            let cure = cure(&format!("{error:#}"));
            error.context(format!("`{from}` is no module of an interpreter: {cure}"))
        })?;
        std::fs::write(&self.output, &component).with_context(|| format!("`{to}` cannot be written"))?;
        print::line(format_args!(
            "{}: {}, sha256:{}",
            print::plain(&to),
            size(component.len() as u64),
            Digest::of(&component)
        ));
        Ok(code(true))
    }
}

/// What to do about a module that is none of an interpreter's, by what is wrong with it.
fn cure(reason: &str) -> &'static str {
    let outside = ["wasi", "__wbindgen"];
    if outside.iter().any(|name| reason.contains(name)) {
        "it uses what lies outside the sandbox; build it for bare wasm32 (Rust: wasm32-unknown-unknown, C: `-nostdlib`), and take \
         time and randomness from the event"
    } else if reason.contains("`env`") {
        "a function is called and defined nowhere; link what defines it, or define it"
    } else if reason.contains("carries no description") {
        "build it with the bindings of wit/engine.wit, which leave the world in it"
    } else {
        "export every function of wit/engine.wit as it stands there, and import nothing"
    }
}

#[cfg(test)]
mod tests {
    use super::cure;

    #[test]
    fn each_fault_has_its_cure() {
        for (reason, cured) in [
            ("module requires an import interface named `env`", "defined nowhere"),
            ("module requires an import interface named `wasi_snapshot_preview1`", "outside the sandbox"),
            ("the module carries no description of a component world", "with the bindings"),
            ("the module does not fit the world it describes: failed to find export", "export every function"),
        ] {
            assert!(cure(reason).contains(cured), "{reason}: {}", cure(reason));
        }
    }
}
