"""The official Python SDK, first line: the legacy era only."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import ElicitResult, ErrorData
from walk import Person, told, walk


async def main():
    say = told()
    person = Person(say["person"])

    async def elicited(_context, params):
        if person.manner == "broken":
            person.asked.append(params.message)
            return ErrorData(code=-32601, message="no forms here")
        action, content = await person.says(params.message, params.requestedSchema)
        return ElicitResult(action=action, content=content)

    words = say.get("command")
    if words:
        transport = stdio_client(StdioServerParameters(command=words[0], args=words[1:]))
    else:
        transport = streamablehttp_client(say["url"])
    async with transport as streams:
        async with ClientSession(*streams[:2], elicitation_callback=elicited if person.there else None) as session:
            version = (await session.initialize()).protocolVersion
            tools = [tool.name for tool in (await session.list_tools()).tools]

            async def call(name, arguments):
                result = await session.call_tool(name, arguments)
                assert not result.isError, result
                return result.structuredContent

            await walk(call, person, {"version": version, "tools": tools})


sys.exit(asyncio.run(main()))
