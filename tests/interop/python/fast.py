"""FastMCP: as a client, and with `"through": "proxy"` as a server that stands in front of ours."""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy
from walk import Person, told, walk


async def main():
    say = told()
    person = Person(say["person"])

    async def elicited(message, _type, params, _context):
        if person.manner == "broken":
            person.asked.append(message)
            raise RuntimeError("no forms here")
        action, content = await person.says(message, params.requested_schema)
        return ElicitResult(action=action, content=content)

    words = say.get("command")
    server = StdioTransport(words[0], words[1:]) if words else say["url"]
    if say.get("through") == "proxy":
        server = create_proxy(server)
    mode = {"modern": "2026-07-28"}.get(say["era"], say["era"])
    async with Client(server, mode=mode, elicitation_handler=elicited if person.there else None) as client:
        tools = [tool.name for tool in await client.list_tools()]

        async def call(name, arguments):
            return (await client.call_tool(name, arguments)).structured_content

        await walk(call, person, {"version": client.session.protocol_version, "tools": tools})


sys.exit(asyncio.run(main()))
