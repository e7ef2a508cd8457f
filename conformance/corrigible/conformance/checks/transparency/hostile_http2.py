"""Checks against hostile HTTP/2, closed windows and failed connections (SRF-TRN-17 to 20).

Asked of one more of the subject, started for it, in front of an upstream that keeps what it is sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urlsplit

from corrigible.conformance.checks.support.exchange import listed
from corrigible.conformance.model.background import pause
from corrigible.conformance.model.outcome import CouldNotTell, Missing
from corrigible.conformance.reference.http2_upstream import ANSWER, POUR, WHOLE, Http2Upstream
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport import http2
from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.conformance.validators.finding import Finding

TIMEOUT: Final = 5.0
MOST_HELD: Final = 16 << 20
"""Bytes of an answer that nobody takes that may have left the upstream. A pair of sockets alone holds up to ten MiB."""
MOST_FRAMES: Final = 50_000
_AT_ONCE: Final = 1000
_LONGEST: Final = 4.0
"""Seconds that one flood takes at most. Who takes frames so slowly is not harmed by them."""
_PATH: Final = b"/conformance/http2/"
_ASK: Final = "/conformance/http2/ask"
_MESSAGE: Final = b"{}"
_CANCEL: Final = b"\0\0\0\x08"


@dataclass(frozen=True, slots=True)
class _Stand:
    """One more of the subject, and what is behind it."""

    subject: Subject
    upstream: Http2Upstream
    address: tuple[str, int]
    tls: bool

    def caller(self, *, initial_window: int = 1 << 24) -> http2.Caller:
        try:
            return http2.Caller(self.address, tls=self.tls, initial_window=initial_window)
        except OSError as problem:
            raise CouldNotTell(f"no HTTP/2 connection: {problem}") from None

    def caller_beforehand(self) -> http2.Caller:
        """Return one that comes while the upstream is away: some offer HTTP/2 only where the upstream does."""
        self.upstream.refuse(True)
        try:
            return self.caller()
        finally:
            self.upstream.refuse(False)

    def head(self, path: bytes = _ASK.encode()) -> list[tuple[bytes, bytes]]:
        start = [(b":method", b"POST"), (b":scheme", b"https" if self.tls else b"http"), (b":path", path)]
        name, value = self.subject.caller()
        return [
            *start,
            (b":authority", f"{self.address[0]}:{self.address[1]}".encode()),
            (b"content-type", b"application/json"),
            (name.lower().encode(), value.encode()),
        ]

    def ask(self, caller: http2.Caller) -> http2.StreamEnd:
        return caller.ask(self.head(), _MESSAGE, timeout=TIMEOUT)


@contextmanager
def _standing(subject: Subject, protocol: str = "h2") -> Iterator[_Stand]:
    """Start one more in front of an upstream of that protocol. Before HTTP/1.1 it may take no HTTP/2 itself."""
    if subject.start_another is None:
        raise Missing("needs `http2` in the config file: the command that starts a proxy with HTTP/2")
    with ExitStack() as stack:
        certificate = Path(stack.enter_context(TemporaryDirectory())) / "certificate.pem"
        http2.write_certificate(certificate)
        upstream = stack.enter_context(Http2Upstream(certificate, protocol))
        parts = urlsplit(stack.enter_context(subject.start_another(upstream.url, certificate)))
        stand = _Stand(subject, upstream, (parts.hostname or "", parts.port or 0), parts.scheme == "https")
        if protocol == "h2":
            with stand.caller() as caller:
                if not _is_answered(first := stand.ask(caller)):
                    raise CouldNotTell(f"a plain request over HTTP/2 has no answer, but {first}")
        yield stand


def _is_answered(ending: http2.StreamEnd) -> bool:
    return (ending.how, ending.status, ending.body) == ("answered", 200, ANSWER)


def _malformed(plain: http2.Block, tag: bytes) -> Iterator[tuple[str, http2.Block]]:
    """Yield requests that are none. The tag stands in each of them, and in what hides in it."""
    fields = dict(plain)
    for entry in listed("framing", "malformed"):
        block = [field for field in plain if field[0].decode() not in entry.get("without", ())]
        if "add" in entry:
            name, value = (text.encode("latin-1") for text in entry["add"])
            value = value.replace(b"{tag}", tag).replace(b"{was}", fields.get(name, b""))
            block.insert(entry.get("at", len(block)), (name, value))
        yield entry["name"], block


def malformed_goes_nowhere(subject: Subject) -> Iterator[Finding]:
    for protocol in ("h2", "http/1.1"):
        with _standing(subject, protocol) as stand:
            caller = stand.caller_beforehand()
            for number, name in enumerate([name for name, _ in _malformed(stand.head(), b"")]):
                tag = f"tag-{subject.seed}-{number}-end".encode()
                block = [*list(_malformed(stand.head(_PATH + tag), tag))[number][1], (b"conformance-case", tag)]
                ending = caller.ask(block, _MESSAGE, timeout=TIMEOUT)
                yield from _gone_nowhere(stand, f"{name}, before {protocol}", tag, ending)
                if ending.how in ("closed", "goodbye", "late"):
                    caller.close()
                    caller = stand.caller_beforehand()
            caller.close()
            with stand.caller_beforehand() as fresh:
                ending = stand.ask(fresh)
            if not _is_answered(ending):
                sentence = f"After malformed requests a plain one over HTTP/2 is not answered, before {protocol}."
                yield Finding("SRF-TRN-17", sentence, "an answer", str(ending), HttpRequest("POST", _ASK))


def _gone_nowhere(stand: _Stand, name: str, tag: bytes, ending: http2.StreamEnd) -> Iterator[Finding]:
    sent, place = HttpRequest("POST", (_PATH + tag).decode()), stand.upstream.heard.find(tag)
    if place >= 0:
        shown_bytes = bytes(stand.upstream.heard[max(0, place - 60) : place + 120]).decode("latin-1")
        sentence = f"HTTP/2 with {name}: what is malformed went on to the upstream."
        yield Finding("SRF-TRN-17", sentence, "nothing of it", shown_bytes, sent)
    elif ending.how == "late" or (ending.how == "answered" and ending.status < 400):
        sentence = f"HTTP/2 with {name}: what is malformed is not refused, but gets {ending}."
        yield Finding("SRF-TRN-17", sentence, "RST_STREAM, a 4xx or the end of the connection", str(ending), sent)


def failures_end(subject: Subject) -> Iterator[Finding]:
    """The upstream refuses connections while a caller's first requests come, and then it does not."""
    with _standing(subject) as stand, stand.caller() as caller:
        stand.upstream.refuse(True)
        failed = [stand.ask(caller) for _ in range(2)]
        stand.upstream.refuse(False)
        if any(map(_is_answered, failed)):
            raise CouldNotTell("it was answered while the upstream took no connection")
        later = [stand.ask(caller) for _ in range(3)]
        last = later[-1]
        if last.how in ("closed", "goodbye"):
            with stand.caller() as fresh:
                later = [stand.ask(fresh) for _ in range(3)]
        # The first one may still be handed the end of what went wrong before.
        for ending in later[1:]:
            if not _is_answered(ending):
                sentence = (
                    "A connection to the upstream failed, and later requests of the same HTTP/2 caller fail as well."
                )
                yield Finding("SRF-TRN-18", sentence, "an answer", str(ending), HttpRequest("POST", _ASK))
                return


