"""What a suggestion is worth before anybody acts on it: held against the description, and tried in a dry run.

A refuted suggestion is not sent. A dry run proves a repair only where it also refuses the request as it was: some
complaints a dry run does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pydantic import ValidationError

from corrigible.adapters.base import Described
from corrigible.rules.budget import walk
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.pointer import MISSING, resolve
from corrigible.rules.schema_repair.schema_violation import MOST, SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.edit import NotApplicable, after_suggestion
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import Suggestion

Suggestions = Sequence[Mapping[str, Json]]
Read = Callable[[Exchange, Json], Sequence[Violation]]
_YAML = "yaml"


def drop_invalid(
    spoken: RuleResult,
    request: Request,
    operation: str,
    description: Described,
    before: Callable[[], Sequence[SchemaViolation]] | None = None,
) -> RuleResult | None:
    """Leave out the suggestions after which the request breaks its description where it did not before.

    `before` gives what the request breaks as it is: whoever asks for several judges it once.
    """
    edits = [s for s in spoken.suggestions if "patch" in s]
    if not edits:
        return spoken
    before = before or (lambda: description.schema_violations(request, operation))
    refuted = [id(s) for s in edits if _breaks(s, request, operation, description, before)]
    if not refuted:
        return spoken
    whole = [
        s["group"]["id"] for s in edits if id(s) in refuted and "group" in s and s["group"]["relation"] != "one_of"
    ]
    kept = [s for s in spoken.suggestions if id(s) not in refuted and not ("group" in s and s["group"]["id"] in whole)]
    return spoken._replace(suggestions=tuple(kept)) if kept else None


def _breaks(
    suggestion: Mapping[str, Json],
    request: Request,
    operation: str,
    description: Described,
    judged: Callable[[], Sequence[SchemaViolation]],
) -> bool:
    walk()
    after = after_edit(suggestion, request)
    if after is None:
        return True
    named = description.operations.find(after.method, after.path)
    if named is None:
        return False  # what a description does not list it does not refute
    broken: Sequence[SchemaViolation] = description.schema_violations(after, named[0])
    if not broken:
        return False
    before: set[tuple[str, str]] = set()
    if named[0] == operation:
        told = judged()
        before = {(breach.pointer, breach.keyword) for breach in told}
        if len(told) >= MOST:  # others come to light once one of them is mended: what nobody touched is not new
            broken = [breach for breach in broken if not _is_untouched(breach.pointer, request, after)]
    # A misspelt path may be the first of several mistakes: what is missing besides is asked for next.
    first = not operation and after.method == request.method
    asked = {str(placeholder["pointer"]) for placeholder in suggestion.get("placeholders", ())}
    return any(
        (breach.pointer, breach.keyword) not in before
        and breach.pointer not in asked
        and not (first and breach.keyword == "required")
        for breach in broken
    )


def _is_untouched(pointer: str, request: Request, after: Request) -> bool:
    """Whether what stands at a place is the same value as before."""
    here = resolve(after.document(), pointer)
    return here is not MISSING and here is resolve(request.document(), pointer)


def after_edit(suggestion: Mapping[str, Json], request: Request) -> Request | None:
    """Return the request as a suggestion leaves it, None where it does not fit."""
    plain = _plainly_after(suggestion["patch"], request) if suggestion.get("patch") else None
    if plain is not None:
        return plain
    try:
        return after_suggestion(Suggestion.model_validate(suggestion), request)
    except (NotApplicable, ValidationError):
        return None


def _plainly_after(patch: Sequence[Mapping[str, Json]], request: Request) -> Request | None:
    """Return the request after edits of members of its body and of headers; None where the patch has to be walked.

    Most patches are like that, and walking one costs more than all the rest of what is done to an exchange. Whatever is
    not as plain (a test that only holds by its text, a member that is not there) is left to the walk to judge.
    """
    if not isinstance(request.body, dict):
        return None
    body, headers = dict(request.body), dict(request.headers)
    document: dict[str, Json] = {"body": body, "headers": headers}
    for op in patch:
        verb, place = op["op"], op["path"]
        if verb == "test":
            here = resolve(document, place)
            if type(here) is not type(op["value"]) or here != op["value"]:
                return None
            continue
        _, where, *rest = place.split("/")
        if where not in document or len(rest) != 1 or "~" in rest[0]:
            return None
        name, members = rest[0], document[where]
        if where == "headers" and not (verb == "replace" and isinstance(op["value"], str)):
            return None
        if verb != "add" and name not in members:
            return None
        if verb in ("add", "replace"):
            members[name] = op["value"]
        elif verb == "remove":
            del members[name]
        else:
            return None
    return replace(request, body=body, headers=headers)
