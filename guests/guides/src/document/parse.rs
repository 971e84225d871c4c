//! Top level and nodes of a document, field by field. Every fault is told; what can be read is read.

use std::collections::BTreeSet;

use wfhost_guest::diagnostic;
use wfhost_guest::model::Diagnostic;
use wfhost_guest::nearest::did_you_mean;
use wfhost_guest::python;
use wfhost_guest::value::Int;
use wfhost_guest::yaml::{Data, Node};

use super::fields::{Fields, Lines};
use super::model::{Flow, FlowNode, Kind, Label, Limits, Name, OTHER, Slot, UNKNOWN};

const TOP: [&str; 9] =
    ["id", "title", "version", "entry", "max_unmatched", "max_branch_fanout", "branch_depth", "on_unknown", "on_stuck"];
const KINDS: [&str; 4] = ["ask", "tell", "collect", "end"];
const NODES_HELP: &str = "write a list: `nodes: [{id: .., kind: ask, ..}, ..]`";

/// The flow of a document. None: there is nothing that could be checked further.
pub(super) fn flow(root: &Node, lines: &Lines<'_>, findings: &mut Vec<Diagnostic>) -> Option<Flow> {
    if root.as_map().is_none() {
        let message = format!("the top level must be a mapping, and is {}", root.kind());
        findings.push(diagnostic::error("guide-not-a-mapping", message).at(root.span).done());
        return None;
    }
    let mut top = Fields { map: root, subject: None, path: String::new(), lines, findings };
    let id = top.text("id", "the id is the name of the file without its ending");
    let title = top.text("title", "say in a few words what the flow is for");
    let version = top.optional_text("version").map(|name| name.text);
    let entry = top.text("entry", "name the node that a run begins at");
    let usual = Limits::default();
    let limits = Limits {
        max_unmatched: count(&mut top, "max_unmatched", usual.max_unmatched),
        max_branch_fanout: count(&mut top, "max_branch_fanout", usual.max_branch_fanout),
        branch_depth: count(&mut top, "branch_depth", usual.branch_depth),
    };
    let escalate = policy(&mut top).unwrap_or(false);
    let on_stuck = top.optional_text("on_stuck").map(|name| name.text).unwrap_or_default();
    let known: Vec<&str> = TOP.iter().copied().chain(["nodes"]).collect();
    top.unknown(&known);
    let items = nodes(&mut top)?;
    let mut ids = BTreeSet::new();
    let read: Vec<FlowNode> = items.iter().filter_map(|item| node(item, lines, (&mut ids, top.findings))).collect();
    // What is missing was told; an empty name is not looked at again.
    let nameless = || Name { text: String::new(), span: root.span };
    let title = title.map(|title| title.text).unwrap_or_default();
    let (id, entry) = (id.unwrap_or_else(nameless), entry.unwrap_or_else(nameless));
    Some(Flow { id, title, version, entry, limits, escalate, on_stuck, nodes: read, ids })
}

/// A whole number of at least one.
fn count(top: &mut Fields<'_, '_>, name: &str, usual: u32) -> u32 {
    let Some(node) = top.given(name) else { return usual };
    match &node.data {
        Data::Int(Int::Small(number)) if *number >= 1 => u32::try_from(*number).unwrap_or(u32::MAX),
        Data::Int(Int::Big(digits)) if !digits.starts_with('-') => u32::MAX,
        Data::Null
        | Data::Bool(_)
        | Data::Int(_)
        | Data::Float(_)
        | Data::Str(_)
        | Data::Date(_)
        | Data::Binary(_)
        | Data::Set(_)
        | Data::List(_)
        | Data::Map(_) => {
            let got =
                if matches!(node.data, Data::Int(_)) { python::repr(&node.value()) } else { node.kind().to_owned() };
            let message = format!("`{name}` must be a whole number of at least 1, and is {got}");
            top.tell(
                diagnostic::error("guide-not-a-positive-integer", message)
                    .help(format!("without it, {usual} is taken")),
                node.span,
            );
            usual
        }
    }
}

/// `on_unknown`: whether it says escalate.
fn policy(fields: &mut Fields<'_, '_>) -> Option<bool> {
    let name = fields.optional_text("on_unknown")?;
    match name.text.as_str() {
        "broaden" => Some(false),
        "escalate" => Some(true),
        other => {
            let message = format!("`on_unknown` is `{other}`, and must be broaden or escalate");
            let cure = did_you_mean(other, ["broaden", "escalate"])
                .unwrap_or_else(|| "broaden tells what to do in each case; escalate hands over to a person".to_owned());
            fields.tell(diagnostic::error("guide-bad-on-unknown", message).help(cure), name.span);
            None
        }
    }
}

fn nodes<'a>(top: &mut Fields<'a, '_>) -> Option<&'a [Node]> {
    let Some(nodes) = top.given("nodes") else {
        top.missing("nodes", NODES_HELP);
        return None;
    };
    match nodes.as_list() {
        Some([]) => {
            top.tell(diagnostic::error("guide-empty", "`nodes` is empty").help(NODES_HELP), nodes.span);
            None
        }
        None => {
            let message = format!("`nodes` must be a list, and is {}", nodes.kind());
            top.tell(diagnostic::error("guide-type", message).help(NODES_HELP), nodes.span);
            None
        }
        some => some,
    }
}

