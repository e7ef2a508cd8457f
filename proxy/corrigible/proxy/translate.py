"""The middle of it all: an exchange goes in, look-ups come out, a decision comes back.

Knows: exchanges, adapters, rules, decisions. Does not know: sockets, HTTP libraries, clocks, YAML, any API's name.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from corrigible.adapters.adapter import Adapter, Described
from corrigible.rules.breach import Breach
from corrigible.rules.derive import rekeyed
from corrigible.rules.failure import CorrigibleError
from corrigible.rules.function import unix
from corrigible.rules.index import RuleIndex, why_not
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.pack import Pack
from corrigible.rules.repair import repair
from corrigible.rules.speak import Spoken, speak
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json

from .feedback import combine, encode, mirror_retry_after
from .limit import Limits
from .reconcile import reconcile
from .verify import dry_run, unrefuted

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}")
"""A native code that is one: anything longer or with spaces in it is prose, and stays where the upstream put it."""

__all__ = ["Annotate", "Decision", "Known", "Lookup", "LookupAnswer", "PassThrough", "Translator"]


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
    """The native answer, parsed."""


Decision = PassThrough | Annotate
Translation = Generator[Lookup, LookupAnswer, Decision]


@dataclass(frozen=True, slots=True)
class Known:
    """An API we know something about: how to read it, and what to say."""

    adapter: Adapter
    pack: Pack
    index: RuleIndex
    description: Described | None = None
    """The API's own, where one was given to the proxy; before the one that ships with the adapter."""

    @property
    def described(self) -> Described | None:
        if self.description is None and self.adapter.description is not None:
            return self.adapter.description()
        return self.description


class Identified(NamedTuple):
    known: Known
    operation: str
    params: Mapping[str, str]
    presented: bool = False
    """The exchange carried another one, and the upstream is not the API that this one is about: nothing to ask it."""


@dataclass(slots=True)
class Explanation:
    """Why each rule did or did not speak, for people."""

    lines: list[str] = field(default_factory=list)


class Translator:
    """Everything known about the APIs behind one upstream."""

    def __init__(self, known: Sequence[Known], limits: Limits | None = None) -> None:
        self.known = tuple(known)
        self.limits = limits or Limits()

    def identify(self, method: str, path: str) -> Identified | None:
        """Return the operation a request belongs to; the first API with an unnamed operation where none knows it."""
        for known in self.known:
            found = known.adapter.operations.find(method, path)
            if found is not None:
                return Identified(known, *found)
        return Identified(self.known[0], "", {}) if self.known else None

    def translate(self, exchange: Exchange, explanation: Explanation | None = None) -> Translation:
        """Decide about one exchange. Mistakes of ours end in `PassThrough`, never in an exception."""
        operation = ""
        try:
            found = self.identify(exchange.request.method, exchange.request.path)
            if found is None:
                return PassThrough("no pack is loaded")
            exchange, found = self._presented(exchange, found)
            operation = found.operation
            return (yield from self._translate(exchange, found, explanation))
        except CorrigibleError as problem:
            if explanation is not None:
                explanation.lines.append(f"FAULT {problem}")
            return PassThrough(str(problem), fault=True, operation=operation)
        except Exception as problem:  # the law: an error of ours never reaches a client
            return PassThrough(f"{type(problem).__name__}: {problem}", fault=True, operation=operation)

    def _presented(self, exchange: Exchange, found: Identified) -> tuple[Exchange, Identified]:
        for known in self.known:
            inner = known.adapter.present(exchange) if known.adapter.present is not None else None
            if inner is not None:
                named = known.adapter.operations.find(inner.request.method, inner.request.path)
                return inner, Identified(known, *(named or ("", {})), presented=True)
        return exchange, found

    def _translate(self, exchange: Exchange, found: Identified, explanation: Explanation | None) -> Translation:
        try:
            body = orjson.loads(exchange.body)
        except orjson.JSONDecodeError:
            return PassThrough("the answer is no JSON", operation=found.operation)
        if isinstance(body, dict) and "recovery_feedback" in body:
            return PassThrough("the upstream speaks for itself", operation=found.operation)
        found, violations = self._read(exchange, found, body)
        if not violations:
            return PassThrough("no known error format", operation=found.operation)
        considered = _Considered(exchange, found, body, violations, explanation)
        said: list[Spoken] = []
        about: list[Violation] = []
        settled: set[int] = set()
        for number, violation in enumerate(violations[: self.limits.suggestions]):
            if number in settled:
                continue
            for spoken in (yield from considered.answers(number)):
                said.append(spoken)
                about.append(violation)
                settled |= spoken.settles
        diagnoses = tuple(_diagnosis(one, violation) for one, violation in zip(said, about, strict=True))
        pack = found.known.pack
        how = pack.text.dry_run
        said = reconcile(said, exchange.request)
        if how is not None and not found.presented:
            said = yield from dry_run(
                said, about, exchange, how, lambda tried, body: _complaints(found.known, tried, body)
            )
        said = [one for one in said if one.suggestions]
        if not said:
            return PassThrough("no rule speaks", tuple(violations), operation=found.operation, pack=pack)
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
        )

    def _read(self, exchange: Exchange, found: Identified, body: Json) -> tuple[Identified, Sequence[Violation]]:
        violations = _complaints(found.known, exchange, body)
        if violations or exchange.status < 400:
            return found, violations  # a success that only looks like another API's refusal stays a success
        for known in self.known:
            violations = () if known is found.known else _complaints(known, exchange, body)
            if violations:
                named = known.adapter.operations.find(exchange.request.method, exchange.request.path)
                return Identified(known, *(named or ("", {}))), violations
        return found, ()


