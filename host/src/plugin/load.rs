//! A loaded plugin: checked, compiled or found compiled, described once; and its functions as the host calls them.

use std::path::Path;
use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::{Component, Linker};

use super::bindings::{InterpreterPre, contract, exports::wfhost::engine::engine::Guest};
use super::call::{self, Callee, Inside};
use super::fault::{CallFault, LoadFault};
use super::runtime::Runtime;
use super::{cache, check};
use crate::limits::{CallLimits, PLUGIN_BYTES_MAX};
use crate::session::model::Digest;

/// A plugin that may be called, by any thread, as often as one likes.
pub struct Plugin {
    runtime: Arc<Runtime>,
    pre: InterpreterPre<Inside>,
    /// SHA-256 of the component.
    pub digest: Digest,
    /// Who it says it is.
    pub about: contract::Interpreter,
    /// Where it came from, as the operator named it.
    pub origin: String,
    /// The component itself, kept so that sessions can be pinned to it.
    pub bytes: Arc<[u8]>,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin").field("name", &self.about.name).field("digest", &self.digest).finish_non_exhaustive()
    }
}

impl Plugin {
    /// Loads a plugin from a file.
    pub fn from_file(runtime: &Arc<Runtime>, path: &Path) -> Result<Self, LoadFault> {
        let origin = path.display().to_string();
        let file = |reason: String| LoadFault::File { plugin: origin.clone(), reason };
        let size = std::fs::metadata(path).map_err(|e| file(e.to_string()))?.len();
        if size > PLUGIN_BYTES_MAX {
            return Err(file(format!("it has {size} bytes, the limit is {PLUGIN_BYTES_MAX}")));
        }
        let bytes = std::fs::read(path).map_err(|e| file(e.to_string()))?;
        Self::from_bytes(runtime, &origin, bytes.into())
    }

    /// Loads a plugin from its bytes. `origin` names it in faults.
    pub fn from_bytes(runtime: &Arc<Runtime>, origin: &str, bytes: Arc<[u8]>) -> Result<Self, LoadFault> {
        let digest = Digest::of(&bytes);
        let component = compiled(runtime, origin, digest, &bytes)?;
        let shape = |error: wasmtime::Error| LoadFault::Shape {
            plugin: origin.into(),
            reason: format!("{error:#}").lines().next().unwrap_or_default().to_owned(),
        };
        let pre = Linker::<Inside>::new(&runtime.engine).instantiate_pre(&component).map_err(shape)?;
        let pre = InterpreterPre::new(pre).map_err(shape)?;
        let callee = Callee { plugin: origin, function: "describe" };
        let about = call::call(runtime, &pre, callee, runtime.limits.load, |guest, store| guest.call_describe(store))
            .map_err(|fault| LoadFault::Describe { plugin: origin.into(), reason: fault.to_string() })?;
        named(origin, &about)?;
        Ok(Self { runtime: Arc::clone(runtime), pre, digest, about, origin: origin.into(), bytes })
    }

    fn run<T>(
        &self,
        function: &'static str,
        limits: CallLimits,
        work: impl FnOnce(&Guest, &mut Store<Inside>) -> wasmtime::Result<T>,
    ) -> Result<T, CallFault> {
        call::call(&self.runtime, &self.pre, Callee { plugin: &self.about.name, function }, limits, work)
    }

    fn turn<T>(
        &self,
        function: &'static str,
        work: impl FnOnce(&Guest, &mut Store<Inside>) -> wasmtime::Result<T>,
    ) -> Result<T, CallFault> {
        self.run(function, self.runtime.limits.call, work)
    }

    /// An answer of this plugin that the contract's rules forbid.
    #[must_use]
    pub fn bad_answer(&self, function: &'static str, reason: impl Into<String>) -> CallFault {
        CallFault::Answer { plugin: self.about.name.clone(), function, reason: reason.into() }
    }

    /// Whether the document is this dialect's own, and the globs of its companions.
    pub fn recognise(&self, document: &contract::Document) -> Result<Option<Vec<String>>, CallFault> {
        self.turn("recognise", |guest, store| guest.call_recognise(store, document))
    }

