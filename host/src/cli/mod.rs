//! The command line: one file a command, named as the command is. This folder owns the terminal, the environment and the
//! exit code; the rest of the crate sees none of them.

mod compact;
mod doctor;
mod eval;
mod excerpt;
mod findings;
mod key;
mod logs;
mod online;
mod outline;
mod place;
mod playground;
mod plugin;
mod primer;
mod print;
mod redact;
mod replay;
mod report;
mod run;
mod serve;
mod sessions;
mod signing;
mod skill;
mod snippet;
mod status;
mod test;
mod time;
mod tools;
mod upstreams;
mod validate;
mod verify;
mod viz;
mod watched;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

const AFTER: &str = "\
Exit codes: 0 all is well; 1 there are findings, or something failed (the message says what); 2 the command line is wrong.
Results go to standard output, everything else to standard error.";

const AFTER_LONG: &str = "\
Exit codes:
  0  all is well
  1  there are findings, or something failed: the message says what, where, and what to do
  2  the command line is wrong

Results go to standard output, everything else to standard error. Sessions are kept in the platform's data folder, in
WFHOST_DATA, or where `--data` says; any number of wfhost processes may work on one data folder at once.

To begin: `wfhost primer` shows in thirty seconds what this is. `wfhost validate FOLDER` checks documents,
`wfhost doctor FOLDER` checks everything and prints what to paste into a client's configuration.";

/// Runs procedures that AI agents follow: workflow documents, interpreted in a sandbox, served over MCP, every step kept.
#[derive(Debug, Parser)]
#[command(name = "wfhost", version, arg_required_else_help = true, after_help = AFTER, after_long_help = AFTER_LONG)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the documents of folders to an MCP client, on standard input and output or over HTTP.
    Serve(Box<serve::Serve>),
    /// Check documents: every finding, with its place and what to do.
    Validate(validate::Validate),
    /// Draw a workflow: for Mermaid, Graphviz or the terminal.
    Viz(viz::Viz),
    /// Call one tool of a document in memory, and show entry by entry what happens.
    Run(run::Run),
    /// Evaluate an expression of a language that a plugin speaks.
    Eval(eval::Eval),
    /// Print a dialect's own guide for models that write its documents.
    Skill(skill::Skill),
    /// Look at sessions, and answer what they ask. Works beside a running server.
    Sessions(sessions::Sessions),
    /// Show what happened in all sessions, in order: refusals, faults, or everything.
    Logs(logs::Logs),
    /// Show what the data folder holds, in figures, and what waits for somebody.
    Status(status::Status),
    /// Write one session down as a page of Markdown, for an incident or an auditor.
    Report(report::Report),
    /// Give room that nothing uses back to the disk, while nobody works on the data folder.
    Compact(compact::Compact),
    /// Check journals: was anything altered, cut, put in or copied?
    Verify(verify::Verify),
    /// Run recorded walks again through the documents beside them.
    Test(test::Test),
    /// Make keys that seal journals, so that a journal that was written anew is told.
    Key(key::Key),
    /// Run sessions again, and tell whether anything comes out otherwise.
    Replay(replay::Replay),
    /// List what upstream MCP servers offer, without a model.
    Tools(tools::Tools),
    /// Show in thirty seconds what a run is, what it refuses, and what is kept. Needs nothing, leaves nothing.
    Primer(primer::Primer),
    /// Open the page on which procedures are written and walked, in a browser on this machine.
    Playground(playground::Playground),
    /// List, inspect, begin, wrap and check plugins.
    Plugin(plugin::Plugin),
    /// Check plugins, documents and data folder, and print the configuration for clients.
    Doctor(doctor::Doctor),
}

/// Which documents, and which plugins read them.
#[derive(Debug, Clone, Args)]
pub(crate) struct Documents {
    /// Folders of workflow documents, or single documents.
    #[arg(value_name = "DOCUMENTS", required = true, value_parser = OsStringValueParser::new().map(tidied))]
    places: Vec<PathBuf>,
    /// A plugin that reads them: a file, or the name of a built-in one. Repeatable; none means all built-in ones.
    #[arg(long = "plugin", value_name = "FILE|NAME")]
    plugins: Vec<String>,
    /// Which plugins may run, and what each may use.
    #[arg(long, value_name = "FILE", env = "WFHOST_POLICY")]
    policy: Option<PathBuf>,
    /// The operator's own upstream servers, by name: documents may use them.
    #[arg(skip)]
    servers: Vec<String>,
}

/// Where sessions are kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct Data {
    /// Folder for sessions and native code [default: the platform's data folder]
    #[arg(long, value_name = "DIR", env = "WFHOST_DATA")]
    data: Option<PathBuf>,
}

fn tidied(path: OsString) -> PathBuf {
    place::tidy(&PathBuf::from(path))
}

/// Runs the program and says with what code it ends.
#[must_use]
pub fn main() -> ExitCode {
    crate::heap::share();
    let outcome = match Cli::parse().command {
        Command::Serve(command) => command.run(),
        Command::Validate(command) => command.run(),
        Command::Viz(command) => command.run(),
        Command::Run(command) => command.run(),
        Command::Eval(command) => command.run(),
        Command::Skill(command) => command.run(),
        Command::Sessions(command) => command.run(),
        Command::Logs(command) => command.run(),
        Command::Status(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Compact(command) => command.run(),
        Command::Verify(command) => command.run(),
        Command::Test(command) => command.run(),
        Command::Key(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Tools(command) => command.run(),
        Command::Primer(command) => command.run(),
        Command::Playground(command) => command.run(),
        Command::Plugin(command) => command.run(),
        Command::Doctor(command) => command.run(),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            print::error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Success, or the code for findings and failures.
fn code(well: bool) -> ExitCode {
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::Cli::command().debug_assert();
    }
}
