//! A loaded plugin: checked, compiled or found compiled, described once; and its functions as the host calls them.

use std::path::Path;
use std::sync::Arc;

use wasmtime::component::{Component, ComponentExportIndex, ComponentNamedList, InstancePre, Lift, Linker, Lower};

use super::bindings::contract;
use super::call::{self, Callee, Function, Inside};
use super::fault::{CallFault, LoadFault};
use super::runtime::Runtime;
use super::versions::Version;
use super::{cache, check};
use crate::limits::{CallLimits, PLUGIN_BYTES_MAX, PluginLimits};
use crate::session::model::Digest;

/// A plugin that may be called, by any thread, as often as one likes.
pub struct Plugin {
    runtime: Arc<Runtime>,
    pre: InstancePre<Inside>,
    indices: Indices,
    /// What it may use.
    pub limits: PluginLimits,
    /// SHA-256 of the component.
    pub digest: Digest,
    /// The version of the contract that it speaks.
    pub speaks: Version,
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
        let limits = runtime.allowed(origin, digest)?;
        let component = compiled(runtime, origin, digest, &bytes)?;
        let shape = |error: wasmtime::Error| LoadFault::Shape {
            plugin: origin.into(),
            reason: format!("{error:#}").lines().next().unwrap_or_default().to_owned(),
        };
        let pre = Linker::<Inside>::new(&runtime.engine).instantiate_pre(&component).map_err(shape)?;
        let (speaks, indices) = Indices::of(&component).ok_or_else(|| LoadFault::Shape {
            plugin: origin.into(),
            reason: "a function of the contract is missing".into(),
        })?;
        // Holds the component against every record and function of its version, once.
        speaks.check(runtime, &pre).map_err(shape)?;
        let function = Function {
            pre: &pre,
            index: indices.get("describe"),
            callee: Callee { plugin: origin, function: "describe" },
        };
        let about = speaks
            .describe(runtime, function, limits.load)
            .map_err(|fault| LoadFault::Describe { plugin: origin.into(), reason: fault.to_string() })?;
        named(origin, &about)?;
        Ok(Self {
            runtime: Arc::clone(runtime),
            pre,
            indices,
            limits,
            digest,
            speaks,
            about,
            origin: origin.into(),
            bytes,
        })
    }

    fn run<P, R>(&self, function: &'static str, limits: CallLimits, params: P) -> Result<R, CallFault>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        let callee = Callee { plugin: &self.about.name, function };
        let function = Function { pre: &self.pre, index: self.indices.get(function), callee };
        call::call(&self.runtime, function, limits, params)
    }

    fn turn<P, R>(&self, function: &'static str, params: P) -> Result<R, CallFault>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        self.run(function, self.limits.call, params)
    }

    /// An answer of this plugin that the contract's rules forbid.
    #[must_use]
    pub fn bad_answer(&self, function: &'static str, reason: impl Into<String>) -> CallFault {
        CallFault::Answer { plugin: self.about.name.clone(), function, reason: reason.into() }
    }

    /// Whether the document is this dialect's own, and the globs of its companions.
    pub fn recognise(&self, document: &contract::Document) -> Result<Option<Vec<String>>, CallFault> {
        self.turn("recognise", (document,))
    }

    /// Definitions and findings of a document.
    pub fn compile(&self, bundle: &contract::Bundle) -> Result<contract::Compiled, CallFault> {
        self.run("compile", self.limits.load, (bundle,))
    }

    /// The tools for a set of workflows.
    pub fn tools(&self, workflows: &[contract::Workflow]) -> Result<Vec<contract::Tool>, CallFault> {
        self.run("tools", self.limits.load, (workflows,))
    }

    /// What a tool call means.
    pub fn route(
        &self,
        call: &contract::Call,
        workflows: &[String],
    ) -> Result<Result<contract::Action, contract::Refusal>, CallFault> {
        self.turn("route", (call, workflows))
    }

    /// The reply to a call that concerns no session.
    pub fn catalogue(
        &self,
        call: &contract::Call,
        workflows: &[contract::Workflow],
        runs: &[contract::Run],
    ) -> Result<contract::Output, CallFault> {
        self.turn("catalogue", (call, workflows, runs))
    }

    /// The value of an expression.
    pub fn evaluate(
        &self,
        language: &str,
        expression: &str,
        context: &str,
    ) -> Result<Result<String, contract::Diagnostic>, CallFault> {
        self.turn("evaluate", (language, expression, context))
    }

    /// Begins a session.
    pub fn start(
        &self,
        code: &[u8],
        session: &contract::Session,
        event: &contract::Event,
    ) -> Result<Result<contract::Turn, contract::Refusal>, CallFault> {
        self.turn("start", (code, session, event))
    }

    /// Moves a session.
    pub fn answer(
        &self,
        code: &[u8],
        session: &contract::Session,
        (state, memory): (&str, &contract::Memory),
        event: &contract::Event,
    ) -> Result<Result<contract::Turn, contract::Refusal>, CallFault> {
        self.turn("answer", (code, session, state, memory, event))
    }

    /// Where a session stands.
    pub fn status(&self, code: &[u8], session: &contract::Session, state: &str) -> Result<contract::Output, CallFault> {
        self.turn("status", (code, session, state))
    }

    /// What happened in a session.
    pub fn trace(
        &self,
        code: &[u8],
        session: &contract::Session,
        state: &str,
        journal: &contract::Journal,
    ) -> Result<contract::Output, CallFault> {
        self.turn("trace", (code, session, state, journal))
    }

    /// The text of a view.
    pub fn render(
        &self,
        code: &[u8],
        session: &contract::Session,
        (state, journal): (&str, &contract::Journal),
        (view, args): (&str, &str),
    ) -> Result<Result<String, contract::Refusal>, CallFault> {
        self.turn("render", (code, session, state, journal, view, args))
    }
}

