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

/// Looks at a component without running it. Fails if it is none.
pub fn inspect(engine: &super::Runtime, plugin: &str, bytes: &[u8]) -> Result<Inspection, LoadFault> {
    sniff(plugin, bytes)?;
    let component = Component::new(&engine.engine, bytes).map_err(|error| broken(plugin, &error))?;
    Ok(look(&engine.engine, plugin, bytes, &component))
}

/// Tells core modules and other files from components by their first bytes.
pub(super) fn sniff(plugin: &str, bytes: &[u8]) -> Result<(), LoadFault> {
    let reason = match bytes.get(..8) {
        Some([0, b'a', b's', b'm', 0x0d, 0, 1, 0]) => return Ok(()),
        Some([0, b'a', b's', b'm', 1, 0, 0, 0]) => "it is a core module; wrap it with `wasm-tools component new`",
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
    let mut findings = Vec::new();
    if !imports.is_empty() {
        let imports = imports.iter().map(|i| format!("`{i}`")).collect::<Vec<_>>().join(", ");
        findings.push(LoadFault::Imports { plugin: plugin.into(), imports });
    }
    match (contract.as_deref().and_then(Version::of), contract.as_deref()) {
        (Some(version), _) => findings.extend(missing(engine, plugin, component, version)),
        (None, other) => findings.push(LoadFault::Contract {
            plugin: plugin.into(),
            found: other.map_or_else(
                || {
                    format!(
                        "no `{INTERFACE}` (it exports {})",
                        if exports.is_empty() { "nothing".into() } else { exports.join(", ") }
                    )
                },
                |v| format!("wfhost:engine {v}"),
            ),
            known: Version::spoken(),
        }),
    }
    Inspection { digest: Digest::of(bytes), bytes: bytes.len(), imports, exports, contract, findings }
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
