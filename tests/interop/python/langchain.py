"""LangChain's adapters: the tools as an agent framework sees them. They ask nobody."""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient
from walk import Person, told, walk


async def main():
    say = told()
    words = say.get("command")
    if words:
        server = {"transport": "stdio", "command": words[0], "args": words[1:]}
    else:
        server = {"transport": "streamable_http", "url": say["url"]}
    tools = await MultiServerMCPClient({"wfhost": server}).get_tools()
    by_name = {tool.name: tool for tool in tools}

    async def call(name, arguments):
        content = await by_name[name].ainvoke(arguments)
        text = content if isinstance(content, str) else content[0]["text"]
        return json.loads(text)

    await walk(call, Person("absent"), {"version": None, "tools": list(by_name)})


sys.exit(asyncio.run(main()))
