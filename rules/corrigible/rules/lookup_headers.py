"""The headers that say which form and which version of the API a look-up is answered in.

They are those of the refused request, so that a look-up shows what its caller would see. Knows: names, media types.
Does not know: credentials, which a front end adds, who sends.

`Accept`: the media ranges that a caller takes, each with its weight (RFC 9110 sections 12.4.2 and 12.5.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.schema.document import SENDERS_OWN, UNDOCUMENTED
from corrigible.schema.exchange import Protocol, Request

_WEIGHT: Final = re.compile(r"\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*", re.IGNORECASE)
_MOST: Final = 64


class MediaRange(NamedTuple):
    """One element of the list."""

    media: str
    """In lower case, without parameters: `application/json`, `text/*`, `*/*`."""
    parameters: tuple[str, ...]
    """Without the weight, as they were written."""
    weight: float
    """0 for what is not taken."""

    @property
    def written(self) -> str:
        """The range without its weight."""
        return ";".join((self.media, *self.parameters))


def media_ranges(accept: str) -> list[MediaRange]:
    """Return the ranges of an `Accept`, in their order; of a very long one the first."""
    out = []
    for one in accept.split(",", _MOST)[:_MOST]:
        media, *parameters = one.split(";")
        if media := media.strip().lower():
            weights = [match for part in parameters if (match := _WEIGHT.fullmatch(part)) is not None]
            kept = tuple(part.strip() for part in parameters if _WEIGHT.fullmatch(part) is None)
            out.append(MediaRange(media, kept, float(weights[0][1]) if weights else 1.0))
    return out


def accepts(accept: str, media: str) -> bool:
    """Whether an `Accept` takes a media type: the most specific range that includes it decides."""
    ranges = media_ranges(accept)
    for range_ in (media, f"{media.partition('/')[0]}/*", "*/*"):
        weights = [one.weight for one in ranges if one.media == range_]
        if weights:
            return max(weights) > 0
    return False


LookupHeaders = tuple[tuple[str, str], ...]

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_VALUE: Final = re.compile(r"[\x20-\x7e]{1,200}")
_WORDS: Final = re.compile(r"[_.-]+")
_FORM: Final = frozenset(
    {
        *("accept", "version", "versions", "edition", "revision", "release", "preview", "beta", "feature", "features"),
        *("prefer", "profile", "format", "flavour", "flavor", "dialect", "schema", "locale", "language", "timezone"),
    }
)
"""A header of a look-up has one of these words in its name: it says in which form or version the API answers."""
_ANOTHER_REQUEST: Final = frozenset(
    {
        *("override", "original", "rewrite", "forwarded", "forward", "method", "host", "url", "uri", "path", "via"),
        *("content", "transfer", "upgrade", "expect", "connection", "proxy", "idempotency", "range", "te", "trailer"),
        *("target", "action", "soapaction", "operation", "command", "if", "match", "encoding"),
        *("authorization", "authentication", "auth", "cookie", "token", "secret", "password", "signature", "key"),
        *("credential", "credentials", "apikey", "session", "impersonate", "user", "remote", "account", "tenant"),
        *("client", "identity", "principal", "group", "groups", "role", "roles", "email", "admin"),
        *("verb", "ip", "sudo", "behalf", "actor", "delegate", "delegated", "organization", "organisation", "scope"),
    }
)
"""A name with one of these words makes a look-up another request, or says who asks, which only the caller does."""
_IN_JSON: Final = re.compile(r"(?:.*[.+])?json|(?:.*\.)?v\d+(?:\.\d+)*")
"""Subtypes that are JSON, or a version of a vendor's type that says no form."""
_ANOTHER_FORM: Final = re.compile(
    r"(?:^|[.+])(?:raw|problem|patch|merge-patch|stream|seq|event-stream|protobuf)(?:$|[.+])"
)


def header_problem(name: str) -> str:
    """Return why a pack may not name a header for its look-ups, empty where it may."""
    low = name.lower()
    if not _NAME.fullmatch(low):
        return "is no name of a header"
    words = _WORDS.split(low)
    if makes_another_request(low):
        return "is none that a pack may set: look-ups have the caller's own credentials, and stay the reads they are"
    if _FORM.isdisjoint(words):
        return "is none that a pack may set: its name has no word for a form or a version, such as accept or version"
    return ""


def makes_another_request(name: str) -> bool:
    """Whether a header makes a call another one, or says who makes it: `X-HTTP-Method-Override`, `X-User`, `Host`."""
    low = name.lower()
    return low in SENDERS_OWN or low in UNDOCUMENTED or not _ANOTHER_REQUEST.isdisjoint(_WORDS.split(low))


def says_form(name: str) -> bool:
    """Whether a header says in which form or version an API answers: `Accept-Language`, `Stripe-Version`."""
    return not makes_another_request(name) and not _FORM.isdisjoint(_WORDS.split(name.lower()))


def is_value(value: object) -> bool:
    """Whether something may be the value of such a header."""
    return isinstance(value, str) and _VALUE.fullmatch(value) is not None


def lookup_headers(
    request: Request, of_pack: Sequence[tuple[str, str | None]], of_rule: Mapping[str, str] | None = None
) -> LookupHeaders:
    """Return the headers of a look-up, names in lower case: the rule's before the pack's, the pack's before `Accept`.

    A header of the pack without a value has the request's own, and is left out where the request has none.
    """
    headers: dict[str, str] = {}
    if request.protocol is Protocol.HTTP and (accept := _versioned(request.headers.get("accept", ""))):
        headers["accept"] = accept
    for name, value in of_pack:
        own = request.headers.get(name, "") if value is None else value
        if is_value(own):
            headers[name] = own
    return tuple({**headers, **(of_rule or {})}.items())


def _versioned(accept: str) -> str:
    """Return those media types of an `Accept` that ask for a vendor's or a version's JSON; empty where none does.

    A plain `application/json` says nothing that a look-up does not say anyway. What asks for another form of the same
    data (`as=Table`, `.raw`) is left out: a rule reads the usual one.
    """
    if "vnd." not in accept and "version=" not in accept:
        return ""
    wanted = ", ".join(one.written for one in media_ranges(accept) if one.weight and _is_versioned(one))
    return wanted if is_value(wanted) else ""


def _is_versioned(range_: MediaRange) -> bool:
    kind, _, subtype = range_.media.partition("/")
    if kind != "application" or not _IN_JSON.fullmatch(subtype) or _ANOTHER_FORM.search(subtype):
        return False
    names = {one.partition("=")[0].strip().lower() for one in range_.parameters}
    return "as" not in names and (subtype.startswith("vnd.") or "version" in names)
