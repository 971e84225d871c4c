#!/usr/bin/env python3
"""Two properties that the plain walk does not show.

usage: scenarios.py WFHOST PROBE.wasm

big:    a step of a tree of 10,000 nodes against a step of one of 9, in memory and with full durability
loops:  the walk's latency while 16 calls into another plugin loop without end
Raw JSON-RPC over stdio, no SDK. Prints one JSON object a scenario, times in milliseconds.
"""
import json, os, subprocess, sys, tempfile, time

class Server:
    def __init__(self, command):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.n = 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    def send(self, message): self.p.stdin.write(json.dumps(message).encode() + b"\n"); self.p.stdin.flush()
    def ask(self, method, params): self.n += 1; self.send({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params}); return self.n
    def request(self, method, params):
        n = self.ask(method, params)
        while True:
            line = self.p.stdout.readline()
            if not line: sys.exit("the server ended")
            message = json.loads(line)
            if message.get("id") == n: return message.get("result") or message
    def call(self, name, **arguments): return self.request("tools/call", {"name": name, "arguments": arguments})["structuredContent"]
    def close(self): self.p.stdin.close(); self.p.wait(30)

def figures(times):
    times = sorted(times); at = lambda q: round(times[min(len(times) - 1, int(q * len(times)))] * 1e3, 3)
    return {"p50": at(.5), "p95": at(.95), "p99": at(.99), "max": round(times[-1] * 1e3, 3), "calls": len(times)}

def ring(nodes):
    """A ring of questions with a way out; each step goes on to the next."""
    lines = ['mcptree: "0.2"', f"id: ring{nodes}", "title: Ring", "max_steps: 1000000", "entry: n0", "nodes:"]
    for i in range(nodes - 1):
        lines.append(f'  n{i}: {{ type: ask, prompt: "Question {i}, which is about as long as questions are?", options: [ {{ id: "on", then: n{(i + 1) % (nodes - 1)} }}, {{ id: "out", then: end }} ] }}')
    return "\n".join(lines + ["  end: { type: terminal, outcome: out, summary: Out. }", ""])

def walk(server, tree, steps):
    sid = server.call("tree_start", tree_id=tree)["session_id"]
    times = []
    for step in range(1, steps + 1):
        t = time.perf_counter(); envelope = server.call("tree_answer", session_id=sid, step=step, value="on"); times.append(time.perf_counter() - t)
        assert envelope["error"] is None, envelope
    return times

def big(program, folder):
    trees = os.path.join(folder, "trees"); os.mkdir(trees)
    for nodes in (9, 10000): open(os.path.join(trees, f"ring{nodes}.yaml"), "w").write(ring(nodes))
    for mode in (["--ephemeral"], []):
        server = Server([program, "serve", trees, "--data", os.path.join(folder, "data"), *mode])
        walk(server, "ring9", 200); walk(server, "ring10000", 200)
        got = {nodes: figures(walk(server, f"ring{nodes}", 1000)) for nodes in (9, 10000)}
        print(json.dumps({"scenario": "big", "mode": mode or "durable", "nodes_9": got[9], "nodes_10000": got[10000], "ratio_p50": round(got[10000]["p50"] / got[9]["p50"], 2)}))
        server.close()

def loops(program, probe, folder):
    trees = os.path.join(folder, "both"); os.mkdir(trees)
    open(os.path.join(trees, "ring.yaml"), "w").write(ring(9)); open(os.path.join(trees, "p.probe"), "w").write("probe p")
    server = Server([program, "serve", trees, "--data", os.path.join(folder, "data2"), "--plugin", "trees", "--plugin", probe])
    sessions = [server.call("probe_start")["session"] for _ in range(16)]
    quiet = figures(walk(server, "ring9", 300))
    for session in sessions: server.ask("tools/call", {"name": "probe_do", "arguments": {"do": "loop", "session": session}})
    end = time.perf_counter() + 1.5; times = []; sid = server.call("tree_start", tree_id="ring9")["session_id"]; step = 1
    while time.perf_counter() < end:
        t = time.perf_counter(); server.call("tree_answer", session_id=sid, step=step, value="on"); times.append(time.perf_counter() - t); step += 1
    print(json.dumps({"scenario": "loops", "quiet": quiet, "beside_16_endless_loops": figures(times)}))
    server.close()

def main():
    if len(sys.argv) != 3: sys.exit(__doc__)
    program, probe = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder: big(program, folder); loops(program, probe, folder)

main()