fn node(
    item: &Node,
    lines: &Lines<'_>,
    (ids, findings): (&mut BTreeSet<String>, &mut Vec<Diagnostic>),
) -> Option<FlowNode> {
    let mut fields = Fields { map: item, subject: None, path: String::new(), lines, findings };
    if item.as_map().is_none() {
        let message = format!("a node must be a mapping, and this is {}", item.kind());
        fields.tell(diagnostic::error("guide-type", message).help(NODES_HELP), item.span);
        return None;
    }
    let id = fields.text("id", "every node has an id of its own");
    if let Some(id) = &id {
        fields.subject = Some(id.text.clone());
        if id.text.trim().is_empty() {
            fields.tell(diagnostic::error("guide-empty", "the id is blank"), id.span);
        }
        if !ids.insert(id.text.clone()) {
            let message = format!("there are two nodes of the id `{}`", id.text);
            fields.tell(diagnostic::error("guide-duplicate-id", message).help("give this one another id"), id.span);
        }
    }
    let kind = fields.text("kind", "kinds are ask, tell, collect, end");
    let say = fields.text("say", "say what is to be found out or conveyed; the agent puts it into words");
    let kind = kind?;
    let read = match kind.text.as_str() {
        "ask" => ask(&mut fields),
        "tell" => tell(&mut fields),
        "collect" => collect(&mut fields),
        "end" => end(&mut fields),
        other => {
            let cure = did_you_mean(other, KINDS).unwrap_or_else(|| format!("kinds are {}", KINDS.join(", ")));
            fields.tell(
                diagnostic::error("guide-unknown-kind", format!("there is no kind `{other}`")).help(cure),
                kind.span,
            );
            return None;
        }
    };
    let escalate = if matches!(read, Kind::Ask { .. } | Kind::Collect { .. }) { policy(&mut fields) } else { None };
    Some(FlowNode { id: id?, say: say.map(|say| say.text).unwrap_or_default(), escalate, kind: read })
}

fn ask(fields: &mut Fields<'_, '_>) -> Kind {
    let mut labels: Vec<Label> = Vec::new();
    for (label, pair) in fields.members("accepts", "list each label with when it is to be chosen") {
        if [OTHER, UNKNOWN].contains(&label.text.as_str()) {
            let message = format!("`{}` cannot be a label", label.text);
            let help = "it is an escape: it belongs into `next` alone";
            fields.tell(diagnostic::error("guide-reserved-label", message).help(help), label.span);
            continue;
        }
        let when = fields.member_text(&format!("accepts.{}", label.text), &pair.value);
        labels.push(Label { label, when, then: None });
    }
    let (mut other, mut unknown) = (None, None);
    let had = fields.given("next").is_some();
    for (label, pair) in fields.members("next", "say for each label which node follows") {
        let text = fields.member_text(&format!("next.{}", label.text), &pair.value);
        let target = (!text.is_empty()).then_some(Name { text, span: pair.value.span });
        match label.text.as_str() {
            OTHER => other = target,
            UNKNOWN => unknown = target,
            text => match labels.iter_mut().find(|one| one.label.text == text) {
                // A target that is no text was told already; the label itself has its way.
                Some(one) => one.then = Some(target.unwrap_or(Name { text: String::new(), span: label.span })),
                None => {
                    let message = format!("`next` has the label `{text}`, which `accepts` does not have");
                    let accepted = labels.iter().map(|one| one.label.text.as_str());
                    let cure = did_you_mean(text, accepted.chain([OTHER, UNKNOWN]));
                    fields.tell(diagnostic::error("guide-next-without-label", message).maybe_help(cure), label.span);
                }
            },
        }
    }
    for one in labels.iter().filter(|one| had && one.then.is_none()) {
        let message = format!("the label `{}` leads nowhere", one.label.text);
        let finding =
            diagnostic::error("guide-label-without-next", message).help(format!("add `{}` to `next`", one.label.text));
        fields.tell(finding, one.label.span);
    }
    labels.iter_mut().for_each(|one| one.then = one.then.take().filter(|name| !name.text.is_empty()));
    fields.unknown(&["id", "kind", "say", "accepts", "next", "on_unknown"]);
    Kind::Ask { labels, other, unknown }
}

fn tell(fields: &mut Fields<'_, '_>) -> Kind {
    let next = fields.text("next", "name the node that follows");
    fields.unknown(&["id", "kind", "say", "next"]);
    Kind::Tell { next }
}

fn collect(fields: &mut Fields<'_, '_>) -> Kind {
    let mut slots = Vec::new();
    for (name, pair) in fields.members("slots", "list what is to be gathered: `name: what to ask for`") {
        let path = format!("slots.{}", name.text);
        let (ask, required) = if pair.value.as_map().is_some() {
            let mut inner = Fields {
                map: &pair.value,
                subject: fields.subject.clone(),
                path: format!("{path}."),
                lines: fields.lines,
                findings: fields.findings,
            };
            let ask = inner.text("ask", "say what to ask for").map(|ask| ask.text).unwrap_or_default();
            let required = inner.flag("required");
            inner.unknown(&["ask", "required"]);
            (ask, required)
        } else {
            (fields.member_text(&path, &pair.value), false)
        };
        slots.push(Slot { name, ask, required });
    }
    let next = fields.text("next", "name the node that follows");
    fields.unknown(&["id", "kind", "say", "slots", "next", "on_unknown"]);
    Kind::Collect { slots, next }
}

fn end(fields: &mut Fields<'_, '_>) -> Kind {
    let outcome = fields.text("outcome", "name how the run ends, in one word");
    fields.unknown(&["id", "kind", "say", "outcome"]);
    Kind::End { outcome: outcome.map(|outcome| outcome.text).unwrap_or_default() }
}
