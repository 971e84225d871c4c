//! `wfhost sessions fork`: a new session from the past of another.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::list::head_json;
use super::waits::waits;
use super::{Found, Named};
use crate::cli::signing::Signing;
use crate::cli::{code, print};
use crate::session::{Caller, ForkAt};

const AFTER: &str = "\
The new session has the entries up to the end of that event, its own id, and a line that says where it comes from. It can be \
verified and run again without the other one, which stays as it is. What was open then is open in it: it can be answered, and is \
not sent, nor ended by the clock, unless `--send` says so.";

/// What `sessions fork` is told.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Fork {
    #[command(flatten)]
    named: Named,
    /// After the event that wrote this entry; the newest if none is named. `sessions show` numbers them.
    #[arg(long = "at", value_name = "SEQ")]
    seq: Option<u32>,
    /// Carry out anew what was open then: timers and deadlines run.
    #[arg(long)]
    send: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    signing: Signing,
}

impl Fork {
    pub(super) fn run(self) -> Result<ExitCode> {
        let Found { host, head } = self.named.find_to_write(&self.signing)?;
        let at = ForkAt { session: head.session, seq: self.seq, sends: self.send };
        let forked = host.fork(&Caller::operator(), at)?;
        if self.json {
            print::json(&head_json(&forked));
            return Ok(code(true));
        }
        print::line(forked.session);
        print::aside(format_args!("it goes on from entry {} of {}", forked.entries, head.session));
        waits(&forked).iter().for_each(|clause| print::aside(format_args!("it waits for {clause}")));
        Ok(code(true))
    }
}
