"""The Model Context Protocol over HTTP: tool results with `isError: true`, and JSON-RPC errors, both with status 200.

Source: the MCP specification (server/tools, error handling); JSON-RPC 2.0 section 5.1. The messages are those of the
Python SDK (jsonschema) and of the TypeScript SDK (zod, a list of issues as JSON after the message).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from corrigible.adapters.formats.message.member_names import missing_member, unknown_member
from corrigible.rules.pointer import MISSING, escape, to_pointer, value_at
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

TOOL_ERROR: Final = "TOOL_ERROR"
"""A result with `isError`: tools give no codes."""
_ARGUMENTS: Final = "/body/params/arguments"
_PREFIX: Final = "Input validation error: "
_REJECTED: Final = re.compile(r"^(?P<value>'[^']{0,200}'|-?\d{1,20}|True|False|None) is not ")
_ISSUES: Final = re.compile(r": (?P<issues>\[\s*\{.*\}\s*\])\s*$", re.DOTALL)
_MOST_TEXT: Final = 64 * 1024
_MOST_ISSUES: Final = 32


@dataclass(frozen=True, slots=True)
class McpFormat:
    name: str = "mcp"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        request = exchange.request
        if not isinstance(body, dict) or not isinstance(request.body, dict) or "jsonrpc" not in request.body:
            return ()
        match body:
            case {"error": {"code": int() as code, "message": str() as message} as error}:
                return list(_issues_or_message(str(code), message, error.get("data"), request))
            case {"result": {"isError": True, "content": [{"type": "text", "text": str() as text}, *_]}}:
                return list(_issues_or_message(TOOL_ERROR, text, None, request))
        return ()


def _issues_or_message(code: str, message: str, data: Json, request: Request) -> Iterator[Violation]:
    issues = _issues(message, data)
    for issue in issues[:_MOST_ISSUES]:
        path = to_pointer(issue["path"])
        own = issue.get("message")
        yield _violation(code, own if isinstance(own, str) else message, _ARGUMENTS + path, request)
    if not issues:
        yield _violation(code, message, _place(message, request), request)


def _issues(message: str, data: Json) -> list[Mapping[str, Json]]:
    """Return zod's issues, from where servers put them: behind the message, in `data`, or in a list in there."""
    match = _ISSUES.search(message[:_MOST_TEXT])
    listed: Json = data
    if match is not None:
        try:
            listed = orjson.loads(match["issues"])
        except orjson.JSONDecodeError:
            listed = None
    elif isinstance(data, dict):
        listed = data.get("errors", data.get("issues"))
    items = listed if isinstance(listed, list) else []
    return [item for item in items if isinstance(item, dict) and isinstance(item.get("path"), list)]


def _place(message: str, request: Request) -> str:
    """Return the argument that a message of jsonschema is about: the missing one, or the one value that it quotes."""
    message = message.removeprefix(_PREFIX)
    for name in (missing_member(message), unknown_member(message)):
        if name:
            return f"{_ARGUMENTS}/{escape(name)}"
    match = _REJECTED.match(message)
    arguments = value_at(request, _ARGUMENTS)
    if match is None or not isinstance(arguments, dict):
        return ""
    quoted = [name for name, value in arguments.items() if repr(value) == match["value"]]
    return f"{_ARGUMENTS}/{escape(quoted[0])}" if len(quoted) == 1 else ""


def _violation(code: str, message: str, pointer: str, request: Request) -> Violation:
    tool = value_at(request, "/body/params/name")
    missing = pointer != "" and value_at(request, pointer) is MISSING
    return Violation(
        code=code,
        message=message,
        pointer=pointer,
        constraint="required" if missing else "",
        param=tool if isinstance(tool, str) else "",
    )


MCP: Final = McpFormat()