class _Considered:
    """One refusal under consideration: each complaint is put to the rules first, then to the description."""

    def __init__(
        self,
        exchange: Exchange,
        found: Identified,
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

    def _scope(self, body: Json) -> dict[str, Any]:
        exchange, found = self.exchange, self.found
        request = exchange.request
        facts: Json = None
        if found.operation and found.known.adapter.facts is not None:
            facts = found.known.adapter.facts(found.operation)
        elif found.operation and self.description is not None:
            facts = self.description.facts(found.operation)
        return {
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

    def answers(self, number: int) -> Generator[Lookup, LookupAnswer, list[Spoken]]:
        """Return what is known about one complaint, several things where it names no place.

        Rules of a priority below 0 are for what nobody else can say: they are asked after the description.
        """
        spoken = yield from self._by_rule(number, last=False)
        if spoken is None and (described := list(self._by_description(number))):
            return described
        if spoken is None:
            spoken = yield from self._by_rule(number, last=True)
        return [spoken] if spoken is not None else []

    def _by_rule(self, number: int, *, last: bool) -> Generator[Lookup, LookupAnswer, Spoken | None]:
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
            speech = speak(rule, self.exchange.request, mine, found.known.pack.guidance, f"{number + 1}.", notes)
            spoken = yield from (_unanswered(speech) if found.presented else speech)
            verdict = "speaks" if spoken is not None else "silent"
            if spoken is not None and self.description is not None:
                spoken = unrefuted(spoken, self.exchange.request, found.operation, self.description)
                verdict = "refuted by the description" if spoken is None else verdict
            if self.explanation is not None and notes is not None:
                self.explanation.lines.append(f"{rule.id}: {verdict}{': ' if notes else ''}{'; '.join(notes)}")
            if spoken is not None:
                return spoken
        return None

    def _by_description(self, number: int) -> Iterator[Spoken]:
        if self.description is None or self.exchange.status not in _ABOUT_THE_REQUEST:
            return
        for order, breach in enumerate(self._described(self.description, self.violations[number].pointer)):
            if (breach.pointer, breach.keyword) in self._answered:
                continue
            self._answered.add((breach.pointer, breach.keyword))
            repaired = repair(breach, self.exchange.request, f"{number + 1}.s{order + 1}.")
            if self.explanation is not None:
                verdict = "speaks" if repaired is not None else "silent"
                self.explanation.lines.append(f"the description: {breach.keyword} at {breach.pointer}: {verdict}")
            if repaired is not None:
                speaker = _Description(diagnosis=repaired.diagnosis, code=repaired.code)
                said = repaired.suggestions
                yield self._rekeyed(
                    Spoken(speaker, said, repaired.type, repaired.recovery, None, used_live_state=False)
                )

    def _rekeyed(self, spoken: Spoken) -> Spoken:
        """Give edits a fresh idempotency key, where the request has one: another request must not be taken for it."""
        header = self.found.known.pack.guidance.idempotency_header
        request = self.exchange.request
        if not header or header not in request.headers:
            return spoken
        suggestions = tuple(
            {**s, "patch": rekeyed(s["patch"], request, header, self.exchange.id)} if "patch" in s else s
            for s in spoken.suggestions
        )
        return spoken._replace(suggestions=suggestions, retry={"same_request": False, "idempotency_key": "new"})

    def _described(self, description: Described, pointer: str) -> Sequence[Breach]:
        request, operation = self.exchange.request, self.found.operation
        if self.exchange.status in (404, 405):
            wrong = None if operation else description.nearest_operation(request.method, request.path)
            return (wrong,) if wrong is not None else ()
        if not operation:
            return ()
        there = description.breaches(request, operation, pointer)
        if there or not pointer:
            return there
        return [b for b in description.breaches(request, operation) if pointer.startswith(f"{b.pointer}/")]


_ABOUT_THE_REQUEST = frozenset({400, 404, 405, 422})
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
    speech: Generator[Lookup, LookupAnswer, Spoken | None],
) -> Generator[Lookup, LookupAnswer, Spoken | None]:
    """Let a rule speak where there is nobody to ask."""
    yield from ()
    try:
        next(speech)
        while True:
            speech.send(LookupAnswer(0))
    except StopIteration as done:
        spoken: Spoken | None = done.value
        return spoken


def _diagnosis(spoken: Spoken, violation: Violation) -> Mapping[str, str]:
    code = spoken.rule.verbose_code
    if violation.code and not spoken.rule.code and _WORD.fullmatch(violation.code):
        code = violation.code
    return {"code": code, "message": spoken.rule.diagnosis}


def _complaints(known: Known, exchange: Exchange, body: Json) -> Sequence[Violation]:
    """Return what the first dialect of an API that reads the answer says."""
    for dialect in known.adapter.formats:
        violations = dialect.read(exchange, body)
        if violations:
            return violations
    return ()


def _not_asked(found: Identified, status: int, violation: Violation, asked: Sequence[Any]) -> list[str]:
    asked_ids = {rule.id for rule in asked}
    return [
        f"{rule.id}: not asked: {why_not(rule, found.operation, status, violation)}"
        for rule in found.known.index.rules
        if rule.id not in asked_ids
    ]


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
