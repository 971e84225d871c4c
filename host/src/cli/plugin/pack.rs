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
        let component =
            wfhost_pack::component(&core).with_context(|| format!("`{from}` is no module of an interpreter"))?;
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
