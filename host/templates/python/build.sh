#!/bin/sh
# Builds {{name}}.wasm: CPython with dialect.py inside. `--stub-wasi` leaves the outside out, so the component imports nothing.
set -eu
cd "$(dirname "$0")"
if [ ! -x .venv/bin/componentize-py ]; then
    python3 -m venv .venv
    .venv/bin/pip install --quiet --requirement requirements.txt
fi
# The guide for models goes in as a constant: a component has no files to read.
.venv/bin/python -c 'print("SKILL =", repr(open("SKILL.md", encoding="utf-8").read()))' >skill.py
.venv/bin/componentize-py --wit-path wit --world interpreter componentize --stub-wasi dialect --output {{name}}.wasm
