"""Requests that the reference API refuses, and how an answer through a proxy is compared with the upstream's own.

Small calls of others are timed beside them (SRF-TRN-13), against calls that go straight to the upstream: it, and this
machine, may be slow themselves.
Knows: the reference API's requests, which parts of a message belong to one connection only (RFC 9110, 7.6.1). Does not
know: requirements.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final, TypeVar

from corrigible.conformance.checks.support.exchange import ASK, JSON, cases
from corrigible.conformance.model.background import repeated_beside
from corrigible.conformance.model.outcome import CouldNotTell, NotApplicable
from corrigible.conformance.reference.upstream import Script, answer
from corrigible.conformance.suite.subject import Pair, Subject
from corrigible.conformance.transport.http1 import OFFERED, Headers, HttpClient, HttpRequest, HttpResponse, decoded
from corrigible.conformance.validators.finding import ABSENT, Absent, Finding
from corrigible.conformance.validators.native_preserved import Difference, differences
from corrigible.schema.exchange import Json

OF_ONE_CONNECTION: Final = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
MAY_COME: Final = frozenset({"via", "date"})
"""RFC 9110 has proxies add these (7.6.3, and 6.6.1 where there is none)."""
_SHOWN: Final = 160


def _differs(message: str, place: str, expected: Json, got: Json | Absent = ABSENT) -> Difference:
    """Return a difference of an answer; of the place, a pointer or a byte of the body."""
    return Difference(place, message, expected, got, within="")


def answer_differences(direct: HttpResponse, through: HttpResponse, *, annotated: bool = False) -> Iterator[Difference]:
    """Yield what is not the same. Of an annotated answer only what has to stay: status, reason and type."""
    if direct.error is None and through.error is not None:
        yield _differs(f"the answer did not arrive whole: {through.error}", "/body", "a whole answer", through.error)
        if through.status == 0:
            return
    if direct.error is not None and through.error is None and through.status == direct.status:
        yield _differs("an answer that broke off came out as a whole one", "/body", direct.error, "a complete message")
    yield from status(direct, through)
    if annotated:
        return
    yield from headers(direct.headers, through.headers)
    if direct.body != through.body and direct.error is None:
        yield from _bodies(direct.body, through.body)
    yield from _trailers(direct.trailers, through.trailers)


def status(direct: HttpResponse, through: HttpResponse) -> Iterator[Difference]:
    if direct.status != through.status:
        yield _differs("the status is not the upstream's", "/status", direct.status, through.status)
    elif direct.reason != through.reason:
        yield _differs("the reason phrase is not the upstream's", "/reason", direct.reason, through.reason)


def headers(direct: Headers, through: Headers, *, except_for: frozenset[str] = frozenset()) -> Iterator[Difference]:
    """Compare headers as a list: order, case and repetition are part of it. At most one difference: the plainest."""
    ignored = OF_ONE_CONNECTION | except_for
    before, after = _end_to_end(direct, ignored), _end_to_end(through, ignored)
    own = {name.lower() for name, _ in before}
    if not any(name.lower() == "content-length" for name, _ in before) and _is_chunked(direct):
        after = tuple(
            header for header in after if header[0].lower() != "content-length"
        )  # how it is framed is a hop's choice
    after = tuple(header for header in after if header[0].lower() not in MAY_COME or header[0].lower() in own)
    if before == after:
        return
    lost_headers = [f"{name}: {value}" for name, value in before if (name, value) not in after]
    new = [f"{name}: {value}" for name, value in after if (name, value) not in before]
    first = next((left or right for left, right in zip_longest(before, after) if left != right), ("", ""))
    place = f"/headers/{first[0].lower()}"
    if _lower(before) == _lower(after):
        yield _differs("header names are written in another way", place, _cut(lost_headers), _cut(new))
    elif sorted(before) == sorted(after):
        yield _differs("the headers are in another order", place, _names(before), _names(after))
    elif lost_headers and new:
        yield _differs("headers are not what they were", place, _cut(lost_headers), _cut(new))
    elif lost_headers:
        yield _differs("headers got lost", place, _cut(lost_headers))
    elif new:
        yield _differs("headers were added", place, [], _cut(new))
    else:
        yield _differs("headers are there more or less often than they were", place, _names(before), _names(after))


def without_additions(pair: Pair) -> HttpResponse:
    """Return what came through without what a proxy may add: two answers are compared whose `Date` may differ."""
    own = {name.lower() for name, _ in pair.direct.headers}
    added = MAY_COME - own
    return replace(pair.through, headers=tuple(h for h in pair.through.headers if h[0].lower() not in added))


def found(
    requirement: str, label: str, pair: Pair, request: HttpRequest, *, annotated: bool = False
) -> Iterator[Finding]:
    """Yield findings of one requirement, for one pair of answers to the same request."""
    for difference in answer_differences(pair.direct, pair.through, annotated=annotated):
        yield difference.finding(requirement, request, label)


def passes(group: str, requirement: str) -> Callable[[Subject], Iterator[Finding]]:
    """Return a check that the answers of a group of `vectors/passing.json` pass to the byte."""

    def pass_to_the_byte(subject: Subject) -> Iterator[Finding]:
        """The suite's own upstream gives these answers, and they pass to the byte."""
        if subject.upstream is None:
            raise NotApplicable("what an answer without fault is like is only known of the suite's own upstream")
        for case in cases(group):
            yield from found(requirement, case.name, subject.both(case.sent, case.script), case.sent)

    return pass_to_the_byte


