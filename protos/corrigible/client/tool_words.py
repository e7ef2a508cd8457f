"""A correction in the words of a tool: its arguments, and calls of other tools.

Knows: tools, request documents, places in them. Does not know: HTTP libraries, how a result is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from corrigible.schema.document import pointer_parts
from corrigible.schema.edit import NotApplicable, after_suggestion
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Placeholder, StepRequest, Suggestion
from corrigible.schema.printable import printable
from corrigible.schema.word import Ask, PatchVerb

from .correction import SentAgain
from .decision import MOST_STEPS
from .explanation import Place, call_line, changes, literal, name_line, question, request_line
from .native_message import named_lists, offered
from .policy import PathTemplates, path_values
from .sent_request import KEY
from .tool import BODY, Tool

_POINTER: Final = re.compile(r"(?<![\w/])/(?:body|query|headers|path|method)\b[^\s,;:]*")
_NAME: Final = re.compile(r"\w[\w-]*")
_ANY: Final = "\0"
"""Stands in a path for the segment that is asked for."""
_SEGMENTS: Final[Mapping[str, str]] = {"[^/]+": "string", "-?[0-9]+": "integer"}
"""Patterns of a segment that is asked for, and the type of the argument."""
_IGNORED: Final = frozenset({"accept", "content-type", "content-length", KEY})
"""Headers that no call has to have: those of the body come with it, and each call has a key of its own, if any."""
_MOST_CALLS: Final = 5
_MOST_VALUES: Final = 50
"""Of an enumeration that is looked at to find calls."""
_MOST_LOOKUPS: Final = 200
"""Paths of one answer for which calls are looked for, besides those of steps and of the corrected request."""
_MOST_OFFERS: Final = 50
"""Values that are asked for, and looked for in the answer."""
_LONGEST_PATH: Final = 8192


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    arguments: dict[str, Json]

    def __str__(self) -> str:
        return f"{self.name} with {printable(json.dumps(self.arguments, ensure_ascii=False))}"


class ToolsByPath:
    """Tools, found by method and path without a look at all others."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, list[Tool]] = {}
        for tool in tools:
            self._tools.setdefault(tool.path, []).append(tool)
        self._templates = PathTemplates(self._tools)

    def at(self, method: str, path: str) -> list[Tool]:
        """Return the tools that may make a request."""
        return [tool for one in self._templates.fitting(path) for tool in self._tools[one] if tool.method == method]


@dataclass(frozen=True, slots=True)
class Called:
    """A call that was made, and what it may become: `tools` are all that the model has."""

    tool: Tool
    arguments: Mapping[str, Json]
    sent: Request
    """The first request document of the call."""
    tools: ToolsByPath
    base: str = ""
    """The path before those of the tools."""
    own: frozenset[str] = frozenset()
    """Parameters of the query that are no arguments."""
    offers: Callable[[Request], bool] = lambda _: True
    """Whether a request is one of a tool: a path may fit a tool's, and be that of another operation."""

    def call_of(self, request: Request, *, is_new: bool = False) -> ToolCall | None:
        """Return the call that makes a request, of this tool or another one; None if no tool makes it.

        A new request has only the headers that matter; a corrected one has those that were sent, too.
        """
        if len(request.path) > _LONGEST_PATH:
            return None
        after, before = self._below(request), self._below(self.sent) or self.sent
        is_other = (request.method, request.path) != (self.sent.method, self.sent.path)
        if after is None or (is_other and not self.offers(request)):
            return None
        for candidate in (self.tool, *self.tools.at(after.method, after.path)):
            original = self.arguments if candidate is self.tool else {}
            found = candidate.arguments(after, before, original)
            if found is not None and not self._other_headers(candidate, request, is_new):
                return ToolCall(candidate.name, found)
        return None

    def path_below(self, path: str) -> str | None:
        """Return a path as the tools have it; None if it is another one."""
        return path[len(self.base) :] if path.startswith(f"{self.base}/") else None

    def _below(self, request: Request) -> Request | None:
        path = self.path_below(request.path)
        if path is None:
            return None
        query = {name: value for name, value in request.query.items() if name not in self.own}
        return replace(request, path=path, query=query)

    def _other_headers(self, tool: Tool, request: Request, is_new: bool) -> set[str]:
        """Return the headers that a request sets or removes, and that are no argument of the tool."""
        sent = {} if is_new else self.sent.headers
        changed = {name for name in {*sent, *request.headers} if sent.get(name) != request.headers.get(name)}
        ignored = _IGNORED if is_new or request.body is None else {KEY}
        return changed - {one.name.lower() for one in tool.parameters if one.place == "header"} - ignored


