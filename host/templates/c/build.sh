#!/bin/sh
# Builds {{name}}.wasm: a core module by zig (`pip install ziglang`, or zig itself) or clang with lld, wrapped as a component
# by wfhost. `bindings/` was generated from `wit/engine.wit` by `wfhost plugin new`.
set -eu
cd "$(dirname "$0")"
if [ -n "${CC:-}" ]; then cc="$CC --target=wasm32"
elif command -v zig >/dev/null; then cc="zig cc -target wasm32-freestanding"
elif python3 -c 'import ziglang' 2>/dev/null; then cc="python3 -m ziglang cc -target wasm32-freestanding"
elif command -v clang >/dev/null; then cc="clang --target=wasm32"
else
    echo "no compiler: install zig (pip install ziglang), or clang and lld, or name one with CC" >&2
    exit 1
fi
# The guide for models goes in as a C string.
sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' SKILL.md >skill.inc
$cc -Os -std=c11 -Wall -Wextra -Wno-unused-parameter -ffreestanding -nostdlib -fno-builtin -Iinclude -I. \
    -Wl,--no-entry -Wl,--strip-debug -Wl,--initial-memory=1048576 -Wl,-z,stack-size=131072 \
    dialect.c text.c runtime.c bindings/interpreter.c bindings/interpreter_component_type.o -o core.wasm
"${WFHOST:-wfhost}" plugin pack core.wasm --output {{name}}.wasm
rm core.wasm skill.inc
