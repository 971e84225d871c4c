//! The operator's file of upstream servers, in the form that clients use: `{"mcpServers": {NAME: {..}}}`; besides, which of
//! the agent's tools are carried out by the host itself (`"bindings": {TOOL: {"server": .., "tool": ..}}`).

use std::collections::BTreeMap;

use serde_json::Value;

use super::config::{Spec, SpecFault};

/// What the file says.
#[derive(Debug, Clone, Default)]
pub struct File {
    /// The servers, by name.
    pub servers: BTreeMap<String, Spec>,
    /// Tools that are the agent's otherwise: the server and its tool.
    pub bindings: BTreeMap<String, (String, String)>,
}

/// The file cannot be used: what, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// It is no JSON.
    #[error("line {line}, column {column}: it is no JSON: {reason}")]
    Syntax {
        /// One-based.
        line: usize,
        /// One-based.
        column: usize,
        /// What the reader says.
        reason: String,
    },
    /// It has another form.
    #[error("`{at}`: {what}")]
    Form {
        /// A JSON pointer.
        at: String,
        /// What is wrong.
        what: String,
    },
    /// An entry is wrong.
    #[error("`/mcpServers/{name}`: {fault}")]
    Entry {
        /// Its name.
        name: String,
        /// What is wrong with it.
        fault: SpecFault,
    },
}

impl File {
    /// Reads the file's text.
    pub fn read(text: &str) -> Result<Self, FileFault> {
        let value: Value = serde_json::from_str(text).map_err(|error| FileFault::Syntax {
            line: error.line(),
            column: error.column(),
            reason: error.to_string().split(" at line").next().unwrap_or_default().to_owned(),
        })?;
        let form = |at: &str, what: &str| FileFault::Form { at: at.to_owned(), what: what.to_owned() };
        let object = value.as_object().ok_or_else(|| form("", "the file should hold an object"))?;
        // Some clients call it so.
        let servers = object.get("mcpServers").or_else(|| object.get("servers"));
        let servers = servers.ok_or_else(|| form("/mcpServers", "it is missing: the servers by name"))?;
        let servers = servers.as_object().ok_or_else(|| form("/mcpServers", "it should be an object"))?;
        let mut read = Self::default();
        for (name, entry) in servers {
            let spec = Spec::read(entry).map_err(|fault| FileFault::Entry { name: name.clone(), fault })?;
            read.servers.insert(name.clone(), spec);
        }
        read.bind(object.get("bindings"))?;
        Ok(read)
    }

    fn bind(&mut self, bindings: Option<&Value>) -> Result<(), FileFault> {
        let form = |at: String, what: String| Err(FileFault::Form { at, what });
        let bindings = match bindings {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Object(bindings)) => bindings,
            Some(_) => return form("/bindings".into(), "it should be an object".into()),
        };
        for (tool, bound) in bindings {
            let at = format!("/bindings/{tool}");
            let text = |key: &str| bound.get(key).and_then(Value::as_str).map(str::to_owned);
            let Some(server) = text("server") else {
                return form(at, "it needs a `server`, and the `tool` there if that has another name".into());
            };
            if !self.servers.contains_key(&server) {
                return form(format!("{at}/server"), format!("there is no server `{server}` in this file"));
            }
            self.bindings.insert(tool.clone(), (server, text("tool").unwrap_or_else(|| tool.clone())));
        }
        Ok(())
    }
}
