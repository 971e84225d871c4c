//! The plugins that the build embeds. What each says of itself stands beside its bytes, so that only those whose documents
//! are there are ever compiled.

/// A plugin that every wfhost carries.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// Its name: `--plugin NAME` takes it.
    pub name: &'static str,
    /// Its `about.json`: name, title, files, marks.
    pub about: &'static str,
    /// The component.
    pub wasm: &'static [u8],
}

/// All of them, by name.
#[must_use]
pub fn builtins() -> &'static [Builtin] {
    include!(concat!(env!("OUT_DIR"), "/builtins.rs"))
}
