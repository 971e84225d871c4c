//! Where we are knowingly not as the peer, each with its reason. Strict both ways: a listed case that passes is a failure.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use toml::Value;

use crate::corpus::Case;

/// How many of a hundred cases may differ without a tag that says the peer is wrong.
const PERCENT_MAX: usize = 3;

/// Why a case is not met.
#[derive(Clone, Debug)]
pub struct Deviation {
    /// What we do instead, and why.
    pub reason: String,
    /// The drivers it concerns; empty: all.
    pub drivers: Vec<String>,
    /// Calls by number, with what is there instead. A case that says it so must give exactly that.
    pub at: BTreeMap<usize, At>,
    kind: Kind,
}

/// What a call gives instead of what was recorded.
#[derive(Clone, Debug, Default)]
pub struct At {
    /// Nothing of it can be compared.
    pub skip: bool,
    /// Whether it fails.
    pub is_error: Option<bool>,
    /// Its headline.
    pub headline: Option<String>,
    /// Members of the result that differ, or the whole of a result that is no object. `"<absent>"`: not there.
    pub result: Option<serde_json::Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    PeerDefect,
    ParserText,
    Better,
    /// We do not do it yet: said in the open, and still strict, so that whoever mends it takes it off the list.
    Open,
}

/// The deviations of a dialect by the name of the case. Checked: each is of a known kind, names an existing case, and one
/// that is not the peer's defect or a library's wording says whom it serves.
pub fn load(file: &Path, cases: &[Case]) -> Result<BTreeMap<String, Deviation>> {
    let mut deviations = BTreeMap::new();
    if !file.exists() {
        return Ok(deviations);
    }
    let table: toml::Table = std::fs::read_to_string(file)?.parse().with_context(|| file.display().to_string())?;
    for entry in table.get("case").and_then(Value::as_array).into_iter().flatten() {
        let word = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = word("name");
        let case = cases.iter().find(|case| case.name == name).with_context(|| format!("there is no case {name}"))?;
        let kind = match word("kind") {
            "peer_defect" => Kind::PeerDefect,
            "parser_text" => Kind::ParserText,
            "better" => Kind::Better,
            "open" => Kind::Open,
            other => bail!("{name}: there is no kind {other:?}"),
        };
        let tag = match kind {
            Kind::PeerDefect => Some("peer_defect"),
            Kind::ParserText => Some("parser_text"),
            Kind::Better | Kind::Open => None,
        };
        if tag.is_some_and(|tag| !case.tags.iter().any(|have| have == tag))
            || (kind == Kind::Better && word("for").is_empty())
        {
            bail!("{name}: a deviation is tagged by its case, or is `open`, or is `better` and says for whom");
        }
        if word("reason").is_empty() {
            bail!("{name}: a deviation has a reason");
        }
        let drivers = entry.get("drivers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let at = at(entry).with_context(|| name.to_owned())?;
        let deviation =
            Deviation { reason: word("reason").to_owned(), drivers: drivers.map(str::to_owned).collect(), at, kind };
        if deviations.insert(name.to_owned(), deviation).is_some() {
            bail!("{name} is listed twice");
        }
    }
    // What is pinned call by call is told exactly, and is not counted.
    let own = deviations.values().filter(|one| one.kind == Kind::Better && one.at.is_empty()).count();
    if own * 100 > cases.len() * PERCENT_MAX {
        bail!("{own} of {} cases deviate by our own choice, more than {PERCENT_MAX} in a hundred", cases.len());
    }
    Ok(deviations)
}

fn at(entry: &Value) -> Result<BTreeMap<usize, At>> {
    let mut calls = BTreeMap::new();
    for one in entry.get("at").and_then(Value::as_array).into_iter().flatten() {
        let call = one.get("call").and_then(Value::as_integer).and_then(|call| usize::try_from(call).ok());
        let result = one.get("result").and_then(Value::as_str).map(serde_json::from_str).transpose()?;
        let at = At {
            skip: one.get("skip").and_then(Value::as_bool).unwrap_or(false),
            is_error: one.get("is_error").and_then(Value::as_bool),
            headline: one.get("headline").and_then(Value::as_str).map(str::to_owned),
            result,
        };
        calls.insert(call.context("`at` names no call")?, at);
    }
    Ok(calls)
}
