"""From parameters to a guarded patch on the request document, and the guards every patch must keep.

Paths that a rule computes: a value of somebody else stands for one segment of them, or for none.

Ids come from look-ups and native text and are put into paths by concatenation (`'/v1/charges/' + charge.id`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from corrigible.rules.budget import spend
from corrigible.rules.functions.builtin import Operation, fresh_key
from corrigible.rules.pointer import MISSING, escape, is_among, parameters_at, resolve, segments, through_arrays
from corrigible.schema.document import CREDENTIALS, is_path
from corrigible.schema.exchange import Json, Request

_IS_PLACE: Final = re.compile(r"/|[a-z]+://")
"""A path or an address as a whole, and no id."""
_MOST_VALUES: Final = 20_000
_LEADS_AWAY: Final = re.compile(r"[/?#%\\\x00-\x1f\x7f-\x9f]")
LONGEST_CAPTURE: Final = 256
"""An id, a name, a date, an amount: what is longer is prose."""
_PRINTED: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f]*")


def encode_values(path: str, values: Iterable[str]) -> str | None:
    """Percent-encode these values in a computed path, so that each stays one segment; None if the path is then no path.

    The values come from look-ups and native errors, not from the request itself.
    """
    for value in values:
        start = path.find(f"/{value}")
        while start >= 0:
            end = start + 1 + len(value)
            if path[end : end + 1] in ("", "/"):
                segment = quote(value, safe="!$&'()*+,;=:@~")
                path, end = f"{path[:start]}/{segment}{path[end:]}", start + 1 + len(segment)
            start = path.find(f"/{value}", end)
    return path if is_path(path) else None


def foreign_texts(scope: Mapping[str, Any], names: Iterable[str], own: Any, whole: frozenset[str]) -> list[str]:
    """Return the texts under some names of a scope that would lead a path away, the longest first.

    `own` is what the caller sent; `whole` names members whose values are parts of a path as they are.
    """
    texts = (text for name in names for text in _texts(scope.get(name), whole))
    foreign = {text for text in texts if _LEADS_AWAY.search(text) and not _IS_PLACE.match(text)}
    if not foreign:
        return []
    sent = [*_texts(own)]
    return sorted((text for text in foreign if not any(text in one for one in sent)), key=len, reverse=True)


def may_be_value(text: str) -> bool:
    """Whether what a pattern captured from native text may become a value: short, and on one line."""
    return len(text) <= LONGEST_CAPTURE and _PRINTED.fullmatch(text) is not None


def _texts(value: Json, whole: frozenset[str] = frozenset()) -> Iterator[str]:
    waiting = [value]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        here = waiting.pop()
        match here:
            case str():
                yield here
            case Mapping():
                waiting += [inner for name, inner in here.items() if name not in whole]
            case list() | tuple():
                waiting += here


MOST_OPERATIONS = 400
LONGEST_GUARD = 256
"""A longer text is left unguarded: repeating it would leave no room for the edit."""


class PatchError(Exception):
    """A patch that must not be sent: it would be ambiguous, unguarded, or touch a credential."""


def derive(request: Request, parameters: Mapping[str, Json], secrets: frozenset[str]) -> list[Operation]:
    """Turn merge parameters into RFC 6902 operations: `add`, or `test` and `replace`, or `test` and `remove`.

    They go into the body, or into the query where the request has no body and its method usually has none. Values
    and places that are arrays raise `PatchError`: whether to replace or to extend one cannot be derived.
    """
    if parameters_at(request) == "/query":
        return _members(request.query, parameters, "/query", secrets)
    if request.body in (None, {}, ""):
        return [{"op": "add", "path": "/body", "value": {k: v for k, v in parameters.items() if v is not None}}]
    if not isinstance(request.body, dict):
        raise PatchError("the request's body is no object, write the patch")
    return _members(request.body, parameters, "/body", secrets)


def _members(
    target: Mapping[str, Json], parameters: Mapping[str, Json], under: str, secrets: frozenset[str]
) -> list[Operation]:
    ops: list[Operation] = []
    for name, value in parameters.items():
        path = f"{under}/{escape(name)}"
        old = target.get(name, MISSING)
        if isinstance(value, list) or isinstance(old, list):
            raise PatchError(f"{path} is an array, write the patch")
        if isinstance(value, dict) and isinstance(old, dict):
            ops += _members(old, value, path, secrets)
            continue
        if old is MISSING:
            if value is not None:
                ops.append({"op": "add", "path": path, "value": value})
            continue
        if not is_among(name, secrets) and not isinstance(old, dict) and len(str(old)) <= LONGEST_GUARD:
            ops.append({"op": "test", "path": path, "value": old})
        ops.append({"op": "remove", "path": path} if value is None else {"op": "replace", "path": path, "value": value})
    return ops


def guarded(document: Mapping[str, Json], ops: Sequence[Operation]) -> None:
    """Raise `PatchError` unless every edit inside an array follows a `test` within the same element.

    Appending (`/-`) needs no guard. Credential headers are never touched.
    """
    if len(ops) > MOST_OPERATIONS:
        raise PatchError(f"a patch of {len(ops):,} operations, {MOST_OPERATIONS} are the most")
    spend(len(ops))
    tested: list[str] = []
    for op in ops:
        path = str(op["path"])
        places = (path, str(op["from"])) if "from" in op else (path,)
        for place in places:
            if place.startswith("/headers/") and segments(place)[1].lower() in CREDENTIALS:
                raise PatchError(f"{place} is a credential")
        if op["op"] == "test":
            tested.append(path)
            continue
        for place in places:
            if place.count("/") < 3 and not isinstance(document["body"], list):
                continue  # a member of the document or of its body: no array is passed through
            for element in through_arrays(document, place):
                if element.endswith("/-") or any(t == element or t.startswith(element + "/") for t in tested):
                    continue
                if op["op"] == "add" and place == element and resolve(document, element) is MISSING:
                    continue
                raise PatchError(f"{place} edits an array element without a test of it first")
            if op["op"] != "replace":
                tested = [t for t in tested if not _moved(t, place)]


def _moved(tested: str, place: str) -> bool:
    """Whether a tested element may stand elsewhere once another was put in or taken out at a place."""
    array, _, index = place.rpartition("/")
    rest = tested.removeprefix(array + "/").partition("/")[0]
    return tested.startswith(array + "/") and index.isdecimal() and rest.isdecimal() and int(rest) >= int(index)


def with_new_idempotency_key(ops: Sequence[Operation], request: Request, header: str, seed: str) -> list[Operation]:
    """Return a patch with a fresh idempotency key, where the request has a key and the patch makes it another request.

    `header` is lower case, empty where the API has no such keys.
    """
    place = f"/headers/{header}"
    if header and header in request.headers and changes_request(ops) and all(op["path"] != place for op in ops):
        return [*ops, {"op": "replace", "path": place, "value": fresh_key(seed)}]
    return list(ops)


def changes_request(ops: Sequence[Operation]) -> bool:
    """Whether a patch changes what is asked for, headers apart."""
    return any(op["op"] != "test" and not str(op["path"]).startswith("/headers") for op in ops)