class ToolWords:
    """What a text calls the places of a request that a tool made. `request` is the one that was refused."""

    def __init__(self, called: Called, request: Request, answer: Json = None, questions: int = 0) -> None:
        """`answer` is the JSON of the refusal, which may list the values for one of the `questions`."""
        self._called, self._request, self._questions = called, request, questions
        self._lists = named_lists(answer)
        self._lookups, self._offers = _MOST_LOOKUPS, _MOST_OFFERS
        call = called.call_of(request)
        self._arguments = call.arguments if call is not None else dict(called.arguments)

    def place(self, pointer: str) -> str:
        match pointer_parts(pointer):
            case ("body", *rest):
                return _spelled((BODY, *_indexes(rest)))
            case ("query", name, *rest):
                return self._parameter(name, rest)
            case ("headers", name):
                found = (one.argument for one in self._called.tool.parameters if one.name.lower() == name.lower())
                return next(found, f"the header {name_line(name)}")
            case ("path",):
                found = (one.argument for one in self._called.tool.parameters if one.place == "path")
                return ", ".join(found) or "the tool"
            case ("method",):
                return "the tool"
        return name_line(pointer)

    def text(self, text: str) -> str:
        """Return a text in which places have the tool's names."""
        return _POINTER.sub(lambda match: self.place(match[0]), text)

    def edits(self, suggestion: Suggestion) -> Iterator[str]:
        if not suggestion.patch and (suggestion.waits or not suggestion.parameters):
            return
        try:
            after = after_suggestion(suggestion, self._request)
        except NotApplicable:
            yield from self._operations(suggestion)
            return
        yield from self._change(after)

    def steps(self, steps: Sequence[StepRequest]) -> Iterator[str]:
        yield from map(self._step, steps[:MOST_STEPS])
        if len(steps) > MOST_STEPS:
            yield f"and {len(steps) - MOST_STEPS} more requests before it, more than any client sends"

    def _step(self, step: StepRequest) -> str:
        request = Request(step.method, step.path, step.query, step.headers, step.body)
        call = self._called.call_of(request, is_new=True)
        return f"first call {call}" if call is not None else f"first, and not by a tool: {request_line(step)}"

    def question(self, placeholder: Placeholder) -> str:
        schema = placeholder.schema_ or {}
        if placeholder.pointer == "/path":
            return self._path_question(placeholder.ask, schema)
        if placeholder.pointer == "/method":
            methods = dict.fromkeys(_texts(schema.get("enum")))
            return _which(placeholder.ask, [name for one in methods for name in self._names(one)])
        parts = pointer_parts(placeholder.pointer) or ("",)
        member = next((part for part in reversed(parts) if not part.isdecimal()), "")
        refused = _value_at(self._request.document(), parts)
        return self._asked(self.place(placeholder.pointer), member, placeholder.ask, schema, refused)

    def _asked(self, place: str, member: str, ask: Ask | None, schema: Mapping[str, Any], refused: Json) -> str:
        """Ask for a value, with those that the answer itself offers."""
        self._offers -= 1
        lists = self._lists if self._offers >= 0 else []
        offer = offered(lists, member, schema, refused, is_only=self._questions == 1)
        if offer is None:
            return question(place, ask, schema)
        return f"{question(place, ask, {'enum': offer.values})} (offered by the API as {name_line(offer.name)})"

    def parameter(self, name: str, value: Json) -> str:
        if name == "path" and isinstance(value, str):
            path, _, query = value.partition("?")
            call = self._called.call_of(Request("GET", path), is_new=True) if not query else None
            if call is not None:
                return f"to read it, call {call}"
        return f"{name_line(name)}: {literal(value)}"

    def done(self, sent: SentAgain) -> str:
        """Return what was sent without the model, as one line."""
        before = self._called.call_of(sent.before)
        steps = (self._called.call_of(step, is_new=True) or request_line(step) for step in sent.steps)
        words = ToolWords(self._called, sent.before) if before is not None else self
        parts = [f"waited {sent.wait_seconds} s"] if sent.wait_seconds else []
        parts += [f"called {step}" if isinstance(step, ToolCall) else f"sent {step}" for step in steps]
        return "; ".join([*parts, *words._change(sent.after)]) or "the same call"

    def _change(self, after: Request) -> Iterator[str]:
        call = self._called.call_of(after)
        if call is None:
            yield f"no tool here makes the corrected request: {call_line(after)}"
        elif call.name != self._called.tool.name:
            yield f"call another tool: {call}"
        else:
            yield from changes(self._arguments, call.arguments, _spelled, moves=True)

    def _operations(self, suggestion: Suggestion) -> Iterator[str]:
        """Yield the edits of a correction that does not fit what was sent."""
        for operation in suggestion.patch:
            place = self.place(operation.path)
            if operation.op in (PatchVerb.MOVE, PatchVerb.COPY):
                yield f"{self.place(operation.from_ or '')}: {operation.op.value} to {place}"
            elif operation.op is not PatchVerb.TEST:
                value = "(removed)" if operation.op is PatchVerb.REMOVE else literal(operation.value)
                yield f"{place}: -> {value}"

    def _parameter(self, name: str, rest: Sequence[str]) -> str:
        for one in self._called.tool.parameters:
            if one.place == "query" and one.name == name:
                return _spelled((one.argument, *_indexes(rest)))
            if one.place == "query" and one.is_deep and name.startswith(f"{one.name}[") and name.endswith("]"):
                return _spelled((one.argument, name[len(one.name) + 1 : -1]))
            members = one.schema.get("properties") if one.place == "query" and one.is_exploded else None
            if isinstance(members, Mapping) and name in members:
                return _spelled((one.argument, name))
        return name_line(name)

    def _path_question(self, ask: Ask | None, schema: Mapping[str, Any]) -> str:
        """Ask for the argument that the path is made of, or for another call."""
        listed = schema.get("enum")
        offered = _texts(listed)
        if not offered:
            return self._segment_question(ask, schema)
        offered = offered[: self._lookups]
        more = " and more" if isinstance(listed, list) and len(listed) > len(offered) else ""
        self._lookups -= len(offered)
        calls = [call for path in offered if (call := self._called.call_of(replace(self._request, path=path)))]
        differing = {
            name for call in calls for name in call.arguments if call.arguments[name] != self._arguments.get(name)
        }
        if calls and {call.name for call in calls} == {self._called.tool.name} and len(differing) == 1:
            (argument,) = differing
            return question(argument, ask, {"enum": [call.arguments[argument] for call in calls]}) + more
        return _which(ask, [str(call) for call in calls])

    def _segment_question(self, ask: Ask | None, schema: Mapping[str, Any]) -> str:
        pattern = schema.get("pattern")
        pattern = pattern if isinstance(pattern, str) else ""
        for segment, kind in _SEGMENTS.items():
            path = re.sub(r"\\(.)", r"\1", pattern.removeprefix("^").removesuffix("$").replace(segment, _ANY))
            below = self._called.path_below(path)
            values = path_values(self._called.tool.path, below) if below is not None and _ANY in path else None
            wanted = [name for name, value in (values or {}).items() if _ANY in value]
            for one in self._called.tool.parameters:
                if wanted == [one.name] and one.place == "path":
                    plain = {name: value for name, value in one.schema.items() if name not in ("title", "description")}
                    refused = self._arguments.get(one.argument)
                    return self._asked(one.argument, one.name, ask, {"type": kind, **plain}, refused)
        if pattern == "^/":
            return _which(ask, [])
        return question(self.place("/path"), ask, None)

    def _names(self, method: str) -> list[str]:
        """Return the tools of another method at the same place."""
        path = self._called.path_below(self._request.path)
        return [tool.name for tool in self._called.tools.at(method, path)] if path is not None else []


