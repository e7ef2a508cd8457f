"""Compares a response of the upstream with the same response through a proxy.

Knows: which parts of a message belong to one connection only (RFC 9110, 7.6.1). Does not know: sockets, feedback.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from corrigible.conformance.suite.subject import Pair
from corrigible.conformance.transport.http1 import Headers, HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import ABSENT, Absent, Finding
from corrigible.schema.exchange import Json

OF_ONE_CONNECTION: Final = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
MAY_COME: Final = frozenset({"via", "date"})
"""RFC 9110 has proxies add these (7.6.3, and 6.6.1 where there is none)."""
_SHOWN: Final = 160


@dataclass(frozen=True, slots=True)
class Difference:
    message: str
    place: str
    """Of the answer: a pointer, or a byte of the body."""
    expected: Json
    got: Json | Absent = ABSENT


def differences(direct: HttpResponse, through: HttpResponse, *, annotated: bool = False) -> Iterator[Difference]:
    """Yield what is not the same. Of an annotated answer only what has to stay: status, reason and type."""
    if direct.error is None and through.error is not None:
        yield Difference(f"the answer did not arrive whole: {through.error}", "/body", "a whole answer", through.error)
        if through.status == 0:
            return
    if direct.error is not None and through.error is None and through.status == direct.status:
        yield Difference(
            "an answer that broke off came out as a whole one", "/body", direct.error, "a complete message"
        )
    yield from status(direct, through)
    if annotated:
        return
    yield from headers(direct.headers, through.headers)
    if direct.body != through.body and direct.error is None:
        yield from _bodies(direct.body, through.body)
    yield from _trailers(direct.trailers, through.trailers)


def status(direct: HttpResponse, through: HttpResponse) -> Iterator[Difference]:
    if direct.status != through.status:
        yield Difference("the status is not the upstream's", "/status", direct.status, through.status)
    elif direct.reason != through.reason:
        yield Difference("the reason phrase is not the upstream's", "/reason", direct.reason, through.reason)


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
        yield Difference("header names are written in another way", place, _cut(lost_headers), _cut(new))
    elif sorted(before) == sorted(after):
        yield Difference("the headers are in another order", place, _names(before), _names(after))
    elif lost_headers and new:
        yield Difference("headers are not what they were", place, _cut(lost_headers), _cut(new))
    elif lost_headers:
        yield Difference("headers got lost", place, _cut(lost_headers))
    elif new:
        yield Difference("headers were added", place, [], _cut(new))
    else:
        yield Difference("headers are there more or less often than they were", place, _names(before), _names(after))


def without_additions(pair: Pair) -> HttpResponse:
    """Return what came through without what a proxy may add: two answers are compared whose `Date` may differ."""
    own = {name.lower() for name, _ in pair.direct.headers}
    added = MAY_COME - own
    return replace(pair.through, headers=tuple(h for h in pair.through.headers if h[0].lower() not in added))


def found(
    requirement: str, label: str, pair: Pair, request: HttpRequest, *, annotated: bool = False
) -> Iterator[Finding]:
    """Yield findings of one requirement, for one pair of answers to the same request."""
    for difference in differences(pair.direct, pair.through, annotated=annotated):
        sentence = f"{label}: {difference.message}"
        yield Finding(requirement, sentence, difference.expected, difference.got, request, place=difference.place)


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
    yield Difference(sentence, f"/body, byte {at}", text(direct[start:]), text(through[start:]))


def _trailers(direct: Headers, through: Headers) -> Iterator[Difference]:
    if direct != through:
        sentence = "the trailers are gone" if not through else "the trailers are not the upstream's"
        yield Difference(
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
