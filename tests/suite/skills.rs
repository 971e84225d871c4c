//! The guides with which models learn to write documents: every example in them is a document without a finding, and they are
//! handed out at the command line and over MCP.

use std::path::Path;

use serde_json::json;
use wfhost::catalogue::{Catalogue, Plugins};
use wfhost_tests::client::Client;
use wfhost_tests::lab::runtime;
use wfhost_tests::served::program_in;

use crate::PROGRAM;

/// The examples of a guide: the file name that stands behind `yaml` at the fence, and the document.
fn examples(guide: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let name = info.split_whitespace().nth(1);
        let body: Vec<&str> = lines.by_ref().take_while(|line| !line.trim_start().starts_with("```")).collect();
        // To some dialects the name of a file means something.
        let name = name.unwrap_or("example.yaml");
        found.push((name.to_owned(), body.join("\n") + "\n"));
    }
    found
}

#[test]
fn every_example_of_a_guide_is_a_good_document() {
    let plugins = Plugins::choose(&runtime().unwrap(), &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut guides = 0;
    for chosen in &plugins.chosen {
        let plugin = plugins.load(chosen).unwrap();
        let Some(guide) = &plugin.about.skill else { continue };
        guides += 1;
        let examples = examples(guide);
        assert!(!examples.is_empty(), "the guide of {} shows no document", chosen.name);
        assert!(guide.starts_with("# "), "the guide of {} has no title", chosen.name);
        assert!(guide.len() < 20_000, "the guide of {} is longer than a model should read first", chosen.name);
        for (name, text) in examples {
            let catalogue = Catalogue::of_draft(&plugins, folder.path(), &name, text.clone().into_bytes());
            let findings: Vec<String> = catalogue
                .findings()
                .map(|found| {
                    let at = found.diagnostic.span.map(|span| span.start.line).unwrap_or_default();
                    format!("{name}:{at}: {}", found.diagnostic.message)
                })
                .collect();
            assert!(findings.is_empty(), "{}: {}", chosen.name, findings.join("\n"));
            assert_eq!(catalogue.files[0].plugin.as_ref(), Some(&chosen.name), "{text}");
            assert!(!catalogue.files[0].definitions.is_empty(), "{name}");
        }
    }
    assert!(guides >= 2, "{guides} guides");
}

#[test]
fn a_guide_is_printed_as_an_agent_s_skill() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let output = program_in(Path::new(PROGRAM), folder.path())
            .args(["skill"])
            .args(args)
            .stderr(std::process::Stdio::piped())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, guide, _) = run(&["trees"]);
    assert_eq!(code, Some(0));
    assert!(guide.starts_with("---\nname: wfhost-trees\ndescription: \""), "{guide}");
    assert!(guide.contains("# Writing a decision tree"), "{guide}");
    let (code, listed, _) = run(&[]);
    assert!(code == Some(0) && listed.contains("trees") && listed.contains("guides"), "{listed}");
    let (code, out, err) = run(&["treees"]);
    assert!(code == Some(1) && out.is_empty() && err.contains("there are") && err.contains("trees"), "{err}");
}

#[test]
fn a_guide_is_a_prompt_of_the_dialects_that_are_served() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("documents")).unwrap();
    std::fs::write(folder.path().join("documents/visit.yaml"), include_str!("../interop/documents/visit.yaml"))
        .unwrap();
    let mut command = program_in(Path::new(PROGRAM), folder.path());
    command.args(["serve", "documents", "--ephemeral"]);
    let mut client = Client::start(&mut command, &json!({})).unwrap();
    let listed = client.request("prompts/list", &json!({})).unwrap();
    let names: Vec<&str> = listed["prompts"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["write_trees"]);
    let prompt = client.request("prompts/get", &json!({"name": "write_trees"})).unwrap();
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.starts_with("# Writing a decision tree"), "{text}");
    assert!(client.request("prompts/get", &json!({"name": "write_guides"})).is_err());
}
