//! Command line of the packer: `wfhost-pack MODULE.wasm COMPONENT.wasm`.

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let (Some(module), Some(component), None) = (words.next(), words.next(), words.next()) else {
        bail!("usage: wfhost-pack MODULE.wasm COMPONENT.wasm");
    };
    let core = std::fs::read(&module).with_context(|| format!("cannot read {module}"))?;
    let bytes = wfhost_pack::component(&core).with_context(|| module.clone())?;
    std::fs::write(&component, &bytes).with_context(|| format!("cannot write {component}"))
}
