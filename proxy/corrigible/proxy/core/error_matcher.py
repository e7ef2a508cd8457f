"""One refusal under consideration: each complaint is put to the rules first, then to the description.

Knows: rules, descriptions, who goes first. Does not know: how an answer is read or written.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from corrigible.adapters.base import Described
from corrigible.rules.budget import Exhausted, remaining, spare
from corrigible.rules.engine.evaluate import RuleResult, evaluate
from corrigible.rules.engine.guarded_patch import with_new_idempotency_key
from corrigible.rules.engine.index import why_not
from corrigible.rules.engine.lookup import Lookup, LookupAnswer
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Protocol

from .api_profile import Explanation, MatchedOperation
from .verify import drop_invalid


class ErrorMatcher:
    """One refusal under consideration: each complaint is put to the rules first, then to the description."""

    def __init__(
        self,
        exchange: Exchange,
        found: MatchedOperation,
        body: Json,
        violations: Sequence[Violation],
        explanation: Explanation | None,
    ) -> None:
        self.exchange, self.found, self.explanation = exchange, found, explanation
        self.violations = violations
        self.description = found.known.described
        self.scope = self._scope(body)
        self._answered: set[tuple[str, str]] = set()
        """Places and keywords of the description that were spoken about."""
        self._settled: set[str] = set()
        """Places that the description has said what to do about."""
        self._broken: dict[str, tuple[SchemaViolation, ...]] = {}
        """What the request breaks, by the place that was asked about: it is judged once."""
        self._judging = 0
        """Steps that judging it once has taken."""

    def _scope(self, body: Json) -> dict[str, Any]:
        exchange, found = self.exchange, self.found
        request = exchange.request
        facts: Json = None
        if found.operation and found.known.adapter.facts is not None:
            facts = found.known.adapter.facts(found.operation)
        elif found.operation and self.description is not None:
            facts = self.description.facts(found.operation)
        return {
            "body": request.body if isinstance(request.body, Mapping) else {},
            "query": request.query,
            "headers": request.headers,
            "request": {
                "method": request.method,
                "path": request.path,
                "query": request.query,
                "headers": request.headers,
                "body": {} if request.body is None else request.body,
            },
            "response": {"status": exchange.status, "headers": exchange.headers, "body": body},
            "errors": [{**v.scope(), "number": number} for number, v in enumerate(self.violations)],
            "captures": {},
            "tables": found.known.pack.tables,
            "params": found.params,
            "operation": found.operation,
            "exchange": {"id": exchange.id, "started": exchange.started, "elapsed": exchange.elapsed},
            "spec": facts or {},
        }

    def answers(self, number: int) -> Generator[Lookup, LookupAnswer, list[RuleResult]]:
        """Return what is known about one complaint, several things where it names no place.

        Rules of a priority below 0 are for what nobody else can say: they are asked after the description.
        """
        spoken = yield from self._by_rule(number, last=False)
        if spoken is None and (described := list(self._by_description(number))):
            return described
        if spoken is None and self.violations[number].pointer not in self._settled:
            spoken = yield from self._by_rule(number, last=True)
        return [spoken] if spoken is not None else []

    def _by_rule(self, number: int, *, last: bool) -> Generator[Lookup, LookupAnswer, RuleResult | None]:
        found, violation = self.found, self.violations[number]
        candidates = found.known.index.candidates(found.operation, self.exchange.status, violation)
        if self.explanation is not None and not last:
            self.explanation.lines += _not_asked(found, self.exchange.status, violation, candidates)
        for rule in candidates:
            if (rule.priority < 0) is not last:
                continue
            if found.presented and any(not question.optional for question in rule.questions):
                continue
            notes: list[str] | None = None if self.explanation is None else []
            mine = {**self.scope, "error": self.scope["errors"][number]}
            speech = evaluate(rule, self.exchange.request, mine, found.known.pack.guidance, f"{number + 1}.", notes)
            spoken = yield from (_unanswered(speech) if found.presented else speech)
            verdict = "speaks" if spoken is not None else "silent"
            if spoken is not None and self.description is not None:
                spoken = self._unrefuted(spoken)
                verdict = "refuted by the description" if spoken is None else verdict
            if self.explanation is not None and notes is not None:
                self.explanation.lines.append(f"{rule.id}: {verdict}{': ' if notes else ''}{'; '.join(notes)}")
            if spoken is not None:
                return spoken
        return None

    def _by_description(self, number: int) -> Iterator[RuleResult]:
        if self.description is None or self.exchange.status not in _ABOUT_THE_REQUEST:
            return
        for order, breach in enumerate(self._described(self.description, self.violations[number].pointer)):
            if (breach.pointer, breach.keyword) in self._answered:
                continue
            if len(self._answered) >= _MOST_ANSWERED or remaining() < _RESERVE + self._judging:
                return
            self._answered.add((breach.pointer, breach.keyword))
            try:
                held = self._repaired(breach, f"{number + 1}.s{order + 1}.")
            except Exhausted:
                if self._settled and spare(_RESERVE):
                    return  # what is said already is worth saying
                raise
            if held is not None:
                self._settled.add(breach.pointer)
                yield held

    def _repaired(self, breach: SchemaViolation, group: str) -> RuleResult | None:
        """Return what is to be done about a breach, as far as the description does not speak against it."""
        repaired = repair(breach, self.exchange.request, group)
        if self.explanation is not None:
            verdict = "speaks" if repaired is not None else "silent"
            self.explanation.lines.append(f"the description: {breach.keyword} at {breach.pointer}: {verdict}")
        if repaired is None:
            return None
        speaker = _Description(diagnosis=repaired.diagnosis, code=repaired.code)
        said = repaired.suggestions
        spoken = RuleResult(speaker, said, repaired.type, repaired.recovery, None, used_live_state=False)
        held = self._unrefuted(spoken)
        return None if held is None else self._rekeyed(held)

    def _rekeyed(self, spoken: RuleResult) -> RuleResult:
        """Give edits a fresh idempotency key, where the request has one: another request must not be taken for it."""
        header = self.found.known.pack.guidance.idempotency_header
        request = self.exchange.request
        if not header or header not in request.headers:
            return spoken
        suggestions = tuple(
            {**s, "patch": with_new_idempotency_key(s["patch"], request, header, self.exchange.id)}
            if "patch" in s
            else s
            for s in spoken.suggestions
        )
        return spoken._replace(suggestions=suggestions, retry={"same_request": False, "idempotency_key": "new"})

    def _described(self, description: Described, pointer: str) -> Sequence[SchemaViolation]:
        request, operation = self.exchange.request, self.found.operation
        if self.exchange.status in (404, 405, 501):
            # A gRPC method is its own operation, whether or not it is there.
            named = operation and request.protocol is Protocol.HTTP
            if named:  # or taken for another one, whose parameters it does not fit
                return [b for b in self._breaches(description) if b.keyword == "path"]
            wrong = description.nearest_operation(request.method, request.path)
            return (wrong,) if wrong is not None else ()
        if not operation:
            return ()
        there = self._breaches(description, pointer)
        if there or not pointer:
            return there
        return [b for b in self._breaches(description) if pointer.startswith(f"{b.pointer}/")]

    def _breaches(self, description: Described, pointer: str = "") -> tuple[SchemaViolation, ...]:
        """Return what the request as it was breaks, at a place or anywhere."""
        if pointer not in self._broken:
            before = remaining()
            self._broken[pointer] = tuple(
                description.schema_violations(self.exchange.request, self.found.operation, pointer)
            )
            self._judging = max(self._judging, before - remaining())
        return self._broken[pointer]

    def _unrefuted(self, spoken: RuleResult) -> RuleResult | None:
        description = self.description
        if description is None:
            return spoken
        return drop_invalid(
            spoken, self.exchange.request, self.found.operation, description, lambda: self._breaches(description)
        )


_MOST_ANSWERED = 32
"""Breaches of one exchange that are looked at: what is found beyond them has no room in an answer."""
_RESERVE = 2000
"""Steps that are left for what comes after."""


_ABOUT_THE_REQUEST = frozenset({400, 404, 405, 422, 501})
"""Statuses (RFC 9110, RFC 4918) that may mean that the request is not what the description says."""


class _Description(NamedTuple):
    """The API's own description as the one who says something."""

    diagnosis: str
    code: str
    id: str = "the description"

    @property
    def verbose_code(self) -> str:
        return self.code


def _unanswered(
    speech: Generator[Lookup, LookupAnswer, RuleResult | None],
) -> Generator[Lookup, LookupAnswer, RuleResult | None]:
    """Let a rule speak where there is nobody to ask."""
    yield from ()
    try:
        next(speech)
        while True:
            speech.send(LookupAnswer(0))
    except StopIteration as done:
        spoken: RuleResult | None = done.value
        return spoken


def _not_asked(found: MatchedOperation, status: int, violation: Violation, asked: Sequence[Any]) -> list[str]:
    asked_ids = {rule.id for rule in asked}
    return [
        f"{rule.id}: not asked: {why_not(rule, found.operation, status, violation)}"
        for rule in found.known.index.rules
        if rule.id not in asked_ids
    ]
