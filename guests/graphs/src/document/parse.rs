//! A document, field by field. Every fault is told; what can be read is read.

use wfhost_guest::diagnostic;
use wfhost_guest::value::Value;
use wfhost_guest::yaml::{Data, Node};

use super::fields::{Fields, Findings};
use super::model::{Document, Hints, Limits, Name, ToolDef};
use super::nodes;
use super::plain::plain;

const TOP: [&str; 6] = ["version", "server", "mcpServers", "executionLimits", "tools", "dollarArgs"];
const SERVER: [&str; 4] = ["name", "version", "title", "instructions"];
const LIMITS: [&str; 2] = ["maxNodeExecutions", "maxExecutionTimeMs"];
const TOOL: [&str; 7] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations", "nodes"];
const HINTS: [&str; 5] = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/// What a document says. None: there is nothing that could be checked further.
pub(super) fn document(root: &Node, findings: &mut Findings) -> Option<Document> {
    let top = Fields::of(root, "", findings)?;
    top.text("version", "write `version: \"1.0\"`, in quotes", findings);
    let named = server(&top, findings);
    let servers = servers(&top, findings);
    let limits = limits(&top, findings);
    top.flag("dollarArgs", findings);
    let tools = match root.get("tools") {
        None => Vec::new(),
        Some(_) => {
            let items = top.list("tools", "write a list of tools", findings).unwrap_or_default();
            items.iter().enumerate().filter_map(|(index, item)| tool(item, index, findings)).collect()
        }
    };
    top.unknown(&TOP, findings);
    let (server, version, title, instructions) = named.unwrap_or_default();
    Some(Document { server, title, version, instructions, servers, limits, tools })
}

type Named = (String, String, String, Option<String>);

fn server(top: &Fields<'_>, findings: &mut Findings) -> Option<Named> {
    let map = top.mapping("server", "write `server: {name: .., version: \"1.0.0\"}`", findings)?;
    let fields = Fields { map, path: "server" };
    let name = fields.text("name", "name the server", findings);
    let version = fields.text("version", "write `version: \"1.0.0\"`, in quotes", findings);
    let title = fields.optional_text("title", findings);
    let instructions = fields.optional_text("instructions", findings);
    fields.unknown(&SERVER, findings);
    let name = name?.text;
    let title = title.map_or_else(|| name.clone(), |title| title.text);
    Some((name, version?.text, title, instructions.map(|name| name.text)))
}

fn servers(top: &Fields<'_>, findings: &mut Findings) -> Vec<(Name, Value)> {
    if top.map.get("mcpServers").is_none() {
        return Vec::new();
    }
    let Some(map) = top.mapping("mcpServers", "", findings) else { return Vec::new() };
    let pairs = map.as_map().unwrap_or_default();
    pairs.iter().filter_map(|pair| one_server(pair.key.as_str()?, pair, findings)).collect()
}

/// An entry of `mcpServers`, here or in a companion. Its further words are the host's to read.
pub(super) fn one_server(
    name: &str,
    pair: &wfhost_guest::yaml::Pair,
    findings: &mut Findings,
) -> Option<(Name, Value)> {
    let path = format!("mcpServers.{name}");
    let fields = Fields::of(&pair.value, &path, findings)?;
    let kind = fields.optional_text("type", findings);
    let word = kind.as_ref().map_or("stdio", |kind| kind.text.as_str());
    match word {
        "stdio" => {
            fields.text(
                "command",
                "name the program; a server that is reached by HTTP has a `type` and a `url`",
                findings,
            );
            let items = fields.list("args", "write `args: []` if there are none", findings).unwrap_or_default();
            if let Some(item) = items.iter().find(|item| item.as_str().is_none()) {
                fields.wrong("args", "a list of texts", item, findings);
            }
            fields.optional_text("cwd", findings);
        }
        "sse" | "streamableHttp" => {
            fields.text("url", "write the address of the server", findings);
        }
        other => {
            let message = format!("`{path}.type` is `{other}`");
            let help = "it is stdio, streamableHttp or sse";
            findings.tell(
                diagnostic::error("graph-transport", message).help(help),
                kind.map_or(pair.value.span, |k| k.span),
            );
        }
    }
    Some((Name { text: name.to_owned(), span: pair.key.span }, plain(&pair.value)))
}

