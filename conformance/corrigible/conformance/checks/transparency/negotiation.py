"""Checks: the caller chooses the mode (RFC 7240), and a caller that chooses none sees no trace of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from corrigible.conformance.checks.support.headers import ASK, JSON
from corrigible.conformance.checks.support.known_error import (
    KNOWN,
    QUERY,
    as_script,
    feedback,
    has_feedback,
    native,
    require_feedback,
)
from corrigible.conformance.checks.support.unchanged import differences, without_additions
from corrigible.conformance.reference.upstream import answer
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import Finding

from .passing import GET

PREFERENCE: Final = "recovery-feedback"
PROFILES: Final = frozenset({"http-json"})
_OTHERS: Final = ("respond-async, wait=10", "handling=lenient", 'return="minimal"; foo="a, b"')
UNKNOWN: Final = (
    "recovery-feedback=banana",
    "recovery-feedback",
    'recovery-feedback=""',
    "recovery-feedback=reflectively",
    "x-recovery-feedback=reflective",
    "recovery-feedback-level=reflective",
    "=reflective",
    ";;;,,=",
    'recovery-feedback="refl',
)
"""None of these asks for anything that there is."""
KNOWN_SPELLINGS: Final = (
    "Recovery-Feedback=Reflective",
    'recovery-feedback="reflective"',
    "recovery-feedback = reflective",
    "respond-async, recovery-feedback=reflective; x=1, wait=10",
    'foo="a, recovery-feedback=none", recovery-feedback=reflective',
    "recovery-feedback=reflective, recovery-feedback=none",
)
"""All of these ask for the same (RFC 7240, section 2; the first of two counts)."""


def none_is_honoured(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    require_feedback([has_feedback(subject.both(KNOWN, as_script(native_response)))])
    for sent in (KNOWN, QUERY):
        pair = subject.both(_preferring(sent, "recovery-feedback=none"), as_script(native_response))
        for difference in differences(pair.direct, _without_note(pair.through)):
            yield Finding(
                "SRF-NEG-01",
                f"Prefer: recovery-feedback=none, and yet {difference.message}",
                difference.expected,
                difference.got,
                sent,
                place=difference.place,
            )


def applied_is_said(subject: Subject) -> Iterator[Finding]:
    """Preference-Applied stands exactly where the preference made a difference."""
    native_response = native(subject)
    annotated = []
    for mode in ("reflective", "verbose"):
        sent = _preferring(KNOWN, f"recovery-feedback={mode}")
        pair = subject.both(sent, as_script(native_response))
        annotated.append(has_feedback(pair))
        changed = pair.through.body != pair.direct.body
        note = pair.through.values("preference-applied")
        expected = f"{PREFERENCE}={mode}"
        if changed and not _names(note, mode):
            sentence = f"an answer made as Prefer asked ({mode}) does not say so in Preference-Applied"
            yield Finding("SRF-NEG-02", sentence, expected, list(note) or "none", sent)
        if any(";" in value for value in note):
            sentence = "Preference-Applied has parameters, which RFC 7240 does not let it have"
            yield Finding("SRF-NEG-02", sentence, expected, list(note), sent)
    unchanged = (
        ("an error nobody knows", GET, answer(418, b'{"odd": 1.0}', [JSON], reason="Teapot")),
        ("a success", GET, answer(200, b'{"odd": 1.0}', [JSON], reason="OK")),
        ("an error that was not asked to be anything", _preferring(KNOWN, None), as_script(native_response)),
    )
    for name, sent, script in unchanged:
        pair = subject.both(sent, script)
        note = pair.through.values("preference-applied")
        if note and (sent.header("prefer") is None or pair.through.body == pair.direct.body):
            said_so = f"{name} says that a preference was applied"
            yield Finding("SRF-NEG-02", said_so, "no Preference-Applied", list(note), sent)
    require_feedback(annotated)


def caches_are_told(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    native_vary: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
        ("no Vary", ()),
        ("a Vary of the upstream's", (("Vary", "Accept, Origin"),)),
        ("two Varies of the upstream's", (("Vary", "Accept"), ("vary", "Origin"))),
        ("Vary: *", (("Vary", "*"),)),
        ("a Vary that names Prefer", (("Vary", "prefer, Origin"),)),
    )
    annotated = []
    for prefer in (ASK[1], None):
        sent = _preferring(KNOWN, prefer)
        for name, headers in native_vary:
            pair = subject.both(sent, as_script(native_response, headers=headers))
            changed = pair.through.body != pair.direct.body
            annotated.append(changed)
            before, after = _varying(pair.direct), _varying(pair.through)
            if changed and not after & {"prefer", "*"}:
                sentence = f"{name}: an annotated answer does not say that it depends on Prefer, so caches mix them up"
                yield Finding("SRF-NEG-03", sentence, "Vary: Prefer", list(pair.through.values("vary")) or "none", sent)
            if before - after and "*" not in after:
                sentence = f"{name}: what the upstream's answer depends on is said no more"
                yield Finding("SRF-NEG-03", sentence, sorted(before), sorted(after), sent)
    require_feedback(annotated)


def preferences_are_forwarded(subject: Subject) -> Iterator[Finding]:
    """Prefer is for everybody along the way (RFC 7240, 2): the upstream may honour it too."""
    yes = answer(200, b'{"ok": 1.0}', [JSON], reason="OK")
    for values in (("recovery-feedback=reflective",), ("recovery-feedback=none",), _OTHERS, (*_OTHERS, UNKNOWN[0])):
        request = HttpRequest("GET", GET.target, tuple(("Prefer", value) for value in values))
        pair = subject.both(request, yes)
        preferences = [v for n, v in pair.received.sent.headers if n.lower() == "prefer"] if pair.received else []
        if preferences != list(values):
            yield Finding(
                "SRF-NEG-04",
                "Prefer does not reach the upstream as it was sent",
                list(values),
                list(preferences),
                request,
            )


def unknown_is_ignored(subject: Subject) -> Iterator[Finding]:
    """What asks for nothing known changes nothing: the answer is the one without any Prefer."""
    native_response = native(subject)
    usual = without_additions(subject.both(_preferring(KNOWN, None), as_script(native_response)))
    for value in UNKNOWN:
        sent = _preferring(KNOWN, value)
        pair = subject.both(sent, as_script(native_response))
        for difference in differences(usual, without_additions(pair)):
            sentence = f"Prefer: {value} asks for nothing that there is, and yet {difference.message}"
            yield Finding("SRF-NEG-05", sentence, difference.expected, difference.got, sent, place=difference.place)


def spellings_are_read(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    pair = subject.both(KNOWN, as_script(native_response))
    require_feedback([has_feedback(pair)])
    for value in KNOWN_SPELLINGS:
        sent = _preferring(KNOWN, value)
        response = subject.both(sent, as_script(native_response)).through
        if feedback(response) is None:
            sentence = f"Prefer: {value} asks for feedback as RFC 7240 writes it, and gets none"
            yield Finding("SRF-NEG-05", sentence, "recovery_feedback", "none", sent)


def _preferring(request: HttpRequest, value: str | None) -> HttpRequest:
    headers = tuple(header for header in request.headers if header[0].lower() != "prefer")
    return HttpRequest(
        request.method, request.target, headers if value is None else (*headers, ("Prefer", value)), request.body
    )


def _without_note(response: HttpResponse) -> HttpResponse:
    """An answer may say that the preference for none was applied."""
    headers = tuple(
        (name, value)
        for name, value in response.headers
        if (name.lower(), value.lower()) != ("preference-applied", f"{PREFERENCE}=none")
    )
    return HttpResponse(
        response.status,
        response.reason,
        headers,
        response.body,
        response.trailers,
        response.informational,
        error=response.error,
    )


def _names(values: Iterable[str], mode: str) -> bool:
    parts = {part.strip().lower() for value in values for part in value.split(",")}
    return f"{PREFERENCE}={mode}" in parts


def _varying(response: HttpResponse) -> set[str]:
    return {part.strip().lower() for value in response.values("vary") for part in value.split(",") if part.strip()}


CHECKS: Final = tuple(
    Check(f"negotiation/{name}", title, (requirement,), run, profiles=PROFILES)
    for name, title, requirement, run in (
        ("none", "Prefer: recovery-feedback=none is honoured", "SRF-NEG-01", none_is_honoured),
        ("applied", "Preference-Applied stands where a preference was applied", "SRF-NEG-02", applied_is_said),
        ("vary", "caches learn that answers depend on Prefer", "SRF-NEG-03", caches_are_told),
        ("forwarded", "Prefer reaches the upstream", "SRF-NEG-04", preferences_are_forwarded),
        ("unknown", "a value nobody knows is ignored", "SRF-NEG-05", unknown_is_ignored),
        ("spelling", "a preference may be written in every way RFC 7240 allows", "SRF-NEG-05", spellings_are_read),
    )
)
