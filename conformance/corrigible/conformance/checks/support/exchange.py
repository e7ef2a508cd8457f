"""Vectors as HTTP messages, and the checks that validate the feedback of a profile's vectors by itself.

Knows: vectors, bytes, which judge holds which requirements. Does not know: profiles, where feedback stands.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from corrigible.conformance.model.outcome import CouldNotTell, Role
from corrigible.conformance.model.vector import Exchange, exchange, leads_to
from corrigible.conformance.model.yaml_file import VECTORS
from corrigible.conformance.reference.upstream import Pause, Script, answer, chunked
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import Headers, HttpRequest, HttpResponse
from corrigible.conformance.validators import edit, intent, shape, trust
from corrigible.conformance.validators.finding import AnnotatedError, Finding, Registered
from corrigible.conformance.validators.native_preserved import Difference
from corrigible.schema.exchange import Json, Request

JSON: Final = ("Content-Type", "application/json")
ASK: Final = ("Prefer", "recovery-feedback=reflective")
"""Sent throughout: a proxy that was not asked for feedback has nothing to add anyway."""


JUDGES: Final[tuple[Callable[[AnnotatedError], Iterator[Finding]], ...]] = (
    shape.judge,
    edit.judge,
    intent.judge,
    intent.judge_guesses,
    trust.judge_retries,
    trust.judge,
)


def feedback_findings(annotated: AnnotatedError, requirements: frozenset[str] | None = None) -> Iterator[Finding]:
    """Yield what is wrong, of the given requirements or of all. What is no feedback at all is only said to be none."""
    if not isinstance(annotated.feedback, Mapping):
        findings = shape.judge(annotated)
    else:
        findings = (finding for judge in JUDGES for finding in judge(annotated))
    yield from (finding for finding in findings if requirements is None or finding.requirement in requirements)


_JSON: Final = ("Content-Type", "application/json")


class Case(NamedTuple):
    """One answer that passes, what people call it, and the request that it is for."""

    name: str
    sent: HttpRequest
    script: Script


@cache
def cases(group: str) -> tuple[Case, ...]:
    """Return the cases of a group in `vectors/passing.json`."""
    document = json.loads((VECTORS / "passing.json").read_text("utf-8"))
    usual = document["requests"]
    return tuple(
        Case(
            entry["name"], _as_request(usual.get(asked, asked) if isinstance(asked, str) else asked), _as_script(entry)
        )
        for entry in document[group]
        for asked in [entry.get("sent", "GET")]
    )


def _as_request(entry: Mapping[str, Any]) -> HttpRequest:
    return HttpRequest(entry["method"], entry["target"], _fields(entry, "headers"), _as_bytes(entry.get("body", "")))


def _as_script(entry: Mapping[str, Any]) -> Script:
    said: Mapping[str, Any] = entry.get("answer", {"raw": []})
    close, reason, headers = said.get("close", False), said.get("reason", ""), _fields(said, "headers")
    if "raw" in said:
        return Script(tuple(Pause(p["pause"]) if "pause" in p else _as_bytes(p) for p in said["raw"]), close)
    if "chunks" in said:
        trailers = _fields(said, "trailers")
        return chunked(said["status"], map(_as_bytes, said["chunks"]), headers, trailers=trailers, reason=reason)
    body = said["json"] if "json" in said else _as_bytes(said.get("body", ""))
    return answer(said["status"], body, headers, reason=reason, close=close)


def _fields(entry: Mapping[str, Any], name: str) -> Headers:
    return tuple((name, _as_bytes(value).decode("latin-1")) for name, value in entry.get(name, ()))


def _as_bytes(value: Json) -> bytes:
    match value:
        case list():
            return b"".join(map(_as_bytes, value))
        case {"repeat": unit, "times": times}:
            return _as_bytes(unit) * int(times)
        case {"gzip": inner}:
            return gzip.compress(_as_bytes(inner), mtime=0)
        case {"deflate": inner}:
            return zlib.compress(_as_bytes(inner))
        case {"base64": text}:
            return base64.b64decode(text)
        case _:
            return str(value).encode("latin-1")


def sent(request: Request) -> HttpRequest:
    """Return a request document as it goes out, its body as JSON."""
    query = urlencode(dict(request.query), doseq=True)
    body = b"" if request.body is None else encoded(request.body)
    headers = [(name.title(), value) for name, value in request.headers.items()]
    if body and not any(name == "Content-Type" for name, _ in headers):
        headers.append(_JSON)
    return HttpRequest(request.method, request.path + (f"?{query}" if query else ""), tuple(headers), body)


def script(native: Mapping[str, Any]) -> Script:
    """Return the script that gives a vector's answer."""
    headers = [
        (name.title(), item)
        for name, value in native.get("headers", {}).items()
        for item in (value if isinstance(value, list) else [value])
    ]
    body = native.get("body")
    text = native["text"].encode() if "text" in native else b"" if body is None else encoded(body)
    return answer(native["status"], text, headers)


