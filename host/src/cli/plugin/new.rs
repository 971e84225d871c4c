//! `wfhost plugin new`: a project for a plugin of one's own.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::{code, print};
use crate::kit::templates::{self, Language};

/// What `plugin new` is told.
#[derive(Debug, Args)]
pub(super) struct New {
    /// Its name: lower-case letters, digits and dashes. Files of the dialect will end in `.NAME.md`, tools begin with it.
    #[arg(value_name = "NAME")]
    name: String,
    /// The language to write it in.
    #[arg(long, value_parser = languages())]
    lang: Language,
    /// The folder to make it in, which must be empty or not there yet [default: NAME]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

fn languages() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.map(Language::name))
        .map(|name| Language::ALL.into_iter().find(|language| language.name() == name).unwrap_or(Language::Rust))
}

impl New {
    pub(super) fn run(self) -> Result<ExitCode> {
        let folder = self.into.unwrap_or_else(|| PathBuf::from(&self.name));
        let made = templates::make(&self.name, self.lang, &folder)?;
        let (name, shown) = (&self.name, folder.display().to_string());
        print::line(format_args!("{} files in {}. Next:", made.len(), print::plain(&shown)));
        print::line(format_args!("  cd {}", print::plain(&shown)));
        print::line(format_args!("  {}", templates::build(self.lang)));
        print::line(format_args!("  wfhost plugin check {name}.wasm --documents documents --cases cases"));
        print::line(format_args!("  wfhost serve documents --plugin {name}.wasm"));
        Ok(code(true))
    }
}
