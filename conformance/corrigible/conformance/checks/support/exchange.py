"""Vectors as HTTP messages, and the checks that validate the feedback of a profile's vectors by itself.

Knows: vectors, bytes, which judge holds which requirements. Does not know: profiles, where feedback stands.

Requests that cause errors, and the outcome of each: the reference API's, or those in a producer's config.

Knows: requests, how to send them as somebody new, what came back. Does not know: what is right or wrong about it.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlencode

from corrigible.conformance.model.outcome import CouldNotTell, Missing
from corrigible.conformance.model.vector import Exchange, exchange, leads_to, request_of
from corrigible.conformance.model.yaml_file import SUITE, VECTORS, load_yaml
from corrigible.conformance.reference import api
from corrigible.conformance.reference.upstream import Pause, Received, Script, answer, chunked
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import Headers, HttpRequest, HttpResponse, KeepAlive, request_document
from corrigible.conformance.validators import edit, intent, shape, trust
from corrigible.conformance.validators.finding import AnnotatedError, Finding, Registered
from corrigible.conformance.validators.native_preserved import Difference
from corrigible.conformance.validators.openapi import Description
from corrigible.schema.exchange import Json, Request

JSON: Final = ("Content-Type", "application/json")
ASK: Final = ("Prefer", "recovery-feedback=reflective")
"""Sent throughout: a proxy that was not asked for feedback has nothing to add anyway."""


def feedback_findings(annotated: AnnotatedError, requirements: frozenset[str] | None = None) -> Iterator[Finding]:
    """Yield what is wrong, of the given requirements or of all. What is no feedback at all is only said to be none."""
    judges = (shape, edit, intent, trust) if isinstance(annotated.feedback, Mapping) else (shape,)
    findings = (finding for each in judges for finding in each.judge(annotated))
    yield from (finding for finding in findings if requirements is None or finding.requirement in requirements)


class Case(NamedTuple):
    """One answer that passes, what people call it, and the request that it is for."""

    name: str
    sent: HttpRequest
    script: Script


@cache
def listed(file: str, group: str) -> Any:
    """Return a group of a file of vectors."""
    return json.loads((VECTORS / f"{file}.json").read_text("utf-8"))[group]


@cache
def cases(group: str) -> tuple[Case, ...]:
    """Return the cases of a group in `vectors/passing.json`."""
    usual = listed("passing", "requests")
    return tuple(
        Case(
            entry["name"], _as_request(usual.get(asked, asked) if isinstance(asked, str) else asked), _as_script(entry)
        )
        for entry in listed("passing", group)
        for asked in [entry.get("sent", "GET")]
    )


def _as_request(entry: Mapping[str, Any]) -> HttpRequest:
    target = as_bytes(entry["target"]).decode("latin-1")
    return HttpRequest(entry["method"], target, _fields(entry, "headers"), as_bytes(entry.get("body", "")))


def _as_script(entry: Mapping[str, Any]) -> Script:
    said: Mapping[str, Any] = entry.get("answer", {"raw": []})
    close, reason, headers = said.get("close", False), said.get("reason", ""), _fields(said, "headers")
    if "raw" in said:
        return Script(tuple(Pause(p["pause"]) if "pause" in p else as_bytes(p) for p in said["raw"]), close)
    if "chunks" in said:
        trailers = _fields(said, "trailers")
        return chunked(said["status"], map(as_bytes, said["chunks"]), headers, trailers=trailers, reason=reason)
    body = said["json"] if "json" in said else as_bytes(said.get("body", ""))
    return answer(said["status"], body, headers, reason=reason, close=close)


def _fields(entry: Mapping[str, Any], name: str) -> Headers:
    return tuple((name, as_bytes(value).decode("latin-1")) for name, value in entry.get(name, ()))


def as_bytes(value: Json) -> bytes:
    """Return the bytes that a file of vectors writes in one of its ways."""
    match value:
        case list():
            return b"".join(map(as_bytes, value))
        case {"repeat": unit, "times": times}:
            return as_bytes(unit) * int(times)
        case {"gzip": inner}:
            return gzip.compress(as_bytes(inner), mtime=0)
        case {"deflate": inner}:
            return zlib.compress(as_bytes(inner))
        case {"base64": text}:
            return base64.b64decode(text)
        case _:
            return str(value).encode("latin-1")


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
        request = as_sent(vector.request)
        response = subject.through(request, script(vector.answer) if subject.upstream is not None else None)
        yield vector, request, require_answer(response)


def status_changed(vector: Exchange, request: HttpRequest, response: HttpResponse) -> Iterator[Finding]:
    """Yield where the status of a refusal is not its vector's."""
    if response.status != vector.answer["status"]:
        yield Finding("SRF-TRN-03", "the status code changed", vector.answer["status"], response.status, request)