def text(body: bytes) -> str:
    """Return bytes as people can read them, cut short."""
    cut = f"... ({len(body)} bytes)" if len(body) > _SHOWN else ""
    try:
        return body[:_SHOWN].decode("utf-8" if len(body) <= _SHOWN else "ascii") + cut
    except UnicodeDecodeError:
        return repr(body[:_SHOWN])[2:-1] + cut


def _bodies(direct: bytes, through: bytes) -> Iterator[Difference]:
    at = next(
        (i for i, (a, b) in enumerate(zip(direct, through, strict=False)) if a != b), min(len(direct), len(through))
    )
    start = max(0, at - 20)
    sentence = "the body is not the upstream's" + (f", from byte {at} on" if at else "")
    if not through:
        sentence = "the body is gone"
    yield _differs(sentence, f"/body, byte {at}", text(direct[start:]), text(through[start:]))


def _trailers(direct: Headers, through: Headers) -> Iterator[Difference]:
    if direct != through:
        sentence = "the trailers are gone" if not through else "the trailers are not the upstream's"
        yield _differs(
            sentence, "/trailers", _cut([f"{n}: {v}" for n, v in direct]), _cut([f"{n}: {v}" for n, v in through])
        )


def _end_to_end(fields: Headers, ignored: frozenset[str]) -> Headers:
    names = {
        word.strip().lower() for name, value in fields if name.lower() == "connection" for word in value.split(",")
    }
    return tuple((name, value) for name, value in fields if name.lower() not in ignored | names)


def _is_chunked(fields: Headers) -> bool:
    return any(name.lower() == "transfer-encoding" for name, _ in fields)


def _lower(fields: Headers) -> list[tuple[str, str]]:
    return [(name.lower(), value) for name, value in fields]


def _names(fields: Headers) -> list[Json]:
    return [name for name, _ in fields]


def _cut(lines: list[str]) -> list[Json]:
    return [line if len(line) <= _SHOWN else line[:_SHOWN] + "..." for line in lines]


ORDER: Final[Json] = {
    "customer": "cus_ada",
    "currency": "usdd",
    "channel": "web",
    "lines": [{"sku": "tea", "quantity": 1}],
}
KNOWN: Final = HttpRequest(
    "POST", "/v1/orders", (JSON, ("Accept-Encoding", OFFERED), ASK), json.dumps(ORDER, separators=(",", ":")).encode()
)
"""One letter too many in a currency: the description alone says what was meant."""
QUERY: Final = HttpRequest("GET", "/v1/orders?sort=creatd", (("Accept-Encoding", OFFERED), ASK))
NEEDS_A_LOOK: Final = HttpRequest(
    "POST", "/v1/refunds", (JSON, ("Accept-Encoding", OFFERED), ASK), b'{"order":"ord_1","amount":500}'
)
"""How much is left to refund stands in no description: one has to look."""
OURS: Final = frozenset({"recovery_feedback", "recovery_feedback_proxy", "validation_errors"})
"""What the contract has a proxy add to a JSON object."""
_PLACES: Final = frozenset({"", "/error"})


def native(subject: Subject, request: HttpRequest = KNOWN) -> HttpResponse:
    """Return what the upstream itself says. Raises CouldNotTell where it does not refuse."""
    response = (subject.direct or HttpClient(subject.suite_upstream.url)).send(request.adding(subject.caller()))
    if response.status < 400 or response.error is not None:
        raise CouldNotTell(
            f"the reference API answers {request.method} {request.target} with {response.status}, not a refusal"
        )
    return response


def as_script(
    response: HttpResponse,
    *,
    body: bytes | None = None,
    headers: Iterable[tuple[str, str]] = (),
    status: int | None = None,
) -> Script:
    """Return that answer as a script, with another body or more headers."""
    own = {name.lower() for name, _ in headers}
    fields = [header for header in response.headers if header[0].lower() not in own | {"content-length"}]
    return answer(
        status or response.status, response.body if body is None else body, [*fields, *headers], reason=response.reason
    )


