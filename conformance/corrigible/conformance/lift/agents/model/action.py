"""What a model wants to do, read from what it wrote: a call, an end, or nothing that can be read.

Slips of form that no API would ever see are mended alike in every arm: a body written as a JSON string, a query within
the path, the name of a host. Everything else goes out as it was written.
Knows: replies, request documents. Does not know: providers, arms, tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import parse_qs, urlsplit

from corrigible.conformance.lift.agents.protocol import Ending
from corrigible.model.conversation import DECODER, Reply
from corrigible.schema.document import CREDENTIALS, SENDERS_OWN, header_problem, is_method, is_path, scalar_text
from corrigible.schema.exchange import Json, Request

_ENDINGS: Final[Mapping[str, Ending]] = {
    "done": "done",
    "impossible": "impossible",
    "needs_input": "needs input",
    "gave_up": "gave up",
}
_FOREIGN: Final = CREDENTIALS | SENDERS_OWN | {"prefer", "recovery-feedback", "recovery-feedback-caller"}
"""Headers that are the harness's: who calls, and in which arm."""
_LONGEST_WAIT: Final = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Call:
    """Send this."""

    request: Request
    id: str = ""
    """Of the tool call, where it was one."""
    dropped: tuple[str, ...] = ()
    """Headers that are not the model's to set."""
    wait: float = 0.0
    """Seconds before the call."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Stop."""

    ending: Ending
    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Nothing that could be carried out."""

    problem: str
    id: str = ""


Action = Call | Finish | Unreadable


def action(reply: Reply, *, tools: bool, grpc: bool, form: bool) -> Action:
    """Return what the model wants to do."""
    cut = "the answer was cut off at the limit of tokens" if reply.why == "length" else ""
    if tools:
        if not reply.calls:
            return Unreadable(cut or "neither of the tools was called: use call_api or finish")
        first = reply.calls[0]
        if cut:  # what came of it may look whole
            return Unreadable(cut, first.id)
        if first.arguments is None:
            return Unreadable(f"the arguments are no JSON object: {first.text[:200]}", first.id)
        move = _read(first.name, first.arguments, grpc=grpc, form=form)
        return move if isinstance(move, Finish) else replace(move, id=first.id)
    document = next((document for document in _objects(reply.text) if "tool" in document), None)
    if document is None:
        return Unreadable(cut or 'no JSON object with a member "tool" in the answer')
    return _read(str(document["tool"]), document, grpc=grpc, form=form)


def _read(name: str, arguments: Mapping[str, Json], *, grpc: bool, form: bool) -> Action:
    match name:
        case "finish":
            outcome = str(arguments.get("outcome")).strip().lower().replace(" ", "_")
            if outcome not in _ENDINGS:
                return Unreadable(f"outcome is one of {', '.join(_ENDINGS)}")
            return Finish(_ENDINGS[outcome], str(arguments.get("reason") or ""))
        case "call_api":
            return _call(arguments, grpc=grpc, form=form)
        case _:
            return Unreadable(f"there is no tool {name}: use call_api or finish")


def _call(arguments: Mapping[str, Json], *, grpc: bool, form: bool) -> Call | Unreadable:
    method = arguments.get("method")
    path = arguments.get("path") or ""
    query, headers = arguments.get("query") or {}, arguments.get("headers") or {}
    body = arguments.get("body")
    if not isinstance(method, str) or not isinstance(path, str):
        return Unreadable("method and path are strings")
    if not isinstance(query, Mapping) or not isinstance(headers, Mapping):
        return Unreadable("query and headers are objects")
    if isinstance(body, str):
        body = _decoded(body)
        if isinstance(body, str):
            return Unreadable("body is an object, an array or null, never a string")
    method = method.strip()
    if grpc:
        method, path, query = method if method.startswith("/") else f"/{method}", "", {}
        body = {} if body is None else body
        if not isinstance(body, Mapping):
            return Unreadable("body is the message, an object")
    else:
        method = method.upper()
        path, query = _split(path, query)
    if not is_method(method) or method.startswith("/") is not grpc:
        return Unreadable(f"{method[:80]!r} is no method")
    if not is_path(path) or (path == "") is not grpc:
        return Unreadable(f"{path[:200]!r} is no path: it starts with / and holds neither query nor control characters")
    lower_headers = {str(name).strip().lower(): scalar_text(value) for name, value in headers.items()}
    dropped = tuple(sorted(name for name in lower_headers if name in _FOREIGN))
    forwarded = {name: value for name, value in lower_headers.items() if name not in dropped}
    if problem := header_problem(forwarded):
        return Unreadable(f"headers: {problem}")
    wait = arguments.get("wait_seconds") or 0
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait < _LONGEST_WAIT:
        return Unreadable("wait_seconds is a number of seconds")
    return Call(
        Request(method, path, dict(query), forwarded, body, form and not grpc), dropped=dropped, wait=float(wait)
    )


def _decoded(text: str) -> Json:
    """Return what a body says that was written as JSON text; the text where it is none."""
    if not text.strip():
        return None
    try:
        document = DECODER.decode(text)
    except (ValueError, RecursionError):
        return text
    return document if isinstance(document, dict | list) or document is None else text


def _split(path: str, query: Mapping[str, Json]) -> tuple[str, Mapping[str, Json]]:
    """Take a host's name and a query out of a path."""
    path = path.strip()
    try:
        parts = urlsplit(path)
    except ValueError:
        return path, query
    if parts.scheme in ("http", "https"):
        path = parts.path or "/"
        path = f"{path}?{parts.query}" if parts.query else path
    path_only, mark, tail = path.partition("?")
    if not mark:
        return path, query
    found = {name: values[0] if len(values) == 1 else values for name, values in parse_qs(tail, True).items()}
    return path_only, {**found, **query}


def _objects(text: str) -> Iterator[Mapping[str, Json]]:
    """Yield the JSON objects of a text, outermost first."""
    at = text.find("{")
    while at >= 0:
        try:
            value, end = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)
