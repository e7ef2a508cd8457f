"""Whether suggestions are right: the API's description refutes them, and dry runs at the API itself prove them.

A dry run, which the API promises not to carry out, proves a repair only where it also refuses the request as it was
(some errors a dry run does not see), and where its answer holds what was sent: a server that accepts a request may drop
half of it. What is refuted is not sent.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import orjson

from corrigible.adapters.base import Described
from corrigible.rules.budget import walk
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.language.pack_model import DryRunText
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.lookup_headers import lookup_headers
from corrigible.rules.pointer import MISSING, value_at
from corrigible.rules.safety.stored import dropped_values, in_the_original
from corrigible.rules.schema_repair.schema_violation import MOST, SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.document import query_pairs
from corrigible.schema.edit import after_edit
from corrigible.schema.exchange import Json, Request

from .api_profile import RefusalCase, parse_errors
from .intent import losing

Suggestion = dict[str, Any]
_YAML = "yaml"
_MOST_ALTERNATIVES = 3
"""Alternatives that are tried until one keeps all of the request."""


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


class ErrorKey(NamedTuple):
    """What makes two errors the same one."""

    code: str
    pointer: str
    message: str


class _Trial(NamedTuple):
    """The suggestions that a reader would apply together, and the request after them."""

    suggestions: Sequence[Suggestion]
    after: Request


class _Result(NamedTuple):
    trial: _Trial
    answer: LookupAnswer
    lost_values: tuple[str, ...]
    """Values of the request that the answer does not hold; of an answer that shows no object, not known."""
    shows_stored: bool
    """Whether the answer shows what would be stored."""

    @property
    def accepted(self) -> bool:
        return 200 <= self.answer.status < 300

    @property
    def keeps_all(self) -> bool:
        return self.accepted and self.shows_stored and not self.lost_values


def dry_run(
    results: Sequence[RuleResult],
    errors: Sequence[Violation],
    case: RefusalCase,
    how: DryRunText,
) -> Generator[Lookup, LookupAnswer, list[RuleResult]]:
    """Try the request with all that is suggested for it, and mark or leave out suggestions by what comes back.

    `errors` are those of `results`, in its order. Of alternatives of which the first loses something, the next are
    tried, and one that keeps everything goes first.
    """
    request = case.request
    trials = _trials(results, request)
    if not trials or trials[0].after == request or not _is_triable(request, how):
        return list(results)
    if not all(_is_triable(trial.after, how) for trial in trials):
        return list(results)
    of_pack = case.pack.settings.lookup_headers
    untouched = yield _asked(request, how, of_pack)
    if untouched.status != case.exchange.status or not set(map(_key, errors)) <= _errors_of(untouched, case):
        return list(results)
    outcomes: list[_Result] = []
    for trial in trials:
        outcomes.append(_result(trial, (yield _asked(trial.after, how, of_pack)), request, how))
        if outcomes[-1].keeps_all:
            break
    best = next((one for one in outcomes if one.keeps_all), outcomes[0])
    if not best.accepted:
        repeated = _errors_of(best.answer, case) if best.answer.status >= 400 else set()
        return list(_without_refuted(results, errors, repeated, best.trial.suggestions))
    return [one.with_suggestions(_with_verification(one.suggestions, outcomes, best)) for one in results]


def _with_verification(
    suggestions: Sequence[Suggestion], outcomes: Sequence[_Result], best: _Result
) -> list[Suggestion]:
    """Mark what was tried and accepted: proved, or with what the API would drop. The best alternative goes first."""
    out: list[Suggestion] = []
    for suggestion in suggestions:
        result = next((r for r in outcomes if any(s is suggestion for s in r.trial.suggestions)), None)
        if result is not None and result.answer.status >= 400:
            continue
        now = suggestion if result is None or not result.accepted else _marked(suggestion, result)
        if result is best and result is not outcomes[0]:
            group = suggestion["group"]
            out.insert(next((at for at, one in enumerate(out) if one.get("group") == group), len(out)), now)
        else:
            out.append(now)
    return out


def _without_refuted(
    results: Sequence[RuleResult], errors: Sequence[Violation], repeated: set[ErrorKey], tried: Sequence[Suggestion]
) -> Iterator[RuleResult]:
    """Leave out what was tried for errors that came again."""
    for one, error in zip(results, errors, strict=True):
        remaining = tuple(s for s in one.suggestions if not any(s is other for other in tried))
        if _key(error) not in repeated or len(remaining) == len(one.suggestions):
            yield one
        elif remaining:
            yield one.with_suggestions(remaining)


def _marked(suggestion: Suggestion, result: _Result) -> Suggestion:
    if result.lost_values or not result.shows_stored:
        return losing({**suggestion, "verification": {"status": "unverified", "method": "dry_run"}}, result.lost_values)
    out = {**suggestion, "verification": {"status": "verified", "method": "dry_run"}}
    safety = suggestion["safety"]
    if not safety["changes_intent"] and not safety.get("requires_confirmation"):
        out["applicability"] = "MACHINE_APPLICABLE"
    return out


def _result(trial: _Trial, answer: LookupAnswer, request: Request, how: DryRunText) -> _Result:
    stored = _decoded(answer) if 200 <= answer.status < 300 else None
    shown = isinstance(stored, Mapping) and not (how.silent is not None and _holds(stored, how.silent))
    lost = dropped_values(trial.after, stored, unanswered=how.unanswered) if shown else ()
    return _Result(trial, answer, tuple(in_the_original(lost, trial.after, request)), shown)


def _holds(document: Mapping[str, Any], members: Mapping[str, str]) -> bool:
    return all(document.get(name) == value for name, value in members.items())


def _decoded(answer: LookupAnswer) -> Json:
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None


def _trials(results: Sequence[RuleResult], request: Request) -> list[_Trial]:
    """Return what to try: all that a reader applies of its own accord; then, of one group, its next alternatives."""
    first = [chosen for one in results for chosen in _triable(one)]
    trials = [_Trial(first, request)]
    if len(first) == 1 and _alternative(first[0]):
        group = first[0]["group"]["id"]
        members = [s for one in results for s in one.suggestions if _alternative(s) and s["group"]["id"] == group]
        others = [s for s in members if s is not first[0] and _is_whole(s)]
        trials += [_Trial([s], request) for s in others[: _MOST_ALTERNATIVES - 1]]
    return [trial for trial in map(_applied, trials) if trial is not None]


def _applied(trial: _Trial) -> _Trial | None:
    after: Request | None = trial.after
    for suggestion in trial.suggestions:
        after = after_edit(suggestion, after) if after is not None else None
    return None if after is None else trial._replace(after=after)


def _alternative(suggestion: Mapping[str, Any]) -> bool:
    return bool((suggestion.get("group") or {}).get("relation") == "one_of")


def _is_whole(suggestion: Mapping[str, Any]) -> bool:
    """Whether an edit is all that a suggestion asks for."""
    return "patch" in suggestion and "steps" not in suggestion and "placeholders" not in suggestion


def _triable(one: RuleResult) -> list[Suggestion]:
    """Return the suggestions that a reader would apply of its own accord."""
    chosen: dict[str | int, Suggestion] = {}
    for number, suggestion in enumerate(one.suggestions if one.type == "recovery_guidance" else ()):
        if _is_whole(suggestion):
            chosen.setdefault(suggestion["group"]["id"] if _alternative(suggestion) else number, suggestion)
    return list(chosen.values())


def _is_triable(request: Request, how: DryRunText) -> bool:
    carries = isinstance(request.body, (dict, list)) and not request.form
    return carries and request.method in how.methods and not any(name in request.query for name in how.query)


def _asked(request: Request, how: DryRunText, of_pack: Sequence[tuple[str, str | None]]) -> Lookup:
    query = urlencode([*query_pairs(request.query), *how.query.items()])
    media = request.headers.get("content-type", "").partition(";")[0].strip()
    if not media or (_YAML in media and "+" not in media):
        media = "application/json"  # the body goes out as JSON, which any `...+yaml` takes as well
    headers = lookup_headers(request, of_pack)
    return Lookup(f"{request.path}?{query}", request.method, orjson.dumps(request.body), media, headers)


def _errors_of(answer: LookupAnswer, case: RefusalCase) -> set[ErrorKey]:
    try:
        body = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return set()
    tried = replace(case.exchange, status=answer.status, headers={}, body=answer.body, caller="")
    return set(map(_key, parse_errors(case.match, tried, body)))


def _key(error: Violation) -> ErrorKey:
    return ErrorKey(error.code, error.pointer, error.message)
