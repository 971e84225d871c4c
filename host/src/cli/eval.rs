//! `wfhost eval`: one expression of a language that some plugin speaks, over some data.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use super::{code, findings, place, print};
use crate::catalogue::{Finding, Plugins};

/// What `eval` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 the value is on standard output, 1 there is none (standard error says why and where), \
    2 wrong command line.\nExample: wfhost eval LANGUAGE EXPRESSION --data order.json"
)]
pub(super) struct Eval {
    /// A language that a plugin speaks; a wrong one lists them.
    #[arg(value_name = "LANGUAGE")]
    language: String,
    /// The expression, or @FILE to read it from one.
    #[arg(value_name = "EXPRESSION", allow_hyphen_values = true)]
    expression: String,
    /// A JSON file to evaluate it over; `-` is standard input. Without it the data is an empty object.
    #[arg(long, value_name = "FILE|-")]
    data: Option<PathBuf>,
    /// A plugin that may speak the language: a file, or the name of a built-in one. Repeatable; none means all built-in ones.
    #[arg(long = "plugin", value_name = "FILE|NAME")]
    plugins: Vec<String>,
}

impl Eval {
    pub(super) fn run(self) -> Result<ExitCode> {
        let plugins = Plugins::choose(&place::runtime(place::cache())?, &self.plugins)?;
        let Some(chosen) = plugins.chosen.iter().find(|c| c.languages.contains(&self.language)) else {
            bail!("no plugin speaks `{}`; {}", self.language, spoken(&plugins));
        };
        let (shown, expression) = match self.expression.strip_prefix('@') {
            Some(file) => (file.to_owned(), text(Path::new(file))?),
            None => ("expression".to_owned(), self.expression.clone()),
        };
        let data = match &self.data {
            None => "{}".to_owned(),
            Some(file) => text(file)?,
        };
        if let Err(error) = serde_json::from_str::<Value>(&data) {
            let file = self.data.as_deref().unwrap_or(Path::new("-")).display();
            bail!("the data in `{file}` is no JSON: {error}");
        }
        let plugin = {
            let _progress = print::Progress::of("compiling the interpreter");
            plugins.load(chosen)?
        };
        match plugin.evaluate(&self.language, &expression, &data)? {
            Ok(value) => {
                let value: Value = serde_json::from_str(&value)
                    .with_context(|| format!("the plugin `{}` gives no JSON: {value}", chosen.name))?;
                print::json(&value);
                Ok(code(true))
            }
            Err(diagnostic) => {
                let finding = Finding { file: shown, diagnostic, bytes: expression.into_bytes().into() };
                print::aside(findings::text(&finding));
                Ok(code(false))
            }
        }
    }
}

/// The languages that there are, and whose they are.
fn spoken(plugins: &Plugins) -> String {
    let of = |chosen: &crate::catalogue::Chosen| {
        chosen.languages.iter().map(|l| format!("`{l}` ({})", chosen.name)).collect::<Vec<_>>()
    };
    let all: Vec<String> = plugins.chosen.iter().flat_map(of).collect();
    if all.is_empty() {
        let names: Vec<&str> = plugins.chosen.iter().map(|c| c.name.as_str()).collect();
        return format!("none of these speaks any: {}", names.join(", "));
    }
    format!("there are {}", all.join(", "))
}

/// A file's text; `-` is standard input.
fn text(file: &Path) -> Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("standard input cannot be read as text")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).with_context(|| format!("`{}` cannot be read", file.display()))
}