def leading(explanations: Explanations) -> Callable[[Subject], Iterator[Finding]]:
    """Return a check that a reader of the feedback ends where the vector allows it."""

    def leads_where_it_may(subject: Subject) -> Iterator[Finding]:
        """A reader of the feedback ends where the vector allows it."""
        for one in explanations(subject):
            yield from reader_findings(one.vector, one.feedback, one.request, one.sent)

    return leads_where_it_may


def judging(explanations: Explanations) -> Callable[..., Callable[[Subject], Iterator[Finding]]]:
    """Return what makes a check of requirements: each feedback of a profile is judged by itself."""

    def judged(*requirements: str) -> Callable[[Subject], Iterator[Finding]]:
        def run(subject: Subject) -> Iterator[Finding]:
            for one in explanations(subject):
                yield from feedback_findings(one.annotated_error, frozenset(requirements))

        return run

    return judged


PROFILES: Final = frozenset({"http-json", "problem+json"})
Way = Literal["mends", "asks", "ends", "chooses"]


@dataclass(frozen=True, slots=True)
class ErrorRequest:
    """One request that is refused."""

    name: str
    request: Request
    way: Way | None = None
    """What a reader is left with: a request that works, a question, an end, a choice; None where nobody knows."""
    faults: int = 1
    """How many things are wrong with it."""
    state: Mapping[str, Json] | None = None
    """Path, member and value: what the API holds after the repair was sent."""
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A provocation and its answer."""

    by: ErrorRequest
    sent: HttpRequest
    got: HttpResponse
    caller: tuple[str, str]
    annotated_error: AnnotatedError

    @property
    def feedback(self) -> Mapping[str, Json] | None:
        return self.got.feedback


NEEDS_PROVOCATIONS: Final = (
    "needs `provocations` in the config file, requests that this API refuses: `conformance init` finds some, see "
    "Providers in the docs"
)
_CREDENTIAL: Final = re.compile("authorization|cookie|(?<!idempotency-)key$|token|secret", re.IGNORECASE)


@cache
def of_reference(name: str) -> tuple[Mapping[str, Any], ...]:
    """Return the entries of a YAML file about the reference API."""
    return tuple(load_yaml((SUITE / "reference" / f"{name}.yaml").read_text("utf-8")))


@cache
def _own_requests() -> tuple[ErrorRequest, ...]:
    return tuple(map(_read, of_reference("provocations")))


def _read(entry: Mapping[str, Any]) -> ErrorRequest:
    return ErrorRequest(
        entry["name"],
        request_of(entry["request"]),
        entry.get("way"),
        entry.get("faults", 1),
        entry.get("state"),
        tuple(entry.get("secrets", ())),
    )


def error_requests(subject: Subject) -> tuple[ErrorRequest, ...]:
    """Return what the subject is expected to refuse. Raises CouldNotTell where nobody said."""
    configured = subject.config.get("provocations")
    if configured:
        return tuple(_read({"name": f"provocation {number + 1}", **entry}) for number, entry in enumerate(configured))
    if subject.upstream is None:
        raise Missing(NEEDS_PROVOCATIONS)
    return tuple(replace(one, request=below(subject, one.request)) for one in _own_requests())


def below(subject: Subject, request: Request) -> Request:
    """Return a request to the reference API where it speaks the dialect of the subject's profile."""
    base = api.PROBLEM if subject.profile == "problem+json" else ""
    return replace(request, path=base + request.path)


