"""The messages between a client and a server of the Model Context Protocol: all pass, refused calls with a correction.

Knows: JSON-RPC 2.0, the methods `tools/list` and `tools/call`. Does not know: processes, pipes, models. A message is
bytes, and stays the same bytes, but for what is added to the answer to a refused call.

A tool is read as an operation of an API: its schema describes the body of a request, and its error is an answer with
the status 400. So the one reader of refusals reads tools, too.
"""

from __future__ import annotations

import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote
from uuid import uuid4

import orjson

from corrigible.adapters.formats.statement import is_all, is_fault
from corrigible.adapters.formats.wrapped_calls import text_of_tool
from corrigible.proxy.access_log.entry import TOOL, Entry, with_outcome
from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.embed.member import mcp_additions, splice
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import NO_ANSWER, run_with_lookups_sync
from corrigible.rules.pack.load import Pack
from corrigible.rules.pointer import escape
from corrigible.rules.schema_repair.first_violation import first_violation

from .for_client import (
    FAILURE,
    INVALID_PARAMS,
    STATE,
    Object,
    Questions,
    Wishes,
    answered,
    as_result,
    failure,
    wishes_of,
)
from .lookup import Seen, asked_about, call_of

_OURS: Final = "corrigible/"
"""What our members of `_meta` begin with. A server writes none of them."""
META: Final = f"{_OURS}recovery_feedback"
"""The member of `_meta` with the feedback as JSON: for clients, not for the model."""
_MEMBER: Final = "recovery_feedback"
_MOST_WAITING: Final = 256
"""Requests whose answers are waited for. The oldest are forgotten: their answers pass."""
_MOST_TOOLS: Final = 2000
_MOST_LOOKUPS: Final = 4
_JSON: Final = [("content-type", "application/json")]
_METHODS: Final = (b'"tools/list"', b'"tools/call"', b'"initialize"')
_CALL: Final = "/call"
"""The path of a call that names no tool of the list: the name is a member of the body."""
_TOOLS: Final = "/tools/"
_FAULT: Final = 500
_STATUSES: Final = {-32603: _FAULT, -32601: 404}
"""By the codes of JSON-RPC 2.0, section 5.1. All others are 400."""
_PLACES: Final = frozenset({"path", "from", "pointer", "loses"})
"""Members of feedback that are pointers into the request."""
_LITERAL: Final = frozenset({"parameters", "value", "schema"})
"""Members that hold what was sent or described, under any name."""

logger = logging.getLogger(__name__)


class _Asked(NamedTuple):
    """A request of the client."""

    method: str
    params: Object
    may_be_asked: bool = True
    """Whether nobody was asked about this call yet."""


class Passed(NamedTuple):
    """What becomes of a message of the client."""

    on: bytes = b""
    """What the server gets."""
    back: bytes = b""
    """What the client gets at once."""


_Refused = tuple[_Asked, Object, bytes, str, dict[str, Any], str]
"""A call, the answer to it, parsed and as it came, what that says, the feedback, empty where there is none, its id."""


