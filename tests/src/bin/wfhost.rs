//! The program under test: exactly what `wfhost` runs.

use std::process::ExitCode;

fn main() -> ExitCode {
    wfhost::cli::main()
}
