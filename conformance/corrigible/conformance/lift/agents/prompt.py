"""What a model is told, and what it wants to do by what it wrote: a call, an end, or nothing that can be read.

It is told the API, the wish, how to call, and answers as its arm shows them: the same words in every arm. Slips of form
that no API would ever see are mended alike in every arm: a body written as a JSON string, a query within the path, the
name of a host. Everything else goes out as it was written.
Knows: briefings, replies. Does not know: providers, arms, tasks' facts, what would be a success.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal
from urllib.parse import parse_qs, urlsplit

from corrigible.conformance.lift.agents.protocol import Briefing, Ending, Response
from corrigible.conformance.lift.agents.reflection import SCHEMA, WORDS, prompts
from corrigible.model.conversation import DECODER, Reply, Tool
from corrigible.schema.document import (
    CREDENTIALS,
    SENDERS_OWN,
    header_problem,
    is_credential_name,
    is_method,
    is_path,
    scalar_text,
)
from corrigible.schema.exchange import Json, Protocol, Request
from corrigible.schema.word import BaseAction

Mode = Literal["tools", "json"]
Vocabulary = Literal["none", "sentence", "words"]

_LONGEST_ANSWER: Final = 32_000
"""Characters of an answer that are shown, in every arm alike."""

_API: Final[Mapping[str, str]] = prompts("api")
_VOCABULARY: Final = f"{_API['sentence']} {_API['vocabulary'].format(actions=', '.join(BaseAction))}"
_TOOLS: Final = {name: Tool(**tool) for name, tool in prompts("tools").items()}

_MEMBERS_LAST: Final = ("query", "headers", "wait_seconds")
"""In constrained answers: a small model puts all that it has into the first free object, and the body counts."""
_HEADERS: Final = ("accept", "content-type", "idempotency-key", "if-match", "if-none-match", "if-unmodified-since")
"""Headers that a constrained answer may name, beside those of the request as sent: those that HTTP says what they do to
a request. Free names are where a small model finds no end."""


def is_grpc(request: Request) -> bool:
    """True where a request document is a call of gRPC."""
    return request.protocol is Protocol.GRPC


def tools(request: Request) -> tuple[Tool, ...]:
    """Return the two tools."""
    return (_TOOLS["grpc" if is_grpc(request) else "http"], _TOOLS["finish"])


def form(request: Request) -> Mapping[str, Json]:
    """Return the JSON Schema of an answer in mode json: a call, or the end."""
    answers = []
    for tool in tools(request):
        members = {**tool.schema["properties"], **_bounds(tool, request)}
        order = sorted(members, key=lambda name: name in _MEMBERS_LAST)
        properties = {"tool": {"const": tool.name}, **{name: members[name] for name in order}}
        required = ["tool", *tool.schema["required"]]
        answers.append(
            {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        )
    return {"anyOf": answers}


def _bounds(tool: Tool, request: Request) -> dict[str, Json]:
    """Return members that are bounded where decoding is constrained: a small model finds no end by itself."""
    bounded: dict[str, Json] = {"type": "string", "maxLength": 300}
    if tool.name == "finish":
        return {"reason": bounded}
    if is_grpc(request):
        return {"method": bounded}
    names = sorted({*_HEADERS, *(name.lower() for name in written(request)["headers"])})
    headers: dict[str, Json] = {
        "type": ["object", "null"],
        "properties": {name: {"type": "string", "maxLength": 100} for name in names},
        "additionalProperties": False,
    }
    return {"method": {"enum": ["GET", "POST", "PUT", "PATCH", "DELETE"]}, "path": bounded, "headers": headers}


def system(briefing: Briefing, mode: Mode, vocabulary: Vocabulary) -> str:
    """Return the instructions."""
    call = _API["rpc" if is_grpc(briefing.request) else "call"]
    lines = [
        _API["task"].format(attempts=briefing.attempts),
        _API["tools"] if mode == "tools" else _API["json"].format(call=call),
    ]
    if vocabulary != "none":
        lines.append(_API["sentence"] if vocabulary == "sentence" else _VOCABULARY)
    return "\n\n".join(lines)


def opening(briefing: Briefing) -> str:
    """Return the first message."""
    return f"The API: {briefing.about}\n\nWhat is wanted: {briefing.prompt}"


def given(request: Request, response: Response) -> str:
    """Return what is told of a first call that the model did not write."""
    return _told(_API["given"], request, response)


def refused(request: Request, response: Response) -> str:
    """Return what is told of the refusal that the episode starts at."""
    return _told(_API["refused"], request, response)


def _told(words: str, request: Request, response: Response) -> str:
    call = json.dumps(written(request), ensure_ascii=False)
    return f"{words}\n{call}\n\nIts answer:\n{answer(response)}"


def written(request: Request) -> dict[str, Json]:
    """Return a request as the tool takes it."""
    document = request.document()
    headers = {name: value for name, value in document["headers"].items() if not is_credential_name(name)}
    document = {**document, "headers": headers}
    if is_grpc(request):
        return {name: document[name] for name in ("method", "headers", "body")}
    return document


def as_action(request: Request) -> str:
    """Return a request as a model writes it."""
    return json.dumps({"tool": "call_api", **written(request)}, ensure_ascii=False)


def answer(response: Response) -> str:
    """Return an answer of the API."""
    document: Mapping[str, Json] = {"status": response.status, "headers": dict(response.headers), "body": response.body}
    text = json.dumps(document, ensure_ascii=False)
    return text if len(text) <= _LONGEST_ANSWER else f"{text[:_LONGEST_ANSWER]} ... (cut)"


def digest() -> str:
    """Return the hash of everything that is said to a model by this suite."""
    said = [_API[name] for name in ("task", "tools", "json", "call", "rpc")]
    told = [_VOCABULARY, _API["given"], _API["refused"]]
    schemas = [*(_TOOLS[name].schema for name in ("finish", "http", "grpc")), SCHEMA]
    texts = [*said, *told, *WORDS, *map(json.dumps, schemas)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


_PIECES: Final = re.compile(
    r"[A-Z]?[a-z]{1,8}|[A-Z]{1,4}|[\u3040-\u9fff\uac00-\ud7af]{1,2}|[\U00010000-\U0010ffff]|[^\W\d_]{1,4}|\d{1,3}"
    r"|[^\w\s]{1,3}"
)
"""Up to eight letters of a word, three digits or three marks; a capital starts a piece, so that base64 falls to pieces.
For one API there are 0.9 to 1.1 times as many pieces as tokens of OpenAI's o200k_base. Other models' counts differ as
well; the ratio of two arms hardly does."""


def tokens(text: str) -> int:
    """Return the number of tokens of a text, estimated. Reports say so."""
    return sum(1 for _ in _PIECES.finditer(text))


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
