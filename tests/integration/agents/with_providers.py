# mypy: ignore-errors
"""The SDKs of OpenAI and Anthropic with scripted models: local servers of their APIs' shape, no LLM.

with_providers.py PROXY SPEC
"""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from anthropic import Anthropic
from openai import OpenAI

from corrigible.client import anthropic, openai
from corrigible.client.toolset import Toolset

BOOKING = {"room": "Single", "nights": 3, "arrival": "2026-12-01", "guests": [{"name": "Ann", "age": 33}]}
FIRST = ("createBooking", {"body": BOOKING})


def next_call(text: str) -> tuple[str, dict]:
    found = re.search(r"^Call (\w+) with (.*)$", text, re.MULTILINE)
    return found[1], json.loads(found[2])


class Scripted(BaseHTTPRequestHandler):
    """Calls a tool, follows the correction in its result, and ends."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        messages = asked["messages"]
        text = ""
        if len(messages) > 1:
            last = messages[-1]["content"]
            text = last if isinstance(last, str) else last[0]["content"]
        call = FIRST if not text else next_call(text) if "was refused" in text else None
        reply = self.openai(call) if self.path.endswith("/chat/completions") else self.anthropic(call)
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def openai(self, call) -> dict:
        message = {"role": "assistant", "content": None if call else "Done."}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}
        return {"id": "c", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}

    def anthropic(self, call) -> dict:
        block = (
            {"type": "tool_use", "id": "tu_1", "name": call[0], "input": call[1]}
            if call
            else {"type": "text", "text": "Done."}
        )
        usage = {"input_tokens": 1, "output_tokens": 1}
        members = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None, "usage": usage}
        return {"id": "m", "type": "message", "role": "assistant", "model": "scripted", "content": [block], **members}

    def log_message(self, *arguments) -> None:
        pass


def with_openai(url: str, toolset: Toolset) -> list:
    client, messages, shown = OpenAI(api_key="k", base_url=f"{url}/v1"), [{"role": "user", "content": "Book."}], []
    for _ in range(5):
        tools = openai.definitions(toolset)
        message = client.chat.completions.create(model="scripted", messages=messages, tools=tools).choices[0].message
        if not message.tool_calls:
            return shown
        results = openai.results(toolset, message.tool_calls)
        shown += [result["content"] for result in results]
        messages += [message, *results]
    return shown


def with_anthropic(url: str, toolset: Toolset) -> list:
    client, messages, shown = Anthropic(api_key="k", base_url=url), [{"role": "user", "content": "Book."}], []
    for _ in range(5):
        tools = anthropic.definitions(toolset)
        answer = client.messages.create(model="scripted", max_tokens=100, messages=messages, tools=tools)
        results = anthropic.results(toolset, answer.content)
        if not results:
            return shown
        shown += [[result["is_error"], result["content"]] for result in results]
        messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]
    return shown


def main(proxy: str, spec: str) -> None:
    toolset = Toolset(json.loads(Path(spec).read_text()), proxy)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    print(json.dumps({"openai": with_openai(url, toolset), "anthropic": with_anthropic(url, toolset)}))


main(*sys.argv[1:])
