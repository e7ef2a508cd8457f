"""The way of one refusal: an exchange goes in, look-ups come out, a decision comes back.

match operation -> parse errors -> suggest (rules, else schema) -> merge and declare losses -> dry run
-> another operation by a mapping -> loop policy -> encode. Each stage is one function on one `RefusalCase`; decoding
and embedding are the codec's (`corrector`).

Knows: exchanges, adapters, rules, decisions. Does not know: sockets, HTTP libraries, clocks, YAML, any API's name.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace

from corrigible.adapters.base import DescribesDocuments, Undescribed
from corrigible.adapters.bodies.answer import Answer, read_answer
from corrigible.proxy.core.loop.attempt_group import Refusal
from corrigible.proxy.core.loop.detector import Loops
from corrigible.rules.budget import Budget, Exhausted, within
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.errors import CorrigibleError
from corrigible.rules.functions.builtin import unix
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.pattern import Pattern
from corrigible.rules.pointer import MISSING, value_at
from corrigible.rules.safety.spelling import known_words
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import reading_with
from corrigible.schema.document import pointer_problem
from corrigible.schema.exchange import Exchange, Json, Request

from .alternative import has_mappings, has_substitute, may_be_about_the_operation, with_alternative
from .api_profile import (
    ApiProfile,
    Explanation,
    MatchedOperation,
    RefusalCase,
    match_operation,
    match_with,
    parse_errors,
)
from .decision import Annotate, Decision, PassThrough
from .error_matcher import MatchedError, is_particular, suggest
from .feedback import combine, drop_stray_paths, encode, merge_suggestions, mirror_retry_after
from .intent import declare_losses, undeclared_losses
from .known_translations import KnownTranslations, Translation, WatchedExchange, key_of
from .limits import Limits, measured, readable
from .relayed_feedback import Relay, relayed_feedback
from .request_at_fault import ABOUT_THE_REQUEST, told_fault
from .verify import dry_run
from .vetoes import is_unasked

Decisions = Generator[Lookup, LookupAnswer, Decision]

_OTHER_MEMBERS = 400
"""Bytes of feedback besides its suggestions."""
_SMALL = 1024
"""Bytes of an answer that is read as it is."""
_SAMPLE = b'{%b, "error": {%b}, "kind": "Status", "errors": [{%b, "path": ["a"]}]}' % ((b'"message": "a refusal"',) * 3)
_CALL = {"query": "{ a: __typename }"}


class Engine:
    """Everything known about the APIs behind one upstream."""

    def __init__(
        self,
        profiles: Sequence[ApiProfile],
        limits: Limits | None = None,
        clock: Callable[[], float] | None = None,
        relay: Relay | None = None,
    ) -> None:
        """`clock` gives seconds of computing; without one only steps are counted.

        Without `relay` no feedback is believed to come from a proxy of ours behind the API.
        """
        self.profiles = tuple(profiles)
        self.relay = relay
        self.limits = limits or Limits()
        self.clock = clock
        self._known: KnownTranslations[Translation] = KnownTranslations()
        self._unwrapping = tuple(
            (profile, unwrap) for profile in self.profiles if (unwrap := profile.adapter.unwrap) is not None
        )

    @property
    def packs(self) -> str:
        """The names of the packs."""
        return ", ".join(profile.pack.name for profile in self.profiles)

    def warm_up(self) -> None:
        """Make now what would be made on first need: the first caller should not wait for it."""
        known_words()
        for profile in self.profiles:
            _ = profile.described
            if profile.maps is not None:
                profile.maps.find("GET", "/")
        for method in ("GET", "POST"):
            decisions = self.decide(Exchange(Request(method, "/", body=_CALL), 400, {}, _SAMPLE, "", 0.0))
            with contextlib.suppress(StopIteration):
                next(decisions)
                while True:
                    decisions.send(LookupAnswer(0))

    def decide(
        self, exchange: Exchange, explanation: Explanation | None = None, loops: Loops | None = None
    ) -> Decisions:
        """Decide about one exchange. Mistakes of ours end in `PassThrough`, never in an exception.

        Computing is counted; beyond the limits the answer passes. Without `loops` no refusal counts as a repeated one.
        """
        budget = Budget(self.limits.steps, self.limits.seconds, self.clock)
        return within(budget, self._guarded(exchange, explanation, loops, budget))

    def _guarded(
        self, exchange: Exchange, explanation: Explanation | None, loops: Loops | None, budget: Budget
    ) -> Decisions:
        operation = ""
        try:
            match = match_operation(self.profiles, exchange.request)
            if match is None:
                return PassThrough("no pack is loaded")
            exchange, match = self._unwrapped(exchange, match)
            operation = match.operation
            relayed = None if match.is_wrapped else relayed_feedback(exchange, match, self.relay, self.limits)
            if relayed is not None and relayed.is_final:
                return relayed.decision
            decision = yield from self._decide(exchange, match, explanation, loops, budget)
            return decision if isinstance(decision, Annotate) or relayed is None else relayed.decision
        except CorrigibleError as problem:
            if explanation is not None:
                explanation.lines.append(f"FAULT {problem}")
            return PassThrough(str(problem), operation=operation, fault=True)
        except Exception as problem:  # the law: an error of ours never reaches a client
            return PassThrough(f"{type(problem).__name__}: {problem}", operation=operation, fault=True)

    def _unwrapped(self, exchange: Exchange, match: MatchedOperation) -> tuple[Exchange, MatchedOperation]:
        """Return the exchange that another one carries, such as the call that a webhook is asked about."""
        for profile, unwrap in self._unwrapping:
            inner = unwrap(exchange)
            if inner is not None:
                return inner, match_with(profile, inner.request, is_wrapped=True)
        return exchange, match

    def _decide(
        self,
        exchange: Exchange,
        match: MatchedOperation,
        explanation: Explanation | None,
        loops: Loops | None,
        budget: Budget,
    ) -> Decisions:
        key = key_of(exchange, is_wrapped=match.is_wrapped) if explanation is None else None
        known = self._known.get(key)
        if known is not None:
            return self._answered(known.restored(exchange), loops)
        watched = WatchedExchange.of(exchange)
        translation = yield from reading_with(
            match.profile.pack.wordings, self._translate(watched, match, explanation, budget)
        )
        if isinstance(translation, PassThrough):
            return translation
        is_of_this_one = watched.was_looked_at or budget.pauses or budget.is_short
        if key is not None and translation.is_whole and not is_of_this_one:
            self._known.keep(key, translation.kept())
        return self._answered(translation.of(exchange), loops)

    def _translate(
        self,
        exchange: Exchange,
        match: MatchedOperation,
        explanation: Explanation | None,
        budget: Budget,
    ) -> Generator[Lookup, LookupAnswer, Translation | PassThrough]:
        limits = self.limits
        answer = read_answer(exchange.headers, exchange.body)
        if not answer.is_json and exchange.status < 400:
            return PassThrough("the answer is no JSON", operation=match.operation)
        if isinstance(answer.content, dict) and "recovery_feedback" in answer.content:
            return PassThrough("the upstream sent feedback itself", operation=match.operation)
        problem = _allow(budget, exchange.request, answer.content, limits)
        if problem:
            return PassThrough(problem, operation=match.operation)
        chosen: RefusalCase | None = None
        matched: list[MatchedError] = []
        fault: CorrigibleError | None = None
        for case in self._cases(exchange, match, answer, explanation):
            chosen = chosen or case
            try:
                suggested = yield from suggest(case, limits, explanation)
            except CorrigibleError as failure:
                fault = fault or failure
                if isinstance(failure, Exhausted):
                    break
                continue
            is_better = is_particular(suggested)
            if is_better or (suggested and not matched):
                chosen, matched = case, suggested
            if is_better:
                break
        if chosen is None:
            return PassThrough("no known error format", operation=match.operation)
        if not matched and fault is None:
            matched = yield from self._undescribed(chosen, explanation)
        if fault is not None and not matched:
            raise fault
        return (yield from self._feedback(chosen, matched, explanation, None if fault is None else str(fault)))

    def _undescribed(
        self, case: RefusalCase, explanation: Explanation | None
    ) -> Generator[Lookup, LookupAnswer, list[MatchedError]]:
        """Return what would be asked without a description: one that gives nothing is no reason to ask less."""
        profile = case.profile
        is_open = profile.adapter.tells_places_loosely and case.exchange.status < 500
        if not is_open or profile.described is None:
            return []
        match = MatchedOperation(replace(profile, description=Undescribed()), "", {}, case.match.is_wrapped)
        errors = parse_errors(match, case.exchange, case.text)[: self.limits.errors]
        suggested = yield from suggest(case._replace(match=match, errors=errors), self.limits, explanation)
        return [one for one in suggested if not any(map(is_unasked, one.result.suggestions))]

    def _cases(
        self, exchange: Exchange, match: MatchedOperation, answer: Answer, explanation: Explanation | None
    ) -> Iterator[RefusalCase]:
        """Yield the refusal as each profile reads it, the one of the operation first.

        A success that only looks like another API's refusal stays a success.
        """
        body = answer.content if answer.is_json else None
        text = answer.content if len(exchange.body) <= _SMALL else readable(answer.content, self.limits)
        profiles = [match.profile]
        if exchange.status >= 400:
            profiles += [profile for profile in self.profiles if profile is not match.profile]
        for profile in profiles:
            if profile is not match.profile:
                match = match_with(profile, exchange.request, is_wrapped=match.is_wrapped)
            errors = parse_errors(match, exchange, text)
            if not errors and profile is profiles[0] and _is_judged_unread(match, exchange):
                errors = (Violation(),)
            if explanation is not None:
                explanation.read(match, text, errors[: self.limits.errors], is_json=answer.is_json)
            read = [(exchange, errors)] if errors else []
            if profile.adapter.tells_places_loosely and (told := told_fault(exchange, errors)) is not None:
                read.insert(0, (told, parse_errors(match, told, text)))
            cases = [RefusalCase(one, match, body, text, found[: self.limits.errors]) for one, found in read]
            if explanation is not None:
                explanation.candidates |= {rule.id for case in cases for rule in case.candidates()}
            yield from cases

    def _feedback(
        self,
        case: RefusalCase,
        matched: Sequence[MatchedError],
        explanation: Explanation | None,
        error: str | None,
    ) -> Generator[Lookup, LookupAnswer, Translation]:
        """Turn the suggestions for each error into feedback."""
        exchange, request, pack = case.exchange, case.request, case.pack
        results = merge_suggestions([one.result for one in matched], request)
        if pack.text.dry_run is not None and not case.match.is_wrapped:
            results = yield from dry_run(results, [one.error for one in matched], case, pack.text.dry_run)
        declared = declare_losses(results, request, pack)
        if explanation is not None:
            explanation.undeclared_losses += undeclared_losses(results, declared)
        results = [result for result in declared if result.suggestions]
        if may_be_about_the_operation(exchange):
            results = yield from with_alternative(case, results, self.limits.feedback - _OTHER_MEMBERS)
        rules = [result.rule.id for result in results]
        live = any([result.used_live_state for result in results])
        feedback: dict[str, Json] | None = None
        if results:
            feedback = combine(results)
            mirror_retry_after(feedback, retry_after(exchange))
            drop_stray_paths(feedback, request)
        matched = matched or [MatchedError(result, case.errors[0]) for result in results]
        encoded: bytes | None = None
        if feedback is not None:
            with contextlib.suppress(CorrigibleError):  # raised where it is to be sent
                encoded = encode(feedback, request, pack.settings.secrets, self.limits)
        return Translation(
            case,
            feedback,
            encoded,
            tuple([_diagnosis(*one, exchange) for one in matched]),
            tuple(rules),
            results[0].rule.verbose_code if results else "",
            live,
            error,
        )

    def _answered(self, translation: Translation, loops: Loops | None) -> Decision:
        """Return the feedback to send: another one where the refusal came back."""
        case, feedback, encoded, diagnoses, rules, code, live, error = translation
        if loops is not None:
            repeated, problem = apply_loop_policy(loops, case, feedback, code, self.limits)
            error = error or problem
            if repeated is not None:
                diagnoses = ({"code": _REPEATED, "message": repeated["message"]},) if feedback is None else diagnoses
                feedback, encoded = repeated, None
        if feedback is None:
            return PassThrough(_reason_unmatched(case), case, case.match.operation)
        try:
            encoded = encoded or encode(feedback, case.request, case.pack.settings.secrets, self.limits)
        except CorrigibleError:
            if loops is not None:
                loops.uncount_refusal(case.exchange.id)
            raise
        return Annotate(case, feedback, encoded, diagnoses, rules, live, case.profile.adapter.placement, error)


def _reason_unmatched(case: RefusalCase) -> str:
    """Return why a refusal gets no feedback: what was asked, and gave nothing."""
    if case.profile.description is None and has_substitute(case):
        return "no rule matches; a map has another operation, which without --spec is not known to be served"
    if case.profile.described is None:
        return "no rule matches"
    if not case.match.operation and not isinstance(case.description, DescribesDocuments):
        return "no rule matches, and the description has no such operation"
    return "no rule matches, and the description gives no correction"


def _is_judged_unread(match: MatchedOperation, exchange: Exchange) -> bool:
    """Whether a refusal that no format reads goes on: a description or a mapping may say what follows all the same."""
    profile = match.profile
    is_fault = exchange.status == 500 and match.operation != ""
    if (exchange.status in ABOUT_THE_REQUEST or is_fault) and profile.described is not None:
        return True
    return exchange.status >= 400 and not match.is_wrapped and has_mappings(profile, exchange)


def _allow(budget: Budget, request: Request, body: Json, limits: Limits) -> str:
    """Give the budget steps for the values of an exchange. Return why it is too large, or nothing."""
    sent, answer = measured(request.body, limits), measured(body, limits)
    if sent.is_over(limits) or answer.is_over(limits):
        return f"the {'request' if sent.is_over(limits) else 'answer'} holds too many values or is nested too deep"
    budget.allow(sent.values + len(request.query) + answer.values, limits.steps_for_values)
    return ""


def apply_loop_policy(
    loops: Loops, case: RefusalCase, feedback: Mapping[str, Json] | None, code: str, limits: Limits
) -> tuple[dict[str, Json] | None, str | None]:
    """Count a refusal. Return the feedback for one that came back, and a mistake in counting, which changes nothing."""
    exchange, match = case.exchange, case.match
    errors = case.errors[: limits.suggestions]
    refusal = Refusal(exchange.caller, match.operation, exchange.request, errors, exchange.started, code, exchange.id)
    try:
        return loops.count_refusal(refusal, feedback), None
    except Exception as problem:
        return None, f"{type(problem).__name__}: {problem}"


_REPEATED = "REPEATED_REFUSAL"

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}")
"""A native code that is one: anything longer or with spaces in it is prose, and stays where the upstream put it."""


def _diagnosis(result: RuleResult, error: Violation, exchange: Exchange) -> Mapping[str, str]:
    code = result.rule.verbose_code
    if error.code and not result.rule.code and _WORD.fullmatch(error.code):
        code = error.code
    place = next(filter(lambda one: _is_place(one, exchange), _places(result, error)), "")
    return {"code": code, "message": result.rule.diagnosis, **({"pointer": place} if place else {})}


def _places(result: RuleResult, error: Violation) -> Iterator[str]:
    """Yield the places that an error may be about: no place to which something would be moved or added is a fault's."""
    yield error.pointer
    for suggestion in result.suggestions:
        yield from (str(one["pointer"]) for one in suggestion.get("placeholders", ()))
        for op in suggestion.get("patch", ()):
            if op["op"] in ("replace", "remove", "move"):
                yield str(op["from"] if op["op"] == "move" else op["path"])


def _is_place(pointer: str, exchange: Exchange) -> bool:
    """Whether a pointer leads to what was sent, or to what is missing and named by the answer itself."""
    if not pointer or len(pointer) > _LONGEST_PLACE or pointer_problem(pointer) is not None:
        return False
    if value_at(exchange.request, pointer) is not MISSING:
        return True
    above, _, name = pointer.rpartition("/")
    if _WORD.fullmatch(name) is None or (above and value_at(exchange.request, above) is MISSING):
        return False
    return Pattern(rf"\b{re.escape(name)}\{'B' if name[-1] in '.:/-' else 'b'}").spans(exchange.body) is not None


_LONGEST_PLACE = 200


def retry_after(exchange: Exchange) -> float | None:
    """Read Retry-After: seconds, or a date relative to the answer's own Date (RFC 9110 section 10.2.3)."""
    value = exchange.headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdecimal():
        return int(value) if len(value) <= _MOST_DIGITS else None
    then, date = unix(value), exchange.headers.get("date")
    now = unix(date) if date else int(exchange.started)
    seconds = max(0, then - now) if then is not None and now else None
    return seconds if seconds is None or seconds < 10**_MOST_DIGITS else None


_MOST_DIGITS = 9
