//! What authors' toolchains need beside a compiler: core wasm module in, component out; a component's type against a WIT
//! text; the contract as C. Which modules there are and how they are built is the caller's matter.

pub mod c;
pub mod shape;

use anyhow::{Context, Result, bail};
use wit_component::{ComponentEncoder, DecodedWasm};
use wit_parser::WorldItem;

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
    names(component).map(|(imports, _)| imports)
}

/// The names of all that a component imports, and of all that it exports. Interfaces of types alone are no imports.
pub fn names(component: &[u8]) -> Result<(Vec<String>, Vec<String>)> {
    let DecodedWasm::Component(resolve, world) = wit_component::decode(component)? else {
        bail!("a WIT package instead of a component");
    };
    let world = resolve.worlds.get(world).context("the component names no world")?;
    let asks = |item: &WorldItem| match item {
        WorldItem::Interface { id, .. } => resolve.interfaces.get(*id).is_none_or(|i| !i.functions.is_empty()),
        WorldItem::Function(_) => true,
        WorldItem::Type { .. } => false,
    };
    let named = |(key, _): (&_, &WorldItem)| resolve.name_world_key(key);
    let imports = world.imports.iter().filter(|(_, item)| asks(item)).map(named).collect();
    Ok((imports, world.exports.iter().map(named).collect()))
}

#[cfg(test)]
mod tests {
    use super::shape;
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
    fn what_a_component_has_otherwise_is_told_as_needed_and_offered() {
        let interface = |body: &str| format!("package test:test; interface i {{ {body} }} world w {{ export i; }}");
        let wit = interface("record r { a: string } type t = string; f: func(x: r) -> t;");
        let packed = |text: &str| {
            let mut resolve = Resolve::default();
            let package = resolve.push_str("test.wit", text).unwrap();
            let world = resolve.select_world(&[package], None).unwrap();
            let mut core = wit_component::dummy_module(&resolve, world, wit_parser::ManglingAndAbi::Standard32);
            embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8, false).unwrap();
            super::component(&core).unwrap()
        };
        let against = |body: &str| shape::differences(&packed(&interface(body)), "test:test/i", &wit).unwrap();
        assert_eq!(against("record r { a: string } f: func(x: r) -> string;"), []);
        let told = against("record r { a: string, b: u8 } f: func(x: r) -> string;");
        let [one] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((one.name.as_str(), one.needed.as_str()), ("r", "record { a: string }"));
        assert_eq!(one.offered.as_deref(), Some("record { a: string, b: u8 }"));
        let told = against("record r { a: string } g: func(x: r) -> string;");
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].needed.as_str(), told[0].offered.as_deref()), ("func(x: r) -> string", None));
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert!(super::component(b"not wasm").is_err());
    }
}
