//! Top level and nodes of a document, field by field. Every fault is told; what can be read is read.

use wfhost_guest::diagnostic;
use wfhost_guest::model::{Diagnostic, Severity};
use wfhost_guest::python;
use wfhost_guest::value::{Int, Value};
use wfhost_guest::yaml::{Data, Node};

use super::fields::Fields;
use super::model::{Branch, Choice, Kind, Name, Tree, TreeNode};
use crate::engine::SCHEMA_TYPES;
use crate::predicate::{COMPOSITES, LEAVES};

const VERSIONS: [&str; 2] = ["0.1", "0.2"];
const TYPES: [&str; 5] = ["condition", "ask", "judgment", "action", "terminal"];
const TOP: [&str; 7] = ["mcptree", "id", "title", "description", "entry", "max_steps", "nodes"];
/// How many trace entries a tree may write if it does not say.
const MAX_STEPS: u32 = 50;

/// The tree of a document. None: there is nothing that could be checked further.
pub(super) fn tree(root: &Node, findings: &mut Vec<Diagnostic>) -> Option<Tree> {
    if root.as_map().is_none() {
        let message = format!("the top level must be a mapping, and is {}", root.kind());
        findings.push(diagnostic::error("tree-top-level", message).at(root.span).done());
        return None;
    }
    let mut top = Fields { map: root, subject: None, path: String::new(), findings };
    let v2 = version(&mut top);
    let max_steps = max_steps(&mut top);
    let id = top.text("id");
    let title = top.text("title");
    let description = root.get("description").map(|node| python::str(&node.value())).unwrap_or_default();
    let entry = top.text("entry");
    top.unknown(&TOP);
    let nodes = nodes(&mut top)?;
    let before = top.findings.len();
    let read: Vec<TreeNode> =
        nodes.iter().filter_map(|pair| node(pair.key.as_str()?, pair, v2, top.findings)).collect();
    let faults = top.findings.get(before..).unwrap_or_default();
    let whole = read.len() == nodes.len() && !faults.iter().any(|fault| fault.severity == Severity::Error);
    Some(Tree {
        id: id.map(|name| name.text).unwrap_or_default(),
        title: title.map(|name| name.text).unwrap_or_default(),
        description,
        entry: entry?,
        max_steps,
        v2,
        nodes: read,
        ids: nodes.iter().filter_map(|pair| pair.key.as_str()).map(str::to_owned).collect(),
        whole,
        hash: String::new(),
    })
}

fn version(top: &mut Fields<'_>) -> bool {
    let Some(version) = top.text("mcptree") else { return true };
    if !VERSIONS.contains(&version.text.as_str()) {
        let message = format!("the version '{}' is not one of {}", version.text, python::repr_list(VERSIONS));
        top.tell(diagnostic::error("tree-version", message).help("write `mcptree: \"0.2\"`"), version.span);
    }
    version.text != "0.1"
}

fn max_steps(top: &mut Fields<'_>) -> u32 {
    let Some(node) = top.map.get("max_steps") else { return MAX_STEPS };
    match &node.data {
        Data::Int(Int::Small(number)) if *number > 0 => u32::try_from(*number).unwrap_or(u32::MAX),
        Data::Int(Int::Big(digits)) if !digits.starts_with('-') => u32::MAX,
        Data::Int(_) => {
            let message = format!("`max_steps` must be a positive integer, and is {}", python::repr(&node.value()));
            top.tell(diagnostic::error("tree-max-steps", message), node.span);
            MAX_STEPS
        }
        Data::Null
        | Data::Bool(_)
        | Data::Float(_)
        | Data::Str(_)
        | Data::Date(_)
        | Data::Binary(_)
        | Data::Set(_)
        | Data::List(_)
        | Data::Map(_) => {
            top.wrong("max_steps", "a positive integer", node);
            MAX_STEPS
        }
    }
}

fn nodes<'a>(top: &mut Fields<'a>) -> Option<&'a [wfhost_guest::yaml::Pair]> {
    let Some(nodes) = top.map.get("nodes") else {
        top.missing("nodes");
        return None;
    };
    match nodes.as_map() {
        Some([]) => {
            top.tell(
                diagnostic::error("tree-empty-nodes", "`nodes` is empty and must be a non-empty mapping"),
                nodes.span,
            );
            None
        }
        None => {
            top.wrong("nodes", "a non-empty mapping", nodes);
            None
        }
        some => some,
    }
}

