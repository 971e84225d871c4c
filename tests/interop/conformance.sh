#!/usr/bin/env bash
# Runs the official conformance suite in three editions against a server with our fixture, over HTTP:
#
#   conformance.sh CLIENTS NODE URL REPORTS
#
# CLIENTS is the folder with node_modules, NODE a Node of version 22 or later. What is known to fail stands in
# conformance/expected-*.yml with its reason; a failure that is not there, and one there that passes, are both told.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
clients=$1 node=$2 url=$3 reports=$4
old=$clients/node_modules/@modelcontextprotocol/conformance/dist/index.js
new=$clients/node_modules/conformance-next/dist/index.js
failed=0

# edition NAME SCRIPT OPTION...
edition() {
    local name=$1 script=$2
    shift 2
    if timeout 600 "$node" "$script" server --url "$url" "$@" --expected-failures "$here/conformance/expected-$name.yml" \
        -o "$reports/$name" >"$reports/$name.txt" 2>&1; then
        echo "conformance $name: as expected, $(grep '^Total:' "$reports/$name.txt" | tail -1)"
    else
        echo "conformance $name: not as expected"
        sed -n '/=== SUMMARY ===/,$p' "$reports/$name.txt"
        failed=1
    fi
}

mkdir -p "$reports"
edition 0.1.16 "$old" --suite active
edition 2025-11-25 "$new" --requirements 2025-11-25
edition 2026-07-28 "$new" --requirements 2026-07-28
exit "$failed"