    /// Definitions and findings of a document.
    pub fn compile(&self, bundle: &contract::Bundle) -> Result<contract::Compiled, CallFault> {
        self.run("compile", self.runtime.limits.load, |guest, store| guest.call_compile(store, bundle))
    }

    /// The tools for a set of workflows.
    pub fn tools(&self, workflows: &[contract::Workflow]) -> Result<Vec<contract::Tool>, CallFault> {
        self.run("tools", self.runtime.limits.load, |guest, store| guest.call_tools(store, workflows))
    }

    /// What a tool call means.
    pub fn route(
        &self,
        call: &contract::Call,
        workflows: &[String],
    ) -> Result<Result<contract::Action, contract::Refusal>, CallFault> {
        self.turn("route", |guest, store| guest.call_route(store, call, workflows))
    }

    /// The reply to a call that concerns no session.
    pub fn catalogue(
        &self,
        call: &contract::Call,
        workflows: &[contract::Workflow],
        runs: &[contract::Run],
    ) -> Result<contract::Output, CallFault> {
        self.turn("catalogue", |guest, store| guest.call_catalogue(store, call, workflows, runs))
    }

    /// The value of an expression.
    pub fn evaluate(
        &self,
        language: &str,
        expression: &str,
        context: &contract::Json,
    ) -> Result<Result<String, contract::Diagnostic>, CallFault> {
        self.turn("evaluate", |guest, store| guest.call_evaluate(store, language, expression, context))
    }

    /// Begins a session.
    pub fn start(
        &self,
        code: &[u8],
        session: &contract::Session,
        event: &contract::Event,
    ) -> Result<Result<contract::Turn, contract::Refusal>, CallFault> {
        self.turn("start", |guest, store| guest.call_start(store, code, session, event))
    }

    /// Moves a session.
    pub fn answer(
        &self,
        code: &[u8],
        session: &contract::Session,
        (state, memory): (&contract::Json, &contract::Memory),
        event: &contract::Event,
    ) -> Result<Result<contract::Turn, contract::Refusal>, CallFault> {
        self.turn("answer", |guest, store| guest.call_answer(store, code, session, state, memory, event))
    }

    /// Where a session stands.
    pub fn status(&self, code: &[u8], session: &contract::Session, state: &contract::Json) -> Result<contract::Output, CallFault> {
        self.turn("status", |guest, store| guest.call_status(store, code, session, state))
    }

    /// What happened in a session.
    pub fn trace(
        &self,
        code: &[u8],
        session: &contract::Session,
        state: &contract::Json,
        journal: &contract::Journal,
    ) -> Result<contract::Output, CallFault> {
        self.turn("trace", |guest, store| guest.call_trace(store, code, session, state, journal))
    }

    /// The text of a view.
    pub fn render(
        &self,
        code: &[u8],
        session: &contract::Session,
        (state, journal): (&contract::Json, &contract::Journal),
        (view, args): (&str, &contract::Json),
    ) -> Result<Result<String, contract::Refusal>, CallFault> {
        self.turn("render", |guest, store| guest.call_render(store, code, session, state, journal, view, args))
    }
}

fn compiled(runtime: &Arc<Runtime>, origin: &str, digest: Digest, bytes: &[u8]) -> Result<Component, LoadFault> {
    check::sniff(origin, bytes)?;
    let (component, fresh) = match cache::find(runtime, digest) {
        Some(component) => (component, false),
        None => (Component::new(&runtime.engine, bytes).map_err(|e| check::broken(origin, &e))?, true),
    };
    if let Some(finding) = check::look(&runtime.engine, origin, bytes, &component).findings.into_iter().next() {
        return Err(finding);
    }
    if fresh {
        cache::keep(runtime, digest, &component);
    }
    Ok(component)
}

/// The name goes into listings, faults and stored rows.
fn named(origin: &str, about: &contract::Interpreter) -> Result<(), LoadFault> {
    let name = &about.name;
    let fits = !name.is_empty() && name.len() <= 32 && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if fits {
        return Ok(());
    }
    Err(LoadFault::Describe {
        plugin: origin.into(),
        reason: format!("its name `{}` is not 1 to 32 of a-z, 0-9 and -", name.escape_debug()),
    })
}
