#!/usr/bin/env python3
"""Figures of state machines: a large one against a small one, and the coffee walk. Prints Markdown, with the machine's load.

usage: machines.py [WFHOST] [--plugin MACHINES.wasm] [--only big,coffee]     (default: target/release/wfhost)

big:    10,000 states and 50,000 transitions, two in five with a guard: `validate`, the first answer of a server, a step
coffee: coffee/walk.json over stdio. For the peer in the same run set PEER to its command, from a folder where it is installed:
        PEER="theodosia serve {coffee}/coffee.py:order --transport stdio"
"""
import json, os, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

def machine(states):
    """A ring, each state with five ways out: two of them guarded, one by a guard that many share."""
    lines = [f"machine: ring{states}", "entry: s0", "state: { n: 0, items: [] }", "actions:"]
    for i in range(states):
        inputs = "inputs: { word: { type: string, default: '' } }, " if i % 10 == 0 else ""
        lines.append(f'  s{i}: {{ description: "State {i}, with as many words as states have.", {inputs}set: {{ n: "{{{{ n + 1 }}}}" }} }}')
    lines.append("transitions:")
    to = lambda i, k: f"s{(i + k) % states}"
    for i in range(states):
        lines.append(f"  - {{ from: s{i}, to: {to(i, 1)} }}")
        lines += [f"  - {{ from: s{i}, to: {to(i, k)}, when: \"true\" }}" for k in (2, 3)]
        lines.append(f'  - {{ from: s{i}, to: {to(i, 5)}, when: "n % 7 == 3 and items | length == 0" }}')
        lines.append(f"  - {{ from: s{i}, to: {to(i, 7)}, when: n > {i} }}")
    return "\n".join(lines) + "\n"

class Server:
    def __init__(self, command):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL); self.n = self.at = 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    def send(self, message): self.p.stdin.write(json.dumps(message).encode() + b"\n"); self.p.stdin.flush()
    def request(self, method, params):
        self.n += 1; self.send({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params})
        while True:
            line = self.p.stdout.readline()
            if not line: sys.exit("the server ended")
            message = json.loads(line)
            if message.get("id") == self.n: return message.get("result") or sys.exit(str(message))
    def step(self, action):
        got = self.request("tools/call", {"name": "step", "arguments": {"action": action}})["structuredContent"]
        assert "error" not in got, got
    def close(self): self.p.stdin.close(); self.p.wait(30)

def walk(server, states, steps):
    """The next steps round the ring, each with its time."""
    times = []
    for _ in range(steps):
        action = f"s{server.at % states}"; server.at += 1
        t = time.perf_counter(); server.step(action); times.append((time.perf_counter() - t) * 1e3)
    return times

def median(times): return sorted(times)[len(times) // 2]
def seconds(command):
    t = time.perf_counter(); subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); return time.perf_counter() - t
def row(what, figure): print(f"| {what} | {figure} |", flush=True)

def big(program, plugin, folder):
    sizes, files = (9, 10000), {}
    for states in sizes:
        files[states] = os.path.join(folder, f"ring{states}.yaml"); open(files[states], "w").write(machine(states))
    row("the large document", f"{os.path.getsize(files[10000]) / 1e6:.1f} MB, {10000:,} states, {50000:,} transitions")
    seconds([program, "validate", files[9], *plugin])
    took = {states: [seconds([program, "validate", files[states], *plugin]) for _ in range(5)] for states in sizes}
    row("`wfhost validate`, large (small)", f"{median(took[10000]):.2f} s ({median(took[9]):.2f} s)")
    for mode in ([], ["--ephemeral"]):
        name = "in memory" if mode else "synced"; figures = {}
        for states in sizes:
            began = time.perf_counter()
            server = Server([program, "serve", files[states], "--data", os.path.join(folder, f"data{states}"), *plugin, *mode])
            walk(server, states, 1); first = time.perf_counter() - began
            walk(server, states, 200); figures[states] = (first, median(walk(server, states, 1000))); server.close()
        (f9, p9), (fb, pb) = figures[9], figures[10000]
        row(f"from the start of the server to the answer of the first step, {name}, large (small)", f"{fb:.2f} s ({f9:.2f} s)")
        row(f"a step, {name}, p50, large (small)", f"{pb:.3f} ms ({p9:.3f} ms): {pb / p9:.2f} times")

def coffee(program, plugin, folder):
    here = os.path.join(HERE, "coffee")
    bench = lambda n, command: json.loads(subprocess.run([sys.executable, os.path.join(HERE, "mcp_stdio_bench.py"), os.path.join(here, "walk.json"), "-n", n, "--", *command], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])
    ours = [program, "serve", os.path.join(here, "coffee.yaml"), "--data", os.path.join(folder, "coffee"), *plugin]
    bench("1", ours)
    row("the coffee walk, ours, synced", json.dumps(bench("300", ours))); row("the same, in memory", json.dumps(bench("300", [*ours, "--ephemeral"])))
    peer = os.environ.get("PEER")
    if not peer: return row("the peer", "not installed: set PEER")
    row("the same, the peer, in memory", json.dumps(bench("100", peer.format(coffee=here).split())))

def main():
    words = sys.argv[1:]
    after = lambda flag: words[words.index(flag) + 1] if flag in words else None
    plugin = ["--plugin", after("--plugin")] if "--plugin" in words else []
    program = os.path.abspath(words[0] if words and not words[0].startswith("--") else os.path.join(ROOT, "target/release/wfhost"))
    for part in (big, coffee):
        if after("--only") and part.__name__ not in after("--only").split(","): continue
        print(f"\n{part.__name__} (load of the machine before: {os.getloadavg()[0]:.2f})\n| what | measured |\n|---|---|", flush=True)
        with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder: part(program, plugin, folder)

main()
