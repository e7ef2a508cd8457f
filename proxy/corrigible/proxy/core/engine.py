"""The middle of it all: an exchange goes in, look-ups come out, a decision comes back.

Knows: exchanges, adapters, rules, decisions. Does not know: sockets, HTTP libraries, clocks, YAML, any API's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import orjson

from corrigible.rules.budget import Budget, spare, within
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.engine.lookup import Lookup, LookupAnswer
from corrigible.rules.errors import CorrigibleError
from corrigible.rules.language.expression import running
from corrigible.rules.language.functions import unix
from corrigible.rules.pack.load import Pack
from corrigible.rules.violation import Violation
from corrigible.schema.carrier import carried, seals
from corrigible.schema.error import ContractError
from corrigible.schema.exchange import Exchange, Json, Protocol, Request, protocol_of
from corrigible.schema.feedback import parse
from corrigible.schema.relayed import stripped
from corrigible.schema.writer import validate

from .api_profile import ApiProfile, Explanation, MatchedOperation, parse_errors
from .document_size import measured, readable
from .dry_run import dry_run
from .error_matcher import ErrorMatcher
from .feedback import combine, encode, mirror_retry_after
from .intent import declare_losses, unsaid_losses, with_losses
from .limits import Limits
from .loop_detector import Loops, Refusal
from .merge import merge_suggestions
from .relay_seal import Relay

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}")
"""A native code that is one: anything longer or with spaces in it is prose, and stays where the upstream put it."""

__all__ = ["Annotate", "ApiProfile", "Decision", "Engine", "Explanation", "Lookup", "LookupAnswer", "PassThrough"]


@dataclass(frozen=True, slots=True)
class PassThrough:
    """Nothing to add. Forward the upstream's bytes exactly as they came."""

    reason: str
    violations: tuple[Violation, ...] = ()
    fault: bool = False
    """Whether the reason is a mistake of ours."""
    operation: str = ""
    pack: Pack | None = None
    """Whose dialect the answer speaks, where it speaks one."""
    exchange: Exchange | None = None
    """What this is about: of an exchange that carried another one, the one in there."""
    body: Json = None
    placement: str = "member"


class Annotate(NamedTuple):
    """Add this; the upstream's own members stay as they are."""

    feedback: Mapping[str, Json]
    encoded: bytes
    """The feedback as compact JSON."""
    diagnoses: tuple[Mapping[str, str], ...]
    """`validation_errors` of verbose mode: what is wrong, never the fix."""
    pack: Pack
    rules: tuple[str, ...]
    live: bool
    """Whether look-ups with the caller's credentials went into it."""
    operation: str = ""
    body: Json = None
    """The native answer, parsed; of an exchange that carried another one, the answer in there."""
    placement: str = "member"
    """How the answer takes it in: as the adapter says, or `relayed` where the answer carried it already."""
    violations: tuple[Violation, ...] = ()
    code: str = ""
    """The pack's word for what is wrong, never the upstream's."""
    exchange: Exchange | None = None
    """What this is about: of an exchange that carried another one, the one in there."""
    trouble: str | None = None
    """A mistake of ours that did not change what is said."""
    seal: str = ""
    """What vouches for feedback that a front of ours behind the API server made."""
    otherwise: Decision | None = None
    """What is said instead where that seal was seen before."""


_SMALL = 1024
"""Bytes of an answer that is read as it is."""
_RESERVE = 2000
"""Steps for putting together what is said, where all the others are spent."""

_MADE_UP = b'{"message": "a refusal", "error": {"message": "a refusal"}, "kind": "Status", "status": "Failure"}'

_IN_CAUSES = b'"RecoveryFeedback"'
_MOST_RELAYED = 4
_LONGEST_RELAYED = 16 * 1024
"""A writer of ours keeps to 4 KiB."""

