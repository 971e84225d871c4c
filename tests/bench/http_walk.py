#!/usr/bin/env python3
"""A walk over streamable HTTP in the stateless protocol era, one keep-alive connection, no SDK.

usage: http_walk.py WALK.json URL [-n SESSIONS] [--warmup K] [--parallel P]      (walks as for mcp_stdio_bench.py)

Prints one JSON object: milliseconds per call, calls per second. With --parallel, P connections walk at the same time.
"""
import argparse, http.client, json, threading, time, urllib.parse

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"}}

def fill(value, saved):
    if isinstance(value, str) and value.startswith("$") and value[1:] in saved: return saved[value[1:]]
    if isinstance(value, dict): return {k: fill(v, saved) for k, v in value.items()}
    if isinstance(value, list): return [fill(v, saved) for v in value]
    return value

def connection(url, walk, sessions, warmup, times, wrong):
    host, ids = http.client.HTTPConnection(url.hostname, url.port), iter(range(1, 1 << 31))
    host.connect(); host.sock.setsockopt(6, 1, 1)  # TCP_NODELAY
    for n in range(warmup + sessions):
        saved = {"n": n}
        for call in walk:
            body = json.dumps({"jsonrpc": "2.0", "id": next(ids), "method": "tools/call",
                               "params": {"name": call["tool"], "arguments": fill(call.get("arguments", {}), saved), "_meta": META}})
            t = time.perf_counter()
            host.request("POST", url.path, body, {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                         "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": call["tool"]})
            reply = host.getresponse(); text = reply.read()
            t = (time.perf_counter() - t) * 1e3
            result = json.loads(text).get("result")
            if n >= warmup: times.append(t)
            if not result or result.get("isError"): wrong.append(text[:200]); continue
            for name, field in call.get("save", {}).items(): saved[name] = result["structuredContent"][field]

def main():
    p = argparse.ArgumentParser(description=__doc__); p.add_argument("walk"); p.add_argument("url")
    p.add_argument("-n", type=int, default=200); p.add_argument("--warmup", type=int, default=10); p.add_argument("--parallel", type=int, default=1)
    a = p.parse_args(); walk, url, times, wrong = json.load(open(a.walk)), urllib.parse.urlparse(a.url), [], []
    threads = [threading.Thread(target=connection, args=(url, walk, a.n, a.warmup, times, wrong)) for _ in range(a.parallel)]
    began = time.perf_counter(); [t.start() for t in threads]; [t.join() for t in threads]; wall = time.perf_counter() - began
    times.sort(); at = lambda q: round(times[min(len(times) - 1, int(q * len(times)))], 3)
    print(json.dumps({"calls": len(times), "p50_ms": at(.5), "p95_ms": at(.95), "p99_ms": at(.99), "max_ms": round(times[-1], 3),
                      "calls_per_s": round(a.parallel * (a.n + a.warmup) * len(walk) / wall, 1), "unexpected_errors": len(wrong)}))
    if wrong: print(wrong[0])

main()