def to_shop(
    subject: Subject, method: str, path: str, *, body: Json = None, query: Mapping[str, Json] | None = None
) -> HttpRequest:
    """Return a request to the reference API as it goes out."""
    return as_sent(below(subject, Request(method, path, query or {}, body=body)))


def with_several_faults(subject: Subject) -> list[ErrorRequest]:
    """Return those with more than one fault. Raises Missing where the config has none."""
    several = [error_request for error_request in error_requests(subject) if error_request.faults > 1]
    if not several:
        raise Missing("needs one of the `provocations` with `faults`, the number of its faults, above 1")
    return several


def refusals(
    subject: Subject, *, only: Sequence[ErrorRequest] | None = None, headers: Sequence[tuple[str, str]] = (ASK,)
) -> Iterator[Refused]:
    """Send what is refused, each as a new caller, and yield what came back. Raises CouldNotTell for no answer."""
    for error_request in error_requests(subject) if only is None else only:
        yield send_error_request(subject, error_request, subject.caller(), headers)


def credentials(
    subject: Subject, caller: tuple[str, str], headers: Sequence[tuple[str, str]] = (ASK,)
) -> list[tuple[str, str]]:
    """Return who asks, and for what: the config's headers where there are some, with the caller's name beside them."""
    configured = subject.config.get("headers")
    if not isinstance(configured, Mapping):
        return [*headers, caller]
    name = caller[1].rpartition(" ")[2]
    named = [(key, f"{value}; caller={name}" if key.lower() == "prefer" else value) for key, value in headers]
    return [*((str(key), str(value)) for key, value in configured.items()), *named]


def signed(request: HttpRequest, own: Iterable[tuple[str, str]]) -> HttpRequest:
    """Return a request with the headers that it has not got."""
    return request.adding(*((name, value) for name, value in own if request.header(name) is None))


def send_error_request(
    subject: Subject, error_request: ErrorRequest, caller: tuple[str, str], headers: Sequence[tuple[str, str]] = (ASK,)
) -> Refused:
    """Send one request that is refused."""
    request = signed(as_sent(error_request.request), credentials(subject, caller, headers))
    response = send_for_answer(subject, request)
    return Refused(
        error_request, request, response, caller, annotated_error(subject, request, response, error_request.secrets)
    )


def annotated_error(
    subject: Subject, request: HttpRequest, response: HttpResponse, secrets: Sequence[str] = ()
) -> AnnotatedError:
    """Return what a judge looks at. Nobody may repeat the caller's credentials, or the request's secrets."""
    credentials = [value for name, value in request.headers if _CREDENTIAL.search(name)]
    words = [word for value in credentials for word in _LONG.findall(value)]
    return AnnotatedError(
        request=request_document(request),
        feedback=response.feedback,
        status=response.status,
        headers={name.lower(): value for name, value in response.headers},
        vocabulary=vocabulary(subject),
        description=description(subject),
        secrets=(*secrets, *words),
        sent=request,
    )


def refusals_with_feedback(subject: Subject, requirement: str) -> Iterator[Refused | Finding]:
    """Yield the refusals that carry feedback; where none does, one finding that says so."""
    everything = spoke = 0
    for refusal in each_refused(subject):
        everything += 1
        if refusal.feedback is not None:
            spoke += 1
            yield refusal
    if everything and not spoke:
        yield no_feedback(everything, requirement)


def each_refused(subject: Subject) -> Iterator[Refused]:
    """Yield what is refused and its answers, for those who only look: it is asked once."""
    return subject.each("what is refused", lambda: refusals(subject))


def refused(subject: Subject) -> tuple[Refused, ...]:
    """Return all of them."""
    return tuple(each_refused(subject))


def no_feedback(count: int, requirement: str) -> Finding:
    """Return the finding about a subject that never says anything."""
    sentence = f"None of {count} refusals carried recovery_feedback, so there is nothing here that could be right."
    return Finding(requirement, sentence, "feedback to judge", None)