class Tools:
    """The tools that a server has listed in a session, and what corrects their calls."""

    def __init__(self, made: Callable[[Object], HttpCorrector], packs: Iterable[Pack] = ()) -> None:
        """`made` makes a corrector of an OpenAPI description of the tools.

        `packs` say which tools may be called to find what a call should have named, and which results are refusals.
        """
        self._made, packs = made, list(packs)
        self._refusals = [pack.error for pack in packs if pack.error is not None]
        self.lookups = [unquote(path.removeprefix(_TOOLS)) for pack in packs for path in pack.text.lookups]
        self.known: dict[str, Object] = {}
        self.wishes = Wishes()
        """Of the client that listed them."""
        self.questions = Questions()
        self.seen = Seen()
        self._corrector: HttpCorrector | None = None
        """None where the tools have changed since it was made."""

    def learn(self, listed: Any, *, is_first: bool) -> None:
        """Take note of a page of the list. The first one replaces what was known."""
        if not isinstance(listed, list):
            return
        if is_first:
            self.known.clear()
        for tool in listed[: _MOST_TOOLS - len(self.known)]:
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                self.known[tool["name"]] = tool
        self._corrector = None

    def declares_feedback(self, name: str) -> bool:
        """Whether the structured results of a tool may have a member for feedback."""
        schema = self.known.get(name, {}).get("outputSchema")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        return isinstance(properties, dict) and _MEMBER in properties

    def takes(self, name: Any, arguments: Any) -> bool:
        """Whether the schema of a tool, as far as one is known, takes some arguments."""
        schema = self.known[name].get("inputSchema") if isinstance(name, str) and name in self.known else None
        return not isinstance(schema, dict) or first_violation(arguments, schema) is None

    def refusal(self, name: str, answer: Object) -> str | None:
        """Return what a server says of a call that it refuses, None where it does not."""
        text, result = text_of_tool(answer, name), answer.get("result")
        if text is not None or not self._refusals or not isinstance(result, dict):
            return text
        document = {**result, "content": [_read(one) for one in result.get("content") or ()]}
        for mapping in self._refusals:
            if mapping.refuses(name, document):
                told = next((one.message for one in mapping.errors(document, {}) if one.message), None)
                return told or text_of_tool({"result": {**result, "isError": True}}, name)
        return None

    def corrector(self) -> HttpCorrector:
        """Return what corrects calls of these tools. It is made when the first call is refused."""
        if self._corrector is None:
            self._corrector = self._made(description(self.known.values()))
        return self._corrector


