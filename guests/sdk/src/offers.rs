//! What the host lays beside a document about upstream servers: which ones its operator has, if any; and what servers offered, if
//! an author asked for a check against that.

use crate::json;
use crate::model::Bundle;
use crate::nearest::did_you_mean;
use crate::value::Value;

/// The companion's path. It holds what a `tool-list` request gives: `{SERVER: {"tools": [..]} or {"failure": {..}}}`. No file of
/// a folder has a slash in its path.
pub const PATH: &str = "upstream/tool-list.json";

/// The path of the other companion: the names of servers that a document may use without declaring them, a JSON list.
pub const SERVERS: &str = "upstream/servers.json";

/// The servers that a document may use without declaring them.
#[must_use]
pub fn servers(bundle: &Bundle) -> Vec<String> {
    let companion = bundle.companions.iter().find(|companion| companion.path == SERVERS);
    let text = companion.and_then(|companion| std::str::from_utf8(&companion.bytes).ok());
    let names = text.and_then(|text| json::read(text).ok()).unwrap_or_default();
    names.as_list().unwrap_or_default().iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The offers.
#[derive(Debug)]
pub struct Offers(Value);

/// A tool that the server does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchTool {
    /// What to do about it.
    pub help: String,
}

impl Offers {
    /// Those of a bundle; none if nobody asked.
    #[must_use]
    pub fn of(bundle: &Bundle) -> Option<Self> {
        let companion = bundle.companions.iter().find(|companion| companion.path == PATH)?;
        json::read(std::str::from_utf8(&companion.bytes).ok()?).ok().map(Self)
    }

    /// What is wrong with a call of this tool: nothing is known against it if the server could not be asked.
    #[must_use]
    pub fn fault(&self, server: &str, tool: &str) -> Option<NoSuchTool> {
        let tools = self.0.get(server)?.get("tools")?.as_list()?;
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect();
        if names.contains(&tool) {
            return None;
        }
        let there = if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
        Some(NoSuchTool { help: did_you_mean(tool, names.iter().copied()).unwrap_or(there) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Document;

    #[test]
    fn only_a_server_that_answered_can_lack_a_tool() {
        let document = |path: &str, text: &str| Document { path: path.into(), bytes: text.into() };
        let text = r#"{"fs": {"tools": [{"name": "read_file"}]}, "gone": {"failure": {"kind": "unavailable"}}, "bare": {"tools": []}}"#;
        let bundle = Bundle { main: document("a.yaml", ""), companions: vec![document(PATH, text)] };
        let offers = Offers::of(&bundle).unwrap();
        let help = |server: &str, tool: &str| offers.fault(server, tool).map(|fault| fault.help);
        assert_eq!(help("fs", "read_file"), None);
        assert_eq!(help("fs", "read_fle").as_deref(), Some("did you mean `read_file`?"));
        assert_eq!(help("fs", "zzz").as_deref(), Some("it has read_file"));
        assert_eq!(help("bare", "zzz").as_deref(), Some("it has none"));
        assert_eq!((help("gone", "x"), help("other", "x")), (None, None));
        assert!(Offers::of(&Bundle { main: document("a.yaml", ""), companions: Vec::new() }).is_none());
        assert_eq!(servers(&bundle), Vec::<String>::new());
        let bundle = Bundle { main: document("a.yaml", ""), companions: vec![document(SERVERS, r#"["fs", 1]"#)] };
        assert_eq!(servers(&bundle), ["fs"]);
    }
}
