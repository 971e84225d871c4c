//! The keys of a command: the one that seals what it writes, and those that it trusts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;

use crate::seal::{PublicKey, Signer};

/// With which key a command seals the journals that it writes to.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Signing {
    /// Seal what is written with this Ed25519 key, so that `verify --public-key` can tell a journal that was written anew. The
    /// variable WFHOST_SIGNING_KEY may hold the key itself.
    #[arg(long, value_name = "FILE", env = "WFHOST_SIGNING_KEY_FILE")]
    signing_key: Option<PathBuf>,
}

/// The variable that holds a private key.
const KEY_VARIABLE: &str = "WFHOST_SIGNING_KEY";

impl Signing {
    /// The key, if one was named.
    pub(crate) fn signer(&self) -> Result<Option<Arc<Signer>>> {
        if let Some(file) = &self.signing_key {
            return Ok(Some(Arc::new(read(file)?)));
        }
        // An empty one is none: that is how it is switched off for one command.
        let text = std::env::var(KEY_VARIABLE).unwrap_or_default();
        if text.trim().is_empty() {
            return Ok(None);
        }
        let signer = Signer::from_pem(&text).with_context(|| format!("the variable {KEY_VARIABLE} cannot be used"))?;
        Ok(Some(Arc::new(signer)))
    }
}

/// The private key in a file.
pub(crate) fn read(file: &Path) -> Result<Signer> {
    let place = || format!("the key `{}` cannot be used", file.display());
    let text = std::fs::read_to_string(file).with_context(place)?;
    Signer::from_pem(&text).with_context(place)
}

/// Keys whose seals are trusted.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Trusted {
    /// All of it must be sealed with this key: a file, or 64 hex digits. Repeatable, for keys that were exchanged.
    #[arg(long = "public-key", value_name = "FILE|HEX", env = "WFHOST_PUBLIC_KEY")]
    public_keys: Vec<String>,
}

impl Trusted {
    pub(crate) fn keys(&self) -> Result<Vec<PublicKey>> {
        self.public_keys.iter().map(|named| public(named)).collect()
    }
}

fn public(named: &str) -> Result<PublicKey> {
    if let Ok(key) = named.parse() {
        return Ok(key);
    }
    let place = || format!("the public key `{named}` cannot be used");
    let text = std::fs::read_to_string(named).with_context(place)?;
    text.parse::<PublicKey>().with_context(place)
}
