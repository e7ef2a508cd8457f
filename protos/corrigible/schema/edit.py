"""Applies one suggestion to one request. The only code that applies patches.

Knows: RFC 6902, RFC 7396, what is text on the wire. Does not know: which suggestions may be applied
(`reader`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import jsonpatch
from pydantic import ValidationError

from .document import (
    BODILESS,
    CREDENTIALS,
    MEMBERS,
    MISSING,
    header_problem,
    is_index,
    is_method,
    is_path,
    pointer_parts,
    scalar_text,
    value_at,
)
from .exchange import Json, Request
from .feedback import PatchOperation, StepRequest, Suggestion
from .word import PatchVerb

MAX_REQUEST_DEPTH: Final = 100
"""Maximum nesting of a request body: nothing is applied to a deeper one."""
MOST_COPIED: Final = 50_000
"""Values that the copies of a patch write: copies of copies double."""
_LONG: Final = 64
"""Characters of a text that count as one more value."""

_TROUBLE: Final = (
    jsonpatch.JsonPatchException,
    jsonpatch.JsonPointerException,
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What jsonpatch may raise if an operation does not apply; older versions raise lookup errors."""


class NotApplicable(Exception):
    """The suggestion does not apply to this request; the message says why. The request is unchanged."""


def after_suggestion(suggestion: Suggestion, request: Request) -> Request:
    """Return the request after the suggestion, or raise `NotApplicable`."""
    if suggestion.patch:
        return _patched(suggestion.patch, request)
    if suggestion.parameters and not suggestion.waits:
        return _merged(suggestion.parameters, request)
    return request


def after_edit(suggestion: Mapping[str, Any], request: Request) -> Request | None:
    """Return the request as a suggestion of ours leaves it; None where the suggestion does not fit."""
    patch = suggestion.get("patch")
    edited = _with_plain_edits(patch, request) if patch else None
    if edited is not None:
        return edited
    try:
        return after_suggestion(Suggestion.model_validate(suggestion), request)
    except (NotApplicable, ValidationError):
        return None


def apply_operation(document: dict[str, Any], operation: Mapping[str, Any], own: dict[int, Any] | None = None) -> Json:
    """Return a document after one operation of RFC 6902. The given document stays as it is.

    `own` are containers by their `id` that no other document has: they are edited in place, and more are added to them.
    """
    unshared = _unshared(document, operation, own if own is not None else {})
    try:
        return jsonpatch.apply_patch(unshared, [operation], in_place=True)
    except _TROUBLE:
        raise NotApplicable(f"{operation.get('op')} {operation.get('path')} does not fit") from None


def step_requests(suggestion: Suggestion, request: Request) -> tuple[Request, ...]:
    """Return the requests to send first, with the credentials of the one they prepare."""
    return tuple(_step(step, request) for step in suggestion.steps)


def merge(target: Json, patch: Json) -> Json:
    """RFC 7396: objects are merged, null removes, everything else replaces, arrays as a whole."""
    if not isinstance(patch, Mapping):
        return _copy(patch)
    out = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        else:
            out[name] = merge(out.get(name), value)
    return out


def same_json(one: Json, other: Json) -> bool:
    """Equality of RFC 6902, section 4.6: 1 equals 1.0, and true equals neither."""
    if type(one) is str or type(other) is str:  # most values are; matching them takes ten times as long
        return type(one) is type(other) and bool(one == other)
    match one, other:
        case (bool(), _) | (_, bool()):
            return one is other
        case (int() | float(), int() | float()):
            return one == other
        case (list(), list()):
            return len(one) == len(other) and all(map(same_json, one, other))
        case (Mapping(), Mapping()):
            return one.keys() == other.keys() and all(same_json(value, other[name]) for name, value in one.items())
        case _:
            return type(one) is type(other) and bool(one == other)


def same_text(one: Json, other: Json) -> bool:
    """Equality where scalars are text on the wire: 500 equals "500", true equals "true", null equals ""."""
    if type(one) in _SCALARS and type(other) in _SCALARS:
        return scalar_text(one) == scalar_text(other)
    match one, other:
        case (list(), list()):
            return len(one) == len(other) and all(map(same_text, one, other))
        case (Mapping(), Mapping()):
            return one.keys() == other.keys() and all(same_text(value, other[name]) for name, value in one.items())
        case (list() | Mapping(), _) | (_, list() | Mapping()):
            return False
        case _:
            return scalar_text(one) == scalar_text(other)


