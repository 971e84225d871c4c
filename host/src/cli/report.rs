//! `wfhost report`: one session as a page of Markdown, for an incident or an auditor.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use super::redact::{Patterns, Redact};
use super::sessions::{session, show, standing, waits};
use super::signing::Trusted;
use super::{Data, code, place, print, time};
use crate::clock::{Clock, System};
use crate::seal::PublicKey;
use crate::session::line::LineRow;
use crate::session::model::{Head, SessionId};
use crate::session::{Against, Caller, Host, Step, Verdict};
use crate::web;

/// What `report` is told.
#[derive(Debug, Args)]
pub(super) struct Report {
    /// The session, or the beginning of its id.
    #[arg(value_name = "SESSION")]
    id: String,
    /// Where to; standard output if not said.
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Post it to this address instead, as text/markdown.
    #[arg(long, value_name = "URL", conflicts_with = "output")]
    webhook: Option<String>,
    /// Leave values out: what was answered, said and kept.
    #[arg(long)]
    no_values: bool,
    #[command(flatten)]
    redact: Redact,
    #[command(flatten)]
    trusted: Trusted,
    #[command(flatten)]
    data: Data,
}

/// Characters of a value in a table.
const VALUE_MAX: usize = 240;

impl Report {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Some(store) = self.data.store_if_there()? else {
            bail!("there are no sessions: the data folder `{}` does not exist", self.data.folder()?.display());
        };
        let session = session(store.as_ref(), &self.id)?;
        let Some(head) = store.head(session)? else { bail!("there is no session `{}`", self.id) };
        let host = place::bare_host(store, self.data.cache())?;
        let text = self.text(&host, &head)?;
        if let Some(url) = &self.webhook {
            post(url, text, session)?;
            print::aside(format_args!("posted the report on {session} to {url}"));
            return Ok(code(true));
        }
        match &self.output {
            None => print::raw(text),
            Some(file) => {
                std::fs::write(file, text).with_context(|| format!("`{}` cannot be written", file.display()))?;
            }
        }
        Ok(code(true))
    }

    fn text(&self, host: &Host, head: &Head) -> Result<String> {
        let caller = Caller::operator();
        let against = Against { exported: None, keys: self.trusted.keys()? };
        let verdict = host.verify_against(&caller, head.session, &against)?;
        let steps = host.steps(&caller, head.session)?;
        let page =
            Page { head, verdict: &verdict, steps: &steps, values: !self.no_values, redact: self.redact.patterns()? };
        Ok(page.text()?)
    }
}

/// What a page is made from.
struct Page<'p> {
    head: &'p Head,
    verdict: &'p Verdict,
    steps: &'p [Step],
    values: bool,
    redact: Option<Patterns>,
}

