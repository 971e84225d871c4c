//! The contract as C: what an author in that language compiles and links, made from the WIT text.

use anyhow::{Context, Result};
use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::Resolve;

/// Source, header and an object file that carries the component's type, by name.
pub fn bindings(wit: &str, world: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("engine.wit", wit)?;
    let world = resolve.select_world(&[package], Some(world))?;
    let mut files = Files::default();
    wit_bindgen_c::Opts::default()
        .build()
        .generate(&mut resolve, world, &mut files)
        .context("no C comes of the WIT")?;
    Ok(files.iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect())
}
