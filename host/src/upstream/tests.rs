//! What entries and files of upstream servers mean, and what is said of wrong ones. How real servers fare stands in the suite.

use serde_json::{Value, json};

use super::config::{Auth, Reach, Spec};
use super::file::File;

fn read(entry: &Value) -> Result<Spec, String> {
    Spec::read(entry).map_err(|fault| fault.to_string())
}

#[test]
fn an_entry_means_what_clients_take_it_for() {
    let spec = read(&json!({"command": "npx", "args": ["-y", "server"], "env": {"N": 5}, "disabled": false})).unwrap();
    let Reach::Program { command, args, env, cwd } = spec.reach else { panic!("a program") };
    assert_eq!((command.as_str(), args.len(), env["N"].as_str(), cwd), ("npx", 2, "5", None));
    for (kind, legacy) in [("http", false), ("streamable-http", false), ("streamableHttp", false), ("sse", true)] {
        for key in ["type", "transport"] {
            let spec = read(&json!({key: kind, "url": "http://127.0.0.1:1/mcp"})).unwrap();
            assert!(matches!(spec.reach, Reach::Web { legacy: found, .. } if found == legacy), "{kind}");
        }
    }
    let spec =
        read(&json!({"url": "http://127.0.0.1:1/", "auth": "${TOKEN}", "timeout": 1500, "alwaysAllow": []})).unwrap();
    assert_eq!(spec.auth, Some(Auth::Bearer("${TOKEN}".into())));
    assert_eq!((spec.time.as_millis(), spec.unknown), (1500, vec!["alwaysAllow".to_owned()]));
}

#[test]
fn a_wrong_entry_is_told_with_its_place() {
    for (entry, at, what) in [
        (json!([]), "the entry", "object"),
        (json!({}), "/command", "missing"),
        (json!({"command": ""}), "/command", "missing"),
        (json!({"type": "http"}), "/url", "missing"),
        (json!({"type": "carrier-pigeon", "url": "x"}), "/type", "carrier-pigeon"),
        (json!({"command": "a", "url": "b"}), "/command", "either"),
        (json!({"type": "stdio", "transport": "http", "command": "a"}), "/transport", "leave one out"),
        (json!({"command": "a", "args": ["b", 5]}), "/args/1", "text"),
        (json!({"command": "a", "args": "b"}), "/args", "list"),
        (json!({"command": "a", "env": {"X": {}}}), "/env/X", "text"),
        (json!({"command": "a", "timeout": 0}), "/timeout", "milliseconds"),
        (json!({"command": "a", "tools": {"alow": []}}), "/tools", "alow"),
        (json!({"url": "a", "auth": "oauth"}), "/auth", "client_id"),
        (json!({"url": "a", "auth": {"type": "oauth", "client_id": "x"}}), "/auth/client_secret", "missing"),
        (json!({"url": "a", "auth": {"type": "basic"}}), "/auth/type", "bearer"),
        (json!({"url": "a", "keep_alive": "yes"}), "/keep_alive", "true"),
    ] {
        let told = read(&entry).unwrap_err();
        assert!(told.contains(at) && told.contains(what), "{entry}: {told}");
    }
}

#[test]
fn a_file_is_read_whole_or_told_with_the_place() {
    let file = File::read(
        r#"{"mcpServers": {"web": {"url": "http://127.0.0.1:1/mcp"}}, "bindings": {"http_get": {"server": "web"}}}"#,
    )
    .unwrap();
    assert_eq!(file.bindings["http_get"], ("web".to_owned(), "http_get".to_owned()));
    for (text, words) in [
        ("{\"mcpServers\":\n {,}}", "line 2, column 3"),
        ("[]", "object"),
        ("{}", "/mcpServers"),
        (r#"{"mcpServers": {"a": {"command": 5}}}"#, "`/mcpServers/a`: `/command`"),
        (r#"{"mcpServers": {}, "bindings": {"x": {"server": "a"}}}"#, "`/bindings/x/server`: there is no server `a`"),
        (r#"{"mcpServers": {}, "bindings": {"x": {}}}"#, "needs a `server`"),
    ] {
        let told = File::read(text).unwrap_err().to_string();
        assert!(told.contains(words), "{text}: {told}");
    }
}
