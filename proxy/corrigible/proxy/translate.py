"""The middle of it all: an exchange goes in, look-ups come out, a decision comes back.

Knows: exchanges, adapters, rules, decisions. Does not know: sockets, HTTP libraries, clocks, YAML, any API's name.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from corrigible.adapters.adapter import Adapter
from corrigible.rules.failure import CorrigibleError
from corrigible.rules.function import unix
from corrigible.rules.index import RuleIndex, why_not
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.pack import Pack
from corrigible.rules.speak import Spoken, speak
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json

from .feedback import combine, encode, mirror_retry_after
from .limit import Limits

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


class Identified(NamedTuple):
    known: Known
    operation: str
    params: Mapping[str, str]


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
            operation = found.operation
            return (yield from self._translate(exchange, found, explanation))
        except CorrigibleError as problem:
            if explanation is not None:
                explanation.lines.append(f"FAULT {problem}")
            return PassThrough(str(problem), fault=True, operation=operation)
        except Exception as problem:  # the law: an error of ours never reaches a client
            return PassThrough(f"{type(problem).__name__}: {problem}", fault=True, operation=operation)

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
        scope = self._scope(exchange, found, body, violations)
        said: list[Spoken] = []
        diagnoses: list[Mapping[str, str]] = []
        for number, violation in enumerate(violations[: self.limits.suggestions]):
            spoken = yield from self._consider(exchange, found, violation, scope, number, explanation)
            if spoken is not None:
                said.append(spoken)
                code = spoken.rule.verbose_code
                if violation.code and not spoken.rule.code and _WORD.fullmatch(violation.code):
                    code = violation.code
                diagnoses.append({"code": code, "message": spoken.rule.diagnosis})
        if not said:
            return PassThrough("no rule speaks", tuple(violations), operation=found.operation, pack=found.known.pack)
        pack = found.known.pack
        feedback = combine(said)
        mirror_retry_after(feedback, retry_after(exchange))
        return Annotate(
            feedback=feedback,
            encoded=encode(feedback, exchange.request, pack.guidance.secrets, self.limits),
            diagnoses=tuple(diagnoses),
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

    def _scope(
        self, exchange: Exchange, found: Identified, body: Json, violations: Sequence[Violation]
    ) -> dict[str, Any]:
        request = exchange.request
        facts = found.known.adapter.facts
        return {
            "request": {
                "method": request.method,
                "path": request.path,
                "query": request.query,
                "headers": request.headers,
                "body": {} if request.body is None else request.body,
            },
            "response": {"status": exchange.status, "headers": exchange.headers, "body": body},
            "errors": [violation.scope() for violation in violations],
            "captures": {},
            "tables": found.known.pack.tables,
            "params": found.params,
            "operation": found.operation,
            "exchange": {"id": exchange.id, "started": exchange.started, "elapsed": exchange.elapsed},
            "spec": (facts(found.operation) if facts is not None and found.operation else None) or {},
        }

    def _consider(
        self,
        exchange: Exchange,
        found: Identified,
        violation: Violation,
        scope: Mapping[str, Any],
        number: int,
        explanation: Explanation | None,
    ) -> Generator[Lookup, LookupAnswer, Spoken | None]:
        candidates = found.known.index.candidates(found.operation, exchange.status, violation)
        if explanation is not None:
            explanation.lines += _not_asked(found, exchange.status, violation, candidates)
        for rule in candidates:
            notes: list[str] | None = None if explanation is None else []
            mine = {**scope, "error": scope["errors"][number]}
            spoken = yield from speak(rule, exchange.request, mine, found.known.pack.guidance, f"{number + 1}.", notes)
            if explanation is not None and notes is not None:
                verdict = "speaks" if spoken is not None else "silent"
                explanation.lines.append(f"{rule.id}: {verdict}{': ' if notes else ''}{'; '.join(notes)}")
            if spoken is not None:
                return spoken
        return None


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
