//! `wfhost skill`: an interpreter's own words for models that write its documents.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;

use super::{code, place, print};
use crate::catalogue::Plugins;
use crate::plugin::Plugin;

/// What `skill` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "The skill is Markdown with the head that agent skills have: `wfhost skill NAME > SKILL.md` makes one."
)]
pub(super) struct Skill {
    /// The dialect, by the name of its plugin; without it the skills that there are.
    #[arg(value_name = "DIALECT")]
    dialect: Option<String>,
    /// A plugin to look at: a file, or the name of a built-in one. Repeatable; none means all built-in ones.
    #[arg(long = "plugin", value_name = "FILE|NAME")]
    plugins: Vec<String>,
}

impl Skill {
    pub(super) fn run(self) -> Result<ExitCode> {
        let plugins = Plugins::choose(&place::runtime(place::cache())?, &self.plugins)?;
        let Some(dialect) = &self.dialect else {
            let rows: Vec<Vec<String>> =
                skills(&plugins)?.iter().map(|p| vec![p.about.name.clone(), print::plain(&p.about.title)]).collect();
            print::table(&rows).into_iter().for_each(print::line);
            return Ok(code(!rows.is_empty()));
        };
        let Some(chosen) = plugins.chosen.iter().find(|chosen| chosen.name == *dialect) else {
            bail!(
                "there is no plugin `{}`; there are {}",
                print::plain(dialect),
                names(plugins.chosen.iter().map(|c| &c.name))
            );
        };
        let plugin = plugins.load(chosen)?;
        let Some(skill) = &plugin.about.skill else {
            let others = skills(&plugins)?;
            bail!("the plugin `{dialect}` has none; these have one: {}", names(others.iter().map(|p| &p.about.name)));
        };
        print::raw(format_args!("{}{skill}", head(&plugin)));
        Ok(code(true))
    }
}

/// Name and description, as agents look for skills by.
fn head(plugin: &Plugin) -> String {
    let about = format!("How to write workflow documents for wfhost: {}", print::plain(&plugin.about.title));
    // A JSON text is a YAML text.
    format!("---\nname: wfhost-{}\ndescription: {}\n---\n\n", plugin.about.name, serde_json::Value::from(about))
}

fn skills(plugins: &Plugins) -> Result<Vec<Arc<Plugin>>> {
    let _progress = print::Progress::of("compiling the interpreters");
    let loaded: Result<Vec<_>, _> = plugins.chosen.iter().map(|chosen| plugins.load(chosen)).collect();
    Ok(loaded?.into_iter().filter(|plugin| plugin.about.skill.is_some()).collect())
}

fn names<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