impl Page<'_> {
    fn text(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        let head = self.head;
        writeln!(out, "# Session {}\n", head.session)?;
        writeln!(
            out,
            "Report of workflow {}, by wfhost {}, on {}.\n",
            self.cell(&head.workflow),
            env!("CARGO_PKG_VERSION"),
            time::utc(System.now())
        )?;
        self.about(&mut out)?;
        self.proof(&mut out)?;
        writeln!(out, "## What happened\n\n| # | when | who | what |\n|---|---|---|---|")?;
        for step in self.steps {
            let line = &step.line;
            let (who, what) = show::who_and_what(line, self.values);
            writeln!(out, "| {} | {} | {} | {} |", line.n, time::stamp(line.at), self.cell(&who), self.cell(&what))?;
        }
        self.list(&mut out, "Refused", |line| line.refusal.as_ref().map(|r| format!("{}: {}", r.code, r.message)))?;
        self.list(&mut out, "Broken", |line| line.fault.clone())?;
        if self.values {
            let state: Value = serde_json::from_str(&head.state).unwrap_or_default();
            let state = self.redact.as_ref().map_or(state.clone(), |redact| redact.value(state));
            // A fence longer than any run of backticks in it.
            let text = format!("{state:#}");
            let fence = "`".repeat(longest_run(&text).max(2) + 1);
            writeln!(out, "\n## The state at the end\n\n{fence}json\n{text}\n{fence}")?;
        }
        Ok(out)
    }

    fn about(&self, out: &mut String) -> std::fmt::Result {
        let head = self.head;
        let mut rows = vec![
            ("interpreter", head.interpreter.clone()),
            ("started", time::utc(head.started)),
            ("last change", time::utc(head.changed)),
            ("stands", if self.values { standing(head) } else { show::bare_standing(head) }),
            ("at", head.current.join(", ")),
            ("journal", format!("{} entries on {} lines", head.entries, head.lines)),
            ("questions", if head.human_only { "for a person only" } else { "for whom the document says" }.to_owned()),
            ("definition", head.definition.to_string()),
            ("plugin", head.plugin.to_string()),
        ];
        if let Some(fork) = head.fork {
            rows.push(("forked from", format!("{} after entry {}", fork.from, fork.seq)));
        }
        if head.outcome.is_none() && self.values {
            rows.extend(waits(head).into_iter().map(|clause| ("waits for", clause)));
        }
        writeln!(out, "| | |\n|---|---|")?;
        rows.iter().try_for_each(|(name, value)| writeln!(out, "| {name} | {} |", self.cell(value)))
    }

    fn proof(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "\n## Proof\n")?;
        if self.verdict.damages.is_empty() {
            writeln!(out, "The journal is whole: every line names the hash of the one before, and the head the last.")?;
        } else {
            writeln!(out, "**The journal is not whole:**\n")?;
            self.verdict.damages.iter().try_for_each(|damage| writeln!(out, "- {}", self.cell(&damage.to_string())))?;
        }
        let key = self.head.seal.as_ref().map(|seal| PublicKey(seal.key).to_string());
        let sealed =
            key.map_or_else(|| "It bears no signature".to_owned(), |key| format!("It is signed with the key `{key}`"));
        writeln!(out, "{sealed}. Head: `{}` after {} lines.\n", self.head.chain, self.head.lines)?;
        writeln!(
            out,
            "What was said to wfhost is testimony: that an agent reports something does not prove that it is so.\n"
        )
    }

    fn list(&self, out: &mut String, title: &str, of: impl Fn(&LineRow) -> Option<String>) -> std::fmt::Result {
        let found: Vec<(u64, String)> =
            self.steps.iter().filter_map(|step| of(&step.line).map(|text| (step.line.n, text))).collect();
        if found.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n## {title}\n")?;
        for (n, text) in found {
            // A refusal's message may repeat what was said.
            let shown = if self.values { text } else { text.split(':').next().unwrap_or_default().to_owned() };
            writeln!(out, "- line {n}: {}", self.cell(&shown))?;
        }
        Ok(())
    }

    /// A text that Markdown shows as it is, in one cell, without what is to be blackened.
    fn cell(&self, text: &str) -> String {
        let text = self.redact.as_ref().map_or_else(|| text.to_owned(), |redact| redact.text(text));
        let mut out = String::new();
        for c in print::cut(&print::plain(&text), VALUE_MAX).chars() {
            match c {
                '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '!' => out.extend(['\\', c]),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '&' => out.push_str("&amp;"),
                c => out.push(c),
            }
        }
        out
    }
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn post(url: &str, text: String, session: SessionId) -> Result<()> {
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        bail!("`{url}` is no http or https address");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let headers =
        [("content-type", "text/markdown; charset=utf-8".to_owned()), ("x-wfhost-session", session.to_string())];
    let status = runtime.block_on(web::post(url, &headers, text)).map_err(anyhow::Error::msg)?;
    if !(200..300).contains(&status) {
        bail!("`{url}` answered the report with status {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_shown_and_not_obeyed() {
        let head = crate::cli::sessions::tests_head();
        let verdict = Verdict { session: String::new(), lines: 0, head: String::new(), key: None, damages: Vec::new() };
        let page = Page { head: &head, verdict: &verdict, steps: &[], values: true, redact: None };
        assert_eq!(page.cell("a|b\n[x](y) <img> `c`"), "a\\|b␊\\[x\\](y) &lt;img&gt; \\`c\\`");
        assert_eq!(longest_run("a``b`c````"), 4);
    }
}
