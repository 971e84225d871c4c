//! `wfhost sessions trace`: the dialect's own trace, all of it.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::Value;

use super::{Named, parsed};
use crate::cli::{code, outline, print};
use crate::plugin::contract::Output;
use crate::session::Caller;

/// What `sessions trace` is told.
#[derive(Debug, Args)]
pub(super) struct Trace {
    #[command(flatten)]
    named: Named,
    /// Print it as JSON, uncut. The table shortens long values.
    #[arg(long)]
    json: bool,
}

impl Trace {
    pub(super) fn run(self) -> Result<ExitCode> {
        let found = self.named.find()?;
        let pages = found.host.trace_pages(&Caller::operator(), found.head.session)?;
        let well = pages.iter().all(|page| !page.is_error);
        if self.json {
            print::json(&joined(&pages));
        } else {
            outline::outline(&joined(&pages)).into_iter().for_each(print::line);
        }
        Ok(code(well))
    }
}

/// Pages as one value: lists in them are joined, anything else is that of the last page.
pub(in crate::cli) fn joined(pages: &[Output]) -> Value {
    let mut whole = Value::Null;
    for page in pages {
        let mut page = parsed(&page.value);
        if let (Some(before), Some(now)) = (whole.as_object_mut(), page.as_object_mut()) {
            for (name, value) in now {
                if let (Some(Value::Array(first)), Value::Array(then)) = (before.get_mut(name), value) {
                    first.append(then);
                    std::mem::swap(first, then);
                }
            }
        }
        whole = page;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_joined() {
        let page = |value: &str| Output { headline: None, value: value.into(), content: None, is_error: false };
        let pages = [page(r#"{"id":"a","t":[1,2],"next":2}"#), page(r#"{"id":"a","t":[3],"next":null}"#)];
        assert_eq!(joined(&pages).to_string(), r#"{"id":"a","t":[1,2,3],"next":null}"#);
        assert_eq!(joined(&[page("\"text\"")]).to_string(), "\"text\"");
    }
}
