//! The nodes of a tool, kind by kind.

use wfhost_guest::diagnostic;
use wfhost_guest::model::Span;
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::yaml::{Data, Node};

use super::fields::{Fields, Findings};
use super::model::{Args, Condition, Fan, Kind, Name, NodeDef, Policy, Retry, Target, Text};
use super::plain::{key, plain};

const KINDS: [&str; 7] = ["entry", "exit", "transform", "mcp", "switch", "foreach", "call"];
const POLICY: [&str; 3] = ["onError", "retry", "timeoutMs"];
const RETRY: [&str; 3] = ["attempts", "delayMs", "backoff"];
const NEXT: &str = "name the node that follows";
/// LIMIT: tries of one call.
const ATTEMPTS_MAX: u32 = 20;
/// LIMIT: calls of a `foreach` at once.
const PARALLEL_MAX: u32 = 64;
const PARALLEL: u32 = 8;

/// A node. None: it cannot be read, and that is told.
pub(super) fn node(item: &Node, path: &str, findings: &mut Findings) -> Option<NodeDef> {
    let tool = findings.subject.clone();
    let read = Fields::of(item, path, findings).and_then(|fields| {
        let id = fields.text("id", "give the node an id", findings);
        if let Some(id) = &id {
            findings.subject = Some(id.text.clone());
        }
        let kind = kind(&fields, findings);
        Some(NodeDef { id: id?, kind: kind? })
    });
    findings.subject = tool;
    read
}

fn kind(fields: &Fields<'_>, findings: &mut Findings) -> Option<Kind> {
    let word = fields.text("type", &format!("one of {}", KINDS.join(", ")), findings)?;
    let (own, kind): (&[&str], _) = match word.text.as_str() {
        "entry" => (&["next"], next(fields, findings).map(|next| Kind::Entry { next })),
        "exit" => (&["next"], Some(Kind::Exit { next: fields.optional_text("next", findings) })),
        "transform" => (&["transform", "next"], transform(fields, findings)),
        "switch" => (&["conditions", "next"], switch(fields, findings)),
        "mcp" => (&["server", "tool", "args", "next"], mcp(fields, findings)),
        "call" => (&["tool", "workflow", "interpreter", "args", "next"], call(fields, findings)),
        "foreach" => (&["items", "do", "parallel", "keepErrors", "next"], foreach(fields, findings)),
        other => {
            let help = did_you_mean(other, KINDS).unwrap_or_else(|| format!("one of {}", KINDS.join(", ")));
            let message = format!("`{}` is `{other}`, which is no kind of node", fields.at("type"));
            findings.tell(diagnostic::error("graph-node-type", message).help(help), word.span);
            return None;
        }
    };
    let calls = matches!(word.text.as_str(), "mcp" | "call" | "foreach");
    let policy: &[&str] = if calls { &POLICY } else { &[] };
    let known: Vec<&str> = ["id", "type"].iter().chain(own).chain(policy).copied().collect();
    fields.unknown(&known, findings);
    kind
}

fn next(fields: &Fields<'_>, findings: &mut Findings) -> Option<Name> {
    fields.text("next", NEXT, findings)
}

fn transform(fields: &Fields<'_>, findings: &mut Findings) -> Option<Kind> {
    let map = fields.mapping("transform", "write `transform: {expr: ..}`", findings);
    let path = fields.at("transform");
    let expr = map.and_then(|map| Fields { map, path: &path }.text("expr", "write a JSONata expression", findings));
    let next = next(fields, findings);
    Some(Kind::Transform { expr: text(expr?), next: next? })
}

fn text(name: Name) -> Text {
    Text { text: name.text, span: name.span }
}

fn switch(fields: &Fields<'_>, findings: &mut Findings) -> Option<Kind> {
    let items = fields.list("conditions", "write a list of `{rule: .., next: ..}`", findings);
    let items = items.unwrap_or_default();
    let conditions: Vec<Condition> =
        items.iter().enumerate().filter_map(|(index, item)| condition(item, fields, index, findings)).collect();
    let old = items.iter().any(|item| item.get("target").is_some());
    let next = if old { fields.optional_text("next", findings) } else { fields.text("next", NEXT, findings) };
    (old || next.is_some()).then_some(Kind::Switch { conditions, next })
}

