//! Findings as a program reads them, held against those of a case: code, level, node, and every word that the case names.

use anyhow::{Result, ensure};
use serde_json::{Map, Value};

use crate::corpus::Files;
use crate::driver::{Driver, Found};
use crate::runner::Verdict;

/// Documents that are refused, with at least these problems.
pub(crate) fn refused(documents: &Files, problems: &[Value], driver: &mut dyn Driver) -> Result<Verdict> {
    ensure!(!driver.validate(documents)?.accepted, "the documents are accepted; the case says {problems:?}");
    let Some(found) = driver.findings(documents)? else { return Ok(Verdict::Met) };
    for problem in problems.iter().filter_map(Value::as_object) {
        ensure!(found.iter().any(|one| is(one, problem)), "no finding is {problem:?}; ours: {found:#?}");
    }
    Ok(Verdict::Met)
}

/// Documents about which exactly these things are to be said.
pub(crate) fn told(documents: &Files, lint: &[Value], driver: &mut dyn Driver) -> Result<Verdict> {
    let Some(found) = driver.findings(documents)? else { return Ok(Verdict::NotApplicable) };
    for finding in lint.iter().filter_map(Value::as_object) {
        ensure!(found.iter().any(|one| is(one, finding)), "no finding is {finding:?}; ours: {found:#?}");
    }
    ensure!(found.len() == lint.len(), "{} findings, want {}: {found:#?}", found.len(), lint.len());
    Ok(Verdict::Met)
}

/// Our codes carry the dialect's name, and dashes.
fn is(found: &Found, want: &Map<String, Value>) -> bool {
    let code = found.code.split_once('-').map_or("", |(_, code)| code).replace('-', "_");
    want.iter().all(|(key, value)| {
        let word = value.as_str().unwrap_or_default();
        match key.as_str() {
            "level" => found.level == if word == "notice" { "note" } else { word },
            "code" => code == word || found.code.split('-').next() == Some(word),
            "node" => found.subject.as_deref() == Some(word),
            _ => found.message.contains(word),
        }
    })
}