def decoded_body(response: HttpResponse) -> bytes:
    """Return the body without its coding. Raises ValueError where that cannot be undone."""
    return decoded(response.body, ", ".join(response.values("content-encoding")))


def feedback(response: HttpResponse) -> Json:
    """Return the feedback in an answer, coded or not; None where there is none."""
    try:
        body = decoded_body(response)
    except ValueError:
        return None
    feedback = HttpResponse(response.status, response.reason, response.headers, body).feedback
    return None if feedback is None else dict(feedback)


def linked(response: HttpResponse) -> bool:
    """Whether a header points to feedback, since the body has no place for it."""
    return any(
        'rel="recovery-feedback"' in value or "rel=recovery-feedback" in value for value in response.values("link")
    )


def has_feedback(pair: Pair) -> bool:
    """Whether the subject added feedback."""
    return linked(pair.through) or (pair.through.body != pair.direct.body and feedback(pair.through) is not None)


def native_differences(pair: Pair) -> list[Difference]:
    """Return what became of the native members: those gone, moved or rewritten, and those nobody asked for."""
    before = decoded_body(pair.direct)
    try:
        after = decoded_body(pair.through)
    except ValueError as problem:
        return [Difference("", f"the body cannot be decoded: {problem}", before.decode("utf-8", "replace"))]
    out = list(differences(before, after, grown=_PLACES))
    try:
        was, is_now = json.loads(before), json.loads(after)
    except ValueError:
        return out
    for place in _PLACES:
        old, new = _at(was, place), _at(is_now, place)
        if isinstance(old, dict) and isinstance(new, dict):
            foreign = sorted(set(new) - set(old) - OURS)
            if foreign:
                sentence = f"members were added that are no feedback: {', '.join(foreign)}"
                out.append(Difference(place, sentence, [], list(foreign)))
    return out


def require_feedback(answers: Iterable[bool]) -> None:
    """Raise NotApplicable where the subject added nothing to any of these."""
    if not any(answers):
        raise NotApplicable("the subject adds nothing to the reference API's errors, so there is nothing to look at")


def _at(value: Json, place: str) -> Json:
    return value if place == "" else value.get(place[1:]) if isinstance(value, dict) else None


_Result = TypeVar("_Result")

MOST: Final = 1.0
"""Seconds that a small call may take at the worst, beyond what it takes without the subject."""
LONGEST: Final = 10.0
"""Seconds in which a call has its answer, as it came or explained."""
TRIES: Final = 3
"""How often calls are measured until none is late: a busy machine is late at times, a subject that waits each time."""
STRAIGHT: Final = "straight"
"""The name of a call that goes to the upstream itself."""


@dataclass(slots=True)
class SmallCalls:
    """The slowest small call by name, and the calls that ended otherwise than expected."""

    seconds: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def note(self, name: str, seconds: float, end: str, expected: str) -> None:
        """Keep how long one call took and, where it is not as expected, how it ended."""
        self.seconds[name] = max(self.seconds.get(name, 0.0), seconds)
        if end != expected:
            self.wrong.append(f"{name}: {end}")

    def late(self) -> list[tuple[str, float]]:
        """Return what took too long, and how long."""
        straight = self.seconds.get(STRAIGHT, 0.0)
        return [(name, took) for name, took in self.seconds.items() if took - straight > MOST]

    def findings(self, load: str, finding: Callable[[str, Json, Json], Finding]) -> Iterator[Finding]:
        """Yield what went wrong for others while somebody `load`; `finding` takes a sentence, expected and got."""
        if self.wrong:
            sentence = f"While somebody {load}, small calls of others get no answer, or another one."
            yield finding(sentence, "their answers", list(self.wrong[:5]))
        allowed = f"at most {MOST:g} s more than {self.seconds.get(STRAIGHT, 0.0):.2f} s"
        for name, took in self.late():
            yield finding(f"While somebody {load}, {name} takes others {took:.1f} s.", allowed, f"{took:.2f} s")


@contextmanager
def small_calls(call: Callable[[SmallCalls], None]) -> Iterator[SmallCalls]:
    """Make small calls again and again until the block ends; `call` makes one of each kind and notes them."""
    calls = SmallCalls()
    with repeated_beside(lambda: call(calls), every=0.01, timeout=2 * LONGEST, name="others"):
        yield calls


def at_its_best(measure: Callable[[], tuple[SmallCalls, _Result]]) -> tuple[SmallCalls, _Result]:
    """Measure until no call is late, `TRIES` times at most; return what was measured last."""
    for _ in range(TRIES - 1):
        noted, result = measure()
        if noted.wrong or not noted.late():
            return noted, result
    return measure()
