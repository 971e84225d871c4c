//! An author's recorded cases, one JSON file each: documents, then calls and what each must give, or the findings that must be
//! told. They run in a host of their own, in memory. A member that is not known is an error: nothing is passed over.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::report::Report;
use crate::catalogue::Plugins;
use crate::clock::{Clock, System};
use crate::files::make_private_folder;
use crate::plugin::contract::{Diagnostic, Failure, Mishap, Output, Reply, Severity, Source};
use crate::plugin::{Plugin, Runtime};
use crate::session::{Asked, Caller, Host, HostOptions, OwnSessions, ask};
use crate::store::{self, Store};

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// The file's name without its ending.
    pub name: String,
    /// Path and content of its documents.
    pub documents: Vec<(String, Vec<u8>)>,
    written: Written,
}

/// A case as its file has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    name: String,
    dialect: String,
    peer: String,
    about: String,
    documents: BTreeMap<String, String>,
    client_capabilities: Option<Value>,
    /// `exact`, or `subset`: a result may hold more than the case says.
    r#match: String,
    /// Members of results that are not compared.
    loose: Vec<String>,
    tags: Vec<String>,
    calls: Vec<Call>,
    lint: Option<Vec<BTreeMap<String, Value>>>,
    load_error: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Call {
    tool: String,
    arguments: Value,
    is_error: bool,
    result: Value,
    loose: Vec<String>,
    /// What a person is asked meanwhile, in this order, and says.
    elicited: Vec<Elicited>,
    /// The host is stopped and started before.
    restart_before: bool,
    documents_before: BTreeMap<String, String>,
    documents_removed_before: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Elicited {
    message: String,
    reply: Value,
}

/// Reads the cases of a folder, by name. A file that is no case is a finding.
pub(super) fn load(folder: &Path, report: &mut Report) -> Vec<Case> {
    let cure = "see the part on cases in guests/AUTHORS.md";
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            report.find("case", folder.display().to_string(), error.to_string(), "name a folder of `*.json` files");
            return Vec::new();
        }
    };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "json"));
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        match text.and_then(|text| serde_json::from_str::<Written>(&text).map_err(|error| error.to_string())) {
            Err(reason) => report.find("case", name, reason, cure),
            Ok(written) if written.calls.is_empty() && written.lint.is_none() && written.load_error.is_none() => {
                report.find("case", name, "it has neither `calls` nor `lint` nor `load_error`", cure);
            }
            Ok(written) if !["", "exact", "subset"].contains(&written.r#match.as_str()) => {
                let reason = format!("`match` is `{}`, and can be `exact` or `subset`", written.r#match);
                report.find("case", name, reason, cure);
            }
            Ok(written) => {
                let documents = written.documents.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes()));
                cases.push(Case { name, documents: documents.collect(), written });
            }
        }
    }
    cases
}

/// Runs one case. An error says where it is not met.
pub(super) fn run(runtime: &Arc<Runtime>, plugin: &Arc<Plugin>, case: &Case) -> Result<(), String> {
    let folder = Folder::make()?;
    let mut stage = Stage {
        runtime,
        plugin,
        folder,
        store: store::open_ephemeral().map_err(text)?,
        host: None,
        bound: BTreeMap::new(),
    };
    stage.write(&case.written.documents)?;
    stage.open()?;
    if let Some(want) = &case.written.lint {
        return stage.lint(want);
    }
    if let Some(want) = &case.written.load_error {
        let told = stage.findings()?;
        let found = told.iter().any(|d| d.severity == Severity::Error && d.message.contains(want.as_str()));
        return if found { Ok(()) } else { Err(format!("no error says `{want}`; the findings are {}", listed(&told))) };
    }
    for (index, call) in case.written.calls.iter().enumerate() {
        stage.call(&case.written, call).map_err(|reason| format!("call {} ({}): {reason}", index + 1, call.tool))?;
    }
    Ok(())
}

struct Stage<'s> {
    runtime: &'s Arc<Runtime>,
    plugin: &'s Arc<Plugin>,
    folder: Folder,
    store: Arc<dyn Store>,
    host: Option<(Host, Caller)>,
    bound: BTreeMap<String, String>,
}

