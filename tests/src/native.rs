//! The driver that calls an interpreter directly: documents and calls go to the kit's host in memory.

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};
use wfhost_guest::Dialect;
use wfhost_guest::model::{
    Diagnostic, Document, Failure, Graph, Interpreter, Mishap, Need, Output, Request, Severity, Shape, Source,
};
use wfhost_guest::native::{Host, World};

use crate::corpus::{Change, Files, Setup};
use crate::driver::{Asked, CallOutcome, CliOutcome, Driver, Found, Validation};
use crate::graphs::Upstream;
use crate::walk;

/// An interpreter, reached natively.
#[derive(Debug)]
pub struct Native<D> {
    interpreter: Interpreter,
    host: Host<D>,
    files: Files,
    asks: bool,
    upstream: Vec<Value>,
    canned: Option<Value>,
}

impl<D: Dialect> Native<D> {
    /// A driver of one interpreter.
    pub fn new(interpreter: Interpreter) -> Self {
        Self { interpreter, host: Host::default(), files: Vec::new(), asks: false, upstream: Vec::new(), canned: None }
    }

    /// The documents that the interpreter reads, in the order of their paths.
    fn documents(&self, files: &Files) -> Vec<Document> {
        let mut documents: Vec<Document> = files
            .iter()
            .filter(|(path, _)| !path.contains('/') && self.interpreter.files.iter().any(|glob| fits(glob, path)))
            .filter(|(_, bytes)| {
                self.interpreter.marks.iter().any(|mark| bytes.windows(mark.len()).any(|part| part == mark.as_bytes()))
            })
            .map(|(path, bytes)| Document { path: path.clone(), bytes: bytes.clone() })
            .collect();
        documents.sort_by(|a, b| a.path.cmp(&b.path));
        documents
    }

    fn load(&mut self) -> bool {
        let documents = self.documents(&self.files);
        let told = self.host.load(&documents);
        let refused = told.iter().flat_map(|(_, findings)| findings).any(|finding| finding.severity == Severity::Error);
        !refused && !self.host.definitions.is_empty()
    }
}

/// Globs of the form `*.yaml`.
fn fits(glob: &str, path: &str) -> bool {
    glob.strip_prefix('*').map_or(glob == path, |tail| path.ends_with(tail))
}

impl<D: Dialect> Driver for Native<D> {
    fn start(&mut self, setup: &Setup) -> Result<bool> {
        self.host = Host::default();
        self.files.clone_from(&setup.documents);
        self.canned.clone_from(&setup.upstream);
        let declared =
            setup.client_capabilities.as_ref().is_some_and(|capabilities| capabilities.get("elicitation").is_some());
        self.asks = declared && !setup.serve_args.iter().any(|word| word == "--no-elicit");
        Ok(self.load())
    }

    fn restart(&mut self, change: &Change) -> Result<()> {
        self.files.retain(|(path, _)| {
            !change.removed.contains(path) && !change.written.iter().any(|(written, _)| written == path)
        });
        self.files.extend(change.written.iter().cloned());
        self.load();
        Ok(())
    }

    fn upstream(&mut self, recorded: &[Value]) {
        self.upstream = recorded.to_vec();
    }

    fn call(&mut self, tool: &str, arguments: Option<&Value>, replies: &[Value]) -> Result<CallOutcome> {
        let arguments = arguments.map_or_else(|| "{}".to_owned(), Value::to_string);
        // Their peer gives texts of JSON, which are compared as texts.
        let machines = self.interpreter.name == "machines";
        let servers = if machines {
            Servers::Canned(self.canned.clone())
        } else {
            Servers::Recorded(Upstream::new(std::mem::take(&mut self.upstream)))
        };
        let mut person =
            Person { asks: self.asks, replies: replies.iter().cloned().collect(), elicited: Vec::new(), servers };
        let output = self
            .host
            .call(tool, &arguments, &mut person)
            .map_err(|fault| anyhow!("a promise is broken: {}", fault.0))?;
        if let Servers::Recorded(upstream) = &mut person.servers {
            upstream.done()?;
        }
        Ok(CallOutcome {
            is_error: output.is_error,
            value: if machines { serde_json::from_str(&output.value)? } else { shown(&output) },
            headline: output.headline,
            elicited: person.elicited,
        })
    }

