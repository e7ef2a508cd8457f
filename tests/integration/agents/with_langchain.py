# mypy: ignore-errors
"""LangChain's tools with a scripted model in the loop: no LLM.

with_langchain.py PROXY SPEC
"""

import asyncio
import json
import re
import sys
from pathlib import Path

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from corrigible.client.langchain import langchain_tools
from corrigible.client.toolset import Toolset

BOOKING = {"room": "suite", "nights": 45, "arrival": "2026-12-01", "guests": [{"name": "Ann", "age": 33}]}


def calling(name: str, arguments: dict) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "call", "type": "tool_call"}])


def main(proxy: str, spec: str) -> None:
    tools = {tool.name: tool for tool in langchain_tools(Toolset(json.loads(Path(spec).read_text()), proxy))}
    messages = [HumanMessage("Book a suite for Ann for 45 nights.")]

    def script():
        yield calling("createBooking", BOOKING)  # without `body`
        for start in ("Call", "If the user agrees, call"):
            following = re.search(rf"^{start} (\w+) with (.*)$", messages[-1].content, re.MULTILINE)
            yield calling(following[1], json.loads(following[2]))
        yield AIMessage("Booked.")

    model = GenericFakeChatModel(messages=script())
    for _ in range(5):
        answer = model.invoke(messages)
        messages.append(answer)
        if not answer.tool_calls:
            break
        for call in answer.tool_calls:
            messages.append(tools[call["name"]].invoke(call))
    of_tools = [message for message in messages if isinstance(message, ToolMessage)]
    again = asyncio.run(tools["listBookings"].ainvoke({"state": "opne"}))
    print(
        json.dumps({"results": [[m.status, m.content] for m in of_tools], "last": messages[-1].content, "async": again})
    )


main(*sys.argv[1:])
