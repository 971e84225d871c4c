//! `wfhost sessions diff`: two sessions side by side.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};

use super::session;
use crate::cli::{Data, code, outline, place, print};
use crate::session::{Caller, Comparison};

/// What `sessions diff` is told.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 they went the same way with the same answers to the same end, 1 they did not.")]
pub(super) struct Diff {
    /// A session, or the beginning of its id.
    #[arg(value_name = "A")]
    first: String,
    /// Another one.
    #[arg(value_name = "B")]
    second: String,
    /// Print one JSON document, uncut.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

/// Characters of a value that are shown.
const VALUE_MAX: usize = 160;

impl Diff {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Some(store) = self.data.store_if_there()? else {
            bail!("there are no sessions: the data folder `{}` does not exist", self.data.folder()?.display());
        };
        let both = [session(store.as_ref(), &self.first)?, session(store.as_ref(), &self.second)?];
        let host = place::bare_host(store, self.data.cache())?;
        let found = host.compare(&Caller::operator(), both)?;
        if self.json {
            print::json(&json!({"same": found.is_same(), "comparison": found}));
        } else {
            lines(&found).into_iter().for_each(print::line);
        }
        Ok(code(found.is_same()))
    }
}

fn lines(found: &Comparison) -> Vec<String> {
    let [one, other] = &found.sessions;
    let mut out = vec![format!("--- {one}"), format!("+++ {other}")];
    if found.shared_lines > 0 {
        out.push(format!("{} journal lines are the same to the byte", found.shared_lines));
    }
    if !found.same_definition {
        out.push("they run different versions of the document".into());
    }
    if !found.same_plugin {
        out.push("they run different plugins".into());
    }
    out.push(format!("the same way for {} entries", found.shared_entries));
    for answer in &found.answers {
        out.push(format!("entry {} at {}", answer.entry, print::plain(&answer.node)));
        out.push(format!("  - {}", shown(&answer.first)));
        out.push(format!("  + {}", shown(&answer.second)));
    }
    if let Some(parting) = &found.parting {
        let side = |entry: &Option<Value>| entry.as_ref().map_or_else(|| "(no more entries)".to_owned(), shown);
        out.push(format!("they part at entry {}", parting.entry));
        out.push(format!("  - {}", side(&parting.first)));
        out.push(format!("  + {}", side(&parting.second)));
    }
    let [now, then] = &found.current;
    if now != then {
        out.push(format!("at: - {}  + {}", print::plain(&now.join(", ")), print::plain(&then.join(", "))));
    }
    let [a, b] = &found.outcome;
    if a != b {
        out.push(format!("ended:\n  - {}\n  + {}", shown(a), shown(b)));
    }
    if found.refusals[0] != found.refusals[1] {
        out.push(format!("refused: - {} times  + {} times", found.refusals[0], found.refusals[1]));
    }
    match &found.state {
        None => out.push("state: too much differs to be shown; `sessions show --json` has both".into()),
        Some(patch) if patch.set.is_empty() && patch.unset.is_empty() => {}
        Some(patch) => {
            out.push("state:".into());
            let place = |pointer: &str| if pointer.is_empty() { "(all)".to_owned() } else { print::plain(pointer) };
            out.extend(patch.unset.iter().map(|pointer| format!("  - {}", place(pointer))));
            out.extend(patch.set.iter().map(|(pointer, value)| format!("  + {} = {}", place(pointer), shown(value))));
        }
    }
    out
}

fn shown(value: &Value) -> String {
    print::cut(&outline::inline(value), VALUE_MAX)
}
