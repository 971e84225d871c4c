//! The command line: one file a command, named as the command is. This folder owns the terminal, the environment and the
//! exit code; the rest of the crate sees none of them.

mod place;
mod print;
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// Runs procedures that AI agents follow: workflow documents, interpreted in a sandbox, served over MCP, every step kept.
#[derive(Debug, Parser)]
#[command(name = "wfhost", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the documents of folders to an MCP client, on standard input and output or over HTTP.
    Serve(serve::Serve),
}

/// Which documents, and which plugins read them.
#[derive(Debug, Clone, Args)]
pub(crate) struct Documents {
    /// Folders of workflow documents, or single documents.
    #[arg(value_name = "DOCUMENTS", required = true)]
    places: Vec<PathBuf>,
    /// A plugin that reads them: a file, or the name of a built-in one. Repeatable; none means all built-in ones.
    #[arg(long = "plugin", value_name = "FILE|NAME")]
    plugins: Vec<String>,
}

/// Where sessions are kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct Data {
    /// Folder for sessions and native code [default: the platform's data folder]
    #[arg(long, value_name = "DIR", env = "WFHOST_DATA")]
    data: Option<PathBuf>,
}

/// Runs the program and says with what code it ends.
#[must_use]
pub fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(command) => command.run(),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            print::error(&error);
            ExitCode::FAILURE
        }
    }
}
