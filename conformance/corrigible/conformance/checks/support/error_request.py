"""Requests that cause errors, and the outcome of each: the reference API's, or those in a producer's config.

Knows: requests, how to send them as somebody new, what came back. Does not know: what is right or wrong about it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlencode

from corrigible.conformance.checks.support.exchange import ASK
from corrigible.conformance.model.outcome import CouldNotTell, Missing
from corrigible.conformance.model.vector import request_of
from corrigible.conformance.model.yaml_file import SUITE, load_yaml
from corrigible.conformance.reference import api
from corrigible.conformance.reference.upstream import Received, Script, answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse, KeepAlive, request_document
from corrigible.conformance.validators.finding import AnnotatedError, Finding, Registered
from corrigible.conformance.validators.openapi import Description
from corrigible.schema.exchange import Json, Request

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
_LONG: Final = re.compile(r"[\w-]{12,}")
_FILE: Final = SUITE / "reference" / "provocations.yaml"


@cache
def _own_requests() -> tuple[ErrorRequest, ...]:
    return tuple(_read(entry) for entry in load_yaml(_FILE.read_text("utf-8")))


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
    if subject.profile == "problem+json":
        return tuple(_below(error_request, api.PROBLEM) for error_request in _own_requests())
    return _own_requests()


def _below(error_request: ErrorRequest, base: str) -> ErrorRequest:
    request = error_request.request
    moved = Request(request.method, base + request.path, request.query, request.headers, request.body, request.form)
    return ErrorRequest(
        error_request.name, moved, error_request.way, error_request.faults, error_request.state, error_request.secrets
    )


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
    response = subject.wire.send(request, line=line)
    if response.status == 0 or response.error is not None:
        raise CouldNotTell(response.error or "there was no answer")
    return response


def as_sent(request: Request) -> HttpRequest:
    """Return a request document as it goes out."""
    pairs = [(n, v) for n, value in request.query.items() for v in (value if isinstance(value, list) else [value])]
    target = request.path + (f"?{urlencode([(n, _text(v)) for n, v in pairs])}" if pairs else "")
    headers = [(name, value) for name, value in request.headers.items()]
    body = b""
    if request.body is not None:
        body = (urlencode if request.form else _compact)(request.body).encode()
        if not any(name.lower() == "content-type" for name, _ in headers):
            kind = "application/x-www-form-urlencoded" if request.form else "application/json"
            headers.append(("Content-Type", kind))
    return HttpRequest(request.method, target, tuple(headers), body)


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _text(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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