fn compiled(runtime: &Arc<Runtime>, origin: &str, digest: Digest, bytes: &[u8]) -> Result<Component, LoadFault> {
    check::sniff(origin, bytes)?;
    let (component, fresh) = match cache::find(runtime, digest) {
        Some(component) => (component, false),
        None => (fresh(runtime, origin, bytes)?, true),
    };
    if let Some(finding) = check::look(&runtime.engine, origin, bytes, &component).findings.into_iter().next() {
        return Err(finding);
    }
    if fresh {
        cache::keep(runtime, digest, &component);
    }
    Ok(component)
}

fn fresh(runtime: &Runtime, origin: &str, bytes: &[u8]) -> Result<Component, LoadFault> {
    check::worth_compiling(origin, bytes)?;
    Component::new(&runtime.engine, bytes).map_err(|e| check::broken(origin, &e))
}

/// The name goes into listings, faults and stored rows.
fn named(origin: &str, about: &contract::Interpreter) -> Result<(), LoadFault> {
    let name = &about.name;
    let fits =
        !name.is_empty() && name.len() <= 32 && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if fits {
        return Ok(());
    }
    Err(LoadFault::Describe {
        plugin: origin.into(),
        reason: format!("its name `{}` is not 1 to 32 of a-z, 0-9 and -", name.escape_debug()),
    })
}

/// Where the contract's functions are in a component.
struct Indices(Vec<(&'static str, ComponentExportIndex)>);

impl Indices {
    fn of(component: &Component) -> Option<(Version, Self)> {
        let export = |version: Version| Some((version, component.get_export_index(None, version.interface())?));
        let (version, interface) = Version::ALL.into_iter().find_map(export)?;
        let index = |name: &'static str| Some((name, component.get_export_index(Some(&interface), name)?));
        Some((version, Self(check::FUNCTIONS.into_iter().map(index).collect::<Option<_>>()?)))
    }

    #[expect(clippy::expect_used, reason = "`of` has all names of `FUNCTIONS`, and no other is asked for")]
    fn get(&self, function: &str) -> &ComponentExportIndex {
        self.0.iter().find(|(name, _)| *name == function).map(|(_, index)| index).expect("a function of the contract")
    }
}
