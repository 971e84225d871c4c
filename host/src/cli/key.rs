//! `wfhost key`: keys that seal journals.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};

use super::{code, print, signing};
use crate::clock::{Clock as _, System};
use crate::files;
use crate::seal::Signer;

const AFTER: &str = "\
The file is a PEM text as `openssl genpkey -algorithm ed25519` writes it. Keep it where the agent cannot read it; give the public \
half to whoever is to check journals (`wfhost verify --public-key`). A server seals with `serve --signing-key FILE`.";

/// What `key` is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Key {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key in a new file that only you can read, and print its public half.
    New(File),
    /// Print the public half of a key, as PEM and in hex.
    Public(File),
}

#[derive(Debug, Args)]
struct File {
    /// The key's file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Key {
    pub(super) fn run(self) -> Result<ExitCode> {
        let signer = match &self.command {
            Command::New(new) => make(&new.file)?,
            Command::Public(old) => signing::read(&old.file)?,
        };
        print::raw(signer.public().pem());
        print::line(signer.public());
        Ok(code(true))
    }
}

fn make(file: &Path) -> Result<Signer> {
    if file.exists() {
        bail!("`{}` is there already: a key that was overwritten cannot be had back", file.display());
    }
    let mut bytes = [0; 32];
    for (half, fresh) in bytes.chunks_exact_mut(16).zip([System.entropy(), System.entropy()]) {
        half.copy_from_slice(&fresh.to_be_bytes());
    }
    let (signer, pem) = Signer::from_entropy(bytes)?;
    let written = files::create_private(file).and_then(|mut made| {
        made.write_all(pem.as_bytes())?;
        made.sync_all()
    });
    written.with_context(|| format!("`{}` cannot be written", file.display()))?;
    Ok(signer)
}