fn condition(item: &Node, fields: &Fields<'_>, index: usize, findings: &mut Findings) -> Option<Condition> {
    let path = format!("{}[{index}]", fields.at("conditions"));
    let own = Fields::of(item, &path, findings)?;
    own.unknown(&["rule", "next", "target"], findings);
    let word = if item.get("next").is_none() && item.get("target").is_some() { "target" } else { "next" };
    let next = own.text(word, "name the node that is next if the rule holds", findings)?;
    let rule = item.get("rule").filter(|rule| !matches!(rule.data, Data::Null));
    Some(Condition { rule: rule.cloned(), next })
}

fn mcp(fields: &Fields<'_>, findings: &mut Findings) -> Option<Kind> {
    let target = upstream(fields, findings);
    let args = args(fields, true, findings);
    let policy = policy(fields, findings);
    let next = next(fields, findings);
    Some(Kind::Call { target: target?, args: args?, policy, next: next? })
}

fn upstream(fields: &Fields<'_>, findings: &mut Findings) -> Option<Target> {
    let server = fields.text("server", "name one of `mcpServers`", findings);
    let tool = fields.text("tool", "name a tool of that server", findings);
    Some(Target::Upstream { server: server?, tool: tool? })
}

fn call(fields: &Fields<'_>, findings: &mut Findings) -> Option<Kind> {
    let target = workflow(fields, findings);
    let args = args(fields, false, findings);
    let policy = policy(fields, findings);
    let next = next(fields, findings);
    Some(Kind::Call { target: target?, args: args?, policy, next: next? })
}

/// `tool: other` is a tool of a graph, `workflow: id` with `interpreter: trees` anything that this host serves.
fn workflow(fields: &Fields<'_>, findings: &mut Findings) -> Option<Target> {
    if fields.map.get("tool").is_some() {
        let workflow = fields.optional_text("tool", findings)?;
        return Some(Target::Workflow { interpreter: None, workflow });
    }
    let help = "write `tool` for a tool of this document, or `workflow` with its `interpreter`";
    let workflow = fields.text("workflow", help, findings);
    let interpreter = fields.optional_text("interpreter", findings);
    Some(Target::Workflow { interpreter, workflow: workflow? })
}

fn foreach(fields: &Fields<'_>, findings: &mut Findings) -> Option<Kind> {
    let items = fields.mapping("items", "write `items: {expr: ..}`, a list", findings);
    let path = fields.at("items");
    let items = items.and_then(|map| Fields { map, path: &path }.text("expr", "a JSONata expression", findings));
    let body = fields.mapping("do", "write `do: {server: .., tool: .., args: ..}`", findings);
    let path = fields.at("do");
    let body = body.map(|map| Fields { map, path: &path });
    let called = body.and_then(|own| {
        let upstreams = own.map.get("server").is_some();
        own.unknown(&["server", "tool", "workflow", "interpreter", "args"], findings);
        let target = if upstreams { upstream(&own, findings) } else { workflow(&own, findings) };
        let args = args(&own, upstreams, findings);
        Some((target?, args?))
    });
    let policy = policy(fields, findings);
    let parallel = fields.count("parallel", 1, findings).unwrap_or(PARALLEL).min(PARALLEL_MAX);
    let keep_errors = fields.flag("keepErrors", findings).unwrap_or(false);
    let next = next(fields, findings);
    let (target, args) = called?;
    let fan = Fan { parallel, keep_errors };
    Some(Kind::Foreach { items: text(items?), target, args, policy, fan, next: next? })
}

fn policy(fields: &Fields<'_>, findings: &mut Findings) -> Policy {
    let on_error = fields.optional_text("onError", findings);
    let timeout_ms = fields.count("timeoutMs", 1, findings);
    let retry = fields.map.get("retry").and_then(|_| {
        let map = fields.mapping("retry", "", findings)?;
        let path = fields.at("retry");
        let own = Fields { map, path: &path };
        own.unknown(&RETRY, findings);
        let attempts = own.count("attempts", 1, findings).unwrap_or(3).min(ATTEMPTS_MAX);
        let delay_ms = own.count("delayMs", 0, findings).unwrap_or(1000);
        let backoff_percent = own.map.get("backoff").and_then(|node| factor(node, &own, findings)).unwrap_or(200);
        Some(Retry { attempts, delay_ms, backoff_percent })
    });
    Policy { on_error, retry, timeout_ms }
}

