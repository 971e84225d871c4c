//! Core wasm module in, component out. Which modules there are and how they are built is the caller's matter.

use anyhow::{Context, Result, bail};
use wit_component::{ComponentEncoder, DecodedWasm};

/// The component that a core module of an interpreter makes, checked: valid, and without a single import.
pub fn component(core: &[u8]) -> Result<Vec<u8>> {
    let bytes = ComponentEncoder::default()
        .validate(true)
        .module(core)
        .context("the module carries no description of a component world")?
        .encode()
        .context("the module does not fit the world it describes")?;
    let imports = imports(&bytes)?;
    if !imports.is_empty() {
        bail!("an interpreter must import nothing, but this one imports {}", imports.join(", "));
    }
    Ok(bytes)
}

/// The names of all that a component imports.
pub fn imports(component: &[u8]) -> Result<Vec<String>> {
    let DecodedWasm::Component(resolve, world) = wit_component::decode(component)? else {
        bail!("a WIT package instead of a component");
    };
    let world = resolve.worlds.get(world).context("the component names no world")?;
    Ok(world.imports.keys().map(|key| resolve.name_world_key(key)).collect())
}
