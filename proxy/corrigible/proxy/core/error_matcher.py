"""Suggestions for the errors of one refusal: each error goes to the rules first, then to the API's description.

Knows: rules, descriptions, which of them goes first. Does not know: how an answer is read or written.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from corrigible.adapters.base import DescribesDocuments, InnerCall
from corrigible.adapters.registry import adapter_for
from corrigible.rules.budget import Exhausted, remaining, use_reserve
from corrigible.rules.engine.evaluate import RuleEvaluation, RuleResult, why_not
from corrigible.rules.engine.guarded_patch import with_new_idempotency_key
from corrigible.rules.errors import CorrigibleError
from corrigible.rules.language.rule import Rule
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.pointer import segments
from corrigible.rules.safety.nearness import is_same
from corrigible.rules.schema_repair.body import ACCEPT, repair_accept, repair_body
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.json_schema import trim_schema
from corrigible.rules.schema_repair.names import NAMED
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.route import has_segment
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import (
    ANSWER,
    RepairSource,
    ask,
    confirmed,
    is_secret,
    repair_of,
    result_of,
    stated_by_answer,
)
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Json, Protocol

from .answers import answered, or_left_out, settled_by_somebody
from .api_profile import Explanation, RefusalCase, match_with, parse_errors
from .body_form import violation_of_accept, violation_of_form
from .evidence import is_within
from .limits import Limits
from .request_at_fault import BESIDE, OF_UNKNOWN, asked_places, is_told_alone, may_be_asked, may_be_judged, violation_at
from .several_members import moved_from, repair_several
from .state import NO_READS, ReadsState, suggest_by_state
from .verify import drop_invalid
from .vetoes import gated, is_unasked
from .violation_finder import ViolationFinder


def scope_of(case: RefusalCase) -> dict[str, Any]:
    """Return the names that expressions of rules see."""
    exchange, match, request = case.exchange, case.match, case.request
    facts: Json = None
    if match.operation and match.profile.adapter.facts is not None:
        facts = match.profile.adapter.facts(match.operation)
    elif match.operation:
        facts = case.description.facts(match.operation)
    query, headers = _plain(request.query), _plain(request.headers)
    return {
        "body": request.body if isinstance(request.body, dict) else {},
        "query": query,
        "headers": headers,
        "request": {
            "method": request.method,
            "path": request.path,
            "query": query,
            "headers": headers,
            "body": {} if request.body is None else request.body,
        },
        "response": {"status": exchange.status, "headers": _plain(exchange.headers), "body": case.text},
        "errors": [{**error.scope(), "number": number} for number, error in enumerate(case.errors)],
        "captures": {},
        "tables": _plain(case.pack.tables),
        "params": _plain(match.params),
        "operation": match.operation,
        "spec": facts or {},
    }


def _plain(values: Mapping[str, Json]) -> dict[str, Json]:
    """Return a mapping as expressions take maps: whoever hands in an exchange may have one of another type."""
    return values if type(values) is dict else dict(values)


Results = Generator[Lookup, LookupAnswer, RuleResult | None]

_DESCRIPTION = "the description"
"""The source of what no rule suggests."""
_LEAST_PARTICULAR = -15
"""Priority of general rules that each are about one status or one form of error."""
_RESERVE = 2000
"""Steps that are left for what comes after."""
_MOST_VIOLATIONS = 32
"""Schema violations of one exchange that are looked at: for more there is no room in an answer."""


class MatchedError(NamedTuple):
    """One error, and what a rule or the description suggests for it."""

    result: RuleResult
    error: Violation


def suggest(
    case: RefusalCase, limits: Limits, explanation: Explanation | None = None
) -> Generator[Lookup, LookupAnswer, list[MatchedError]]:
    """Return the suggestions for each error. Raises CorrigibleError where a rule fails or the budget is spent."""
    matcher = ErrorMatcher(case, explanation, limits)
    matched: list[MatchedError] = []
    settled: set[int] = set()
    # What is unknown may be what is missed beside it, under another name.
    listed = enumerate(case.errors[: limits.suggestions])
    for number, error in sorted(listed, key=lambda one: one[1].constraint in OF_UNKNOWN):
        if number in settled:
            continue
        try:
            results = yield from matcher.results(number)
        except CorrigibleError:
            if matched and remaining() < 0 and use_reserve(_RESERVE):
                break  # suggestions for the errors before are worth sending
            raise
        for result in map(matcher.decided, results, repeat(error)):
            matched.append(MatchedError(result, error))
            settled |= result.also_resolves
    matched = _last_elements_first(matched)
    try:
        results = gated(case, matched)
    except Exhausted:
        if not use_reserve(_RESERVE):
            raise
        results = [one.result.with_suggestions([*map(confirmed, one.result.suggestions)]) for one in matched]
    pairs = zip(results, (one.error for one in matched), strict=True)
    told = [MatchedError(matcher.or_told(*one), one[1]) for one in pairs]
    description = case.description
    return [_cautioned(one, case, description) for one in told] if isinstance(description, DescribesDocuments) else told


def _cautioned(matched: MatchedError, case: RefusalCase, description: DescribesDocuments) -> MatchedError:
    """Return what is suggested after a request of which a part may have been done: it is never sent again as it is."""
    result, error = matched
    made = tuple(description.cautioned(case.request, case.errors, case.body, result.suggestions))
    if made == result.suggestions:
        return matched
    retry = {**result.retry, "same_request": False} if result.retry else None
    return MatchedError(result._replace(suggestions=made, retry=retry), error)


def _last_elements_first(matched: list[MatchedError]) -> list[MatchedError]:
    """Return matched errors so that of those for which an element of a list is taken out the last element comes first.

    Suggestions are applied one after the other: the elements behind one that is gone have other numbers.
    """
    removed = {number: at for number, one in enumerate(matched) if (at := _removed_element(one.result)) is not None}
    ordered = sorted(removed, key=removed.__getitem__, reverse=True)
    out = list(matched)
    for number, other in zip(removed, ordered, strict=True):
        out[number] = matched[other]
    return out


def _together(matched: Sequence[MatchedError]) -> Sequence[RuleResult]:
    """Return the one edit or question of each of several errors of a call as one: all may change the same text."""
    made = [one for result, _ in matched for one in result.suggestions]
    listed = {name: [each for one in made for each in one.get(name, ())] for name in ("patch", "placeholders")}
    changed = [one for one in (*listed["patch"], *listed["placeholders"]) if one.get("op") != "test"]
    is_apart = len({one.get("path", one.get("pointer")) for one in changed}) == len(changed)
    is_plain = all("steps" not in one and one["action"] == "MODIFY_PARAMS" for one in made)
    if not (is_apart and is_plain and len(made) == len({id(error) for _, error in matched}) > 1):
        return [result for result, _ in matched]
    out = {**made[0], **{name: one for name, one in listed.items() if one}, "parameters": {}}
    out |= {"applicability": "HAS_PLACEHOLDERS"} if listed["placeholders"] else {}
    out["message"] = " ".join(dict.fromkeys(str(one.get("message", "")) for one in made))
    out["safety"] = {name: flag for one in made for name, flag in one["safety"].items() if flag or one is made[0]}
    return [matched[0].result.with_suggestions([out])]


def _removed_element(result: RuleResult) -> tuple[str, int] | None:
    ops = [op for one in result.suggestions for op in one.get("patch", ()) if op["op"] == "remove"]
    around, _, last = str(ops[0]["path"]).rpartition("/") if len(ops) == 1 else ("", "", "")
    return (around, int(last)) if last.isdecimal() else None


def is_particular(matched: Sequence[MatchedError]) -> bool:
    """Whether a rule about this very error matched: those of a priority below 0 are general."""
    return any([isinstance(result.rule, Rule) and result.rule.priority >= 0 for result, _ in matched])


class ErrorMatcher:
    """Matches the errors of one refusal, one after the other."""

    def __init__(self, case: RefusalCase, explanation: Explanation | None, limits: Limits) -> None:
        self._case, self._explanation, self._limits = case, explanation, limits
        is_described, is_of_any_api = case.profile.described is not None, case.profile.adapter.tells_places_loosely
        self._is_undescribed = is_of_any_api and not is_described
        self._is_judged = is_of_any_api or is_described
        """Without a description names, values and the answer's own words are enough for many repairs."""
        self._scope: dict[str, Any] | None = None
        self._repaired: set[tuple[str, str]] = set()
        """Places and keywords of the schema violations that were looked at."""
        self._settled: set[str] = set()
        """Places for which the description gave a suggestion."""
        self._moved: set[str] = set()
        """Places whose values were suggested to be sent under another name."""
        self._finder = ViolationFinder(case)

    def _names(self) -> dict[str, Any]:
        """Return the names that expressions of rules see, made where the first rule asks."""
        if self._scope is None:
            self._scope = scope_of(self._case)
        return self._scope

    def results(self, number: int) -> Generator[Lookup, LookupAnswer, list[RuleResult]]:
        """Return the results for one error, several where it names no place.

        Rules of a priority below 0 are a last resort: they come after the description.
        """
        result = yield from self._by_rule(number, last_resort=False)
        if result is not None:
            return [result]
        if self._is_forbidden():
            return (yield from self._of_forbidden(number))
        if (read_whole := self._by_form(number) or self._about_several(number)) is not None:
            return [read_whole]
        if isinstance(self._case.description, DescribesDocuments):
            return (yield from self._of_document(number, self._case.description))
        if self._is_undescribed:
            result = yield from self._by_rule(number, last_resort=True, least=_LEAST_PARTICULAR)
        if result is None and (results := list(self._by_description(number))):
            return results
        is_open = self._case.errors[number].pointer not in self._settled
        if result is None and is_open and self._is_undescribed:
            result = yield from self._by_rule(number, last_resort=True)  # no look-up knows more
        if result is None:
            result = yield from self._by_state(number)
        if result is None and is_open and not self._is_undescribed:
            result = yield from self._by_rule(number, last_resort=True)
        if result is None and is_open:
            result = self._about_state(number) or self._at_likeliest(number)
        return [] if result is None else [result]

    def _of_document(
        self, number: int, description: DescribesDocuments
    ) -> Generator[Lookup, LookupAnswer, list[RuleResult]]:
        """Return what mends the document of a request; where nothing is wrong with it, what its call is told."""
        mended = description.mended(self._case.request, self._case.errors, f"{number + 1}.g")
        if mended is not None:
            self._explain(f"the document of the call: {mended.code}")
            return [self._with_new_key(self._of_all(result_of(mended, _DESCRIPTION, is_weighed=True)))]
        inner = description.inner_call(self._case.exchange, self._case.errors[number])
        results = [] if inner is None else (yield from self._inside(inner))
        if not results and (result := (yield from self._by_rule(number, last_resort=True))) is not None:
            return [result]
        return results

    def _inside(self, inner: InnerCall) -> Generator[Lookup, LookupAnswer, list[RuleResult]]:
        """Return what is suggested about one of the calls of the request, read as any other answer; no look-ups."""
        plain = replace(adapter_for("call"), operations=inner.description.operations)
        profile = replace(self._case.profile, adapter=plain, description=inner.description)
        match = match_with(profile, inner.exchange.request, is_wrapped=True)
        errors = parse_errors(match, inner.exchange, inner.body)[: self._limits.errors]
        case = RefusalCase(inner.exchange, match, inner.body, inner.body, errors)
        results: list[RuleResult] = []
        for result in _together((yield from suggest(case, self._limits))):
            made = [one for one in map(inner.outward, result.suggestions) if one is not None]
            source = result.rule
            weighed = source._replace(is_weighed=True) if isinstance(source, RepairSource) else source
            if made:
                results.append(result._replace(suggestions=tuple(made), rule=weighed, also_resolves=frozenset()))
        return results

    def decided(self, result: RuleResult, error: Violation) -> RuleResult:
        """Return a result, or what is told instead where a person has decided what it asks about.

        A question for a value that may be left out says so.
        """
        if isinstance(result.rule, Rule) and result.rule.priority >= 0:
            return result
        told = settled_by_somebody(self._case, error, result)
        if told is not None:
            return result_of(told, ANSWER)
        is_of_any_api = self._case.profile.adapter.tells_places_loosely
        return or_left_out(self._case, error, result) if is_of_any_api else result

    def or_told(self, result: RuleResult, error: Violation) -> RuleResult:
        """Return a question that is about the place that the answer tells of, too.

        What only the form of a request and its description speak for never hides what the answer itself names.
        """
        asked = (each for one in result.suggestions for each in (*one.get("placeholders", ()), *one.get("patch", ())))
        places = {str(one[name]) for one in asked for name in ("pointer", "path", "from") if name in one}
        is_authored = isinstance(result.rule, Rule) and result.rule.priority >= 0
        if is_authored or not places or any(map(is_unasked, result.suggestions)):
            return result
        told = [one for one in error.likely if one.is_told and one.pointer != "/method"]
        others = [one for one in told if not any(is_within(one.pointer, place) for place in places)]
        least = BESIDE if len(others) < len(told) else 0.0
        for one in others:
            is_inner = one.pointer.count("/") > 1 and not one.is_absent
            if one.probability >= least and (is_inner or not _CERTAIN.isdisjoint(one.why)):
                violation = violation_at(self._case, one)
                if one.is_absent and self._is_judged and not violation.schema:
                    continue  # the name of a oneof, or of what a description does not have
                question = ask(violation, self._case.request, _OR_TOLD)
                added = [each for each in question.suggestions if "placeholders" in each]
                return result.with_suggestions([*result.suggestions, *added])
        return result

    def _is_forbidden(self) -> bool:
        case = self._case
        is_http = case.request.protocol is Protocol.HTTP and case.profile.adapter.tells_places_loosely
        return is_http and case.exchange.status == 403

    def _of_forbidden(self, number: int) -> Generator[Lookup, LookupAnswer, list[RuleResult]]:
        """Return what is told of a 403: a person has to decide, whatever value the text names."""
        if (told := self._about_state(number)) is not None:
            return [told]
        error = self._case.errors[number]._replace(pointer="")
        result = yield from self._by_rule(number, last_resort=True, error=error)
        return [] if result is None else [result]

    def _by_rule(
        self, number: int, *, last_resort: bool, error: Violation | None = None, least: int | None = None
    ) -> Results:
        case, explanation = self._case, self._explanation
        suspected, error = error, error or case.errors[number]
        match, status, settings = case.match, case.exchange.status, case.pack.settings
        candidates = match.profile.index.candidates(match.operation, status, error)
        if explanation is not None and not last_resort:
            explanation.lines += _not_candidates(case, error, candidates)
        for rule in candidates:
            if (rule.priority < 0) is not last_resort or (least is not None and rule.priority < least):
                continue
            if match.is_wrapped and any(not question.optional for question in rule.lookups):
                continue
            notes: list[str] | None = None if explanation is None else []
            members = self._names()["errors"][number] if suspected is None else {**suspected.scope(), "number": number}
            scope = {**self._names(), "error": members}
            if "exchange" in rule.uses or settings.idempotency_header in case.request.headers:
                # Who looks at what tells it from others that are the same is answered for this one alone.
                one = case.exchange
                scope["exchange"] = {"id": one.id, "started": one.started, "elapsed": one.elapsed}
            results = RuleEvaluation(rule, case.request, scope, settings, f"{number + 1}.", notes).run()
            result = yield from (_without_lookups(results) if match.is_wrapped else results)
            verdict = "matched" if result is not None else "no match"
            if result is not None and self._is_judged:
                result = self._valid(result)
                verdict = "dropped: violates the description" if result is None else verdict
            if explanation is not None and notes is not None:
                explanation.lines.append(f"{rule.id}: {verdict}{': ' if notes else ''}{'; '.join(notes)}")
                explanation.branches |= {(rule.id, one) for one in (result.branches if result is not None else ())}
            if result is not None:
                return result
        return None

    def _by_description(self, number: int) -> Iterator[RuleResult]:
        """Yield the repairs of what an error may be about, by the description or by the answer itself."""
        error, finder = self._case.errors[number], self._finder
        if not self._is_judged or not may_be_judged(error, self._case.exchange.status, self._case.request):
            return
        for order, violation in enumerate(finder.candidates(error)):
            place = violation.pointer, violation.keyword
            if place in self._repaired or (violation.keyword in OF_UNKNOWN and violation.pointer in self._moved):
                continue
            if len(self._repaired) >= _MOST_VIOLATIONS or remaining() < _RESERVE + finder.validating:
                return
            self._repaired.add(place)
            violation = self._with_name_of_path(violation, error)
            try:
                before = remaining()
                is_there = violation.pointer in (error.pointer or "/path", f"{error.pointer}/0")
                is_stated = is_there and any(one in violation.schema for one in error.stated)
                result = self._repair(
                    violation,
                    f"{number + 1}.s{order + 1}.",
                    is_stated=is_stated,
                    is_described=not is_stated or self._is_described(violation, error),
                )
            except Exhausted:
                if self._settled and use_reserve(_RESERVE):
                    return  # suggestions for the places before are worth sending
                raise
            finder.validating = max(finder.validating, before - remaining())
            if result is not None:
                self._settled.add(violation.pointer)
                self._moved |= moved_from(result)
                self._settled |= self._moved
                value = finder.confidence(error, violation)
                yield result if value is None else _with_confidence(result, value)

    def _with_name_of_path(self, violation: SchemaViolation, error: Violation) -> SchemaViolation:
        """Return what the server misses with the value that it has to have, where the path has it under that name."""
        request, place = self._case.request, segments(violation.pointer)
        is_missed = violation.keyword == "required" and error.constraint == "required"
        if not is_missed or request.method not in ("PUT", "PATCH") or place[:1] != ["body"] or len(place) != 2:
            return violation
        named = [value for name, value in self._case.match.params.items() if is_same(name, place[1])]
        if len(named) != 1 or not named[0] or is_secret(violation.pointer, named[0]):
            return violation
        if first_violation(named[0], violation.schema) is not None:
            return violation
        schema = {**violation.schema, NAMED: named[0]}
        if request.method == "PUT" and _ends_with(request.path, named[0]):
            schema["const"] = named[0]  # the body is what the path names; a part of it, or a change, may have another
        return violation._replace(schema=schema)

    def _by_form(self, number: int) -> RuleResult | None:
        """Return the repair of a body that was not read, or of the `Accept` of an answer that there is not.

        That settles whatever else the answer says.
        """
        case, group = self._case, f"{number + 1}.f"
        violation = violation_of_accept(case)
        if violation is not None:
            repaired = repair_accept(violation, case.request, group)
        else:
            violation = violation_of_form(case, case.errors[number])
            if violation is None:
                return None
            repaired = repair_body(violation, case.request, group)
        about = "answer" if violation.pointer == ACCEPT else "body"
        self._explain(f"the form of the {about}: {violation.keyword} at {violation.pointer}: repaired")
        return self._with_new_key(self._of_all(result_of(repaired, _DESCRIPTION)))

    def _of_all(self, result: RuleResult) -> RuleResult:
        """Return a result that settles whatever else the answer says."""
        return result._replace(also_resolves=frozenset(range(len(self._case.errors))))

    def _explain(self, line: str) -> None:
        if self._explanation is not None:
            self._explanation.lines.append(line)

    def _about_several(self, number: int) -> RuleResult | None:
        """Return what follows from an error about several members: of each alone the description knows no fault."""
        repaired = repair_several(self._case, self._case.errors[number], f"{number + 1}.m")
        if repaired is None:
            return None
        self._explain(f"several members: {repaired.code}")
        # Which names it knows the server has said. Whether it takes their values it says next, if it does not.
        valid = self._valid(result_of(repaired, ANSWER), is_stated=True)
        return None if valid is None else self._with_new_key(valid)

    def _about_state(self, number: int) -> RuleResult | None:
        """Return what is told where an error is about no value of the request, and so are the others."""
        error = self._case.errors[number]
        told = None if self._settled else answered(self._case, error)
        if told is None:
            return None
        self._explain(f"the error is about no value of the request: {told.code}")
        return self._of_all(result_of(told, ANSWER))

    def _at_likeliest(self, number: int) -> RuleResult | None:
        """Ask at the places that an error is likely about, where nothing else is known."""
        case, error = self._case, self._case.errors[number]
        is_told = is_told_alone(error, case.exchange.status)
        is_placed = any(one.pointer for one in case.errors if not (is_told and one is error))
        if is_placed or self._settled or not may_be_asked(case, error):
            return None
        asked = asked_places(error)
        violations = [violation_at(case, one) for one in asked]
        if not violations:
            return None
        first, is_one = violations[0], len(violations) == 1
        # What a fault of the server is about is a guess, which leads to no edit.
        if is_one and (case.exchange.status < 500 or case.request.protocol is not Protocol.HTTP):
            repaired = repair(first, case.request, f"{number + 1}.n")
        else:
            message = "The server does not say which of these it refuses. It is likely one of them."
            message = "The server does not say what it refuses. It is likely this value." if is_one else message
            question = ask(
                first, case.request, message, places=[(one.pointer, trim_schema(one.schema)) for one in violations]
            )
            repaired = repair_of(question, "The server refuses one of these.", "VALUE_REFUSED")
        if repaired is None:
            return None
        if read(error.message).of(Kind.EXISTS):
            for one in repaired.suggestions:
                one["safety"]["changes_intent"] = True
        return _with_confidence(result_of(repaired, _DESCRIPTION), sum(one.confidence for one in asked))

    def _by_state(self, number: int) -> Results:
        """Look up what the description lets us read, where the description was given to the proxy."""
        description = self._case.profile.description
        if not isinstance(description, ReadsState) and not self._is_undescribed:
            return None
        reads = description.related_reads if isinstance(description, ReadsState) else NO_READS
        result = yield from suggest_by_state(self._case, self._case.errors[number], reads, f"{number + 1}.l")
        return None if result is None else self._valid(result)

    def _is_described(self, violation: SchemaViolation, error: Violation) -> bool:
        """Whether the description itself says all that the answer states about a place."""
        return any(
            one.pointer == violation.pointer
            and one.keyword == violation.keyword
            and all(name in one.schema and one.schema[name] == value for name, value in error.stated.items())
            for one in self._finder.violations_at(violation.pointer)
        )

    def _repair(
        self, violation: SchemaViolation, group: str, *, is_stated: bool, is_described: bool = True
    ) -> RuleResult | None:
        """Return the repair of a schema violation, without suggestions that violate the description themselves."""
        repaired, source = repair(violation, self._case.request, group), _DESCRIPTION if is_described else ANSWER
        verdict = "repaired" if repaired is not None else "no repair"
        self._explain(f"{source}: {violation.keyword} at {violation.pointer}: {verdict}")
        if repaired is None:
            return None
        if any(_edits_file(one, self._case.request.files) for one in repaired.suggestions):
            if violation.keyword in OF_UNKNOWN:
                return None  # the member that lacks the file is asked for
            message = "Send the file as the operation expects it, under the name that the operation has for it."
            repaired = repaired._replace(
                suggestions=tuple(ask(violation, self._case.request, message).suggestions), type="recovery_guidance"
            )
        if not is_described:
            repaired = stated_by_answer(repaired)
        valid = self._valid(result_of(repaired, source), is_stated=is_stated)
        return None if valid is None else self._with_new_key(valid)

    def _with_new_key(self, result: RuleResult) -> RuleResult:
        """Give edits a fresh idempotency key, where the request has one: another request must not be taken for it."""
        header = self._case.pack.settings.idempotency_header
        request = self._case.request
        if not header or header not in request.headers:
            return result
        suggestions = tuple(
            {**s, "patch": with_new_idempotency_key(s["patch"], request, header, self._case.exchange.id)}
            if "patch" in s
            else s
            for s in result.suggestions
        )
        return result._replace(suggestions=suggestions, retry={"same_request": False, "idempotency_key": "new"})

    def _valid(self, result: RuleResult, *, is_stated: bool = False) -> RuleResult | None:
        case = self._case
        if not self._is_judged:
            return result
        operation = case.match.operation
        return drop_invalid(
            result, case.request, operation, case.description, self._finder.violations_at, is_stated=is_stated
        )


