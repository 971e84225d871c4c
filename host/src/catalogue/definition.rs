//! A compiled workflow as the host keeps it: by content, so that a session ends on what it began with.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::plugin::contract;
use crate::session::model::Digest;

/// The form of the bytes below, the newest that is read.
const FORMAT: u8 = 1;

/// A workflow ready to run.
#[derive(Debug, Clone)]
pub struct Definition {
    /// SHA-256 of all of it: the name under which the store keeps it.
    pub digest: Digest,
    /// What a catalogue says of it.
    pub about: contract::Workflow,
    /// Its drawing.
    pub graph: contract::Graph,
    /// Its views.
    pub views: Vec<contract::View>,
    /// Upstream servers that the document declares.
    pub servers: Arc<[contract::Server]>,
    /// What a model should know before it starts.
    pub instructions: Option<String>,
    /// How its sessions are kept.
    pub keeping: contract::Keeping,
    /// The files it was made from: path and SHA-256.
    pub sources: Vec<(String, Digest)>,
    /// The interpreter's own form of it.
    pub code: Arc<[u8]>,
    /// All of it, as the store keeps it.
    pub bytes: Arc<[u8]>,
}

/// The bytes are no definition.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DefinitionFault {
    /// Written by a newer wfhost.
    #[error("definition {digest} was written in format {found}, this wfhost reads {FORMAT}: use a newer wfhost")]
    Newer {
        /// Its digest.
        digest: Digest,
        /// Its format.
        found: u8,
    },
    /// Cut or altered.
    #[error("definition {digest} cannot be read: {reason}")]
    Damaged {
        /// Its digest.
        digest: Digest,
        /// What is wrong.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Header {
    id: String,
    title: String,
    description: String,
    version: Option<String>,
    extra: String,
    entry: String,
    nodes: Vec<(String, String, String)>,
    edges: Vec<(String, String, String)>,
    views: Vec<ViewRow>,
    // A definition without servers reads, and is named, as it always was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    servers: Vec<(String, String)>,
    instructions: Option<String>,
    shared: bool,
    idle_seconds: Option<u32>,
    limit: Option<u32>,
    sources: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
struct ViewRow {
    name: String,
    title: String,
    description: String,
    parameters: Vec<String>,
    mime: String,
    prompt: bool,
    journal: bool,
}

impl Definition {
    /// Keeps what a plugin compiled.
    pub fn new(compiled: contract::Definition, sources: Vec<(String, Digest)>) -> Result<Self, serde_json::Error> {
        let header = Header {
            id: compiled.about.id.clone(),
            title: compiled.about.title.clone(),
            description: compiled.about.description.clone(),
            version: compiled.about.version.clone(),
            extra: compiled.about.extra.clone(),
            entry: compiled.graph.entry.clone(),
            nodes: compiled
                .graph
                .nodes
                .iter()
                .map(|n| (n.id.clone(), n.label.clone(), shape(n.shape).into()))
                .collect(),
            edges: compiled.graph.edges.iter().map(|e| (e.source.clone(), e.target.clone(), e.label.clone())).collect(),
            views: compiled.views.iter().map(view_row).collect(),
            servers: compiled.servers.iter().map(|s| (s.name.clone(), s.spec.clone())).collect(),
            instructions: compiled.instructions.clone(),
            shared: compiled.sessions.shared,
            idle_seconds: compiled.sessions.idle_seconds,
            limit: compiled.sessions.limit,
            sources: sources.iter().map(|(path, digest)| (path.clone(), digest.to_string())).collect(),
        };
        let header = serde_json::to_vec(&header)?;
        let length = u32::try_from(header.len()).unwrap_or(u32::MAX);
        let bytes: Arc<[u8]> = [&[FORMAT][..], &length.to_be_bytes(), &header, &compiled.code].concat().into();
        Ok(Self {
            digest: Digest::of(&bytes),
            about: compiled.about,
            graph: compiled.graph,
            views: compiled.views,
            servers: compiled.servers.into(),
            instructions: compiled.instructions,
            keeping: compiled.sessions,
            sources,
            code: compiled.code.into(),
            bytes,
        })
    }

    /// Reads what the store kept.
    pub fn decode(digest: Digest, bytes: Arc<[u8]>) -> Result<Self, DefinitionFault> {
        let damaged = |reason: &str| DefinitionFault::Damaged { digest, reason: reason.into() };
        if Digest::of(&bytes) != digest {
            return Err(damaged("its content is not what its name says"));
        }
        match bytes.first() {
            Some(&FORMAT) => {}
            Some(&found) => return Err(DefinitionFault::Newer { digest, found }),
            None => return Err(damaged("it is empty")),
        }
        let length = bytes.get(1..5).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
        let end = length.and_then(|l| usize::try_from(l).ok()?.checked_add(5)).ok_or_else(|| damaged("it is cut"))?;
        let header = bytes.get(5..end).ok_or_else(|| damaged("it is cut"))?;
        let header: Header = serde_json::from_slice(header).map_err(|e| damaged(&e.to_string()))?;
        let code = bytes.get(end..).unwrap_or_default().into();
        Self::of_header(digest, header, code, bytes).ok_or_else(|| damaged("a source's digest is none"))
    }

    fn of_header(digest: Digest, header: Header, code: Arc<[u8]>, bytes: Arc<[u8]>) -> Option<Self> {
        let sources =
            header.sources.into_iter().map(|(path, d)| Some((path, d.parse().ok()?))).collect::<Option<_>>()?;
        let node = |(id, label, s): (String, String, String)| contract::Node { id, label, shape: shape_named(&s) };
        Some(Self {
            digest,
            about: contract::Workflow {
                id: header.id,
                title: header.title,
                description: header.description,
                version: header.version,
                extra: header.extra,
            },
            graph: contract::Graph {
                entry: header.entry,
                nodes: header.nodes.into_iter().map(node).collect(),
                edges: header
                    .edges
                    .into_iter()
                    .map(|(source, target, label)| contract::Edge { source, target, label })
                    .collect(),
            },
            views: header.views.into_iter().map(view_of).collect(),
            servers: header.servers.into_iter().map(|(name, spec)| contract::Server { name, spec }).collect(),
            instructions: header.instructions,
            keeping: contract::Keeping {
                shared: header.shared,
                idle_seconds: header.idle_seconds,
                limit: header.limit,
            },
            sources,
            code,
            bytes,
        })
    }
}

fn view_row(view: &contract::View) -> ViewRow {
    ViewRow {
        name: view.name.clone(),
        title: view.title.clone(),
        description: view.description.clone(),
        parameters: view.parameters.clone(),
        mime: view.mime.clone(),
        prompt: view.prompt,
        journal: view.journal,
    }
}

fn view_of(row: ViewRow) -> contract::View {
    contract::View {
        name: row.name,
        title: row.title,
        description: row.description,
        parameters: row.parameters,
        mime: row.mime,
        prompt: row.prompt,
        journal: row.journal,
    }
}

/// A shape's name.
fn shape(shape: contract::Shape) -> &'static str {
    match shape {
        contract::Shape::Action => "action",
        contract::Shape::Branch => "branch",
        contract::Shape::Question => "question",
        contract::Shape::Judgment => "judgment",
        contract::Shape::Fork => "fork",
        contract::Shape::Terminal => "terminal",
    }
}