_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_PLAIN: Final = frozenset({"add", "replace", "remove"})


def _with_plain_edits(patch: Sequence[Mapping[str, Any]], request: Request) -> Request | None:
    """Return the request after a patch of members of its body and its headers; None for every other patch.

    Most patches are like that, and to validate and walk one costs more than the rest of a correction. Whatever is not
    as plain (a test that only holds as text, a member that is not there) takes the general way.
    """
    if type(request.body) is not dict:
        return None
    body, headers = dict(request.body), dict(request.headers)
    for operation in patch:
        verb, pointer = operation["op"], operation["path"]
        parts = pointer.split("/")
        if len(parts) != 3 or "~" in pointer:
            return None
        _, where, name = parts
        members: dict[str, Any] = body if where == "body" else headers if where == "headers" else {}
        if verb == "test":
            value, here = operation["value"], members.get(name, _ABSENT)
            if type(here) is not type(value) or here != value:
                return None
            continue
        if verb not in _PLAIN or (verb != "add" and name not in members):
            return None
        if where == "headers" and not (verb == "replace" and header_problem({name: operation["value"]}) is None):
            return None
        if where not in ("body", "headers"):
            return None
        if verb == "remove":
            del members[name]
        else:
            members[name] = operation["value"]
    return request.with_content(headers, body)


_ABSENT: Final = object()


def _merged(parameters: Mapping[str, Json], request: Request) -> Request:
    if request.body is None and request.method.upper() in BODILESS:
        return replace(request, query=merge(_copy(request.query), parameters))
    if request.body is not None and not isinstance(request.body, Mapping):
        raise NotApplicable("the body is no object, so parameters have nowhere to go")
    return replace(request, body=merge(_copy(request.body), parameters))


def _patched(patch: tuple[PatchOperation, ...], request: Request) -> Request:
    headers = {name.lower(): value for name, value in request.headers.items()}
    secret = {name: headers.pop(name) for name in CREDENTIALS & headers.keys()}
    document: dict[str, Any] = {**request.document(), "headers": headers}
    _measure(document)
    copied, own = 0, dict[int, Any]()
    for operation in patch:
        if operation.op is PatchVerb.COPY:
            copied += _size(document, _fold(operation.from_), MOST_COPIED - copied)
        document = _operated(document, operation, own, form=request.form)
    return _request(document, request, secret)


def _operated(
    document: dict[str, Any], operation: PatchOperation, own: dict[int, Any], *, form: bool
) -> dict[str, Any]:
    path, source = _fold(operation.path), _fold(operation.from_)
    if operation.op is PatchVerb.TEST:
        _test(document, path or "", operation, form=form)
        return document
    members = {"op": str(operation.op), "path": path}
    if source is not None:
        members["from"] = source
    if operation.has_value:
        members["value"] = _copy(operation.value)
    changed = apply_operation(document, members, own)
    if not isinstance(changed, dict) or not changed.keys() <= set(MEMBERS):
        raise NotApplicable(f"{operation.op} {operation.path} leaves no request document")
    return changed


def _unshared(document: dict[str, Any], operation: Mapping[str, Any], own: dict[int, Any]) -> dict[str, Any]:
    """Return the document with a copy of each shared container on the path of an operation, and of nothing else.

    What is done in place then leaves the document as it was: to copy all of it for each edit would cost its size.
    """
    top = dict(document)
    source = _places(operation.get("from"))
    for parts in (_places(operation.get("path")), source):
        here: Any = top
        for depth, part in enumerate(parts[:-1], 1):
            if isinstance(here, dict) and isinstance(here.get(part), (dict, list)):
                here[part] = inner = _owned(here[part], own)
            elif isinstance(here, list) and is_index(part):
                index = int(part)
                if operation["op"] == "move" and source and parts is not source and parts[: depth - 1] == source[:-1]:
                    index += is_index(source[-1]) and index >= int(source[-1])  # what moves is taken out before
                if index >= len(here) or not isinstance(here[index], (dict, list)):
                    break
                here[index] = inner = _owned(here[index], own)
            else:
                break
            here = inner
    return top


def _places(pointer: object) -> tuple[str, ...]:
    return (pointer_parts(pointer) or ()) if isinstance(pointer, str) else ()


