#!/usr/bin/env python3
"""All figures of README.md that are about load, in one go: prints Markdown, with the machine's load beside each part.

usage: figures.py [RELEASE_FOLDER] [--quick] [--only PART,..]     (default: target/release; `cargo build --release --workspace --bins` first)

Parts: disk start stdio seal http inside length store memory large peer. Server and generator share two pinned cores (taskset). For
`peer` set PEER to the command of an mcptree server over stdio (`mcptree serve {trees}`): the same walk, one client. For
`large` set LARGE to a component of another dialect, with a folder `documents` beside it.
"""
import json, os, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

def ring(nodes):
    lines = ['mcptree: "0.2"', f"id: ring{nodes}", "title: Ring", "max_steps: 1000000", "entry: n0", "nodes:"]
    for i in range(nodes - 1):
        lines.append(f'  n{i}: {{ type: ask, prompt: "Question {i}, which is about as long as questions are?", options: [ {{ id: "on", then: n{(i + 1) % (nodes - 1)} }}, {{ id: "out", then: end }} ] }}')
    return "\n".join(lines + ["  end: { type: terminal, outcome: out, summary: Out. }", ""])

class Bench:
    def __init__(self, release, quick):
        self.wfhost, self.load, self.echo = (os.path.join(release, name) for name in ("wfhost", "bench-load", "bench-echo"))
        self.seconds, self.quick = ("1" if quick else "4"), quick
        self.folder = tempfile.mkdtemp(prefix="wfhost-bench-", dir=os.environ.get("BENCH_DIR"))
        self.trees = os.path.join(self.folder, "trees"); os.mkdir(self.trees)
        open(os.path.join(self.trees, "ring.yaml"), "w").write(ring(9))

    def data(self, name): return os.path.join(self.folder, name)
    def pinned(self, *words): return ["taskset", "-c", "0,1", *map(str, words)]
    def json(self, *words): return json.loads(subprocess.run(self.pinned(*words), check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])

    def server(self, *words):
        """A server over HTTP, and where it listens."""
        p = subprocess.Popen(self.pinned(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in p.stdout:
            if "listening on http://" in line: return p, line.split("http://")[1].split("/mcp")[0].strip()
        sys.exit("the server does not start")

    def end(self, p): p.terminate(); p.stdin.close(); p.stdout.close(); p.wait(30)

    def disk(self):
        for name, size, append in (("4 KiB over 4 KiB", 4096, False), ("4 KiB at the end", 4096, True), ("56 KiB over 14 places", 4096, None)):
            fd = os.open(self.data("probe" + str(append)), os.O_RDWR | os.O_CREAT); os.pwrite(fd, bytes(4 << 20), 0); os.fsync(fd); times = []
            for n in range(400):
                for k in range(14 if append is None else 1):
                    os.pwrite(fd, bytes(size), (4 << 20) + n * size if append else ((n * 14 + k * 37) % 1000) * 4096)
                t = time.perf_counter(); os.fdatasync(fd); times.append((time.perf_counter() - t) * 1e3)
            times.sort(); row(f"fdatasync after {name}", f"p50 {times[200]:.3f} ms, p95 {times[380]:.3f}")

    def start(self):
        hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}}).encode() + b"\n"
        times = []
        for _ in range(11):
            t = time.perf_counter()
            p = subprocess.Popen(self.pinned(self.wfhost, "serve", self.trees, "--data", self.data("start")), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            p.stdin.write(hello); p.stdin.flush(); p.stdout.readline(); times.append((time.perf_counter() - t) * 1e3); p.stdin.close(); p.wait(30)
        row("first start, everything compiled", f"{times[0]:.0f} ms"); row("warm start to the initialize reply", f"p50 {sorted(times[1:])[5]:.1f} ms")

    def lone(self, command):
        return json.loads(subprocess.run([sys.executable, os.path.join(HERE, "mcp_stdio_bench.py"), os.path.join(HERE, "incident/walk.json"), "-n", "60" if self.quick else "300", "--", *self.pinned(*command)], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])

    def stdio(self):
        trees = os.path.join(HERE, "incident/trees")
        for mode in ([], ["--ephemeral"]):
            row(f"the incident walk, one client, {'in memory' if mode else 'synced'}", json.dumps(self.lone([self.wfhost, "serve", trees, "--data", self.data("walk"), *mode])))
        for clients in (1, 8, 64, 256):
            row(f"stdio, {clients} sessions on one connection", shown(self.json(self.load, "stdio", clients, self.seconds, self.wfhost, "serve", self.trees, "--data", self.data("stdio"))))

    def seal(self):
        trees, key = os.path.join(HERE, "incident/trees"), self.data("key.pem")
        subprocess.run([self.wfhost, "key", "new", key], check=True, stdout=subprocess.DEVNULL)
        for what, more in (("plain", []), ("sealed", ["--signing-key", key])):
            row(f"the incident walk, one client, synced, {what}", json.dumps(self.lone([self.wfhost, "serve", trees, "--data", self.data(what), *more])))

    def http(self):
        for clients in (1, 8, 64, 256):
            both = {}
            for what, words in (("echo", [self.echo]), ("ring", [self.wfhost, "serve", self.trees, "--http", "127.0.0.1:0", "--data", self.data("http")])):
                p, address = self.server(*words)
                both[what] = self.json(self.load, "http", address, clients, self.seconds, what)
                both[what]["peak_mib"] = peak(p.pid); self.end(p)
            ratio = both["ring"]["per_s"] / both["echo"]["per_s"]
            row(f"HTTP, {clients} clients, wfhost, synced", shown(both["ring"]) + f", {both['ring']['peak_mib']} MiB"); row(f"HTTP, {clients} clients, bare rmcp echo", shown(both["echo"])); row(f"HTTP, {clients} clients, ratio", f"{ratio:.0%}")

    def inside(self):
        for data in ("-", self.data("inside")):
            for clients in (1, 8, 64, 256):
                got = self.json(self.load, "inside", data, self.trees, clients, self.seconds); row(f"{got['over']}, {clients} threads", shown(got))

    def length(self):
        steps = (10, 1000) if self.quick else (10, 1000, 10000)
        got = self.json(self.load, "length", self.data("length"), self.trees, *steps)
        for one in got: row(f"after {one['after_steps']} steps of a session", shown(one) + f", {one['p50_ms'] / got[0]['p50_ms']:.2f} times")

    def store(self):
        sizes = (1000, 20000) if self.quick else (1000, 1000000)
        got = self.json(self.load, "store", self.data("store"), self.trees, *sizes)
        for one in got: row(f"a store of {one['sessions']} sessions", shown(one) + f", {one['p50_ms'] / got[0]['p50_ms']:.2f} times; opens in {one['open_ms']:.0f} ms, {one['bytes'] >> 20} MiB on disk, peak {one['resident_mib']} MiB (filled in {one['fill_s']:.0f} s)")

    def memory(self):
        p, address = self.server(self.wfhost, "serve", self.trees, "--http", "127.0.0.1:0", "--data", self.data("memory"))
        self.json(self.load, "http", address, 64, self.seconds, "ring"); row("peak memory, 64 clients over HTTP", f"{peak(p.pid)} MiB"); self.end(p)

    def large(self):
        """A server with a large interpreter beside a small one: until each has its tools, with and without native code in the cache."""
        guest = os.environ.get("LARGE")
        if not guest: return row("a large interpreter", "not named: set LARGE to a component")
        large = [self.trees, os.path.join(os.path.dirname(guest), "documents"), "--plugin", "trees", "--plugin", guest]
        for what, words in (("trees alone", [self.trees, "--plugin", "trees"]), (f"beside {os.path.getsize(guest) / 1e6:.1f} MB", large)):
            cache = tempfile.mkdtemp(dir=self.folder)
            for when in ("first", "second"):
                until, most = self.until_tools(words, cache, self.data(f"large-{len(words)}"))
                row(f"{when} start, {what}", f"initialize {until['hello']:.2f} s, tools of trees {until['tree_']:.2f} s" + (f", of the other {until['other']:.2f} s" if "other" in until else "") + f"; peak {most} MiB")

    def until_tools(self, words, cache, data):
        p = subprocess.Popen(self.pinned(self.wfhost, "serve", *words, "--data", data), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "XDG_CACHE_HOME": cache})
        began, until, number, alone = time.perf_counter(), {}, 0, len(words) == 3
        def ask(method, params):
            nonlocal number; number += 1
            p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"); p.stdin.flush()
            while (message := json.loads(p.stdout.readline())).get("id") != number: pass
            return message["result"]
        ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}); until["hello"] = time.perf_counter() - began
        p.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        while time.perf_counter() - began < 300:
            names = [tool["name"] for tool in ask("tools/list", {})["tools"]]; now = time.perf_counter() - began
            if any(name.startswith("tree_") for name in names): until.setdefault("tree_", now)
            if any(not name.startswith("tree_") for name in names): until.setdefault("other", now)
            if "tree_" in until and (alone or "other" in until): break
            time.sleep(0.02)
        most = peak(p.pid); p.stdin.close(); p.wait(60)
        return until, most

    def peer(self):
        peer = os.environ.get("PEER")
        if not peer: return row("peer", "not installed: set PEER")
        trees = os.path.join(HERE, "incident/trees")
        ours, theirs = self.lone([self.wfhost, "serve", trees, "--data", self.data("peer")]), self.lone(peer.format(trees=trees).split())
        row("the incident walk, ours, synced", json.dumps(ours)); row("the incident walk, the peer", json.dumps(theirs))

def peak(pid):
    # taskset becomes the program: the process is the same one.
    return next(int(line.split()[1]) // 1024 for line in open(f"/proc/{pid}/status") if line.startswith("VmHWM"))
def shown(one): return f"{one['per_s']:.0f} steps/s, p50 {one['p50_ms']:.3f} ms, p95 {one['p95_ms']:.3f}, p99 {one['p99_ms']:.3f}"
def row(what, figure): print(f"| {what} | {figure} |", flush=True)

def main():
    words = sys.argv[1:]; quick = "--quick" in words; only = next((words[i + 1].split(",") for i, w in enumerate(words) if w == "--only"), None)
    release = next((w for i, w in enumerate(words) if not w.startswith("--") and (i == 0 or words[i - 1] != "--only")), os.path.join(ROOT, "target/release"))
    bench = Bench(os.path.abspath(release), quick)
    for part in ("disk", "start", "stdio", "seal", "http", "inside", "length", "store", "memory", "large", "peer"):
        if only and part not in only: continue
        print(f"\n{part} (load of the machine before: {os.getloadavg()[0]:.2f})\n| what | measured |\n|---|---|", flush=True)
        getattr(bench, part)()
    subprocess.run(["rm", "-rf", bench.folder])

main()
