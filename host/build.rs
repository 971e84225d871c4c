//! Compiles the interpreters under `guests/` to components and embeds them. A folder with an `about.json` is one; nothing
//! here names any. The components are left in `plugins/` under the target folder.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";

fn main() -> Result<(), Box<dyn Error>> {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let root = manifest.parent().ok_or("no folder above the host")?.to_owned();
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // target/PROFILE/build/PACKAGE/out
    let target = out.ancestors().nth(4).ok_or("no target folder above OUT_DIR")?.to_owned();
    let guests = interpreters(&root.join("guests"))?;
    for watched in ["guests", "wit", "Cargo.lock", "Cargo.toml"] {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
    if !guests.is_empty() {
        compile(&root, &target, &guests)?;
    }
    fs::write(out.join("builtins.rs"), embed(&target, &guests)?)?;
    let page = manifest.join("playground/dist");
    println!("cargo:rerun-if-changed={}", page.display());
    fs::write(out.join("page.rs"), page_files(&page)?)?;
    Ok(())
}

/// The table that embeds the playground's page, empty if nobody has built it: this build needs no Node. The components in it
/// are left out, since the program has them.
fn page_files(page: &Path) -> Result<String, Box<dyn Error>> {
    let mut table = String::from("&[\n");
    let mut folders = vec![page.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry?.path();
            let name = path.strip_prefix(page)?.to_string_lossy().replace('\\', "/");
            if path.is_dir() {
                folders.push(path);
            } else if !name.starts_with("guests/") && !name.starts_with('.') {
                writeln!(table, "    ({name:?}, include_bytes!({path:?})),")?;
            }
        }
    }
    table.push_str("]\n");
    Ok(table)
}

/// A guest's folder and its package.
struct Guest {
    name: String,
    about: PathBuf,
    package: String,
}

fn interpreters(folder: &Path) -> Result<Vec<Guest>, Box<dyn Error>> {
    let mut guests = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let about = path.join("about.json");
        if about.is_file() {
            let name = path.file_name().ok_or("a guest without a name")?.to_string_lossy().into_owned();
            guests.push(Guest { package: format!("wfhost-{name}"), name, about });
        }
    }
    guests.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(guests)
}

/// One nested cargo for all guests, in a target folder of its own: the outer cargo holds the lock of the other.
fn compile(root: &Path, target: &Path, guests: &[Guest]) -> Result<(), Box<dyn Error>> {
    add_target()?;
    let mut cargo = Command::new(env::var("CARGO")?);
    cargo
        .current_dir(root)
        .args(["build", "--lib", "--profile", "guest", "--target", TARGET, "--locked", "--target-dir"])
        .arg(target.join("guests"));
    for guest in guests {
        cargo.args(["-p", &guest.package]);
    }
    // What the outer cargo sets for the host's own compilation must not reach the guests.
    for (name, _) in env::vars() {
        if name.starts_with("CARGO_") && name != "CARGO_HOME" && name != "CARGO_NET_OFFLINE"
            || name.ends_with("RUSTFLAGS")
            || name == "RUSTC_WORKSPACE_WRAPPER"
        {
            cargo.env_remove(name);
        }
    }
    if !cargo.status()?.success() {
        return Err("the interpreters under guests/ do not compile (see above)".into());
    }
    Ok(())
}

fn add_target() -> Result<(), Box<dyn Error>> {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let has = |what: &str| {
        Command::new(&rustc).args(["--print", "target-libdir", "--target", what]).output().is_ok_and(|o| {
            let path = String::from_utf8_lossy(&o.stdout).trim().to_owned();
            o.status.success() && Path::new(&path).is_dir()
        })
    };
    if has(TARGET) {
        return Ok(());
    }
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    if added.is_ok_and(|s| s.success()) && has(TARGET) {
        return Ok(());
    }
    Err(format!("the interpreters are WebAssembly and the target is missing: run `rustup target add {TARGET}`").into())
}

/// Wraps each module as a component, leaves it in `plugins/` and writes the table that embeds it.
fn embed(target: &Path, guests: &[Guest]) -> Result<String, Box<dyn Error>> {
    let plugins = target.join("plugins");
    fs::create_dir_all(&plugins)?;
    let mut table = String::from("&[\n");
    for guest in guests {
        let module =
            target.join("guests").join(TARGET).join("guest").join(format!("{}.wasm", guest.package.replace('-', "_")));
        let component = wfhost_pack::component(&fs::read(&module)?)?;
        let path = plugins.join(format!("{}.wasm", guest.name));
        if fs::read(&path).ok().as_deref() != Some(&component[..]) {
            fs::write(&path, &component)?;
        }
        writeln!(
            table,
            "    Builtin {{ name: {:?}, about: include_str!({:?}), wasm: include_bytes!({:?}) }},",
            guest.name, guest.about, path
        )?;
    }
    table.push_str("]\n");
    Ok(table)
}