fn shape_named(name: &str) -> contract::Shape {
    use contract::Shape as S;
    [S::Branch, S::Question, S::Judgment, S::Fork, S::Terminal]
        .into_iter()
        .find(|s| shape(*s) == name)
        .unwrap_or(S::Action)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Definition {
        let compiled = contract::Definition {
            about: contract::Workflow {
                id: "a".into(),
                title: "A".into(),
                description: String::new(),
                version: None,
                extra: "{}".into(),
            },
            graph: contract::Graph {
                entry: "x".into(),
                nodes: vec![contract::Node {
                    id: "x".into(),
                    label: "x\nend".into(),
                    shape: contract::Shape::Terminal,
                }],
                edges: vec![],
            },
            views: vec![],
            servers: vec![],
            instructions: None,
            sessions: contract::Keeping { shared: false, idle_seconds: None, limit: None },
            code: vec![1, 2, 3],
        };
        Definition::new(compiled, vec![("a.yaml".into(), Digest::of(b"a"))]).unwrap()
    }

    #[test]
    fn what_was_kept_is_what_is_read() {
        let kept = sample();
        let read = Definition::decode(kept.digest, Arc::clone(&kept.bytes)).unwrap();
        assert_eq!(read.graph, kept.graph);
        assert_eq!(read.about, kept.about);
        assert_eq!(read.code, kept.code);
        assert_eq!(read.sources, kept.sources);
    }

    #[test]
    fn cut_or_altered_bytes_are_told() {
        let kept = sample();
        for cut in 0..kept.bytes.len() {
            let bytes: Arc<[u8]> = kept.bytes[..cut].into();
            assert!(Definition::decode(kept.digest, Arc::clone(&bytes)).is_err());
            // With the right name for the wrong bytes the reader must not stumble either.
            let _ = Definition::decode(Digest::of(&bytes), bytes);
        }
    }
}
