"""From parameters to a guarded patch on the request document, and the guards every patch must keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from corrigible.rules.budget import spend
from corrigible.rules.functions.builtin import fresh_key
from corrigible.rules.functions.edits import Operation
from corrigible.rules.pointer import MISSING, escape, is_among, parameters_at, resolve, segments, through_arrays
from corrigible.schema.document import CREDENTIALS
from corrigible.schema.exchange import Json, Request

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
