"""The walk that every Python client makes, and what it tells of it: one line of JSON on standard output.

A client gives `walk` a function that calls a tool and returns its structured content. What a person at the client says
when asked comes from the script's argument, a JSON object:

    command or url   the server: a list of words, or an address
    era              legacy, modern or auto
    person           absent, accept, decline, cancel, broken or silent
    report           what `walk` prints besides
"""

import asyncio
import json
import sys


def told():
    return json.loads(sys.argv[1])


class Person:
    """Someone at the client, who does always the same."""

    def __init__(self, manner):
        self.manner = manner
        self.asked = []

    @property
    def there(self):
        return self.manner != "absent"

    async def says(self, message, schema):
        """`accept` with a form's content, or another action without."""
        self.asked.append(message)
        if self.manner == "silent":
            await asyncio.sleep(3600)
        if self.manner != "accept":
            return self.manner, None
        field = schema["properties"]["value"]
        return "accept", {"value": field["enum"][0] if "enum" in field else "Arcadia"}


def reply(envelope):
    state = envelope["state"]
    if state == "awaiting_tool_result":
        return {"value": {"trees": 3}}
    options = (envelope["expects"] or {}).get("options") or ["Arcadia"]
    first = options[0]["id"] if isinstance(options[0], dict) else options[0]
    if state == "awaiting_judgment":
        return {"value": first, "rationale": "Three trees and nobody behind them."}
    return {"value": first}


async def walk(call, person, about):
    envelope = await call("tree_start", {"tree_id": "visit"})
    visited = [envelope["node"]]
    while envelope["state"] != "done" and len(visited) < 20:
        arguments = {"session_id": envelope["session_id"], "step": envelope["step"], **reply(envelope)}
        envelope = await call("tree_answer", arguments)
        visited.append(envelope["node"])
    trace = await call("tree_trace", {"session_id": envelope["session_id"]})
    sources = {entry["node"]: entry["source"] for entry in trace["trace"] if entry["input"] is not None}
    print(json.dumps({**about, "asked": person.asked, "visited": visited, "end": envelope, "sources": sources}))
