"""Checks: whatever one caller sends or receives, small calls of others are answered in time (SRF-TRN-13)."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from corrigible.conformance.checks.support.error_request import answering_for_upstream, is_trial
from corrigible.conformance.checks.support.headers import ASK, JSON
from corrigible.conformance.checks.support.known_error import (
    KNOWN,
    NEEDS_A_LOOK,
    ORDER,
    as_script,
    native,
    native_differences,
)
from corrigible.conformance.checks.support.small_calls import LONGEST, STRAIGHT, SmallCalls, at_its_best, small_calls
from corrigible.conformance.checks.support.unchanged import differences
from corrigible.conformance.reference.upstream import Answering, Received, Script, answer
from corrigible.conformance.suite.subject import Pair, Subject
from corrigible.conformance.transport.http1 import CASE, HttpClient, HttpRequest
from corrigible.conformance.validators.finding import Finding
from corrigible.schema.exchange import Json

_MIB: Final = 1 << 20
_SMALL: Final = HttpRequest("GET", "/v1/items/tea", (ASK,))


def _order(**more: Any) -> dict[str, Any]:
    whole: Any = ORDER
    return {**whole, **more}


def _deep(levels: int, inner: str = "1") -> bytes:
    return ('{"a":' * levels + inner + "}" * levels).encode()


def _filters(levels: int) -> Any:
    """Return conditions within conditions: each level fits two branches of a description until its end is seen."""
    condition: Any = {"field": "status", "is": 5}
    for _ in range(levels):
        condition = {"all": [condition, condition]} if levels <= 12 else {"all": [condition]}
    return condition


def bodies() -> Mapping[str, Callable[[], bytes]]:
    """Return the worst bodies that are known, by name, made when they are needed."""
    return {
        "three thousand members that nobody knows": lambda: _json(_order(**{f"member_{n}": n for n in range(3000)})),
        "a MiB of members that nobody knows": lambda: _json(_order(**{f"m{n:06}": n for n in range(55_000)})),
        "members that are nearly known": lambda: _json(_order(**{f"curency{n}": "eur" for n in range(20_000)})),
        "a MiB of elements that are all wrong": lambda: _json(_order(lines=[{"sku": "", "quantity": "x"}] * 30_000)),
        "a MiB of elements, the same twice": lambda: _json(
            _order(lines=[{"sku": f"s{n // 2}"} for n in range(60_000)])
        ),
        "ten thousand levels": lambda: _json(_order())[:-1] + b',"deep":' + _deep(10_000) + b"}",
        "a text of a MiB": lambda: _json(_order(note="x" * (_MIB - 300))),
        "a MiB of one name again and again": lambda: b"{" + b",".join([b'"currency":"usdd"'] * 55_000) + b"}",
        "conditions in conditions": lambda: _json({"where": _filters(40)}),
        "conditions that double with each level": lambda: _json({"where": _filters(10)}),
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@contextmanager
def _small_calls(subject: Subject) -> Iterator[SmallCalls]:
    """Make small calls all the while: a success, a refusal that is explained, and one straight to the upstream."""
    case, refused = subject.case(), native(subject)
    subject.suite_upstream.script(case, as_script(refused), target=KNOWN.target)
    target, direct = HttpClient(subject.wire.url), HttpClient(subject.suite_upstream.url)
    success, refusal = _SMALL.adding(subject.caller()), KNOWN.adding((CASE, case))

    def call(noted: SmallCalls) -> None:
        for name, client, request, status in (
            ("a success", target, success, 200),
            ("a refusal", target, refusal.adding(subject.caller()), refused.status),
            (STRAIGHT, direct, success, 200),
        ):
            response = client.send(request, timeout=LONGEST)
            noted.note(name, response.seconds, response.error or str(response.status), str(status))

    with small_calls(call) as noted:
        yield noted


def bodies_stop_nobody(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    for name, make_body in bodies().items():
        target = "/v1/orders/search" if name.startswith("conditions") else KNOWN.target
        request = HttpRequest("POST", target, (JSON, ASK), make_body())

        def measure(request: HttpRequest = request) -> tuple[SmallCalls, Pair]:
            with _small_calls(subject) as noted:
                return noted, subject.both(request, as_script(native_response), timeout=LONGEST)

        noted, pair = at_its_best(measure)
        yield from _answered(f"a body with {name}", pair, request)
        yield from _held_up(f"a body with {name}", noted, request)


def _bomb() -> bytes:
    packer = zlib.compressobj(1, wbits=31)
    parts = [packer.compress(b'{"error": {"code": "enum", "param": "currency", "message": "')]
    parts += [packer.compress(b"a" * _MIB) for _ in range(100)]
    return b"".join([*parts, packer.flush()])


def bombs_stop_nobody(subject: Subject) -> Iterator[Finding]:
    """Answers, look-ups and requests of a few kilobytes that unpack to very much."""
    bomb = _bomb()
    twice = gzip.compress(bomb, mtime=0)
    native_response = native(subject)
    coded = [header for header in native_response.headers if header[0].lower() != "content-length"]
    usual = subject.suite_upstream.api
    forms: tuple[tuple[str, HttpRequest, Script | Answering, Script | None], ...] = (
        (
            "an answer that unpacks to 100 MiB",
            KNOWN,
            answer(native_response.status, bomb, [*coded, ("Content-Encoding", "gzip")], reason=native_response.reason),
            None,
        ),
        (
            "an answer that unpacks twice to 100 MiB",
            KNOWN,
            answer(
                native_response.status,
                twice,
                [*coded, ("Content-Encoding", "gzip, gzip")],
                reason=native_response.reason,
            ),
            None,
        ),
        (
            "a request that unpacks to 100 MiB",
            HttpRequest("POST", KNOWN.target, (*KNOWN.headers, ("Content-Encoding", "gzip")), bomb),
            as_script(native_response),
            None,
        ),
        (
            "look-ups whose answers unpack to 100 MiB",
            NEEDS_A_LOOK,
            usual,
            answer(200, twice, [JSON, ("Content-Encoding", "gzip, gzip")], reason="OK"),
        ),
    )
    for name, sent, script, looked in forms:

        def says(received: Received, looked: Script | None = looked) -> Script | None:
            is_own = received.sent.method == "GET" and received.sent.target != _SMALL.target
            return looked if is_own or is_trial(received.sent) else None

        def measure_unpacking(
            says: Callable[[Received], Script | None] = says,
            sent: HttpRequest = sent,
            script: Script | Answering = script,
        ) -> tuple[SmallCalls, Pair]:
            with answering_for_upstream(subject, says), _small_calls(subject) as noted:
                return noted, subject.both(sent, script, timeout=LONGEST)

        noted, pair = at_its_best(measure_unpacking)
        yield from _answered(name, pair, sent)
        yield from _held_up(name, noted, sent)


def _answered(name: str, pair: Pair, request: HttpRequest) -> Iterator[Finding]:
    short = HttpRequest(request.method, request.target, request.headers)
    for difference in differences(pair.direct, pair.through, annotated=True):
        yield Finding(
            "SRF-TRN-13",
            f"{name}: {difference.message}",
            difference.expected,
            difference.got,
            short,
            place=difference.place,
        )
    if pair.through.status == pair.direct.status and pair.through.body != pair.direct.body:
        for lack in native_differences(pair):
            yield Finding(
                "SRF-TRN-13", f"{name}: {lack.message}", lack.expected, lack.got, short, place=f"/body{lack.pointer}"
            )


def _held_up(name: str, noted: SmallCalls, request: HttpRequest) -> Iterator[Finding]:
    short = HttpRequest(request.method, request.target, request.headers)

    def finding(sentence: str, expected: Json, actual: Json) -> Finding:
        return Finding("SRF-TRN-13", sentence, expected, actual, short)

    return noted.findings(f"has {name}", finding)


Run = Callable[[Subject], Iterable[Finding]]
RUNS: Final[tuple[tuple[str, str, tuple[str, ...], Run], ...]] = (
    ("others/body", "large bodies stop nobody else", ("SRF-TRN-13",), bodies_stop_nobody),
    ("others/bomb", "what unpacks to very much stops nobody else", ("SRF-TRN-13",), bombs_stop_nobody),
)
