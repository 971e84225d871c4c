//! An upstream server that is a program: started in a process group of its own with no more of the environment than it needs,
//! its standard error read all the time and its end remembered.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use process_wrap::tokio::CommandWrap;
#[cfg(unix)]
use process_wrap::tokio::ProcessGroup;
use rmcp::transport::TokioChildProcess;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::Notify;

/// What a program gets of the host's environment, as MCP clients do it; and what finds files for temporary use and languages.
const INHERITED: [&str; 17] = [
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TZ",
    "APPDATA",
    "LOCALAPPDATA",
    "SYSTEMROOT",
    "TEMP",
    "USERPROFILE",
    "PATHEXT",
];
/// How much of its standard error is remembered, bytes.
const TAIL: usize = 4_096;

/// How long a program's last words may take to arrive after its end.
const LAST_WORDS_TIME: Duration = Duration::from_millis(200);

/// The end of what a program wrote on its standard error.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<u8>>>, Arc<Notify>);

impl Tail {
    fn add(&self, bytes: &[u8]) {
        let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(bytes.iter().copied());
        let over = tail.len().saturating_sub(TAIL);
        tail.drain(..over);
    }

    /// Waits for the last words of a program that has ended, a short time.
    pub(super) async fn last_words(&self) {
        let _ = tokio::time::timeout(LAST_WORDS_TIME, self.1.notified()).await;
    }

    /// The last lines, without what a terminal would take for orders.
    pub(super) fn text(&self) -> String {
        let tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
        let last = lines.iter().rev().take(3).rev().copied().collect::<Vec<_>>().join(" | ");
        last.chars().filter(|c| !c.is_control()).collect()
    }
}

/// A program to start.
#[derive(Debug)]
pub(super) struct Program<'p> {
    pub(super) command: &'p str,
    pub(super) args: &'p [String],
    pub(super) env: &'p BTreeMap<String, String>,
    pub(super) cwd: Option<&'p str>,
}

/// Starts it. Ends with the transport: its input is closed, then its group is asked to end, then killed.
pub(super) fn start(
    program: &Program<'_>,
    inherited: &dyn Fn(&str) -> Option<String>,
) -> Result<(TokioChildProcess, Tail), String> {
    let mut command = CommandWrap::with_new(OsString::from(program.command), |command| {
        command.args(program.args).env_clear();
        command.envs(INHERITED.iter().filter_map(|name| Some((*name, inherited(name)?))));
        command.envs(program.env);
        if let Some(cwd) = program.cwd {
            command.current_dir(cwd);
        }
    });
    #[cfg(unix)]
    command.wrap(ProcessGroup::leader());
    let started = TokioChildProcess::builder(command).stderr(std::process::Stdio::piped()).spawn();
    let (process, stderr) = started.map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        match program.cwd.filter(|cwd| missing && !std::path::Path::new(cwd).is_dir()) {
            Some(cwd) => format!("its folder `{cwd}` is not there"),
            None if missing => {
                format!("the program `{}` was not found; is it installed, and in PATH?", program.command)
            }
            None => format!("the program `{}` could not be started: {error}", program.command),
        }
    })?;
    let tail = Tail::default();
    if let Some(stderr) = stderr {
        tokio::spawn(read(stderr, tail.clone()));
    }
    Ok((process, tail))
}

/// Reads on so that the program never waits for a reader, and keeps the end.
async fn read(mut stderr: impl AsyncRead + Unpin, tail: Tail) {
    let mut buffer = vec![0; 8_192];
    while let Ok(count) = stderr.read(&mut buffer).await {
        let Some(bytes) = buffer.get(..count).filter(|b| !b.is_empty()) else { break };
        tail.add(bytes);
    }
    tail.1.notify_one();
}
