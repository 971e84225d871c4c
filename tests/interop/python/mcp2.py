"""The official Python SDK, second line: both eras."""

import asyncio
import sys

from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult, ErrorData
from walk import Person, told, walk


async def main():
    say = told()
    person = Person(say["person"])

    async def elicited(_context, params):
        if person.manner == "broken":
            person.asked.append(params.message)
            return ErrorData(code=-32601, message="no forms here")
        action, content = await person.says(params.message, params.requested_schema)
        return ElicitResult(action=action, content=content)

    words = say.get("command")
    server = StdioServerParameters(command=words[0], args=words[1:]) if words else say["url"]
    mode = {"modern": "2026-07-28"}.get(say["era"], say["era"])
    async with Client(server, mode=mode, elicitation_callback=elicited if person.there else None) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]

        async def call(name, arguments):
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result
            return result.structured_content

        await walk(call, person, {"version": client.session.protocol_version, "tools": tools})


sys.exit(asyncio.run(main()))