def _value_at(document: Json, parts: Sequence[str]) -> Json:
    for part in parts:
        if isinstance(document, Mapping):
            document = document.get(part)
        elif isinstance(document, list) and part.isascii() and part.isdecimal() and len(part) < 10:
            document = document[int(part)] if int(part) < len(document) else None
        else:
            return None
    return document


def _texts(listed: Any) -> list[str]:
    """Return the texts of an enumeration, as many as are looked at."""
    return [one for one in listed[:_MOST_VALUES] if isinstance(one, str)] if isinstance(listed, list) else []


def _which(ask: Ask | None, calls: Sequence[str]) -> str:
    who = "ask the user which one" if ask is Ask.USER else "choose one"
    shown = "; or ".join(calls[:_MOST_CALLS])
    return f"another call: {who}{f': {shown}' if shown else ' of the other tools does what was meant'}"


def _indexes(parts: Sequence[str]) -> Iterator[str | int]:
    for part in parts:
        yield int(part) if part.isascii() and part.isdecimal() and len(part) < 10 else part


def _spelled(place: Place) -> str:
    """Return a place among arguments as programs write it: `body.guests[0].age`."""
    first, *rest = place
    text = name_line(str(first))
    for part in rest:
        if part == "-":
            text += " (a new element)"
        elif isinstance(part, str) and _NAME.fullmatch(part):
            text += f".{part}"
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return printable(text)
