//! Findings about documents, for people and for machines.

use serde_json::Value;

use super::excerpt::excerpt;
use super::place::severity;
use super::print::plain;
use crate::catalogue::{Clash, File, Finding};
use crate::plugin::contract::Severity;

/// What a finding is, where, with the source and what to do: several lines.
pub(crate) fn text(finding: &Finding) -> String {
    let d = &finding.diagnostic;
    let mut lines = vec![format!("{}[{}]: {}", severity(d.severity), plain(&d.code), plain(&d.message))];
    let place = d.span.as_ref().map(|s| format!(":{}:{}", s.start.line, s.start.column)).unwrap_or_default();
    lines.push(format!("  --> {}{place}", plain(&finding.file)));
    let source = d.span.as_ref().map(|span| excerpt(&finding.bytes, span)).unwrap_or_default();
    lines.extend(source.iter().map(|line| format!("  {line}")));
    if let Some(subject) = &d.subject {
        lines.push(format!("   = at: {}", plain(subject)));
    }
    if let Some(help) = &d.help {
        lines.push(format!("   = help: {}", plain(help)));
    }
    lines.join("\n")
}

/// The same for machines.
pub(crate) fn json(finding: &Finding) -> Value {
    finding.to_json()
}

/// The one line that says whether a document can be served: `OK   PATH (id=ID)` or `FAIL PATH: WHY`.
pub(crate) fn verdict(file: &File) -> String {
    let path = plain(&file.shown);
    if !file.is_bad() {
        let ids: Vec<String> = file.definitions.iter().map(|d| format!("id={}", plain(&d.about.id))).collect();
        return format!("OK   {path} ({})", ids.join(", "));
    }
    failed(&path, &file.findings)
}

/// `FAIL PATH: WHY`, with all errors on one line.
pub(crate) fn failed(path: &str, findings: &[Finding]) -> String {
    let errors: Vec<String> = errors(findings)
        .map(|f| {
            let subject = f.diagnostic.subject.as_ref().map(|s| format!("[{}] ", plain(s))).unwrap_or_default();
            format!("{subject}{}", plain(&f.diagnostic.message))
        })
        .collect();
    format!("FAIL {path}: {}", errors.join("; "))
}

fn errors(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(|f| f.diagnostic.severity == Severity::Error)
}

/// How many errors and how many other findings there are.
pub(crate) fn counts<'f>(findings: impl Iterator<Item = &'f Finding>) -> (usize, usize) {
    findings.fold((0, 0), |(errors, others), finding| match finding.diagnostic.severity {
        Severity::Error => (errors + 1, others),
        Severity::Warning | Severity::Note => (errors, others + 1),
    })
}

/// Two that claim one name.
pub(crate) fn clash(clash: &Clash) -> String {
    let [name, first, second] = [&clash.name, &clash.first, &clash.second].map(|text| plain(text));
    if let Some(reason) = &clash.reason {
        return format!("`{name}` of the plugin `{second}` is not served: {}", plain(reason));
    }
    format!("`{name}` is claimed by `{first}` and by `{second}`: the first is served")
}

/// `1 document`, `2 documents`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    counted_as(n, noun, &format!("{noun}s"))
}

/// `1 entry`, `2 entries`.
pub(crate) fn counted_as(n: usize, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}
