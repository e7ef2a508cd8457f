"""What a client of the Model Context Protocol says it takes besides text: questions for its user, results for errors.

Knows: capabilities, elicitation, drafts of the protocol. Does not know: schemas of tools, how feedback is made.
Sources: the specification of 2026-07-28, basic/patterns/mrtr and client/elicitation; SEP-1303; the draft of structured
tool failures (modelcontextprotocol#3313).
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from corrigible.rules.pointer import MISSING, escape, resolve, segments
from corrigible.schema.credential_name import is_secret_parameter
from corrigible.schema.edit import apply_operation

Object = Mapping[str, Any]
RESULTS: Final = "corrigible/toolErrors"
"""The experimental capability of a client that wants a result with `isError` in place of an error -32602."""
FAILURE: Final = "corrigible/draft-toolFailure"
"""The member of `_meta` that has what the draft gives for `io.modelcontextprotocol/toolFailure`."""
INVALID_PARAMS: Final = -32602
STATE: Final = "corrigible-"
"""What each `requestState` of ours begins with."""
_QUESTION: Final = "corrigible"
"""What the question is called among those of a result."""
RESERVED: Final = "io.modelcontextprotocol/"
WITH_QUESTIONS: Final = "2026-07-28"
"""The first version of the protocol whose results may ask."""
_ARGUMENTS: Final = "/body/params"
_IN_HEADER: Final = "x-mcp-header"
"""The keyword of an argument that a client repeats in a header: only the client can change it."""
_MOST: Final = 64
"""Questions that wait. The oldest are forgotten: then the call goes to the server as it is."""
_ASKED_FOR: Final = frozenset({"string", "number", "integer", "boolean"})
_OF_CHOICE: Final = ("type", "title", "description", "enum", "minimum", "maximum", "minLength", "maxLength", "format")
_FORMATS: Final = frozenset({"email", "uri", "date", "date-time"})


class Wishes(NamedTuple):
    """What a client says it takes."""

    questions: bool = False
    results: bool = False


def wishes_of(params: Object) -> Wishes:
    """Return what the parameters of `initialize` say, or the `_meta` of any request."""
    meta = _object(params.get("_meta"))
    told = _object(meta.get(f"{RESERVED}clientCapabilities", params.get("capabilities")))
    version, form = meta.get(f"{RESERVED}protocolVersion"), told.get("elicitation")
    may_ask = isinstance(version, str) and version >= WITH_QUESTIONS and isinstance(form, dict)
    return Wishes(may_ask and (not form or "form" in form), RESULTS in _object(told.get("experimental")))


def failure(feedback: Object, id: str) -> dict[str, Any]:
    """Return the class of a failure and whether the call may be repeated, as the draft has them."""
    retry = _object(feedback.get("retry"))
    suggestions: list[Any] = list(feedback.get("suggestions") or [])
    actions = {one.get("base_action") or one.get("action") for one in suggestions}
    kind, code = "capability", "invalid_arguments"
    if feedback.get("recovery") == "transient":
        kind, code = "reliability", "unavailable"
    elif "ESCALATE" in actions:
        kind, code = "governance", "needs_somebody_else"
    elif feedback.get("recovery") == "terminal":
        code = "no_recovery"
    out = {"class": kind, "code": code, "retryable": retry.get("same_request") is True, "correlationId": id}
    return {**out, "agentGuidance": feedback["message"]} if feedback.get("message") else out


class Question(NamedTuple):
    """A call that waits for what its user says."""

    params: Object
    places: Mapping[str, str]
    """The pointers into the parameters, by the names in the form."""
    answer: Object
    """What the client gets if nobody answers."""


class Questions:
    """Those of one session."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, Question] = OrderedDict()

    def ask(self, params: Object, feedback: Object, answer: Object, declared: Any = None) -> dict[str, Any] | None:
        """Return a result that asks for the values that feedback asks for; None where a form cannot.

        `declared` is the schema of the arguments.
        """
        suggestions: list[Any] = list(feedback.get("suggestions") or [])
        only = suggestions[0] if len(suggestions) == 1 else {}
        if only.get("patch") or _object(only.get("safety")).get("loses"):
            return None  # more than an answer is needed
        places: dict[str, str] = {}
        properties: dict[str, Any] = {}
        for one in only.get("placeholders") or ():
            parts = segments(one["pointer"])
            described = resolve(declared, "".join(f"/properties/{escape(part)}" for part in parts[3:]))
            name, schema = parts[-1], _form({**_object(described), **_object(one.get("schema"))})
            is_inside = one["pointer"].startswith(f"{_ARGUMENTS}/arguments/")
            if (
                schema is None
                or name in places
                or _IN_HEADER in _object(described)
                or not (is_inside and one.get("ask") == "user")
                or is_secret_parameter(name)
            ):
                return None
            places[name], properties[name] = one["pointer"].removeprefix(_ARGUMENTS), schema
        if not places:
            return None
        state = STATE + secrets.token_urlsafe(24)
        self._waiting[state] = Question(params, places, answer)
        while len(self._waiting) > _MOST:
            self._waiting.popitem(last=False)
        form = {"type": "object", "properties": properties, "required": list(places)}
        message = f"{params.get('name')}: {feedback.get('message')} {only.get('message')}"
        asked = {
            "method": "elicitation/create",
            "params": {"mode": "form", "message": message, "requestedSchema": form},
        }
        return {"resultType": "input_required", "inputRequests": {_QUESTION: asked}, "requestState": state}

    def resumed(self, params: Object) -> Question | None:
        """Return the question that a call answers, None where it is another server's."""
        question = self._waiting.pop(str(params.get("requestState")), None)
        is_same = question is not None and all(question.params.get(one) == params.get(one) for one in _SAME)
        return question if is_same else None


_SAME: Final = ("name", "arguments")


def answered(question: Question | None, params: Object) -> Any:
    """Return the parameters with what the user said, None where the user did not want to say it.

    What answers a question that is forgotten, or was about another call, is a call as any other.
    """
    out: Any = {"arguments": {}, **{name: one for name, one in params.items() if name not in _OF_ANSWER}}
    if question is None:
        return out
    said = _object(_object(params.get("inputResponses")).get(_QUESTION))
    content = _object(said.get("content"))
    if said.get("action") != "accept" or content.keys() != question.places.keys():
        return None
    for name, place in question.places.items():
        op = "add" if resolve(out, place) is MISSING else "replace"
        out = apply_operation(out, {"op": op, "path": place, "value": content[name]})
    return out


_OF_ANSWER: Final = frozenset({"inputResponses", "requestState"})


def as_result(answer: Object) -> bytes:
    """Return an error of JSON-RPC as a result with `isError` that has its text."""
    return orjson.dumps({"jsonrpc": "2.0", "id": answer["id"], "result": result_of(answer["error"]["message"])})


def result_of(text: str) -> dict[str, Any]:
    """Return the result of a call that is an error with a text."""
    return {"resultType": "complete", "content": [{"type": "text", "text": text}], "isError": True}


def _form(schema: Any) -> dict[str, Any] | None:
    """Return what a form may have of a schema: it knows plain values only."""
    schema = _object(schema)
    choices = schema.get("enum")
    if "enum" in schema and not (
        isinstance(choices, list) and choices and all(isinstance(one, str) for one in choices)
    ):
        return None
    kind = "string" if choices else schema.get("type")
    if kind not in _ASKED_FOR:
        return None
    kept = {
        name: schema[name] for name in _OF_CHOICE if name in schema and (name != "format" or schema[name] in _FORMATS)
    }
    return {**kept, "type": kind}


def _object(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
