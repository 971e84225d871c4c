//! Documents of somebody else, which a plugin should leave alone: other dialects', and files that lie about anywhere.

use super::report::Report;
use crate::catalogue::could_own;
use crate::plugin::{Plugin, contract};

/// Files by the names under which they would lie in a folder.
const FILES: [(&str, &str); 7] = [
    ("decision.yaml", include_str!("../../templates/foreign/decision.yaml")),
    ("flow.yaml", include_str!("../../templates/foreign/flow.yaml")),
    ("compose.yaml", include_str!("../../templates/foreign/compose.yaml")),
    ("package.json", include_str!("../../templates/foreign/package.json")),
    ("package.toml", include_str!("../../templates/foreign/package.toml")),
    ("README.md", include_str!("../../templates/foreign/README.md")),
    ("table.csv", include_str!("../../templates/foreign/table.csv")),
];

/// Offers each to the plugin, where a host would.
pub(super) fn check(plugin: &Plugin, report: &mut Report) {
    for (path, text) in FILES {
        let document = contract::Document { path: path.into(), bytes: text.into() };
        if !could_own(&plugin.about, &document) {
            continue;
        }
        match plugin.recognise(&document) {
            Ok(None) => {}
            Ok(Some(_)) => report.find(
                "claims-foreign",
                path,
                "it claims a document that is somebody else's, which is then served by nobody",
                "look for something that only your documents have, and say it in `marks` as well",
            ),
            Err(fault) => report.call_fault("trap", "recognise", &fault),
        }
    }
}
