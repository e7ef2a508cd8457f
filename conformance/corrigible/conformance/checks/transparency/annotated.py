"""Checks of errors that the subject annotates, as the caller prefers: everything native in them is unchanged.

The answers are the reference API's own, altered so that they are the same refusal in a form that is easily broken. The
caller chooses the mode (RFC 7240), and a caller that chooses none sees no trace of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from corrigible.conformance.checks.support.exchange import ASK, JSON, as_bytes, listed
from corrigible.conformance.checks.support.known_error import (
    KNOWN,
    NEEDS_A_LOOK,
    QUERY,
    answer_differences,
    as_script,
    decoded_body,
    feedback,
    has_feedback,
    headers,
    native,
    native_differences,
    require_feedback,
    text,
    without_additions,
)
from corrigible.conformance.checks.transparency.passing import GET
from corrigible.conformance.model.outcome import NotApplicable
from corrigible.conformance.reference.upstream import Script, answer, chunked
from corrigible.conformance.suite.subject import Pair, Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse, encoded, readable
from corrigible.conformance.validators.finding import Finding
from corrigible.schema.exchange import Json

Variant = tuple[str, Script]
altered: Final = partial(listed, "annotated")
_CHANGES: Final = frozenset(
    {
        *("content-length", "vary", "preference-applied", "etag", "digest", "content-digest", "repr-digest"),
        *(
            "content-md5",
            "content-type",
            "link",
            "warning",
            "cache-control",
            "server-timing",
            "content-encoding",
            "date",
            "via",
        ),
    }
)
"""Headers that go with another body, or say that there is one."""


def status_kept(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    variants = [
        (f"a {status}", as_script(native_response, status=status))
        for status in (400, 403, 404, 409, 422, 429, 500, 503)
    ]
    for _, pair, name in _pairs(subject, variants):
        for difference in answer_differences(pair.direct, pair.through, annotated=True):
            yield difference.finding("SRF-TRN-03", KNOWN, f"{name} that is annotated")


def every_refusal_kept(subject: Subject) -> Iterator[Finding]:
    """What the reference API says by itself, in other operations, other methods and the other dialect."""
    annotated = []
    for sent in (
        KNOWN,
        QUERY,
        NEEDS_A_LOOK,
        *(HttpRequest(s.method, "/problem" + s.target, s.headers, s.body) for s in (KNOWN, QUERY)),
    ):
        native_response = native(subject, sent)
        pair = subject.both(sent, as_script(native_response))
        annotated.append(has_feedback(pair))
        for difference in answer_differences(pair.direct, pair.through, annotated=True):
            yield difference.finding("SRF-TRN-03", sent, f"{sent.method} {sent.target}")
        for lack in native_differences(pair):
            yield lack.finding("SRF-TRN-05", sent, f"{sent.method} {sent.target}")
    require_feedback(annotated)


def type_kept(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    variants = [(name, as_script(native_response, headers=[("content-TYPE", name)])) for name in altered("types")]
    for _, pair, name in _pairs(subject, variants):
        before, after = pair.direct.values("content-type"), pair.through.values("content-type")
        if before != after:
            sentence = f"an annotated answer of type {name} is of another type"
            yield Finding("SRF-TRN-04", sentence, list(before), list(after), KNOWN)


def headers_kept(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    more = [(name, value) for name, value in altered("headers")]
    for _, pair, _ in _pairs(subject, [("headers", as_script(native_response, headers=more))]):
        for header in headers(pair.direct.headers, pair.through.headers, except_for=_CHANGES):
            yield header.finding("SRF-TRN-05", KNOWN, "an annotated answer")


def members_kept(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    inner = native_response.body.strip()[1:-1]
    forms = {one["name"]: as_bytes(one["body"]).replace(b"{inner}", inner) for one in altered("members")}
    variants = [(name, as_script(native_response, body=body)) for name, body in forms.items()]
    for _, pair, name in _pairs(subject, variants):
        for difference in native_differences(pair):
            yield difference.finding("SRF-TRN-05", KNOWN, name)


def own_member_kept(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    inner = native_response.body.strip()[1:-1]
    forms = [
        (value, as_script(native_response, body=b'{"recovery_feedback": %s, %s}' % (value.encode(), inner)))
        for value in altered("own")
    ]
    for _, pair, name in _pairs(subject, forms, needed=False):
        before, after = _own_members(pair.direct), _own_members(pair.through)
        if before != after:
            sentence = "the upstream's own member recovery_feedback was overwritten, repeated or taken away"
            yield Finding("SRF-TRN-07", f"{name}: {sentence}", before, after, KNOWN)


def length_kept_right(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    half = len(native_response.body) // 2
    plain_headers = [header for header in native_response.headers if header[0].lower() != "content-length"]
    variants: list[Variant] = [
        ("a length", as_script(native_response)),
        (
            "chunks",
            chunked(
                native_response.status,
                [native_response.body[:half], native_response.body[half:]],
                plain_headers,
                reason=native_response.reason,
            ),
        ),
        (
            "chunks and trailers",
            chunked(native_response.status, [native_response.body], plain_headers, trailers=[("X-T", "1")]),
        ),
    ]
    for _, pair, name in _pairs(subject, variants):
        through = pair.through
        if through.error is not None:
            sentence = f"{name}: the annotated answer is framed wrongly: {through.error}"
            yield Finding("SRF-TRN-06", sentence, "a whole answer", through.error, KNOWN, place="/body")
        lengths = through.values("content-length")
        if len(lengths) > 1 or (lengths and through.header("transfer-encoding") is not None):
            yield Finding("SRF-TRN-06", f"{name}: the annotated answer is framed twice", None, list(lengths), KNOWN)
        yield from _readable("SRF-TRN-06", name, pair)


def coding_kept_right(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    codings = [coding for coding in ("gzip", "deflate", "br", "zstd") if readable(coding)]
    variants = [
        (
            coding,
            as_script(
                native_response, body=encoded(native_response.body, coding), headers=[("Content-Encoding", coding)]
            ),
        )
        for coding in codings
    ]
    for _, pair, name in _pairs(subject, variants):
        yield from _readable("SRF-TRN-06", name, pair)


def digests_kept_right(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    sha = base64.b64encode(hashlib.sha256(native_response.body).digest()).decode()
    md5 = base64.b64encode(hashlib.md5(native_response.body, usedforsecurity=False).digest()).decode()
    vouching = [
        ("Digest", f"SHA-256={sha}"),
        ("Content-Digest", f"sha-256=:{sha}:"),
        ("Repr-Digest", f"sha-256=:{sha}:"),
        ("Content-MD5", md5),
    ]
    variants = [(name, as_script(native_response, headers=[(name, value)])) for name, value in vouching]
    for _, pair, name in _pairs(subject, variants):
        for value in pair.through.values(name):
            if pair.through.body != pair.direct.body and value in pair.direct.values(name):
                sentence = f"{name} still vouches for the body as it was before"
                yield Finding("SRF-TRN-06", sentence, _right(name, pair.through.body), value, KNOWN)
            elif value != _right(name, pair.through.body) and pair.through.body != pair.direct.body:
                yield Finding("SRF-TRN-06", f"{name} is wrong", _right(name, pair.through.body), value, KNOWN)


def checksums_kept_right(subject: Subject) -> Iterator[Finding]:
    """What vendors call their checksums vouches for bytes too: clients that check it send a write again and again."""
    native_response = native(subject)
    crc = zlib.crc32(native_response.body)
    coded = base64.b64encode(crc.to_bytes(4, "big")).decode()
    sha = base64.b64encode(hashlib.sha256(native_response.body).digest()).decode()
    md5 = base64.b64encode(hashlib.md5(native_response.body, usedforsecurity=False).digest()).decode()
    vouching = (
        ("x-amz-crc32", str(crc)),
        ("x-amz-checksum-crc32", coded),
        ("x-amz-checksum-sha256", sha),
        ("x-goog-hash", f"crc32c={coded}, md5={md5}"),
        ("x-ms-content-crc64", "AAAAAAAAAAA="),
    )
    for name, value in vouching:
        pair = subject.both(KNOWN, as_script(native_response, headers=[(name, value)]))
        if pair.through.body != pair.direct.body and value in pair.through.values(name):
            sentence = f"{name} still vouches for the body as it was before"
            yield Finding("SRF-TRN-06", sentence, "the body as it was, or no such header", value, KNOWN)


def tags_kept_right(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    variants = [
        ("a strong ETag", as_script(native_response, headers=[("ETag", '"native-1"')])),
        ("a weak ETag", as_script(native_response, headers=[("ETag", 'W/"native-1"')])),
    ]
    for _, pair, name in _pairs(subject, variants):
        tag = pair.through.header("etag")
        if pair.through.body != pair.direct.body and tag == '"native-1"':
            sentence = f"{name} of the upstream stands over another body: it says that these bytes are the upstream's"
            yield Finding("SRF-TRN-06", sentence, "none, a weak one or another one", tag, KNOWN)


def signed_left_alone(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    sha = base64.b64encode(hashlib.sha256(native_response.body).digest()).decode()
    signed = [
        ("Content-Digest", f"sha-256=:{sha}:"),
        ("Signature-Input", 'sig1=("@status" "content-digest");keyid="k"'),
        ("Signature", "sig1=:AAAA:"),
    ]
    pair = subject.both(KNOWN, as_script(native_response, headers=signed))
    if pair.through.body != pair.direct.body and pair.through.header("signature") is not None:
        sentence = "a body that its sender signed (RFC 9421) was changed, with the signature still over it"
        yield Finding("SRF-TRN-06", sentence, text(pair.direct.body), text(pair.through.body), KNOWN)


def verbose_is_additive(subject: Subject) -> Iterator[Finding]:
    """The mode that diagnoses adds too, and is held to the same."""
    native_response = native(subject)
    request = HttpRequest(
        KNOWN.method, KNOWN.target, tuple(header for header in KNOWN.headers if header != ASK), KNOWN.body
    )
    pair = subject.both(request.adding(("Prefer", "recovery-feedback=verbose")), as_script(native_response))
    if pair.through.body == pair.direct.body:
        raise NotApplicable("the subject adds nothing in the mode verbose")
    for difference in answer_differences(pair.direct, pair.through, annotated=True):
        yield difference.finding("SRF-TRN-03", request, "verbose")
    for lack in native_differences(pair):
        yield lack.finding("SRF-TRN-05", request, "verbose")


def _pairs(subject: Subject, variants: Iterable[Variant], *, needed: bool = True) -> Iterator[tuple[int, Pair, str]]:
    """Yield the answers to each variant. NotApplicable at the end, where none was annotated."""
    annotated = []
    for index, (name, script) in enumerate(variants):
        pair = subject.both(KNOWN, script)
        annotated.append(has_feedback(pair))
        yield index, pair, name
    if needed:
        require_feedback(annotated)


def _readable(requirement: str, name: str, pair: Pair) -> Iterator[Finding]:
    """The body can be decoded as its headers say, and is the JSON it was, and more."""
    try:
        body = decoded_body(pair.through)
    except ValueError as problem:
        sentence = f"{name}: the annotated body is not coded as its Content-Encoding says: {problem}"
        yield Finding(
            requirement, sentence, list(pair.direct.values("content-encoding")), text(pair.through.body), KNOWN
        )
        return
    try:
        json.loads(body)
    except ValueError as problem:
        yield Finding(requirement, f"{name}: the annotated body is no JSON: {problem}", "JSON", text(body), KNOWN)


def _own_members(response: HttpResponse) -> Json:
    """Return every value of the member, as written: there may be two, and one may be somebody else's."""
    own_members: list[Json] = []

    def keep(pairs: list[tuple[str, Json]]) -> Json:
        members = dict(pairs)
        if "error" in members:
            own_members.extend(value for name, value in pairs if name == "recovery_feedback")
        return members

    try:
        json.loads(decoded_body(response), object_pairs_hook=keep)
    except ValueError:
        return None
    return own_members