def send_for_answer(subject: Subject, request: HttpRequest, line: KeepAlive | None = None) -> HttpResponse:
    """Send, and raise CouldNotTell where there was no whole answer."""
    return require_answer(subject.wire.send(request, line=line))


def as_sent(request: Request) -> HttpRequest:
    """Return a request document as it goes out."""
    pairs = [(n, v) for n, value in request.query.items() for v in (value if isinstance(value, list) else [value])]
    target = request.path + (
        f"?{urlencode([(n, (str(v).lower() if isinstance(v, bool) else str(v))) for n, v in pairs])}" if pairs else ""
    )
    headers = [(name, value) for name, value in request.headers.items()]
    body = b""
    if request.body is not None:
        body = urlencode(request.body).encode() if request.form else encoded(request.body)
        if not any(name.lower() == "content-type" for name, _ in headers):
            kind = "application/x-www-form-urlencoded" if request.form else "application/json"
            headers.append(("Content-Type", kind))
    return HttpRequest(request.method, target, tuple(headers), body)


OWN: Final = frozenset({"authorization", "prefer", "cookie"})
"""Headers that a caller has of its own: no request of a reader's has them."""


def again(request: Request) -> HttpRequest:
    """Return what a reader made of feedback as it goes out, without what is the caller's own."""
    headers = {name: value for name, value in request.headers.items() if name.lower() not in OWN}
    return as_sent(replace(request, headers=headers))


@cache
def _reference_vocabulary() -> Mapping[str, Registered]:
    manifest = load_yaml((api.PACK / "pack.yaml").read_text("utf-8"))
    return _vocabulary(manifest.get("actions", {}))


def vocabulary(subject: Subject) -> Mapping[str, Registered]:
    """Return the actions that the config registers; for the reference API those of its pack."""
    configured = subject.config.get("actions")
    return _vocabulary(configured) if isinstance(configured, Mapping) else _reference_vocabulary()


def _vocabulary(actions: Mapping[str, Any]) -> dict[str, Registered]:
    return {name: Registered(action["base_action"], action.get("parameters", {})) for name, action in actions.items()}


def description(subject: Subject) -> Description | None:
    """Return the API's description: the reference's own, or the file that the config names."""
    if subject.upstream is not None:
        return api.DESCRIPTION
    configured = subject.config.get("spec")
    return _loaded(str(configured)) if configured else None


@cache
def _loaded(path: str) -> Description:
    return Description.load(Path(path))


@contextmanager
def answering_for_upstream(subject: Subject, script_of: Callable[[Received], Script | None]) -> Iterator[None]:
    """Let somebody else answer what the suite's upstream is asked; None: as the reference API does.

    Look-ups are answered too, however they are made: no header tells them apart.
    """
    upstream = subject.suite_upstream
    usual = upstream.api
    upstream.api = lambda received: script_of(received) or usual(received)
    try:
        yield
    finally:
        upstream.api = usual


NO_TRIAL: Final = answer(501, {"error": {"code": "no_trials", "message": "Nothing is tried here."}})


def is_trial(request: HttpRequest) -> bool:
    """Whether a request to the reference API only tries."""
    return "dry_run=true" in request.target.partition("?")[2].split("&")


def native(
    profile: str,
    status: int,
    code: str,
    message: str,
    place: str = "",
    headers: Sequence[tuple[str, str]] = (),
    more: Mapping[str, Json] | None = None,
) -> Script:
    """Return a refusal in the dialect of a profile; `place` as people write it: `lines[0].sku`."""
    if profile == "problem+json":
        listed = [{"code": code, "detail": message, "pointer": "#/" + place.replace("[", "/").replace("].", "/")}]
        body: dict[str, Json] = {"type": f"urn:shop:{code}", "title": message, "status": status, "code": code}
        body |= {"errors": listed} if place else {}
        return answer(status, body | dict(more or {}), [("Content-Type", "application/problem+json"), *headers])
    error: dict[str, Json] = {"code": code, "message": message} | ({"param": place} if place else {})
    return answer(status, {"error": error | dict(more or {})}, [("Content-Type", "application/json"), *headers])
