"""Applies suggestions to a request document by jsonpatch alone, as an independent reader would.

Knows: RFC 6902, RFC 7396, that query and form values are text. Does not know: the project's own reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import jsonpatch

from corrigible.schema.exchange import Json, Request

from .annotated_error import MISSING, AnnotatedError, at, base_action, parts, patch_of

_TROUBLE = (
    *(jsonpatch.JsonPatchException, jsonpatch.JsonPointerException),
    *(AttributeError, IndexError, KeyError, TypeError, ValueError),
)


class Unapplied(Exception):
    """A patch that does not fit the document; the message says where."""


def document(request: Request) -> dict[str, Json]:
    """Return the request document, header names in lower case."""
    whole = deepcopy(request.document())
    whole["headers"] = {name.lower(): value for name, value in request.headers.items()}
    return whole


def patched(operations: Sequence[Mapping[str, Json]], before: Json, *, form: bool = False) -> Any:
    """Return the document after a patch. Raises Unapplied, and then nothing has changed."""
    after = deepcopy(before)
    for number, operation in enumerate(operations):
        op = {name: _folded(value) if name in ("path", "from") else value for name, value in operation.items()}
        if op.get("op") == "test":
            value = at(after, op.get("path"))
            loose = str(op.get("path")).startswith("/query") or (form and str(op.get("path")).startswith("/body"))
            if value is MISSING or not _same(value, op.get("value"), loose=loose):
                raise Unapplied(f"patch/{number}: the test of {op.get('path')} does not hold")
            continue
        try:
            after = jsonpatch.apply_patch(after, [op])
        except _TROUBLE:
            raise Unapplied(f"patch/{number}: {op.get('op')} {op.get('path')} cannot be carried out") from None
    return after


def same(value: Json, other: Json) -> bool:
    """Equality of JSON values, where 1 is 1.0 and true is neither."""
    return _same(value, other, loose=False)


@dataclass(frozen=True, slots=True)
class Stage:
    """One suggestion, and the document that it is for."""

    index: int
    suggestion: Mapping[str, Json]
    before: Any
    after: Any
    """None where it does not apply."""
    problem: str = ""


def stages(annotated: AnnotatedError) -> Iterator[Stage]:
    """Yield every suggestion with the document as those before it leave it. Alternatives start from the same one."""
    current = document(annotated.request)
    starts: dict[str, Any] = {}
    for index, suggestion in annotated.suggestions:
        group = suggestion.get("group")
        choice = isinstance(group, Mapping) and group.get("relation") == "one_of"
        key = str(group.get("id")) if isinstance(group, Mapping) and choice else ""
        first = not choice or key not in starts
        before = starts.setdefault(key, current) if choice else current
        try:
            after = _after(suggestion, before, annotated.request)
        except Unapplied as problem:
            yield Stage(index, suggestion, before, None, str(problem))
            continue
        yield Stage(index, suggestion, before, after)
        if first:
            current = after


def _after(suggestion: Mapping[str, Json], before: Any, request: Request) -> Any:
    operations = patch_of(suggestion)
    if operations:
        return patched(operations, before, form=request.form)
    parameters = suggestion.get("parameters")
    if base_action(suggestion) == "MODIFY_PARAMS" and isinstance(parameters, Mapping) and parameters:
        whole = deepcopy(before)
        bodiless = whole["body"] is None and request.method.upper() in ("GET", "HEAD", "DELETE")
        member = "query" if bodiless else "body"
        if whole[member] is not None and not isinstance(whole[member], Mapping):
            raise Unapplied("the body is no object, so the parameters have nowhere to go")
        whole[member] = _merge(whole[member], parameters)
        return whole
    return before


def _merge(target: Json, change: Json) -> Any:
    if not isinstance(change, Mapping):
        return deepcopy(change)
    out = dict(target) if isinstance(target, Mapping) else {}
    for name, value in change.items():
        if value is None:
            out.pop(name, None)
        else:
            out[name] = _merge(out.get(name), value)
    return out


def _folded(pointer: Json) -> Json:
    is_header = isinstance(pointer, str) and pointer.lower().startswith("/headers/")
    return pointer.lower() if is_header else pointer


def _same(one: Json, other: Json, *, loose: bool) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[k], other[k], loose=loose) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b, loose=loose) for a, b in zip(one, other, strict=True))
    if isinstance(one, Mapping | list) or isinstance(other, Mapping | list):
        return False
    if loose:
        return _text(one) == _text(other)
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    return bool(one == other)


def _text(scalar: Json) -> str:
    if isinstance(scalar, bool):
        return "true" if scalar else "false"
    return "" if scalar is None else str(scalar)


def leads_to(pointer: str, place: str) -> bool:
    """Whether a place is at or below a pointer."""
    above, below = parts(pointer), parts(place)
    return above is not None and below is not None and below[: len(above)] == above