/// A factor from 1 to 100, in hundredths.
fn factor(node: &Node, fields: &Fields<'_>, findings: &mut Findings) -> Option<u32> {
    let number = match &node.data {
        Data::Int(int) => int.as_f64(),
        Data::Float(float) => *float,
        Data::Null
        | Data::Bool(_)
        | Data::Str(_)
        | Data::Date(_)
        | Data::Binary(_)
        | Data::Set(_)
        | Data::List(_)
        | Data::Map(_) => f64::NAN,
    };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 100 to 10000")]
    if (1.0..=100.0).contains(&number) {
        return Some((number * 100.0) as u32);
    }
    fields.wrong("backoff", "a number from 1 to 100", node, findings);
    None
}

/// The arguments of a call: values with expressions in them.
fn args(fields: &Fields<'_>, required: bool, findings: &mut Findings) -> Option<Args> {
    if !required && fields.map.get("args").is_none() {
        return Some(Args::Map(Vec::new()));
    }
    let node = fields.mapping("args", "write `args: {}` if there are none", findings)?;
    walk(node, &fields.at("args"), findings)
}

fn walk(node: &Node, path: &str, findings: &mut Findings) -> Option<Args> {
    match &node.data {
        Data::Map(pairs) => match node.pair("expr") {
            Some(pair) if pairs.len() == 1 => Some(match pair.value.as_str() {
                Some(text) => Args::Expr(Text { text: text.to_owned(), span: pair.value.span }),
                None => not_a_text(&pair.value, path, findings),
            }),
            Some(pair) => {
                let others: Vec<String> = pairs.iter().map(|pair| key(&pair.key)).collect();
                let message = format!("`{path}` has `expr` beside other members: {}", others.join(", "));
                let help = "an expression stands alone: `{expr: ..}`";
                findings.tell(diagnostic::error("graph-expr-keys", message).help(help), pair.key.span);
                None
            }
            None => {
                let members: Vec<Option<(String, Args)>> = pairs
                    .iter()
                    .map(|pair| {
                        let name = key(&pair.key);
                        walk(&pair.value, &format!("{path}.{name}"), findings).map(|value| (name, value))
                    })
                    .collect();
                members.into_iter().collect::<Option<_>>().map(Args::Map)
            }
        },
        Data::List(items) => {
            let items: Vec<Option<Args>> = items
                .iter()
                .enumerate()
                .map(|(index, item)| walk(item, &format!("{path}[{index}]"), findings))
                .collect();
            items.into_iter().collect::<Option<_>>().map(Args::List)
        }
        Data::Date(text) => {
            dated(text, path, node.span, findings);
            Some(Args::Plain(plain(node), node.span))
        }
        Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) | Data::Str(_) | Data::Binary(_) | Data::Set(_) => {
            Some(Args::Plain(plain(node), node.span))
        }
    }
}

fn not_a_text(node: &Node, path: &str, findings: &mut Findings) -> Args {
    let message = format!("`{path}.expr` is {}, and an expression is a text: the call will fail here", node.kind());
    findings.tell(diagnostic::warning("graph-expr-type", message).help("put it in quotes"), node.span);
    Args::BadExpr(match node.data {
        Data::Int(_) | Data::Float(_) => "number",
        Data::Bool(_) => "boolean",
        Data::Null | Data::Str(_) | Data::Date(_) | Data::Binary(_) | Data::Set(_) | Data::List(_) | Data::Map(_) => {
            "object"
        }
    })
}

fn dated(text: &str, path: &str, span: Span, findings: &mut Findings) {
    let message = format!("`{path}` is a date without quotes, which is sent as an empty object");
    findings.tell(diagnostic::warning("graph-date", message).help(format!("write \"{text}\"")), span);
}