fn node(id: &str, pair: &wfhost_guest::yaml::Pair, v2: bool, findings: &mut Vec<Diagnostic>) -> Option<TreeNode> {
    let mut fields = Fields { map: &pair.value, subject: Some(id), path: String::new(), findings };
    if pair.value.as_map().is_none() {
        let message = format!("a node must be a mapping, and this is {}", pair.value.kind());
        fields.tell(diagnostic::error("tree-node", message), pair.value.span);
        return None;
    }
    let kind = fields.text("type")?;
    let kind = match kind.text.as_str() {
        "condition" => condition(&mut fields, v2),
        "ask" => ask(&mut fields),
        "judgment" => judgment(&mut fields, v2),
        "action" => action(&mut fields),
        "terminal" => terminal(&mut fields),
        other => {
            let cure = wfhost_guest::nearest::did_you_mean(other, TYPES)
                .unwrap_or_else(|| format!("types are {}", TYPES.join(", ")));
            let message = format!("there is no node type '{other}'");
            fields.tell(diagnostic::error("tree-node-type", message).help(cure), kind.span);
            return None;
        }
    };
    Some(TreeNode { id: Name { text: id.to_owned(), span: pair.key.span }, kind })
}

/// A text that could not be read stands as an empty one; an error has told so.
fn or_empty(name: Option<Name>, fields: &Fields<'_>) -> Name {
    name.unwrap_or_else(|| Name { text: String::new(), span: fields.place() })
}

fn captured(name: Option<Name>) -> String {
    name.map(|name| name.text).unwrap_or_default()
}

fn condition(fields: &mut Fields<'_>, v2: bool) -> Kind {
    let items = fields.list("branches", "branches");
    let mut branches = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(mut branch) = fields.item("branches", index, item) else { continue };
        branch.unknown(&["when", "then"]);
        let when = match item.get("when") {
            Some(when) => {
                predicate(&mut branch, when, "when", v2);
                when.value()
            }
            None => {
                branch.missing("when");
                Value::Null
            }
        };
        let then = branch.text("then");
        branches.push(Branch { when, then });
    }
    let on = fields.text("on");
    let default = fields.optional_text("default");
    fields.unknown(&["type", "on", "branches", "default"]);
    Kind::Condition { on: or_empty(on, fields), branches, default }
}

fn predicate(fields: &mut Fields<'_>, when: &Node, path: &str, v2: bool) {
    let Some([pair]) = when.as_map() else {
        let found = match when.as_map() {
            Some(pairs) => format!("has {} keys", pairs.len()),
            None => format!("is {}", when.kind()),
        };
        let message =
            format!("`{}{path}` must be a mapping with a single key like `{{eq: 200}}`, and {found}", fields.path);
        fields
            .tell(diagnostic::error("tree-predicate", message).help("several tests go into `all` or `any`"), when.span);
        return;
    };
    let op = pair.key.as_str().unwrap_or_default();
    if COMPOSITES.contains(&op) {
        if !v2 {
            let message = format!("`{}{path}.{op}`: '{op}' is there only since mcptree 0.2", fields.path);
            fields.tell(
                diagnostic::error("tree-needs-0-2", message).help("write `mcptree: \"0.2\"` at the top"),
                pair.key.span,
            );
        }
        composite(fields, pair, &format!("{path}.{op}"), v2);
    } else if !LEAVES.contains(&op) {
        let known = LEAVES.iter().chain(&COMPOSITES).copied();
        let cure = wfhost_guest::nearest::did_you_mean(op, known.clone())
            .unwrap_or_else(|| format!("tests are {}", known.collect::<Vec<_>>().join(", ")));
        let message = format!("`{}{path}`: there is no test '{op}'", fields.path);
        fields.tell(diagnostic::error("tree-unknown-test", message).help(cure), pair.key.span);
    }
}

fn composite(fields: &mut Fields<'_>, pair: &wfhost_guest::yaml::Pair, path: &str, v2: bool) {
    if pair.key.as_str() == Some("not") {
        return predicate(fields, &pair.value, path, v2);
    }
    match pair.value.as_list() {
        None | Some([]) => {
            let message = format!("`{}{path}` must be a non-empty list of predicates", fields.path);
            fields.tell(diagnostic::error("tree-predicate", message), pair.value.span);
        }
        Some(items) => {
            for (index, item) in items.iter().enumerate() {
                predicate(fields, item, &format!("{path}[{index}]"), v2);
            }
        }
    }
}

