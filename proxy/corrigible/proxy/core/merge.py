"""Several errors at once come as several suggestions, applied one after the other: make them agree.

Each was made for the request as it was. The second to need a parent that is missing must not overwrite what the first
put there, and what the first has done already the second must not do again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corrigible.rules.budget import spend
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.pointer import MISSING, escape, resolve
from corrigible.schema.edit import NotApplicable, apply_operation
from corrigible.schema.exchange import Json, Request

Operation = dict[str, Json]
_WANTED = ("action", "parameters", "patch", "placeholders", "steps")
"""What makes two suggestions the same one, whatever their authors."""


def merge_suggestions(results: Sequence[RuleResult], request: Request) -> list[RuleResult]:
    """Return the results, each with patches that hold after those before it.

    A suggestion that changes nothing any more is left out; that may be every suggestion of a result.
    """
    if len(results) < 2:
        return list(results)
    before: dict[str, Json] = request.document()
    document = dict(before)
    done: list[Json] = []
    out = []
    for result in results:
        remaining = []
        open_choices: dict[str, bool] = {}
        for suggestion in result.suggestions:
            group = suggestion.get("group") or {}
            if group.get("relation") == "one_of" and group["id"] in open_choices:
                if open_choices[group["id"]]:
                    remaining.append(suggestion)  # not the first alternative: a reader applies one of them
                continue
            wanted = [suggestion.get(name) for name in _WANTED]
            is_new = wanted not in done
            if is_new and "patch" in suggestion:
                patch, document = _agreeing(suggestion["patch"], before, document)
                is_new = bool(patch)
                suggestion = {**suggestion, "patch": patch}
            done.append(wanted)
            if is_new:
                remaining.append(suggestion)
            if group.get("relation") == "one_of":
                open_choices[group["id"]] = is_new
        out.append(result.with_suggestions(remaining))
    return out


def _agreeing(
    patch: Sequence[Operation], before: Mapping[str, Json], now: dict[str, Json]
) -> tuple[list[Operation], dict[str, Json]]:
    """Return the patch as it has to be after the earlier ones, none where nothing is left to do."""
    document: dict[str, Json] = now
    out: list[Operation] = []
    for op in patch:
        spend(_AN_OPERATION)
        path = str(op["path"])
        here = resolve(document, path)
        if op["op"] == "test" and here != op["value"] and resolve(before, path) == op["value"]:
            if here is MISSING or not isinstance(here, (dict, list)):
                continue  # an earlier suggestion has changed this very place: it has the say
            step = [{**op, "value": here}]
        elif op["op"] in ("add", "replace") and here is not MISSING and here != resolve(before, path):
            step = _merged(path, here, op["value"])
        elif op["op"] == "remove" and here is MISSING:
            continue
        else:
            step = [op]
        try:
            for operation in step:
                document = apply_operation(document, operation)
        except NotApplicable:
            return list(patch), now  # a reader will find out, and leave out this one alone
        out += step
    if all(op["op"] == "test" for op in out):
        return [], now
    return out, document


_AN_OPERATION = 20
"""Steps."""


def _merged(path: str, here: Json, wanted: Json) -> list[Operation]:
    """Return the operations that put into an object what it lacks. What it has stays: that was wanted first."""
    if not (isinstance(here, Mapping) and isinstance(wanted, Mapping)):
        return []
    ops: list[Operation] = []
    for name, value in wanted.items():
        inner: Any = here.get(name, MISSING)
        place = f"{path}/{escape(name)}"
        ops += [{"op": "add", "path": place, "value": value}] if inner is MISSING else _merged(place, inner, value)
    return ops