def _owned(container: Any, own: dict[int, Any]) -> Any:
    if id(container) in own:
        return container
    copy = container.copy()
    own[id(copy)] = copy  # kept, so that no other one gets its `id`
    return copy


def _test(document: Json, path: str, operation: PatchOperation, *, form: bool) -> None:
    parts = pointer_parts(path)
    if parts is None or not operation.has_value:
        raise NotApplicable(f"test {operation.path} is no test")
    target = value_at(document, parts)
    if target is MISSING:
        raise NotApplicable(f"{operation.path} is not there")
    loose = parts[:1] == ("query",) or (form and parts[:1] == ("body",))
    if not (same_text if loose else same_json)(target, operation.value):
        raise NotApplicable(f"{operation.path} is not what the suggestion is for")


def _fold(pointer: str | None) -> str | None:
    """Header names are case-insensitive."""
    return pointer.lower() if pointer is not None and pointer.startswith("/headers/") else pointer


def _request(document: Mapping[str, Any], before: Request, secret: Mapping[str, str]) -> Request:
    method, path = document.get("method"), document.get("path")
    query, headers = document.get("query", {}), document.get("headers", {})
    if not isinstance(method, str) or (method != before.method and not is_method(method)):
        raise NotApplicable("/method becomes no method")
    if not isinstance(path, str) or (path != before.path and not is_path(path)):
        raise NotApplicable("/path becomes no path on the same host")
    if not isinstance(query, dict) or not isinstance(headers, dict):
        raise NotApplicable("/query or /headers becomes no object")
    headers = {name: scalar_text(v) if isinstance(v, bool | int | float) else v for name, v in headers.items()}
    changed = {k: v for k, v in headers.items() if k not in before.headers or before.headers[k] != v}
    if (problem := header_problem(changed)) is not None:
        raise NotApplicable(f"/headers would hold {problem}")
    return replace(
        before,
        method=method,
        path=path,
        query=query,
        headers={**headers, **secret},
        body=document.get("body"),
    )


def _step(step: StepRequest, request: Request) -> Request:
    headers = {name.lower(): value for name, value in step.headers.items()}
    if not is_method(step.method) or not is_path(step.path):
        raise NotApplicable("a step is no request to the same host")
    if (problem := header_problem(headers)) is not None:
        raise NotApplicable(f"a step holds {problem}")
    secret = {name.lower(): v for name, v in request.headers.items() if name.lower() in CREDENTIALS}
    kind = headers.get("content-type")
    form = request.form if kind is None else kind.lower().startswith("application/x-www-form-urlencoded")
    body = _copy(step.body)
    return Request(
        step.method,
        step.path,
        _copy(step.query),
        {**headers, **secret},
        body,
        form and isinstance(body, Mapping),
    )


def _measure(document: Json) -> None:
    """Raise NotApplicable if a document is nested too deeply to be edited."""
    level = [document]
    for _ in range(MAX_REQUEST_DEPTH + 1):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, Mapping) else one)
            if isinstance(inner, Mapping | list | tuple)
        ]
        if not level:
            return
    raise NotApplicable(f"nested deeper than {MAX_REQUEST_DEPTH} levels")


def _size(document: Json, pointer: str | None, most: int) -> int:
    """Return how many values a copy of a place writes. Raises NotApplicable beyond a limit."""
    value = value_at(document, pointer_parts(pointer or "") or ())
    waiting, count = [] if value is MISSING else [value], 0  # where nothing is, the copy will tell
    while waiting:
        one = waiting.pop()
        count += 1 + (len(one) // _LONG if isinstance(one, str) else 0)
        if isinstance(one, Mapping):
            count += sum(map(len, one)) // _LONG
        if count > most:
            raise NotApplicable(f"the copies of a patch have more than {MOST_COPIED} values of {_LONG} characters")
        if isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return count


def _copy(value: Json, depth: int = 0) -> Any:
    """Copy JSON, so that a patch changes neither the request nor the feedback."""
    if depth > MAX_REQUEST_DEPTH:
        raise NotApplicable(f"nested deeper than {MAX_REQUEST_DEPTH} levels")
    match value:
        case Mapping():
            return {name: _copy(item, depth + 1) for name, item in value.items()}
        case list() | tuple():
            return [_copy(item, depth + 1) for item in value]
        case _:
            return value
