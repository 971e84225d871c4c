#!/usr/bin/env bash
# The figures of README.md: first and warm start, latency with full durability and in memory, peak memory, the disk itself.
# usage: tests/bench/run.sh [WFHOST]        (default: target/release/wfhost)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${1:-$here/../../target/release/wfhost}")
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
walk=$here/incident/walk.json
documents=$here/incident/trees
bench() { python3 "$here/mcp_stdio_bench.py" "$walk" "$@"; }

echo "disk: one write of 4 KiB and fdatasync, ms"
python3 - "$data" <<'PY'
import os, sys, time
fd = os.open(os.path.join(sys.argv[1], "probe"), os.O_RDWR | os.O_CREAT)
times = []
for n in range(400):
    os.pwrite(fd, bytes(4096), 4096 * (n % 16)); t = time.perf_counter(); os.fdatasync(fd); times.append((time.perf_counter() - t) * 1e3)
times.sort(); print({"p50": round(times[200], 3), "p95": round(times[380], 3)})
PY
echo "first start ever (nothing compiled before)"
bench -n 1 --warmup 0 -- "$program" serve "$documents" --data "$data/first"
echo "warm starts, ms"
for _ in 1 2 3 4 5; do bench -n 1 --warmup 0 -- "$program" serve "$documents" --data "$data/first" | sed 's/, "calls".*/}/'; done
echo "full durability"
for _ in 1 2 3; do bench -n 300 -- "$program" serve "$documents" --data "$data/first"; done
echo "in memory (--ephemeral)"
for _ in 1 2 3; do bench -n 300 -- "$program" serve "$documents" --data "$data/first" --ephemeral; done