fn limits(top: &Fields<'_>, findings: &mut Findings) -> Limits {
    let usual = Limits::default();
    if top.map.get("executionLimits").is_none() {
        return usual;
    }
    let Some(map) = top.mapping("executionLimits", "", findings) else { return usual };
    let fields = Fields { map, path: "executionLimits" };
    fields.unknown(&LIMITS, findings);
    Limits {
        runs: fields.count("maxNodeExecutions", 1, findings).unwrap_or(usual.runs),
        time_ms: fields.count("maxExecutionTimeMs", 1, findings).unwrap_or(usual.time_ms),
    }
}

fn tool(item: &Node, index: usize, findings: &mut Findings) -> Option<ToolDef> {
    let path = format!("tools[{index}]");
    let fields = Fields::of(item, &path, findings)?;
    let name = fields.text("name", "name the tool", findings);
    findings.subject = name.as_ref().map(|name| name.text.clone());
    if let Some(name) = name.as_ref().filter(|name| name.text.trim().is_empty()) {
        findings.tell(diagnostic::error("graph-empty", format!("`{path}.name` is empty")), name.span);
    }
    let description = fields.text("description", "say what the tool is for, and when to use it", findings);
    let title = fields.optional_text("title", findings);
    let input = schema(&fields, "inputSchema", findings);
    let output = schema(&fields, "outputSchema", findings);
    let hints = hints(&fields, findings);
    let items = fields.list("nodes", "write a list of nodes, from one entry to one exit", findings);
    fields.unknown(&TOOL, findings);
    let tool = name.as_ref().map(|name| name.text.clone()).unwrap_or_default();
    let nodes = items.unwrap_or_default().iter().enumerate();
    let nodes = nodes.filter_map(|(index, item)| nodes::node(item, &format!("{path}.nodes[{index}]"), findings));
    let nodes: Vec<_> = nodes.collect();
    findings.subject = None;
    items?;
    let name = name.unwrap_or(Name { text: tool, span: item.span });
    let description = description.map(|name| name.text).unwrap_or_default();
    Some(ToolDef { name, title: title.map(|name| name.text), description, input, output, hints, nodes })
}

/// A schema. All of it is kept; MCP wants both of a tool to be of an object.
fn schema(fields: &Fields<'_>, name: &str, findings: &mut Findings) -> Value {
    let Some(node) = fields.mapping(name, "write at least `{type: object}`", findings) else { return Value::Null };
    let path = fields.at(name);
    let own = Fields { map: node, path: &path };
    if let Some(kind) = own.text("type", "write `type: object`", findings)
        && kind.text != "object"
    {
        let message = format!("`{path}.type` is `{}`, and a tool takes and gives objects", kind.text);
        findings.tell(diagnostic::warning("graph-schema-type", message).help("write `type: object`"), kind.span);
    }
    let schema = plain(node);
    for fault in wfhost_guest::schema::faults(&schema) {
        let message = format!("`{path}` {}: {}", pointer(&fault.path), fault.message);
        let place = at(node, &fault.path).span;
        findings.tell(diagnostic::warning("graph-schema", message).maybe_help(fault.help), place);
    }
    schema
}

fn pointer(path: &[String]) -> String {
    path.iter().map(|step| format!("/{step}")).collect()
}

/// The node at a way of names and numbers, or the last one on it.
fn at<'a>(root: &'a Node, path: &[String]) -> &'a Node {
    let mut at = root;
    for step in path {
        let item = step.parse::<usize>().ok().and_then(|index| at.as_list()?.get(index));
        match item.or_else(|| at.get(step)) {
            Some(next) => at = next,
            None => return at,
        }
    }
    at
}

fn hints(fields: &Fields<'_>, findings: &mut Findings) -> Hints {
    if fields.map.get("annotations").is_none() {
        return Hints::default();
    }
    let Some(map) = fields.mapping("annotations", "", findings) else { return Hints::default() };
    let path = fields.at("annotations");
    let own = Fields { map, path: &path };
    own.unknown(&HINTS, findings);
    Hints {
        read_only: own.flag("readOnlyHint", findings),
        destructive: own.flag("destructiveHint", findings),
        idempotent: own.flag("idempotentHint", findings),
        open_world: own.flag("openWorldHint", findings),
    }
}

/// Whether a document says how texts with a leading `$` are read.
pub(super) fn dollar_option(root: &Node) -> Option<bool> {
    match root.get("dollarArgs")?.data {
        Data::Bool(flag) => Some(flag),
        Data::Null
        | Data::Int(_)
        | Data::Float(_)
        | Data::Str(_)
        | Data::Date(_)
        | Data::Binary(_)
        | Data::Set(_)
        | Data::List(_)
        | Data::Map(_) => None,
    }
}