impl Stage<'_> {
    fn write(&self, documents: &BTreeMap<String, String>) -> Result<(), String> {
        for (path, text) in documents {
            let path = self.folder.path(path)?;
            let folder = path.parent().unwrap_or(&self.folder.0);
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text)).map_err(self::text)?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), String> {
        let plugins = Plugins::of(self.runtime, self.plugin);
        let places = vec![self.folder.0.clone()];
        let host = Host::new(Arc::clone(&self.store), Arc::new(System), (plugins, places), HostOptions::default());
        let caller = Caller { channel: "case", own: Some(OwnSessions::default()), ..Caller::default() };
        self.host = Some((host.map_err(text)?, caller));
        Ok(())
    }

    fn host(&self) -> Result<&(Host, Caller), String> {
        self.host.as_ref().ok_or_else(|| "the host is not running".to_owned())
    }

    fn findings(&self) -> Result<Vec<Diagnostic>, String> {
        Ok(self.host()?.0.catalogue().findings().map(|finding| finding.diagnostic.clone()).collect())
    }

    fn lint(&self, want: &[BTreeMap<String, Value>]) -> Result<(), String> {
        let told = self.findings()?;
        if let Some(missing) = want.iter().find(|want| !told.iter().any(|one| is(one, want))) {
            let want = serde_json::to_string(missing).unwrap_or_default();
            return Err(format!("no finding is {want}; the findings are {}", listed(&told)));
        }
        if told.len() != want.len() {
            return Err(format!("{} findings instead of {}: {}", told.len(), want.len(), listed(&told)));
        }
        Ok(())
    }

    fn call(&mut self, case: &Written, call: &Call) -> Result<(), String> {
        if call.restart_before || !call.documents_before.is_empty() || !call.documents_removed_before.is_empty() {
            self.host = None;
            self.write(&call.documents_before)?;
            for path in &call.documents_removed_before {
                std::fs::remove_file(self.folder.path(path)?).map_err(text)?;
            }
            self.open()?;
        }
        let forms = case.client_capabilities.as_ref().is_some_and(|can| can.get("elicitation").is_some());
        let arguments = if call.arguments.is_null() { serde_json::json!({}) } else { self.filled(&call.arguments) };
        let (output, asked) = self.drive(&call.tool, &arguments, forms.then_some(&call.elicited))?;
        let value: Value = serde_json::from_str(&output.value).map_err(|e| format!("what it gives is no JSON: {e}"))?;
        if output.is_error != call.is_error {
            return Err(format!("`is_error` is {}: {value}", output.is_error));
        }
        let want: Vec<&str> = call.elicited.iter().map(|e| e.message.as_str()).collect();
        if forms && want != asked {
            return Err(format!("a person is asked {asked:?} instead of {want:?}"));
        }
        let loose: Vec<&str> = case.loose.iter().chain(&call.loose).map(String::as_str).collect();
        let rules = Rules { subset: case.r#match == "subset", loose: &loose };
        compare(&call.result, &value, rules, &mut self.bound, "result")
    }

    /// The call, and what it asks of a person.
    fn drive(&self, tool: &str, args: &Value, person: Option<&Vec<Elicited>>) -> Result<(Output, Vec<String>), String> {
        let (host, caller) = self.host()?;
        let mut now = host.blocking().call(caller, tool, &args.to_string()).map_err(text)?;
        let mut waiting: VecDeque<_> = now.opened.iter().cloned().collect();
        let (mut asked, mut replies) = (Vec::new(), person.into_iter().flatten());
        let Some(session) = now.session.filter(|_| person.is_some()) else { return Ok((now.output, asked)) };
        while let Some(request) = waiting.pop_front() {
            let Some(question) = ask(session, &request) else { continue };
            let Asked::Form { prompt, .. } = question.what else { continue };
            asked.push(prompt);
            let Some(scripted) = replies.next() else { break };
            let value = match scripted.reply.get("action").and_then(Value::as_str) {
                Some("accept") => Ok(scripted.reply.pointer("/content/value").cloned().unwrap_or_default().to_string()),
                Some("decline") => {
                    Err(Failure { kind: Mishap::Declined, message: "the form was declined".into(), detail: None })
                }
                Some(_) | None => break,
            };
            let reply = Reply { request: request.id.clone(), value };
            let Some(next) =
                host.blocking().reply(caller, (session, &request.need), &reply, Source::Human).map_err(text)?
            else {
                continue;
            };
            waiting.extend(next.opened.iter().cloned());
            now = next;
        }
        Ok((now.output, asked))
    }

    /// Arguments in which a placeholder stands for what it was bound to.
    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::from(self.bound.get(text).unwrap_or(text).clone()),
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(map) => {
                Value::Object(map.iter().map(|(key, item)| (key.clone(), self.filled(item))).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn is(one: &Diagnostic, want: &BTreeMap<String, Value>) -> bool {
    want.iter().all(|(key, value)| {
        let word = value.as_str().unwrap_or_default();
        let number = value.as_u64();
        match key.as_str() {
            "severity" | "level" => severity(one.severity) == if word == "notice" { "note" } else { word },
            "code" => one.code == word,
            "subject" | "node" => one.subject.as_deref() == Some(word),
            "line" => one.span.is_some_and(|span| Some(u64::from(span.start.line)) == number),
            "column" => one.span.is_some_and(|span| Some(u64::from(span.start.column)) == number),
            _ => one.message.contains(word),
        }
    })
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn listed(told: &[Diagnostic]) -> String {
    let place = |d: &Diagnostic| d.span.map(|s| format!(" at {}:{}", s.start.line, s.start.column)).unwrap_or_default();
    let all: Vec<String> = told.iter().map(|d| format!("[{}]{} {}", d.code, place(d), d.message)).collect();
    if all.is_empty() { "none".to_owned() } else { all.join("; ") }
}

#[derive(Clone, Copy)]
struct Rules<'r> {
    subset: bool,
    loose: &'r [&'r str],
}

/// Placeholders that stand for any one value.
const ANY: [&str; 5] = ["<timestamp>", "<hash>", "<duration>", "<uuid>", "<path>"];

fn compare(
    want: &Value,
    got: &Value,
    rules: Rules<'_>,
    bound: &mut BTreeMap<String, String>,
    at: &str,
) -> Result<(), String> {
    match (want, got) {
        (Value::String(any), _) if ANY.contains(&any.as_str()) => Ok(()),
        (Value::String(name), Value::String(text)) if name.starts_with('<') && name.ends_with('>') => {
            if let Some(earlier) = bound.get(name) {
                return if earlier == text {
                    Ok(())
                } else {
                    Err(format!("{at}: `{text}` is not the earlier {name}, `{earlier}`"))
                };
            }
            if bound.values().any(|other| other == text) {
                return Err(format!("{at}: `{text}` stands for two placeholders"));
            }
            bound.insert(name.clone(), text.clone());
            Ok(())
        }
        (Value::Array(want), Value::Array(got)) if want.len() == got.len() => {
            let mut pairs = want.iter().zip(got).enumerate();
            pairs.try_for_each(|(index, (want, got))| compare(want, got, rules, bound, &format!("{at}[{index}]")))
        }
        (Value::Object(want), Value::Object(got)) => {
            for (key, value) in want.iter().filter(|(key, _)| !rules.loose.contains(&key.as_str())) {
                let found = got.get(key).ok_or_else(|| format!("{at}.{key} is missing"))?;
                compare(value, found, rules, bound, &format!("{at}.{key}"))?;
            }
            match got.keys().find(|key| !want.contains_key(*key)) {
                Some(more) if !rules.subset => Err(format!("{at}.{more} is not in the case")),
                Some(_) | None => Ok(()),
            }
        }
        (want, got) if want == got => Ok(()),
        (want, got) => Err(format!("{at} is {got} instead of {want}")),
    }
}

/// A folder that is gone when this is.
#[derive(Debug)]
struct Folder(std::path::PathBuf);

impl Folder {
    fn make() -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("wfhost-case-{:032x}", System.entropy()));
        make_private_folder(&folder).map_err(text)?;
        Ok(Self(folder))
    }

    /// A path below the folder: a case writes nowhere else.
    fn path(&self, below: &str) -> Result<std::path::PathBuf, String> {
        let parts = Path::new(below).components();
        if below.is_empty() || parts.into_iter().any(|part| !matches!(part, std::path::Component::Normal(_))) {
            return Err(format!("the document `{below}` is no path below a folder"));
        }
        Ok(self.0.join(below))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
