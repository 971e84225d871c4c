//! What can be told of a plugin before anything of it runs: is it a component, what does it import, which contract does it
//! speak, are all functions there.

use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use super::fault::LoadFault;
use super::versions::{INTERFACE, Version};
use crate::session::model::Digest;

/// The functions of the contract.
pub(super) const FUNCTIONS: [&str; 12] = [
    "describe",
    "recognise",
    "compile",
    "tools",
    "route",
    "catalogue",
    "evaluate",
    "start",
    "answer",
    "status",
    "trace",
    "render",
];

/// One thing that keeps a file from being a plugin.
pub type Finding = LoadFault;

/// What a look at a file shows.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// SHA-256 of the file.
    pub digest: Digest,
    /// Its size, bytes.
    pub bytes: usize,
    /// What it imports.
    pub imports: Vec<String>,
    /// What it exports.
    pub exports: Vec<String>,
    /// The version of the contract that it says it speaks, known here or not.
    pub contract: Option<String>,
    /// What is in the way.
    pub findings: Vec<Finding>,
}

/// Looks at a component: what its type says, and all that is in the way, without compiling or running it. Fails if it is none.
pub fn inspect(plugin: &str, bytes: &[u8]) -> Result<Inspection, LoadFault> {
    let mut seen = before_it_runs(plugin, bytes)?;
    seen.findings.extend(imported(plugin, &seen.imports));
    match seen.contract.as_deref().and_then(Version::of) {
        None => seen.findings.push(unspoken(plugin, seen.contract.as_deref(), &seen.exports)),
        Some(version) => {
            let differences =
                wfhost_pack::shape::differences(bytes, &version.interface(), version.wit()).unwrap_or_default();
            let missing: Vec<String> =
                differences.iter().filter(|d| d.offered.is_none()).map(|d| format!("`{}`", d.name)).collect();
            if !missing.is_empty() {
                let reason = format!("it lacks {}", missing.join(", "));
                seen.findings.push(LoadFault::Shape { plugin: plugin.into(), reason });
            }
        }
    }
    Ok(seen)
}

/// What a component's type says, read without compiling anything. Fails if it is none.
pub(crate) fn before_it_runs(plugin: &str, bytes: &[u8]) -> Result<Inspection, LoadFault> {
    sniff(plugin, bytes)?;
    let (imports, exports) = wfhost_pack::names(bytes)
        .map_err(|error| LoadFault::NotAComponent { plugin: plugin.into(), reason: format!("{error:#}") })?;
    let contract = exports.iter().find_map(|name| version(name)).map(str::to_owned);
    Ok(Inspection { digest: Digest::of(bytes), bytes: bytes.len(), imports, exports, contract, findings: Vec::new() })
}

/// Refuses what could not be called anyway before its native code is made, which takes seconds for a large plugin.
pub(super) fn worth_compiling(plugin: &str, bytes: &[u8]) -> Result<(), LoadFault> {
    let seen = before_it_runs(plugin, bytes)?;
    if let Some(fault) = imported(plugin, &seen.imports) {
        return Err(fault);
    }
    match seen.contract.as_deref().and_then(Version::of) {
        Some(_) => Ok(()),
        None => Err(unspoken(plugin, seen.contract.as_deref(), &seen.exports)),
    }
}

/// Tells core modules and other files from components by their first bytes.
pub(super) fn sniff(plugin: &str, bytes: &[u8]) -> Result<(), LoadFault> {
    let reason = match bytes.get(..8) {
        Some([0, b'a', b's', b'm', 0x0d, 0, 1, 0]) => return Ok(()),
        Some([0, b'a', b's', b'm', 1, 0, 0, 0]) => "it is a core module; wrap it with `wfhost plugin pack`",
        Some([0, b'a', b's', b'm', ..]) => "it is of a binary version that is not known here",
        Some(_) => "it does not begin like WebAssembly",
        None => "it is too short",
    };
    Err(LoadFault::NotAComponent { plugin: plugin.into(), reason: reason.into() })
}

pub(super) fn broken(plugin: &str, error: &wasmtime::Error) -> LoadFault {
    let text = format!("{error:#}");
    LoadFault::NotAComponent { plugin: plugin.into(), reason: text.lines().next().unwrap_or_default().to_owned() }
}

/// All that is in the way of this component being a plugin.
pub(super) fn look(engine: &Engine, plugin: &str, bytes: &[u8], component: &Component) -> Inspection {
    let ty = component.component_type();
    // An interface of types alone asks the host for nothing.
    let imports: Vec<String> =
        ty.imports(engine).filter(|(_, item)| asks(engine, &item.ty)).map(|(name, _)| name.to_owned()).collect();
    let exports: Vec<String> = ty.exports(engine).map(|(name, _)| name.to_owned()).collect();
    let contract = exports.iter().find_map(|name| version(name)).map(str::to_owned);
    let mut findings: Vec<LoadFault> = imported(plugin, &imports).into_iter().collect();
    match contract.as_deref().and_then(Version::of) {
        Some(version) => findings.extend(missing(engine, plugin, component, version)),
        None => findings.push(unspoken(plugin, contract.as_deref(), &exports)),
    }
    Inspection { digest: Digest::of(bytes), bytes: bytes.len(), imports, exports, contract, findings }
}

fn imported(plugin: &str, imports: &[String]) -> Option<LoadFault> {
    let imports: Vec<String> = imports.iter().map(|i| format!("`{i}`")).collect();
    (!imports.is_empty()).then(|| LoadFault::Imports { plugin: plugin.into(), imports: imports.join(", ") })
}

fn unspoken(plugin: &str, contract: Option<&str>, exports: &[String]) -> LoadFault {
    let nothing = || {
        let exports = if exports.is_empty() { "nothing".into() } else { exports.join(", ") };
        format!("no `{INTERFACE}` (it exports {exports})")
    };
    LoadFault::Contract {
        plugin: plugin.into(),
        found: contract.map_or_else(nothing, |v| format!("wfhost:engine {v}")),
        known: Version::spoken(),
    }
}

fn asks(engine: &Engine, item: &ComponentItem) -> bool {
    if let ComponentItem::ComponentInstance(instance) = item {
        return instance.exports(engine).any(|(_, item)| asks(engine, &item.ty));
    }
    !matches!(item, ComponentItem::Type(_))
}

fn version(export: &str) -> Option<&str> {
    export.strip_prefix(INTERFACE)?.strip_prefix('@')
}

fn missing(engine: &Engine, plugin: &str, component: &Component, version: Version) -> Option<LoadFault> {
    let name = version.interface();
    let ty = component.component_type();
    let item = ty.get_export(engine, &name)?;
    let ComponentItem::ComponentInstance(instance) = item.ty else {
        return Some(LoadFault::Shape { plugin: plugin.into(), reason: format!("`{name}` is no interface") });
    };
    let offered: Vec<String> = instance.exports(engine).map(|(name, _)| name.to_owned()).collect();
    let missing: Vec<&str> = FUNCTIONS.into_iter().filter(|f| !offered.iter().any(|o| o == f)).collect();
    (!missing.is_empty()).then(|| LoadFault::Shape {
        plugin: plugin.into(),
        reason: format!("it lacks {}", missing.iter().map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ")),
    })
}