def encoded(value: Json) -> bytes:
    """Return compact JSON, members in their order."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def require_answer(response: HttpResponse) -> HttpResponse:
    """Raise CouldNotTell where there was no whole answer."""
    if response.status == 0 or response.error is not None:
        raise CouldNotTell(response.error or "there was no answer")
    return response


def body_of(response: HttpResponse) -> Mapping[str, Any]:
    """Return the JSON object of an answer, an empty one where there is none."""
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def finding(requirement: str, difference: Difference, request: HttpRequest) -> Finding:
    """Return the finding about a difference."""
    place = f"/body{difference.pointer}"
    return Finding(requirement, difference.message, difference.expected, difference.got, request, place=place)


def reader_findings(
    vector: Exchange,
    feedback: Json | None,
    request: Request,
    sent_request: HttpRequest,
    requirement: str = "SRF-COR-14",
) -> Iterator[Finding]:
    """Yield where feedback leads a reader that its vector does not allow."""
    problem = leads_to(vector.allowed, feedback, request)
    if problem is not None:
        sentence = f"{vector.description} That is not where the feedback leads: {problem}"
        yield Finding(requirement, sentence, [dict(way) for way in vector.allowed], feedback, sent_request)


EITHER: Final[frozenset[Role]] = frozenset({"producer", "proxy"})
PROXY: Final[frozenset[Role]] = frozenset({"proxy"})
Judge = Callable[[AnnotatedError], Iterator[Finding]]
Row = tuple[str, str, Callable[[Subject], Iterator[Finding]], str]

_HELD: Final[Mapping[str, tuple[str, Judge, tuple[str, ...]]]] = {
    "shape": (
        "Feedback has the contract's shape",
        shape.judge,
        tuple(f"SRF-COR-{number}" for number in ("02", "03", "04", "05", "06", "12", "13", "16")),
    ),
    "edits": (
        "Suggestions apply",
        edit.judge,
        tuple(f"SRF-OPS-{number}" for number in ("01", "02", "03", "05", "06", "07", "08", "10", "11")),
    ),
    "intent": (
        "Suggestions say what they change and what they lose",
        intent.judge,
        ("SRF-OPS-09", "SRF-OPS-13"),
    ),
    "effects": ("Suggestions say what they set off", intent.judge, ("SRF-OPS-12",)),
    "waits": (
        "Waits are the upstream's, and end",
        trust.judge_retries,
        tuple(f"SRF-RTY-{number}" for number in ("01", "02", "03", "04", "05")),
    ),
    "words": (
        "Words are clean, claims can be counted, secrets stay",
        trust.judge,
        tuple(f"SRF-SEC-{number}" for number in ("02", "03", "05", "10")),
    ),
}
_ONLY: Final[Mapping[str, frozenset[str]]] = {"effects": frozenset({"kubernetes-api"})}
"""What cannot be told everywhere: in the other profiles reading and writing have the same method."""
_LONG: Final = re.compile(r"[\w-]{12,}")


class Explained(NamedTuple):
    """A refusal of a vector, and the feedback that came with it."""

    vector: Exchange
    sent: HttpRequest
    response: HttpResponse
    feedback: Json
    request: Request
    """What the feedback refers to."""
    vocabulary: Mapping[str, Registered] = {}

    @property
    def annotated_error(self) -> AnnotatedError:
        """What a judge looks at. The credentials of the request are what nobody may repeat."""
        return AnnotatedError(
            request=self.request,
            feedback=self.feedback,
            status=self.response.status,
            headers={name.lower(): value for name, value in self.response.headers},
            vocabulary=self.vocabulary,
            secrets=tuple(_LONG.findall(self.sent.header("authorization") or "")),
            sent=self.sent,
        )


Explanations = Callable[[Subject], Iterator[Explained]]
Refusals = Iterator[tuple[Exchange, HttpRequest, HttpResponse]]


def refusals_of(profile: str, subject: Subject) -> Refusals:
    """Yield every refusal of a profile's vectors; the upstream of a proxy gives the vector's answer."""
    for vector in exchange(profile):
        request = sent(vector.request)
        response = subject.through(request, script(vector.answer) if subject.upstream is not None else None)
        yield vector, request, require_answer(response)


def status_changed(vector: Exchange, request: HttpRequest, response: HttpResponse) -> Iterator[Finding]:
    """Yield where the status of a refusal is not its vector's."""
    if response.status != vector.answer["status"]:
        yield Finding("SRF-TRN-03", "the status code changed", vector.answer["status"], response.status, request)


def judged_checks(
    prefix: str, profile: str, explanations: Explanations, roles: frozenset[Role], *, leads: bool = True
) -> tuple[Check, ...]:
    """Return the checks that judge every feedback of a profile; with `leads`, also that of where it leads a reader."""

    def leads_where_it_may(subject: Subject) -> Iterator[Finding]:
        """A reader of the feedback ends where the vector allows it."""
        for one in explanations(subject):
            yield from reader_findings(one.vector, one.feedback, one.request, one.sent)

    rows: list[Row] = [
        (name, title, _run(judge, requirements, explanations), " ".join(requirements))
        for name, (title, judge, requirements) in _HELD.items()
        if profile in _ONLY.get(name, (profile,))
    ]
    if leads:
        rows.insert(0, ("next-request", "Feedback leads where it may", leads_where_it_may, "SRF-COR-14"))
    return profile_checks((prefix, profile, roles), *rows)


def _run(
    judge: Judge, requirements: tuple[str, ...], explanations: Explanations
) -> Callable[[Subject], Iterator[Finding]]:
    def run(subject: Subject) -> Iterator[Finding]:
        for one in explanations(subject):
            yield from (finding for finding in judge(one.annotated_error) if finding.requirement in requirements)

    return run


def profile_checks(where: tuple[str, str, frozenset[Role]], *rows: Row) -> tuple[Check, ...]:
    """Return checks by prefix, profile and roles. A row: name, title, run and the requirements, separated by blanks."""
    prefix, profile, roles = where
    return tuple(
        Check(f"{prefix}/{name}", title, tuple(requirements.split()), run, frozenset({profile}), roles)
        for name, title, run, requirements in rows
    )