Decision = PassThrough | Annotate
Translation = Generator[Lookup, LookupAnswer, Decision]


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

        Without `relay` nobody behind the API is believed to be a front of ours.
        """
        self.profiles = tuple(profiles)
        self.relay = relay
        self.limits = limits or Limits()
        self.clock = clock
        self._presenting = tuple(one for one in self.profiles if one.adapter.present is not None)

    def warm_up(self) -> None:
        """Make now what would be made on first need: the first caller should not wait for it."""
        running(frozenset())
        for known in self.profiles:
            _ = known.described
        for method in ("GET", "POST"):
            made_up = Exchange(Request(method, "/", body={}), 400, {}, _MADE_UP, "", 0.0)
            translation = self.decide(made_up)
            try:
                next(translation)
                while True:
                    translation.send(LookupAnswer(0))
            except StopIteration:
                continue

    def identify(self, method: str, path: str) -> MatchedOperation | None:
        """Return the operation a request belongs to; the first API with an unnamed operation where none knows it.

        A gRPC method is its own operation: `/package.Service/Method` is `package.Service/Method`.
        """
        if protocol_of(method) is Protocol.GRPC:
            return MatchedOperation(self.profiles[0], method[1:], {}) if self.profiles else None
        for known in self.profiles:
            found = known.adapter.operations.find(method, path)
            if found is not None:
                return MatchedOperation(known, *found)
        return MatchedOperation(self.profiles[0], "", {}) if self.profiles else None

    def decide(self, exchange: Exchange, explanation: Explanation | None = None) -> Translation:
        """Decide about one exchange. Mistakes of ours end in `PassThrough`, never in an exception.

        What is computed is counted: a request that takes more than it is worth passes as well.
        """
        budget = Budget(self.limits.steps, self.limits.seconds, self.clock)
        return (yield from within(budget, self._decided(exchange, explanation, budget)))

    def _decided(self, exchange: Exchange, explanation: Explanation | None, budget: Budget) -> Translation:
        operation = ""
        try:
            found = self.identify(exchange.request.method, exchange.request.path)
            if found is None:
                return PassThrough("no pack is loaded")
            exchange, found = self._presented(exchange, found)
            operation = found.operation
            relayed = None if found.presented else self._relayed(exchange, found)
            if relayed is not None and relayed.seal:
                return relayed
            decision = yield from self._translate(exchange, found, explanation, budget)
            return decision if isinstance(decision, Annotate) or relayed is None else relayed
        except CorrigibleError as problem:
            if explanation is not None:
                explanation.lines.append(f"FAULT {problem}")
            return PassThrough(str(problem), fault=True, operation=operation)
        except Exception as problem:  # the law: an error of ours never reaches a client
            return PassThrough(f"{type(problem).__name__}: {problem}", fault=True, operation=operation)

    def _presented(self, exchange: Exchange, found: MatchedOperation) -> tuple[Exchange, MatchedOperation]:
        for known in self._presenting:
            inner = known.adapter.present(exchange) if known.adapter.present is not None else None
            if inner is not None:
                named = known.adapter.operations.find(inner.request.method, inner.request.path)
                return inner, MatchedOperation(known, *(named or ("", {})), presented=True)
        return exchange, found

    def _translate(
        self, exchange: Exchange, found: MatchedOperation, explanation: Explanation | None, budget: Budget
    ) -> Translation:
        try:
            body = orjson.loads(exchange.body)
        except orjson.JSONDecodeError:
            return PassThrough("the answer is no JSON", operation=found.operation)
        if isinstance(body, dict) and "recovery_feedback" in body:
            return PassThrough("the upstream speaks for itself", operation=found.operation)
        asked, answered = measured(exchange.request.body, self.limits), measured(body, self.limits)
        for whose, one in (("request", asked), ("answer", answered)):
            if one.is_over(self.limits):
                return PassThrough(
                    f"the {whose} holds too many values or is nested too deep", operation=found.operation
                )
        budget.allow(asked.values + len(exchange.request.query) + answered.values, self.limits.steps_for_values)
        read = body if len(exchange.body) <= _SMALL else readable(body, self.limits)
        found, violations = self._read(exchange, found, read)
        violations = violations[: self.limits.complaints]
        if not violations:
            return PassThrough("no known error format", operation=found.operation)
        considered = ErrorMatcher(exchange, found, read, violations, explanation)
        said: list[RuleResult] = []
        about: list[Violation] = []
        settled: set[int] = set()
        for number, violation in enumerate(violations[: self.limits.suggestions]):
            if number in settled:
                continue
            try:
                answers = yield from considered.answers(number)
            except CorrigibleError:
                if said and budget.left < 0 and spare(_RESERVE):
                    break  # what is said already is worth saying
                raise
            for spoken in answers:
                said.append(spoken)
                about.append(violation)
                settled |= spoken.settles
        diagnoses = tuple(_diagnosis(one, violation) for one, violation in zip(said, about, strict=True))
        pack = found.known.pack
        how = pack.text.dry_run
        said = merge_suggestions(said, exchange.request)
        if how is not None and not found.presented:
            said = yield from dry_run(
                said, about, exchange, how, lambda tried, body: parse_errors(found.known, tried, body)
            )
        claimed = said
        said = declare_losses(said, exchange.request, pack)
        if explanation is not None:
            explanation.unsaid += unsaid_losses(claimed, said)
        said = [one for one in said if one.suggestions]
        if not said:
            return PassThrough(
                "no rule speaks",
                tuple(violations),
                operation=found.operation,
                pack=pack,
                exchange=exchange,
                body=body,
                placement=found.known.adapter.placement,
            )
        feedback = combine(said)
        mirror_retry_after(feedback, retry_after(exchange))
        return Annotate(
            feedback=feedback,
            encoded=encode(feedback, exchange.request, pack.guidance.secrets, self.limits),
            diagnoses=diagnoses,
            pack=pack,
            rules=tuple([one.rule.id for one in said]),
            live=any([one.used_live_state for one in said]),
            operation=found.operation,
            body=body,
            placement=found.known.adapter.placement,
            violations=tuple(violations),
            code=said[0].rule.verbose_code,
            exchange=exchange,
        )

    def _relayed(self, exchange: Exchange, found: MatchedOperation) -> Annotate | None:
        """Lift feedback to its place that stands in a cause: all of it where it is ours, else what nobody need believe.

        Ours has a seal. What is not ours is said where nothing else is.
        """
        adapter = found.known.adapter
        if adapter.placement != "kubernetes" or _IN_CAUSES not in exchange.body:
            return None
        try:
            body = orjson.loads(exchange.body)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(body, dict) or "recovery_feedback" in body:
            return None
        stranger: Annotate | None = None
        for feedback, text in islice(
            (one for one in carried(body) if len(one.text) <= _LONGEST_RELAYED), _MOST_RELAYED
        ):
            anybodys = self._lifted(exchange, found, body, stripped(feedback))
            stranger = stranger or anybodys
            if self.relay is not None and adapter.calls is not None:
                now = exchange.started + exchange.elapsed
                seal = self.relay.vouched(text, seals(body), adapter.calls(exchange.request).calls, now)
                ours = self._lifted(exchange, found, body, feedback) if seal is not None else None
                if ours is not None and seal is not None:
                    return ours._replace(seal=seal, otherwise=anybodys or PassThrough("seen before"))
        return stranger

    def _lifted(self, exchange: Exchange, found: MatchedOperation, body: Json, feedback: Json) -> Annotate | None:
        """Return feedback at its place; None where it is not in order."""
        pack = found.known.pack
        try:
            validate(parse(feedback))
            feedback = with_losses(dict(feedback), exchange.request, pack)
            encoded = encode(feedback, exchange.request, pack.guidance.secrets, self.limits)
        except (ContractError, CorrigibleError):
            return None
        return Annotate(
            feedback, encoded, (), pack, (), live=False, operation=found.operation, body=body, placement="relayed"
        )

    def _read(
        self, exchange: Exchange, found: MatchedOperation, body: Json
    ) -> tuple[MatchedOperation, Sequence[Violation]]:
        violations = parse_errors(found.known, exchange, body)
        if violations or exchange.status < 400:
            return found, violations  # a success that only looks like another API's refusal stays a success
        for known in self.profiles:
            violations = () if known is found.known else parse_errors(known, exchange, body)
            if violations:
                named = known.adapter.operations.find(exchange.request.method, exchange.request.path)
                return MatchedOperation(known, *(named or ("", {}))), violations
        return found, ()


def again(loops: Loops, decision: Decision, limits: Limits) -> Decision:
    """Count a refusal, and return what is to be said where it came back. A mistake in here changes nothing."""
    exchange, pack = decision.exchange, decision.pack
    if exchange is None or pack is None:
        return decision
    try:
        said, code = (decision.feedback, decision.code) if isinstance(decision, Annotate) else (None, "")
        violations = decision.violations[: limits.suggestions]
        refusal = Refusal(
            exchange.caller, decision.operation, exchange.request, violations, exchange.started, code, exchange.id
        )
        feedback = loops.answered(refusal, said)
        if feedback is None:
            return decision
        encoded = encode(feedback, exchange.request, pack.guidance.secrets, limits)
    except Exception as problem:
        trouble = f"{type(problem).__name__}: {problem}"
        return decision._replace(trouble=trouble) if isinstance(decision, Annotate) else decision
    if isinstance(decision, Annotate):
        return decision._replace(feedback=feedback, encoded=encoded)
    return Annotate(
        feedback,
        encoded,
        ({"code": _REPEATED, "message": feedback["message"]},),
        pack,
        (),
        live=False,
        operation=decision.operation,
        body=decision.body,
        placement=decision.placement,
    )


_REPEATED = "REPEATED_REFUSAL"


def _diagnosis(spoken: RuleResult, violation: Violation) -> Mapping[str, str]:
    code = spoken.rule.verbose_code
    if violation.code and not spoken.rule.code and _WORD.fullmatch(violation.code):
        code = violation.code
    return {"code": code, "message": spoken.rule.diagnosis}


def retry_after(exchange: Exchange) -> float | None:
    """Read Retry-After: seconds, or a date relative to the answer's own Date (RFC 9110 section 10.2.3)."""
    value = exchange.headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdecimal():
        return int(value) if len(value) <= _MOST_DIGITS else None
    then, date = unix(value), exchange.headers.get("date")
    now = unix(date) if date else int(exchange.started)
    return max(0, then - now) if then is not None and now else None


_MOST_DIGITS = 9