def shut_windows_hold(subject: Subject) -> Iterator[Finding]:
    request = HttpRequest("POST", POUR)
    with _standing(subject) as stand, stand.caller(initial_window=0) as caller, stand.caller() as other:
        stream = caller.stream()
        caller.start(stream, stand.head(POUR.encode()), _MESSAGE)
        sent_count, still, until = -1, 0, time.monotonic() + 2 * TIMEOUT
        while still < 3 and time.monotonic() < until and sent_count <= MOST_HELD:
            before, sent_count = sent_count, stand.upstream.poured
            still = still + 1 if sent_count == before and sent_count else 0
            if not _is_answered(ending := stand.ask(other)):
                sentence = "While one HTTP/2 caller does not take an answer, others get none."
                yield Finding("SRF-TRN-19", sentence, "an answer", str(ending), request)
                return
            pause(0.15)
        if sent_count > MOST_HELD:
            taken = f"{sent_count >> 20} MiB of the answer are taken from the upstream."
            sentence = f"A caller's HTTP/2 window is shut, and {taken}"
            yield Finding("SRF-TRN-19", sentence, f"at most {MOST_HELD >> 20} MiB", f"{sent_count >> 20} MiB", request)
            return
        caller.send(http2.window(stream, 1 << 24))
        ending = caller.answer(stream, timeout=3 * TIMEOUT)
        if ending.how != "answered" or len(ending.body) != WHOLE:
            sentence = "An answer that waited for a caller's HTTP/2 window does not go on to its end once it opens."
            yield Finding("SRF-TRN-19", sentence, f"{WHOLE} bytes", str(ending), request)


