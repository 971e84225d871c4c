//! What to paste into a client's configuration: absolute paths, so that it works from wherever the client starts it.

use serde_json::{Value, json};

/// How a client starts this server.
#[derive(Debug)]
pub(crate) struct Snippet {
    command: String,
    args: Vec<String>,
}

/// The name under which clients list it.
const NAME: &str = "wfhost";

impl Snippet {
    /// A server started by this executable with these arguments.
    pub(crate) fn of(command: String, args: Vec<String>) -> Self {
        Self { command, args }
    }

    /// One line for Claude Code.
    pub(crate) fn claude_code(&self) -> String {
        let words = std::iter::once(&self.command).chain(&self.args).map(|word| quoted(word));
        format!("claude mcp add {NAME} -- {}", words.collect::<Vec<_>>().join(" "))
    }

    /// The `mcpServers` form: Claude Desktop, Cursor and most others.
    pub(crate) fn mcp_servers(&self) -> Value {
        json!({"mcpServers": {NAME: {"command": self.command, "args": self.args}}})
    }

    /// The form of VS Code's `.vscode/mcp.json`.
    pub(crate) fn vs_code(&self) -> Value {
        json!({"servers": {NAME: {"type": "stdio", "command": self.command, "args": self.args}}})
    }
}

/// A word as a POSIX shell takes it.
fn quoted(word: &str) -> String {
    let harmless =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'_' | b'-' | b'+' | b'=' | b':' | b',' | b'@');
    if !word.is_empty() && word.bytes().all(harmless) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        let snippet = Snippet::of("/opt/wf host".into(), vec!["serve".into(), "/a/it's".into()]);
        assert_eq!(snippet.claude_code(), r"claude mcp add wfhost -- '/opt/wf host' serve '/a/it'\''s'");
    }
}