fn options(fields: &mut Fields<'_>) -> Vec<Choice> {
    let items = fields.list("options", "options");
    let mut options = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(mut option) = fields.item("options", index, item) else { continue };
        let id = option.text("id");
        let then = option.text("then");
        option.unknown(&["id", "then"]);
        if let Some(id) = id {
            options.push(Choice { id, then });
        }
    }
    options
}

fn ask(fields: &mut Fields<'_>) -> Kind {
    let free = fields.map.get("options").is_none();
    let options = if free { Vec::new() } else { options(fields) };
    let prompt = fields.text("prompt");
    let capture = captured(fields.optional_text("capture"));
    let next = fields.optional_text("next");
    let human_only = fields.flag("human_only");
    fields.unknown(&["type", "prompt", "options", "capture", "next", "human_only"]);
    Kind::Ask { prompt: or_empty(prompt, fields), free, options, capture, next, human_only }
}

fn judgment(fields: &mut Fields<'_>, v2: bool) -> Kind {
    let options = options(fields);
    let prompt = fields.text("prompt");
    let evidence = evidence(fields);
    let require_rationale = fields.flag("require_rationale");
    let capture = fields.optional_text("capture");
    if let Some(capture) = capture.as_ref().filter(|_| !v2) {
        let finding = diagnostic::error("tree-needs-0-2", "`capture` on a judgment is there only since mcptree 0.2");
        fields.tell(finding.help("write `mcptree: \"0.2\"` at the top"), capture.span);
    }
    fields.unknown(&["type", "prompt", "evidence", "options", "capture", "require_rationale"]);
    Kind::Judgment {
        prompt: or_empty(prompt, fields),
        evidence,
        options,
        capture: captured(capture),
        require_rationale,
    }
}

fn evidence(fields: &mut Fields<'_>) -> Vec<Name> {
    let Some(node) = fields.map.get("evidence") else { return Vec::new() };
    let Some(items) = node.as_list() else {
        fields.wrong("evidence", "a list of fact names", node);
        return Vec::new();
    };
    let mut names = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item.as_str() {
            Some(text) => names.push(Name { text: text.to_owned(), span: item.span }),
            None => fields.wrong(&format!("evidence[{index}]"), "the name of a fact, a text", item),
        }
    }
    names
}

fn action(fields: &mut Fields<'_>) -> Kind {
    let tool = fields.text("tool");
    let args = fields.mapping("args").map_or_else(|| Value::Map(wfhost_guest::value::Map::default()), Node::value);
    let next = fields.text("next");
    let on_error = fields.optional_text("on_error");
    let mut capture = String::new();
    let mut schema = None;
    if let Some(result) = fields.mapping("result") {
        let mut inner =
            Fields { map: result, subject: fields.subject, path: "result.".to_owned(), findings: fields.findings };
        inner.unknown(&["capture", "schema"]);
        capture = captured(inner.optional_text("capture"));
        if !matches!(result.get("schema"), None | Some(Node { data: Data::Null, .. })) {
            schema = inner.mapping("schema").inspect(|schema| doubt_schema(&mut inner, schema)).map(Node::value);
        }
    }
    fields.unknown(&["type", "tool", "args", "result", "next", "on_error"]);
    Kind::Action { tool: or_empty(tool, fields), args, schema, capture, next, on_error }
}

/// Only a small part of JSON Schema is looked at. A type that is no type checks nothing, which nobody means.
fn doubt_schema(inner: &mut Fields<'_>, schema: &Node) {
    if let Some(node) = schema.get("type")
        && let Some(name) = node.as_str()
        && !SCHEMA_TYPES.contains(&name)
        && name != "null"
    {
        let cure = wfhost_guest::nearest::did_you_mean(name, SCHEMA_TYPES)
            .unwrap_or_else(|| format!("types are {}", SCHEMA_TYPES.join(", ")));
        let message = format!("`result.schema.type`: there is no type `{name}`, so nothing is checked");
        inner.tell(diagnostic::warning("tree-schema-type", message).help(cure), node.span);
    }
    for key in schema.get("required").and_then(Node::as_list).unwrap_or_default() {
        if key.as_str().is_none() {
            let message = format!("`result.schema.required` names keys, and this is {}", key.kind());
            inner.tell(diagnostic::warning("tree-schema-required", message), key.span);
        }
    }
}

fn terminal(fields: &mut Fields<'_>) -> Kind {
    let outcome = fields.text("outcome");
    let summary = fields.text("summary");
    fields.unknown(&["type", "outcome", "summary"]);
    Kind::Terminal { outcome: or_empty(outcome, fields), summary: or_empty(summary, fields) }
}