_OR_TOLD: Final = "Or give another value for this: the server's answer has its name or its value."
_CERTAIN: Final = frozenset({"told, absent", "told whole", "value in quotes", "is the thing that is absent, sent"})
"""Evidence enough for what was not sent, and for the path."""


def _ends_with(path: str, value: str) -> bool:
    """Whether the last segment of a path, and no other, is a value."""
    last = unquote(path.rstrip("/").rpartition("/")[2])
    return has_segment(path, value) and value in (last, last.rpartition(".")[0])


def _with_confidence(result: RuleResult, value: float) -> RuleResult:
    """Say how often suggestions at such places were right on recorded servers."""
    confidence: dict[str, Json] = {"basis": "corpus", "value": round(value, 2)}
    return result.with_suggestions([{**one, "confidence": confidence} for one in result.suggestions])


def _edits_file(suggestion: Mapping[str, Any], files: frozenset[str]) -> bool:
    """Whether an edit touches a file of a multipart form, of which only the name is known."""
    places = [str(op[name]) for op in suggestion.get("patch", ()) for name in ("path", "from") if name in op]
    return bool(files) and any(place == "/body" or not files.isdisjoint(segments(place)[1:2]) for place in places)


def _without_lookups(results: Results) -> Results:
    """Evaluate a rule where there is nobody to ask: every look-up gives nothing."""
    yield from ()
    try:
        next(results)
        while True:
            results.send(LookupAnswer(0))
    except StopIteration as done:
        result: RuleResult | None = done.value
        return result


def _not_candidates(case: RefusalCase, error: Violation, candidates: Sequence[Rule]) -> list[str]:
    ids = {rule.id for rule in candidates}
    operation, status = case.match.operation, case.exchange.status
    return [
        f"{rule.id}: not asked: {why_not(rule, operation, status, error)}"
        for rule in case.profile.index.rules
        if rule.id not in ids
    ]
