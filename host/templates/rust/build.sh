#!/bin/sh
# Builds {{name}}.wasm: a core module by cargo, wrapped as a component by wfhost.
set -eu
cd "$(dirname "$0")"
rustup target add wasm32-unknown-unknown >/dev/null 2>&1 || true
cargo build --release --target wasm32-unknown-unknown --target-dir target
"${WFHOST:-wfhost}" plugin pack "target/wasm32-unknown-unknown/release/$(echo {{name}} | tr - _).wasm" --output {{name}}.wasm
