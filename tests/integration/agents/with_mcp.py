# mypy: ignore-errors
"""An MCP client of the SDK: asks `corrigible mcp` for its tools, is refused, and calls again as it is told.

with_mcp.py UPSTREAM SPEC
"""

import asyncio
import json
import os
import re
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

BOOKING = {"room": "doubel", "nights": 3, "arrival": "2026-12-01", "guests": [{"name": "Ann", "age": 33}]}


async def main(upstream: str, spec: str) -> None:
    code = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"
    server = StdioServerParameters(
        command=sys.executable,
        args=["-c", code, "mcp", "--upstream", upstream, "--spec", spec, "--header", "Authorization: Bearer $TOKEN"],
        env={**os.environ, "TOKEN": "t"},
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        refused = await session.call_tool("createBooking", {"body": BOOKING})
        text = refused.content[0].text
        following = re.search(r"^Call (\w+) with (.*)$", text, re.MULTILINE)
        accepted = await session.call_tool(following[1], json.loads(following[2]))
        flat = await session.call_tool("createBooking", BOOKING)
        listed = await session.call_tool("listBookings", {"state": "closed", "limit": 5})
        print(
            json.dumps(
                {
                    "tools": {name: tool.input_schema for name, tool in tools.items()},
                    "read_only": {name: tool.annotations.read_only_hint for name, tool in tools.items()},
                    "destructive": {name: tool.annotations.destructive_hint for name, tool in tools.items()},
                    "refused": [refused.is_error, text, refused.meta],
                    "accepted": [accepted.is_error, accepted.content[0].text],
                    "flat": [flat.is_error, flat.content[0].text],
                    "listed": [listed.is_error, listed.content[0].text],
                }
            )
        )


asyncio.run(main(*sys.argv[1:]))