def _right(name: str, body: bytes) -> str:
    sha = base64.b64encode(hashlib.sha256(body).digest()).decode()
    match name:
        case "Digest":
            return f"SHA-256={sha}"
        case "Content-MD5":
            return base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
        case _:
            return f"sha-256=:{sha}:"


PREFERENCE: Final = "recovery-feedback"


def none_is_honoured(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    require_feedback([has_feedback(subject.both(KNOWN, as_script(native_response)))])
    for sent in (KNOWN, QUERY):
        pair = subject.both(_preferring(sent, "recovery-feedback=none"), as_script(native_response))
        for difference in answer_differences(pair.direct, _without_note(pair.through)):
            yield difference.finding("SRF-NEG-01", sent, "Prefer: recovery-feedback=none, and yet", " ")


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
    annotated = []
    for prefer in (ASK[1], None):
        sent = _preferring(KNOWN, prefer)
        for name, vary in altered("vary"):
            pair = subject.both(sent, as_script(native_response, headers=[(key, value) for key, value in vary]))
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
    others = altered("others")
    for values in (
        ["recovery-feedback=reflective"],
        ["recovery-feedback=none"],
        others,
        [*others, altered("unknown")[0]],
    ):
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
    for value in altered("unknown"):
        sent = _preferring(KNOWN, value)
        pair = subject.both(sent, as_script(native_response))
        for difference in answer_differences(usual, without_additions(pair)):
            label = f"Prefer: {value} asks for nothing that there is, and yet"
            yield difference.finding("SRF-NEG-05", sent, label, " ")


def spellings_are_read(subject: Subject) -> Iterator[Finding]:
    native_response = native(subject)
    pair = subject.both(KNOWN, as_script(native_response))
    require_feedback([has_feedback(pair)])
    for value in altered("spellings"):
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
