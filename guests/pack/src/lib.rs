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

#[cfg(test)]
mod tests {
    use wit_component::{StringEncoding, embed_component_metadata};
    use wit_parser::Resolve;

    /// `(module (import "$root" "clock" (func (result i64))) (func) (export "f" (func 1)))`, and the same without import.
    const CLOCKED: &[u8] = b"\0asm\x01\0\0\0\x01\x08\x02\x60\0\x01\x7e\x60\0\0\x02\x0f\x01\x05$root\x05clock\0\0\x03\x02\x01\x01\x07\x05\x01\x01f\0\x01\x0a\x04\x01\x02\0\x0b";
    const PURE: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x07\x05\x01\x01f\0\0\x0a\x04\x01\x02\0\x0b";

    fn packed(core: &[u8], world: &str) -> Result<Vec<u8>, String> {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("test.wit", &format!("package test:test; world w {{ {world} }}")).unwrap();
        let world = resolve.select_world(&[package], None).unwrap();
        let mut core = core.to_vec();
        embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8, false).unwrap();
        super::component(&core).map_err(|fault| format!("{fault:#}"))
    }

    #[test]
    fn an_import_is_named() {
        assert_eq!(packed(PURE, "export f: func();").map(|bytes| super::imports(&bytes).unwrap()), Ok(Vec::new()));
        let fault = packed(CLOCKED, "import clock: func() -> u64; export f: func();").unwrap_err();
        assert!(fault.ends_with("this one imports clock"), "{fault}");
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert!(super::component(b"not wasm").is_err());
    }
}
