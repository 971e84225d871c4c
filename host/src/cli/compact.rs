//! `wfhost compact`: room that nothing uses goes back to the disk.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::{Data, code, plugin, print};
use crate::store;

/// What `compact` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Nobody else may work on the data folder meanwhile: end the servers first. What pruning freed is used \
    again by itself; compacting only matters for the size of the file."
)]
pub(super) struct Compact {
    #[command(flatten)]
    data: Data,
}

impl Compact {
    pub(super) fn run(self) -> Result<ExitCode> {
        let folder = self.data.folder()?;
        if !folder.is_dir() {
            bail!("there is nothing to compact: the data folder `{}` does not exist", folder.display());
        }
        let progress = print::Progress::of("compacting");
        let (before, after) = store::compact(&folder, &store::Options::default())?;
        drop(progress);
        print::line(format_args!("{} before, {} now", plugin::size(before), plugin::size(after)));
        Ok(code(true))
    }
}
