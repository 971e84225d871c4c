"""Walks of a support flow: the calls of `tests/bench/guide/bench_walk.json`, many runs at the same time, each checked to be
its own. The official SDK walks 200 runs, LangChain's adapters one. The argument is a JSON object with url, walk and client.
"""

import asyncio
import json
import sys

from walk import told

# Where each call of the walk leaves its run, and what the run has collected by then.
STEPS = [
    ("advanced", "n_code"), ("unmatched", "n_code"), ("advanced", "n_expiry"), ("branched", "n_retry"),
    ("advanced", "n_identity"), ("advanced", "n_identity"), ("completed", "n_end"),
]


def filled(value, run, order):
    text = json.dumps(value).replace('"$run"', json.dumps(run)).replace('"17"', json.dumps(order))
    return json.loads(text)


async def walk(call, calls, order):
    run, seen = None, []
    for step in calls:
        reply = await call(step["tool"], filled(step["arguments"], run, order))
        run = run or reply["run_id"]
        assert reply["run_id"] == run, reply
        seen.append((reply["status"], reply["node"]["id"]))
    assert seen == STEPS, seen
    status = await call("guide_status", {"run_id": run})
    assert status["collected"]["order_id"] == order, status
    return run


async def by_sdk(url, calls):
    from mcp import Client

    async def some(first, count):
        async with Client(url) as client:
            async def call(name, arguments):
                result = await client.call_tool(name, arguments)
                assert not result.is_error, result
                return result.structured_content

            return await asyncio.gather(*(walk(call, calls, f"order {first + n}") for n in range(count)))

    # 200 runs at once over 10 connections.
    runs = [run for runs in await asyncio.gather(*(some(20 * c, 20) for c in range(10))) for run in runs]
    assert len(set(runs)) == 200
    return len(runs)


async def by_langchain(url, calls):
    from langchain_mcp_adapters.client import MultiServerMCPClient

    tools = await MultiServerMCPClient({"wfhost": {"transport": "streamable_http", "url": url}}).get_tools()
    by_name = {tool.name: tool for tool in tools}

    async def call(name, arguments):
        content = await by_name[name].ainvoke(arguments)
        return json.loads(content if isinstance(content, str) else content[0]["text"])

    await walk(call, calls, "order 1")
    return 1


async def main():
    say = told()
    calls = json.load(open(say["walk"], encoding="utf-8"))
    walked = await {"sdk": by_sdk, "langchain": by_langchain}[say["client"]](say["url"], calls)
    print(json.dumps({"walked": walked}))


sys.exit(asyncio.run(main()))
