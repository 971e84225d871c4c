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
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    PeerDefect,
    ParserText,
    Better,
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
            other => bail!("{name}: there is no kind {other:?}"),
        };
        let tag = match kind {
            Kind::PeerDefect => Some("peer_defect"),
            Kind::ParserText => Some("parser_text"),
            Kind::Better => None,
        };
        if tag.is_some_and(|tag| !case.tags.iter().any(|have| have == tag))
            || (kind == Kind::Better && word("for").is_empty())
        {
            bail!("{name}: a deviation is tagged by its case, or is `better` and says for whom");
        }
        if word("reason").is_empty() {
            bail!("{name}: a deviation has a reason");
        }
        let drivers = entry.get("drivers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let deviation =
            Deviation { reason: word("reason").to_owned(), drivers: drivers.map(str::to_owned).collect(), kind };
        if deviations.insert(name.to_owned(), deviation).is_some() {
            bail!("{name} is listed twice");
        }
    }
    let own = deviations.values().filter(|deviation| deviation.kind == Kind::Better).count();
    if own * 100 > cases.len() * PERCENT_MAX {
        bail!("{own} of {} cases deviate by our own choice, more than {PERCENT_MAX} in a hundred", cases.len());
    }
    Ok(deviations)
}
