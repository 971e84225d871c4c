//! Native code on disk, by the plugin's digest and the engine's configuration. A stale, broken or foreign entry is a miss,
//! never an error: the plugin is then compiled again.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::component::Component;

use super::runtime::Runtime;
use crate::session::model::Digest;

/// The native code of this plugin, if it was kept.
pub(super) fn find(runtime: &Runtime, digest: Digest) -> Option<Component> {
    let path = path(runtime, digest)?;
    private(&path).then(|| deserialize(runtime, &path)).flatten()
}

/// Whether there is native code of this plugin that the next start would try.
#[must_use]
pub fn is_cached(runtime: &Runtime, digest: Digest) -> bool {
    path(runtime, digest).is_some_and(|path| private(&path))
}

/// Keeps the native code for the next start. What goes wrong only costs time at that start.
pub(super) fn keep(runtime: &Runtime, digest: Digest, component: &Component) {
    let Some(path) = path(runtime, digest) else { return };
    if let Ok(code) = component.serialize() {
        let _ = write(&path, &code);
    }
}

fn path(runtime: &Runtime, digest: Digest) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    runtime.engine.precompile_compatibility_hash().hash(&mut hasher);
    Some(runtime.cache.as_ref()?.join(format!("{digest}-{:016x}.cwasm", hasher.finish())))
}

/// Written beside its place and moved there, so that nobody reads half of it.
fn write(path: &Path, code: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().ok_or(std::io::ErrorKind::NotFound)?;
    crate::files::make_private_folder(folder)?;
    // Of this process and of this very write: two threads may compile one plugin.
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("{}-{number}.new", std::process::id()));
    let mut file = crate::files::create_private(&beside)?;
    let written = file.write_all(code).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Native code is run as it is: only what nobody else could have written is read.
#[cfg(unix)]
fn private(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let ours = |path: &Path| {
        fs::symlink_metadata(path).is_ok_and(|m| {
            !m.file_type().is_symlink() && m.uid() == rustix::process::geteuid().as_raw() && m.mode() & 0o022 == 0
        })
    };
    ours(path) && path.parent().is_some_and(ours)
}

#[cfg(not(unix))]
fn private(path: &Path) -> bool {
    path.is_file()
}

#[expect(unsafe_code, reason = "native code is mapped and run; `private` has seen that only we can have written it")]
fn deserialize(runtime: &Runtime, path: &Path) -> Option<Component> {
    // SAFETY: the file is ours alone (see `private`), was written whole by `keep`, and wasmtime refuses another version's.
    unsafe { Component::deserialize_file(&runtime.engine, path) }.ok()
}
