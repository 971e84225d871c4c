"""A walk of a checklist by the official Python SDK: the dialect of the projects that `wfhost plugin new` makes. The argument is a
JSON object with the command of the server and what the tools' names begin with. Prints what calls took, microseconds.
"""

import asyncio
import json
import sys
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult


async def main():
    say = json.loads(sys.argv[1])
    asked, took = [], []

    async def elicited(_context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content={"value": True})

    words = say["command"]
    async with stdio_client(StdioServerParameters(command=words[0], args=words[1:], env=say["env"])) as streams:
        async with ClientSession(*streams, elicitation_callback=elicited) as session:
            await session.initialize()
            names = [tool.name for tool in (await session.list_tools()).tools]
            assert len(names) == 5, names

            async def call(verb, **arguments):
                began = time.perf_counter()
                result = await session.call_tool(f"{say['tool']}_{verb}", arguments)
                took.append(round((time.perf_counter() - began) * 1e6))
                return result

            run = (await call("start", checklist="release")).structuredContent["run"]
            refused = await call("check", run=run, item=3)
            assert refused.isError and refused.structuredContent["refused"] == "for-a-person", refused
            await call("check", run=run, item=1)
            await call("check", run=run, item=2)
            assert asked == ["The release manager agrees"], asked
            end = (await call("check", run=run, item=4)).structuredContent
            assert end["finished"] and not end["open"], end
            trace = (await call("trace", run=run)).structuredContent["entries"]
            assert [(one["who"], one["what"]) for one in trace][3] == ("person", "agreed"), trace
            for _ in range(20):
                await call("status", run=run)
    later = sorted(took[6:])
    print(json.dumps({"first": took[0], "status_median": later[len(later) // 2]}))


asyncio.run(main())
