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
_PREFIX: Final = "Input validation error: "
_ANY: Final = GenericFormat()


class McpFormat:
    """Tool results with `isError: true`, and JSON-RPC errors."""

    name = "mcp"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        asked = exchange.request.body
        if not isinstance(body, dict) or not isinstance(asked, dict) or "jsonrpc" not in asked:
            return ()
        match body:
            case {"error": {"code": int() as code, "message": str() as message} as error}:
                return _of_call(str(code), {"message": message, "data": error.get("data")}, exchange)
            case {"result": {"isError": True, "content": [{"type": "text", "text": str() as text}, *_]}}:
                return _of_call(TOOL_ERROR, {"message": text}, exchange)
        return ()


def text_of_tool(answer: Mapping[str, Json], tool: str) -> str | None:
    """Return what a server says of a call that it refuses, without what SDKs put before it; None where it does not."""
    match answer:
        case {"error": {"message": str() as text}}:
            return _plain(text, tool)
        case {"result": {"isError": True, "content": [{"type": "text", "text": str() as text}, *_]}}:
            return _plain(text, tool)
    return None


def _plain(text: str, tool: str) -> str:
    """Take away the words of the SDKs of Python and TypeScript, and of fastmcp: they say that a call is refused."""
    words = [before.replace("TOOL", tool) for before in _BEFORE]
    while (cut := next((text.removeprefix(one) for one in words if text.startswith(one)), None)) is not None:
        text = cut
    return text


_BEFORE: Final = (
    *(f"MCP error {code}: " for code in (-32600, -32601, -32602, -32603)),
    "Input validation error: ",
    "Error executing tool TOOL: ",
    "Error calling tool 'TOOL': ",
    "Invalid arguments for tool TOOL: ",
)


def _of_call(code: str, answer: Mapping[str, Json], exchange: Exchange) -> list[Violation]:
    """Return the errors of an answer about the arguments of the call, or about its parameters."""
    request = exchange.request
    place = next((one for one in _ARGUMENTS if isinstance(value_at(request, one), dict)), "")
    tool = value_at(request, "/body/params/name")
    body = value_at(request, place) if place else {}
    call = replace(request, path="", query={}, headers={}, body=body)
    message = str(answer["message"]).removeprefix(_PREFIX)
    found = _ANY.read(replace(exchange, request=call), {**answer, "message": message})
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