class Relay:
    """One session. Nothing raises: what cannot be read passes."""

    def __init__(
        self, tools: Tools, recorder: Recorder, *, longest: int = 1 << 20, changes_calls: bool = False
    ) -> None:
        """Messages longer than `longest` bytes pass. `changes_calls`: whether what `of_client` returns is sent."""
        self._tools, self._recorder, self._longest = tools, recorder, longest
        self._changes_calls = changes_calls
        self._asked: OrderedDict[str, _Asked] = OrderedDict()
        self.passed = Passed()
        """What becomes of the only message of the client, where each has a relay of its own."""
        self._own = f"{STATE}{uuid4().hex}-"
        """What the ids of our look-ups begin with: no answer to one of them is the client's."""
        self._waiting: dict[str, tuple[str, str]] = {}
        """By the id of a look-up, its tool and the call that waits for it."""
        self._held: dict[str, _Refused] = {}
        self.wanted: list[tuple[str, bytes]] = []
        """Look-ups for the server, each with the call whose answer waits for it. Who makes them clears the list."""
        self.has_recorded = False
        self.is_result = False
        """Whether a result has taken the place of an error."""

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is to be looked at."""
        return bool(self._asked)

    def of_client(self, message: bytes) -> Passed:
        """Take note of a message of the client, and return what becomes of it."""
        if len(message) > self._longest or not any(method in message for method in _METHODS):
            return Passed(message)
        try:
            return self._noted(message)
        except Exception as problem:
            self._failed(problem)
            return Passed(message)

    def _failed(self, problem: Exception) -> None:
        logger.exception("a mistake of ours, the message passes")
        self._recorder.say(f"a mistake of ours, the message passes: {type(problem).__name__}")

    def _noted(self, message: bytes) -> Passed:
        parsed = _parsed(message)
        method, params = parsed.get("method"), parsed.get("params") or {}
        if "id" not in parsed or not isinstance(params, dict):
            return Passed(message)
        if method == "initialize":
            self._tools.wishes = wishes_of(params)
        if method not in ("tools/list", "tools/call"):
            return Passed(message)
        question = None
        if str(params.get("requestState", "")).startswith(STATE):  # the server has never heard of that
            question = self._tools.questions.resumed(params)
            params = answered(question, params)
            if question is not None and params is None:
                return Passed(back=json.dumps({**question.answer, "id": parsed["id"]}).encode() + b"\n")
            message = json.dumps({**parsed, "params": params}).encode() + b"\n"
        self._asked[json.dumps(parsed["id"])] = _Asked(str(method), params, question is None)
        while len(self._asked) > _MOST_WAITING:
            self._asked.popitem(last=False)
        return Passed(message)

    def of_server(self, message: bytes) -> bytes:
        """Return a message of the server as the client gets it; nothing where that waits for look-ups."""
        if self._tools.lookups and (released := self.looked_up(message)) is not None:
            return released
        if not self._asked or len(message) > self._longest:
            return message
        parsed = _parsed(message)
        asked = self._asked.pop(json.dumps(parsed["id"]), None) if "id" in parsed and "method" not in parsed else None
        try:
            if (own := _without_ours(parsed)) is not None:
                parsed, message = own, json.dumps(own).encode() + message[len(message.rstrip(b"\r\n")) :]
            if asked is None:
                return message
            if asked.method == "tools/list":
                result = parsed.get("result")
                listed = result.get("tools") if isinstance(result, dict) else None
                self._tools.learn(listed, is_first=not asked.params.get("cursor"))
                return message
            return self._answered(asked, parsed, message)
        except Exception as problem:
            self._failed(problem)
            return message

    def released(self, call: str) -> bytes:
        """Return the answer to a call that has waited for look-ups for long enough; nothing where it has gone out."""
        if (refused := self._held.pop(call, None)) is None:
            return b""
        asked, _, message, text, feedback, _ = refused
        try:
            self._tools.seen.add_choices(feedback, asked.params, text)
            return self._finished(refused)
        except Exception as problem:
            self._failed(problem)
            return message

    def looked_up(self, message: bytes) -> bytes | None:
        """Take note of the answer to a look-up. Return the one that waited for it, if it waits for no other.

        None where it is the answer to no look-up of ours.
        """
        answer = _parsed(message) if self._own.encode() in message else {}
        if "method" in answer or not str(answer.get("id")).startswith(self._own):
            return None
        tool, call = self._waiting.pop(answer["id"], ("", ""))
        with suppress(Exception):  # it is no result that could be read
            if self._tools.refusal(tool, answer) is None:
                self._tools.seen.keep(self._tools.known[tool], answer["result"], len(message))
        return b"" if any(one == call for _, one in self._waiting.values()) else self.released(call)

    def _look_up(self, refused: _Refused) -> bool:
        """Whether an answer waits, for what allowed tools say of a name that is not there."""
        (_, params, _), answer, _, text, feedback, _ = refused
        tools, place = self._tools, asked_about(feedback, params, text)
        if place is None or tools.seen.add_choices(feedback, params, text):
            return False
        call = json.dumps(answer["id"])
        for name in tools.lookups[:_MOST_LOOKUPS]:
            asked = call_of(tools.known.get(name, {}), params, place["pointer"])
            if asked is not None and tools.takes(name, asked["arguments"]):
                id = f"{self._own}{uuid4().hex}"
                self._waiting[id], self._held[call] = (name, call), refused
                message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": asked}
                self.wanted.append((call, orjson.dumps(message) + b"\n"))
        return call in self._held

    def _answered(self, asked: _Asked, answer: Object, message: bytes) -> bytes:
        name, started = asked.params.get("name"), time.time()
        if not isinstance(name, str):
            return message
        text = self._tools.refusal(name, answer)
        if text is None and isinstance(answer.get("result"), dict):
            self._record(Entry(started, uuid4().hex, TOOL, name, 200, "untouched", 0.0, name))
            if name in self._tools.known:
                self._tools.seen.keep(self._tools.known[name], answer["result"], len(message))
        if text is None or _has_feedback(answer):
            return message
        id = uuid4().hex
        refused = asked, answer, message, text, self._feedback(asked.params, name, answer, text, id) or {}, id
        return b"" if self._look_up(refused) else self._finished(refused)

    def _record(self, entry: Entry) -> None:
        self.has_recorded = True
        self._recorder.write(entry)

    def _finished(self, refused: _Refused) -> bytes:
        """Return the answer to a refused call as the client gets it."""
        asked, answer, message, _, feedback, id = refused
        name = asked.params["name"]
        end = message[len(message.rstrip(b"\r\n")) :]
        wishes = wishes_of(asked.params)
        is_invalid = "error" in answer and answer["error"].get("code") == INVALID_PARAMS
        if is_invalid and (wishes.results or self._tools.wishes.results):
            message, self.is_result = as_result(answer) + end, True
            answer = json.loads(message)
        if not feedback:
            return message
        out = _with_feedback(message, answer, feedback, id, is_declared=self._tools.declares_feedback(name))
        if wishes.questions and self._changes_calls and asked.may_be_asked:
            schema = self._tools.known.get(name, {}).get("inputSchema")
            question = self._tools.questions.ask(asked.params, feedback, json.loads(out), schema)
            if question is not None:
                self.is_result = True
                return orjson.dumps({"jsonrpc": "2.0", "id": answer["id"], "result": question}) + end
        return out

    def _feedback(self, params: Object, name: str, answer: Object, text: str, id: str) -> dict[str, Any] | None:
        """Return the feedback about a refused call, in pointers into that call."""
        error, started = answer.get("error"), time.time()
        arguments = params.get("arguments") or {}
        is_known = name in self._tools.known or not self._tools.known
        corrector, body = self._tools.corrector(), arguments if is_known else params
        status = _STATUSES.get(error.get("code", 0), 400) if isinstance(error, dict) else 400
        if is_all(text, "fault.program"):  # SDKs give the code of a fault to whatever a tool raises, or none
            status = _FAULT if self._tools.takes(name, arguments) else 400
        elif is_fault(text):
            status = 503  # JSON-RPC 2.0, section 5.1: arguments that are wrong have a code of their own
        native = HttpExchange(
            RequestHead("POST", path_of(name) if is_known else _CALL, _JSON),
            orjson.dumps(body),
            ResponseHead(status if is_known else 400, _JSON),
            orjson.dumps({"message": text}),
        )
        steps = corrector.correct(native, id=id, started=started)
        outcome = run_with_lookups_sync(steps, lambda lookup: NO_ANSWER, corrector.limits)
        seconds = time.time() - started
        is_marked = "isError" if (answer.get("result") or {}).get("isError") else "refused"
        code = str(error.get("code")) if isinstance(error, dict) else is_marked
        entry = Entry(started, id, TOOL, name, status, "untouched", seconds * 1000, name, code=code, correction=seconds)
        suggestions = () if is_known or outcome.feedback is None else outcome.feedback.get("suggestions") or ()
        edits = [edit for suggestion in suggestions for edit in suggestion.get("patch") or ()]
        takes = all(self._tools.takes(edit.get("value"), arguments) for edit in edits)  # the near tool, if one is told
        self._record(replace(with_outcome(entry, outcome if takes else None), operation=name))
        if outcome.feedback is None or not takes:
            return None
        feedback: dict[str, Any] = _placed(outcome.feedback, "/body/params/arguments" if is_known else "/body/params")
        is_writing = (self._tools.known.get(name, {}).get("annotations") or {}).get("readOnlyHint") is False
        for suggestion in feedback.get("suggestions") or ():
            safety = suggestion["safety"] = {**(suggestion.get("safety") or {})}
            if not is_known:  # a name that is near may be of a tool that does the opposite
                safety["requires_confirmation"] = True
            if safety.get("side_effects") == "certain" and not is_writing:
                safety["side_effects"] = "possible"  # nobody says what it does, and who says so may err
        return feedback


def _read(item: Any) -> Any:
    """Return a part of a result with what its text is as JSON."""
    try:
        return {**item, "text": json.loads(item["text"])}
    except (KeyError, TypeError, ValueError, RecursionError):
        return item


def path_of(tool: str) -> str:
    """Return the path that stands for a tool in the description of all."""
    return _TOOLS + quote(tool, safe="")


def description(tools: Iterable[Object]) -> dict[str, Any]:
    """Return an OpenAPI description in which each tool is an operation, whose body are the arguments of a call."""
    listed = list(tools)
    names = {"type": "string", "enum": [tool["name"] for tool in listed]}
    call = {"type": "object", "properties": {"name": names}, "required": ["name"]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tools", "version": "1"},
        "paths": {
            **{path_of(tool["name"]): _operation(tool["name"], tool.get("inputSchema")) for tool in listed},
            **({_CALL: _operation("tools/call", call)} if listed else {}),
        },
    }


def _operation(name: str, schema: Any) -> dict[str, Any]:
    root = f"#/paths/{escape(path_of(name))}/post/requestBody/content/application~1json/schema"
    body = _rooted(schema, root) if isinstance(schema, dict) else {"type": "object"}
    return {
        "post": {
            "operationId": name,
            "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
            "responses": {"200": {"description": "the result"}, "400": {"description": "an error"}},
        }
    }


def _rooted(schema: Any, root: str) -> Any:
    """Return a schema whose references are to places below `root`, where the schema stands."""
    match schema:
        case dict():
            return {
                name: root + one[1:]
                if name == "$ref" and isinstance(one, str) and one[:1] == "#"
                else _rooted(one, root)
                for name, one in schema.items()
            }
        case list():
            return [_rooted(one, root) for one in schema]
    return schema


def _placed(value: Any, root: str) -> Any:
    """Return feedback about a body as feedback about the call that has the body at `root`."""
    match value:
        case dict():
            return {name: _pointed(one, root) if name in _PLACES else _placed(one, root) for name, one in value.items()}
        case list() | tuple():
            return [_placed(one, root) for one in value]
    return value


def _pointed(place: Any, root: str) -> Any:
    """Return a pointer or several, and what is none as it is."""
    if isinstance(place, str):
        return _pointer(place, root)
    is_several = isinstance(place, list | tuple) and all(isinstance(one, str) for one in place)
    return [_pointer(one, root) for one in place] if is_several else _placed(place, root)


def _pointer(text: str, root: str) -> str:
    return root + text.removeprefix("/body") if text == "/body" or text.startswith("/body/") else text


def _has_feedback(answer: Object) -> bool:
    """Whether the server speaks of corrections itself: nobody could tell whose they are."""
    return _MEMBER in json.dumps(answer)


def _without_ours(answer: Object) -> dict[str, Any] | None:
    """Return an answer, a success too, without what a server says in our name; None where it says nothing so."""
    match answer.get("result"):
        case {"_meta": dict() as meta, **result} if any(name.startswith(_OURS) for name in meta):
            kept = {name: one for name, one in meta.items() if not name.startswith(_OURS)}
            return {**answer, "result": {**result, "_meta": kept}}
    return None


def _with_feedback(message: bytes, answer: Object, feedback: Object, id: str, *, is_declared: bool) -> bytes:
    """Return a message with feedback: behind the content of a result and in its `_meta`, or in the data of an error.

    `is_declared`: whether structured content has a place for it, too.
    """
    line, encoded = message.rstrip(b"\r\n"), orjson.dumps(feedback)
    additions = mcp_additions(answer, encoded)
    if "/result/content" in additions:
        about = b'"%s":%s,"%s":%s' % (META.encode(), encoded, FAILURE.encode(), orjson.dumps(failure(feedback, id)))
        has_meta = isinstance(answer["result"].get("_meta"), dict)
        additions["/result/_meta" if has_meta else "/result"] = [about if has_meta else b'"_meta":{%s}' % about]
        if is_declared and isinstance(answer["result"].get("structuredContent"), dict):
            additions["/result/structuredContent"] = [b'"%s":%s' % (_MEMBER.encode(), encoded)]
    return splice(line, answer, additions) + message[len(line) :]


def _parsed(message: bytes) -> Object:
    """Return a message; empty where it is none, or several."""
    try:
        found = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