    fn view(&mut self, path: &str) -> Result<Option<String>> {
        let arguments = json!({"uri": path}).to_string();
        let read = self.host.call("read_resource", &arguments, &mut wfhost_guest::native::Alone);
        let output = read.map_err(|fault| anyhow!("a promise is broken: {}", fault.0))?;
        let text: Value = serde_json::from_str(&output.value)?;
        Ok((!output.is_error).then(|| text.as_str().unwrap_or_default().to_owned()))
    }

    fn has_upstream(&self) -> bool {
        true
    }

    fn look_back(&mut self) -> Result<()> {
        // The kit's host keeps no journal.
        Ok(())
    }

    fn list_tools(&mut self) -> Result<Value> {
        let tools = D::tools(&self.host.workflows()).into_iter().map(|tool| {
            let schema: Value = serde_json::from_str(&tool.input_schema).context(tool.name.clone())?;
            Ok(json!({"name": tool.name, "title": tool.title, "description": tool.description, "inputSchema": schema}))
        });
        Ok(Value::Array(tools.collect::<Result<_>>()?))
    }

    fn initialize(&mut self) -> Result<Option<Value>> {
        Ok(None)
    }

    fn findings(&mut self, documents: &Files) -> Result<Option<Vec<Found>>> {
        let told = Host::<D>::default().load(&self.documents(documents));
        Ok(Some(told.into_iter().flat_map(|(_, findings)| findings).map(found).collect()))
    }

    fn validate(&mut self, documents: &Files) -> Result<Validation> {
        let mut host = Host::<D>::default();
        let told = host.load(&self.documents(documents));
        let errors = told.iter().flat_map(|(path, findings)| errors(path, findings));
        let mut errors: Vec<String> = errors.collect();
        // A file that this interpreter does not know is told by the host in its own words.
        let known: Vec<&String> = told.iter().map(|(path, _)| path).collect();
        errors.extend(
            documents
                .iter()
                .filter(|(path, _)| !known.contains(&path))
                .map(|(path, _)| format!("{path}: no interpreter knows this document")),
        );
        let accepted = !host.definitions.is_empty() && !told.iter().any(|(_, findings)| findings.iter().any(is_error));
        Ok(Validation { accepted, errors })
    }

    fn cli(&mut self, setup: &Setup, args: &[String]) -> Result<Option<CliOutcome>> {
        let mut words = args.iter().map(String::as_str);
        let (command, path) = (words.next(), words.next().unwrap_or_default());
        let folder = path.trim_start_matches("./").trim_end_matches('/') == "trees";
        let file = path.strip_prefix("trees/").and_then(|name| setup.documents.iter().find(|(path, _)| path == name));
        Ok(match (command, folder, file) {
            (Some("validate"), true, _) if !self.documents(&setup.documents).is_empty() => {
                Some(self.reported(&setup.documents))
            }
            (Some("viz"), false, Some((name, bytes))) => Some(self.drawn(name, bytes)),
            (_, _, _) => None,
        })
    }
}

impl<D: Dialect> Native<D> {
    fn reported(&self, files: &Files) -> CliOutcome {
        let mut host = Host::<D>::default();
        let mut stdout = String::new();
        let mut failed = false;
        for document in self.documents(files) {
            let before = host.definitions.len();
            let told = host.load(std::slice::from_ref(&document));
            debug_assert!(before <= 1, "documents are loaded one by one");
            let errors: Vec<String> = told.iter().flat_map(|(path, findings)| errors(path, findings)).collect();
            failed |= !errors.is_empty();
            stdout.extend(errors.iter().map(|error| format!("FAIL trees/{error}\n")));
            stdout.extend(
                host.definitions
                    .iter()
                    .filter(|_| errors.is_empty())
                    .map(|served| format!("OK   trees/{} (id={})\n", document.path, served.about.id)),
            );
        }
        CliOutcome { exit: i64::from(failed), stdout }
    }

    fn drawn(&self, name: &str, bytes: &[u8]) -> CliOutcome {
        let mut host = Host::<D>::default();
        let told = host.load(&[Document { path: name.to_owned(), bytes: bytes.to_vec() }]);
        match host.definitions.first() {
            Some(definition) => CliOutcome { exit: 0, stdout: mermaid(&definition.graph) },
            None => {
                let lines = told
                    .iter()
                    .flat_map(|(path, findings)| errors(path, findings))
                    .map(|error| format!("FAIL trees/{error}\n"));
                CliOutcome { exit: 1, stdout: lines.collect() }
            }
        }
    }
}

