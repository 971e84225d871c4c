//! What a run did, node by node.

use wfhost_guest::model::{Journal, Kept, Output};
use wfhost_guest::packed::Broken;
use wfhost_guest::value::Value;
use wfhost_guest::{At, json, reply as replies, time};

use crate::code::Code;
use crate::reply;
use crate::state::object;

/// The reply to `graph_trace`.
pub(crate) fn trace(at: At<'_>, journal: &Journal) -> Output {
    let Ok(code) = Code::read(at.code) else { return reply::broken().reply };
    let shown = journal.entries.iter().map(entry).collect::<Result<_, _>>();
    let Ok(shown) = shown else { return reply::broken().reply };
    let last = journal.entries.last().map_or(0, |kept| kept.seq);
    let mut members = vec![
        ("run_id", Value::from(at.session.id.as_str())),
        ("tool", code.name.into()),
        ("trace", Value::List(shown)),
    ];
    if journal.entries.len() < usize::try_from(journal.total).unwrap_or(usize::MAX) {
        members.push(("total", journal.total.into()));
        members.push(("next_after", (last < journal.total).then_some(last).into()));
    }
    replies::output(&object(members))
}

fn entry(kept: &Kept) -> Result<Value, Broken> {
    let mut members = vec![
        ("seq", Value::from(kept.seq)),
        ("at", time::iso(kept.at).into()),
        ("node", kept.entry.node.as_str().into()),
        ("kind", kept.entry.kind.as_str().into()),
    ];
    members.extend(kept.entry.branch.as_deref().map(|branch| ("next", branch.into())));
    let detail = kept.entry.detail.as_deref().map(json::read).transpose().map_err(|_| Broken)?;
    let own = ["index", "ms", "output", "error"];
    let own = own.into_iter().filter_map(|key| Some((key, detail.as_ref()?.get(key)?.clone())));
    members.extend(own);
    Ok(object(members))
}
