"""Calls in an envelope of their own, which are refused with status 200: MCP and other JSON-RPC.

Sources: the MCP specification (server/tools, error handling); JSON-RPC 2.0,
section 5.1. What is inside the envelope is read as any other answer, about the arguments of the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from corrigible.rules.pointer import MISSING, escape, value_at
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind
from corrigible.schema.exchange import Exchange, Json

from .generic import GenericFormat
from .pointers import member_said

TOOL_ERROR: Final = "TOOL_ERROR"
"""A result with `isError`: tools give no codes."""
_ANY: Final = GenericFormat()


class McpFormat:
    """Tool results with `isError: true`, and JSON-RPC errors."""

    name = "mcp"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        asked = exchange.request.body
        if not isinstance(body, dict) or not isinstance(asked, dict) or "jsonrpc" not in asked:
            return ()
        said = text_of_tool(body, str(value_at(exchange.request, "/body/params/name")))
        if said is None:
            return ()
        error = body.get("error")
        if isinstance(error, dict):
            return _of_call(str(error.get("code", "")), {"message": said, "data": error.get("data")}, exchange)
        return _of_call(TOOL_ERROR, {"message": said}, exchange)


class ToolFormat:
    """What a tool says of its arguments, which are the body: nothing else of a request is meant, whatever its name."""

    name = GenericFormat.name

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        call = replace(exchange.request, path="", query={}, headers={})
        return _ANY.read(replace(exchange, request=call), body)


def text_of_tool(answer: Mapping[str, Json], tool: str) -> str | None:
    """Return what a server says of a call that it refuses, without what SDKs put before it; None where it does not."""
    match answer:
        case {"error": {"message": str() as text}}:
            return _plain(text, tool)
        case {"result": {"isError": True, "content": [*items]}}:
            texts = [item["text"] for item in items if isinstance(item, dict) and isinstance(item.get("text"), str)]
            return "\n".join(_plain(text, tool) for text in texts[:_MOST_TEXTS]) if texts else None
    return None


def _plain(text: str, tool: str) -> str:
    """Take away what SDKs say before a text: that a call is refused, and of which tool."""
    while True:
        head, _, rest = text.partition(":")
        words = head[:_LONGEST_HEAD].split()
        is_of_tool = len(words) > 1 and words[-1].strip("'\"`") == tool
        is_of_sdk = words[:2] == ["MCP", "error"] or words == ["Input", "validation", "error"]
        if is_of_tool and "tool" in words[:-1] and not rest:
            return ""
        if not (is_of_tool or is_of_sdk) or not rest[:1].isspace() or "\n" in head:
            return text
        text = rest.lstrip()


_MOST_TEXTS: Final = 8
_LONGEST_HEAD: Final = 200


def _of_call(code: str, answer: Mapping[str, Json], exchange: Exchange) -> list[Violation]:
    """Return the errors of an answer about the arguments of the call, or about its parameters."""
    request = exchange.request
    place = next((one for one in _ARGUMENTS if isinstance(value_at(request, one), dict)), "")
    tool = value_at(request, "/body/params/name")
    body = value_at(request, place) if place else {}
    call = replace(request, path="", query={}, headers={}, body=body)
    message = str(answer["message"])
    found = _ANY.read(replace(exchange, request=call), answer)
    out: list[Violation] = []
    for error in found or [Violation(message=message)]:
        inside = error.pointer.removeprefix("/body") if error.pointer.startswith("/body/") else _quoted(message, body)
        if not inside and error.constraint == "required" and (name := member_said(message, Kind.MISSING)):
            inside = f"/{escape(name)}"
        is_missing = inside != "" and value_at(request, f"{place}{inside}") is MISSING
        out.append(
            error._replace(
                code=code,
                pointer=f"{place}{inside}" if place and inside else "",
                constraint=error.constraint or ("required" if is_missing else ""),
                param=tool if isinstance(tool, str) else "",
            )
        )
    return out


def _quoted(message: str, arguments: Json) -> str:
    """Return the place of the only argument whose value a message of jsonschema begins with: `'2' is not of type`."""
    value, said, _ = message.partition(" is not ")
    sent = arguments if said and isinstance(arguments, dict) else {}
    quoted = [name for name, one in sent.items() if isinstance(one, str | int | None) and repr(one) == value]
    return f"/{escape(quoted[0])}" if len(quoted) == 1 else ""


_ARGUMENTS: Final = ("/body/params/arguments", "/body/params")

MCP: Final = McpFormat()
TOOL: Final = ToolFormat()
