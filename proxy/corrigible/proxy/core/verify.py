"""Validates suggestions against the API's description: one that violates it is not sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from corrigible.adapters.base import Described
from corrigible.rules.budget import walk
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.pointer import MISSING, value_at
from corrigible.rules.schema_repair.schema_violation import MOST, SchemaViolation
from corrigible.schema.edit import after_edit
from corrigible.schema.exchange import Json, Request


def drop_invalid(
    result: RuleResult,
    request: Request,
    operation: str,
    description: Described,
    before: Callable[[], Sequence[SchemaViolation]] | None = None,
    *,
    is_stated: bool = False,
) -> RuleResult | None:
    """Leave out the suggestions after which the request breaks its description where it did not before.

    `is_stated`: the API itself said what fits, so that the description only refutes what leaves a required member out.
    `before` gives what the request breaks as it is: whoever asks for several judges it once.
    """
    edits = [s for s in result.suggestions if "patch" in s]
    if not edits:
        return result
    before = before or (lambda: description.schema_violations(request, operation))
    is_only = len(edits) == len(result.suggestions) == 1
    refuted = [
        id(s)
        for s in edits
        if _breaks(s, request, operation, description, before, is_stated=is_stated, is_only=is_only)
    ]
    if not refuted:
        return result
    whole = [
        s["group"]["id"] for s in edits if id(s) in refuted and "group" in s and s["group"]["relation"] != "one_of"
    ]
    valid = [s for s in result.suggestions if id(s) not in refuted and not ("group" in s and s["group"]["id"] in whole)]
    return result.with_suggestions(valid) if valid else None


def _breaks(
    suggestion: Mapping[str, Json],
    request: Request,
    operation: str,
    description: Described,
    violations_before: Callable[[], Sequence[SchemaViolation]],
    *,
    is_stated: bool,
    is_only: bool,
) -> bool:
    walk()
    after = after_edit(suggestion, request)
    if after is None:
        return True
    match = description.operations.find(after.method, after.path)
    if match is None:
        return False  # what a description does not list it does not refute
    violations: Sequence[SchemaViolation] = description.schema_violations(after, match[0])
    if is_stated:
        violations = [violation for violation in violations if violation.keyword == "required"]
    if not violations:
        return False
    before: set[tuple[str, str]] = set()
    if match[0] == operation:
        broken = violations_before()
        before = {(violation.pointer, violation.keyword) for violation in broken}
        if len(broken) >= MOST:  # others come to light once one of them is mended: what nobody touched is not new
            violations = [violation for violation in violations if not _is_untouched(violation.pointer, request, after)]
    # A misspelt path may be the first of several mistakes: what is missing besides is asked for next. Where it is near
    # to one path only, so is what the description says of a single value: it may be wrong, and the server knows.
    first = not operation and (after.method == request.method or request.body is None)
    excused = {"required", *(_OF_ONE_VALUE if is_only and after.method == request.method else ())}
    asked = tuple(str(placeholder["pointer"]) for placeholder in suggestion.get("placeholders", ()))
    return any(
        (violation.pointer, violation.keyword) not in before
        and not any(f"{violation.pointer}/".startswith(f"{place}/") for place in asked)
        and not (first and violation.keyword in excused)
        for violation in violations
    )


_OF_ONE_VALUE: Final = frozenset({"type", "format", "pattern", "minLength", "maxLength", "minimum", "maximum"})


def _is_untouched(pointer: str, request: Request, after: Request) -> bool:
    """Whether what stands at a place is the same value as before."""
    here = value_at(after, pointer)
    return here is not MISSING and here is value_at(request, pointer)