Flood = Callable[[_Stand, http2.Caller], Iterator[bytes]]


def _again(piece: bytes) -> Flood:
    def flood(stand: _Stand, caller: http2.Caller) -> Iterator[bytes]:
        while True:
            yield piece

    return flood


def _on_a_stream(kind: int, flags: int, payload: bytes) -> Flood:
    def flood(stand: _Stand, caller: http2.Caller) -> Iterator[bytes]:
        stream = caller.stream()
        yield http2.frame(http2.HEADERS, http2.END_HEADERS, stream, caller.block(stand.head()))
        while True:
            yield http2.frame(kind, flags, stream, payload)

    return flood


def _resets(stand: _Stand, caller: http2.Caller) -> Iterator[bytes]:
    """CVE-2023-44487."""
    fields = stand.head()
    stream = caller.stream()
    yield http2.frame(http2.HEADERS, http2.END_HEADERS, stream, caller.block(fields)) + http2.frame(
        http2.RST_STREAM, 0, stream, _CANCEL
    )
    block = caller.block(fields)  # from the table, the same for every stream
    while True:
        stream = caller.stream()
        yield http2.frame(http2.HEADERS, http2.END_HEADERS, stream, block) + http2.frame(
            http2.RST_STREAM, 0, stream, _CANCEL
        )


def _heads_without_end(stand: _Stand, caller: http2.Caller) -> Iterator[bytes]:
    """CVE-2024-27316 and its kind."""
    stream = caller.stream()
    yield http2.frame(http2.HEADERS, 0, stream, caller.block(stand.head()))
    while True:
        yield http2.frame(http2.CONTINUATION, 0, stream)


FLOODS: Final[tuple[tuple[str, Flood], ...]] = (
    ("SETTINGS that say nothing", _again(http2.frame(http2.SETTINGS))),
    ("PING", _again(http2.frame(http2.PING, 0, 0, bytes(8)))),
    ("PRIORITY", _again(http2.frame(http2.PRIORITY, 0, 1, b"\0\0\0\x03\x10"))),
    ("DATA without any", _on_a_stream(http2.DATA, 0, b"")),
    ("streams that are begun and reset", _resets),
    ("CONTINUATION without end", _heads_without_end),
)


def floods_end(subject: Subject) -> Iterator[Finding]:
    request = HttpRequest("POST", _ASK)
    with _standing(subject) as stand, stand.caller() as other:
        for name, flood in FLOODS:
            with stand.caller() as caller:
                frames, count = flood(stand, caller), 0
                until, over = time.monotonic() + _LONGEST, False
                while count < MOST_FRAMES and not over and time.monotonic() < until:
                    caller.wire.settimeout(_LONGEST)
                    is_sent = caller.send(*islice(frames, _AT_ONCE))
                    count += _AT_ONCE
                    over = _is_over(caller, 0.001) or not is_sent
                    if not _is_answered(ending := stand.ask(other)):
                        sentence = f"While somebody floods with {name}, another caller over HTTP/2 gets no answer."
                        yield Finding("SRF-TRN-20", sentence, "an answer", str(ending), request)
                        return
                over = over or count < MOST_FRAMES or _is_over(caller, 1.0)
            if not over:
                sentence = f"{count} frames of a flood with {name} are taken in a row, and the connection goes on."
                yield Finding(
                    "SRF-TRN-20", sentence, "GOAWAY, or the end of the connection", f"{count} frames", request
                )


def _is_over(caller: http2.Caller, timeout: float) -> bool:
    """Read what there is. Whether the connection has ended, or its end was announced."""
    while (frame := caller.next(timeout)) is not None:
        if frame.kind == http2.GOAWAY:
            return True
    return not caller.open