fn found(finding: Diagnostic) -> Found {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    Found { level: level.to_owned(), code: finding.code, subject: finding.subject, message: finding.message }
}

fn is_error(finding: &Diagnostic) -> bool {
    finding.severity == Severity::Error
}

/// Errors as lines: file, place, node, message.
fn errors(path: &str, findings: &[Diagnostic]) -> Vec<String> {
    let line = |finding: &Diagnostic| {
        let place = finding.span.map(|span| format!("{}:{}: ", span.start.line, span.start.column)).unwrap_or_default();
        let subject = finding.subject.as_ref().map(|subject| format!("[{subject}] ")).unwrap_or_default();
        format!("{path}: {place}{subject}{}", finding.message)
    };
    findings.iter().filter(|finding| is_error(finding)).map(line).collect()
}

/// The drawing as a Mermaid flowchart.
pub fn mermaid(graph: &Graph) -> String {
    let label = |text: &str| text.replace('"', "#quot;").replace('\n', "<br/>");
    let mut out = "flowchart TD\n".to_owned();
    for node in &graph.nodes {
        let (open, close) = match node.shape {
            Shape::Action | Shape::Question => ("[\"", "\"]"),
            Shape::Branch => ("{\"", "\"}"),
            Shape::Judgment => ("[[\"", "\"]]"),
            Shape::Terminal => ("([\"", "\"])"),
            Shape::Fork => ("{{\"", "\"}}"),
        };
        out.push_str(&format!("  {}{open}{}{close}\n", node.id, label(&node.label)));
    }
    for edge in &graph.edges {
        let arrow = if edge.label.is_empty() { "-->".to_owned() } else { format!("-- {} -->", label(&edge.label)) };
        out.push_str(&format!("  {} {arrow} {}\n", edge.source, edge.target));
    }
    out
}

/// The person at the client and the servers of others, by script; and a clock that does not let anybody wait.
struct Person {
    asks: bool,
    replies: std::collections::VecDeque<Value>,
    elicited: Vec<Asked>,
    servers: Servers,
}

/// What servers of others answer: what was recorded of each call, or what they always say.
enum Servers {
    Recorded(Upstream),
    Canned(Option<Value>),
}

impl World for Person {
    fn took(&self) -> u64 {
        match &self.servers {
            Servers::Recorded(upstream) => upstream.took,
            Servers::Canned(_) => 0,
        }
    }

    fn carry_out(&mut self, request: &Request) -> Option<(Source, Result<String, Failure>)> {
        let question = match &request.need {
            Need::Answer(question) => question,
            Need::Tool(call) => {
                let answer = match &mut self.servers {
                    Servers::Recorded(upstream) => upstream.answer(call),
                    Servers::Canned(canned) => walk::canned(canned.as_ref(), call, request.deadline),
                };
                return Some((Source::Upstream, answer));
            }
            Need::Timer(at) => return Some((Source::Clock, walk::timer(*at, request.deadline))),
            Need::ToolList(_) | Need::Completion(_) | Need::Workflow(_) => return None,
        };
        if !self.asks {
            return None;
        }
        let schema: Value = serde_json::from_str(&question.schema).unwrap_or_default();
        let form = json!({"type": "object", "properties": {"value": schema}, "required": ["value"]});
        self.elicited.push(Asked { message: question.prompt.clone(), schema: form });
        let reply = self.replies.pop_front()?;
        let word = reply.get("action").and_then(Value::as_str).unwrap_or_default();
        let value = match word {
            "accept" => Ok(reply.pointer("/content/value").filter(|value| fits_schema(value, &schema))?.to_string()),
            "decline" => {
                Err(Failure { kind: Mishap::Declined, message: "the person declined".to_owned(), detail: None })
            }
            _ => return None,
        };
        Some((Source::Human, value))
    }
}

/// As much of JSON Schema as a form has.
fn fits_schema(value: &Value, schema: &Value) -> bool {
    let typed = schema.get("type") != Some(&json!("string")) || value.is_string();
    typed && schema.get("enum").and_then(Value::as_array).is_none_or(|options| options.contains(value))
}

/// An output as a client would read it: JSON in a text as what it says.
pub fn shown(output: &Output) -> Value {
    let value: Value = serde_json::from_str(&output.value).unwrap_or_default();
    value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(value)
}
