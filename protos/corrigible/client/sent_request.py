"""A request as it was really sent: what the request document says about it, and what is sent after a correction.

Knows: URLs, headers, JSON, forms. Does not know: feedback, policies, HTTP libraries.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from typing import Any, Final, NoReturn
from urllib.parse import quote, quote_plus, urlencode, urljoin, urlsplit, urlunsplit

from corrigible.schema import credential_name
from corrigible.schema.document import (
    UNDOCUMENTED,
    by_name,
    fields,
    form_pairs,
    is_credential_name,
    nested,
    parameter_segments,
    paths,
    query_pairs,
    readings,
    scalar_text,
)
from corrigible.schema.exchange import Json, Request

from .credentials import credential_values, values_in_address
from .guard import Place, Written, problem, secret_texts, step_problem

Path = tuple[str, ...]


def edited_form(sent: str, after: Mapping[str, Json]) -> str:
    """Return the form that has these members; what was sent several times under one name is a list."""
    return _edited(sent, paths(fields(sent)), dict(_leaves(after)))


def edited_query(sent: str, before: Mapping[str, Json], after: Mapping[str, Json]) -> str:
    """Return the query that has these parameters; a list is a repeated name."""
    unchanged = {name for name, value in after.items() if name in before and _texts(before[name]) == _texts(value)}
    kept = [raw for raw, (name, _) in zip(_raw(sent), fields(sent), strict=True) if name in unchanged]
    for name, value in after.items():
        if name not in unchanged:
            kept += [f"{quote_plus(path_name)}={quote_plus(text)}" for path_name, text in _query_pairs(name, value)]
    return "&".join(kept)


def _query_pairs(name: str, value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, list) and not any(isinstance(one, Mapping | list) for one in value):
        yield from ((name, scalar_text(one)) for one in value)
    elif isinstance(value, Mapping | list):
        yield from ((_bracketed((name, *path)), text) for path, text in _leaves(value))
    else:
        yield name, scalar_text(value)


def _texts(value: Json) -> Any:
    if isinstance(value, list):
        return [_texts(one) for one in value]
    return value if isinstance(value, Mapping) else scalar_text(value)


def _edited(sent: str, where: Sequence[Path], after: dict[Path, str]) -> str:
    pairs, raws = fields(sent), _raw(sent)
    before = {path: text for path, (_, text) in zip(where, pairs, strict=True)}
    out: list[str] = []
    for path, raw in zip(where, raws, strict=True):
        if path in after and after[path] == before[path]:
            out.append(raw)
        elif path in after:
            out.append(f"{raw.partition('=')[0]}={quote_plus(after[path])}")
    spelling = _Spelling(pairs, where)
    out += [f"{quote_plus(spelling.of(path))}={quote_plus(text)}" for path, text in after.items() if path not in before]
    return "&".join(out)


class _Spelling:
    """How the sender writes names: `a[]` or `a[0]`."""

    def __init__(self, pairs: Sequence[tuple[str, str]], where: Sequence[Path]) -> None:
        self._written: dict[Path, Path] = {}
        self._unnumbered: set[Path] = set()
        self._repeated: dict[Path, str] = {}
        """Places of names that were sent several times."""
        for (name, _), path in zip(pairs, where, strict=True):
            parts = tuple(parameter_segments(name)) if path[:1] != (name,) else (name,)
            if len(parts) < len(path):
                self._repeated[path[:-1]], path = name, path[:-1]
            for length in range(1, len(path) + 1):
                self._written[path[:length]] = parts[:length]
                if parts[length - 1] == "" and length > 1:
                    self._unnumbered.add(path[: length - 1])

    def of(self, path: Path) -> str:
        if path[:-1] in self._repeated and path[-1].isdecimal():
            return self._repeated[path[:-1]]
        for length in range(len(path), -1, -1):
            if length == 0 or path[:length] in self._written:
                break
        rest = list(path[length:])
        if rest and path[:length] in self._unnumbered and rest[0].isdecimal():
            rest[0] = ""
        return _bracketed((*self._written.get(path[:length], ()), *rest))


def _bracketed(parts: Path) -> str:
    return parts[0] + "".join(f"[{part}]" for part in parts[1:])


def _leaves(value: Json, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, str(index)))
    else:
        yield path, scalar_text(value)


def _raw(text: str) -> list[str]:
    return [part for part in text.split("&") if part]


FORM: Final = "application/x-www-form-urlencoded"
KEY: Final = "idempotency-key"
_JSON: Final = "application/json"
_UNREAD: Final = ("multipart/", "application/yaml", "application/x-yaml", "application/apply-patch+yaml", "text/yaml")
_PATH_CHARACTERS: Final = "/%:@!$&'()*+,;=-._~"
_LONGEST_URL: Final = 65_536
_METHOD: Final = re.compile(r"(?!CONNECT$|TRACE$)[A-Z][A-Z-]{0,19}")
"""Not the name of a gRPC method, nor what asks a proxy."""
_FRAMING: Final = frozenset({"content-length", "transfer-encoding"})
_CHECKSUM: Final = re.compile(r"(?:^|[-_.])(?:checksum|crc32c?|digest|hash|md5|sha-?\d+)(?:$|[-_.])")
"""Names of headers that hold a checksum of the body."""
_SIGNED_SCHEME: Final = re.compile(r"(?i)acs\d|aws|digest|dpop|eg1|goog\d|hawk|hmac|^mac$|sha-?\d|sharedkey|sign|tc3")
"""Schemes of `Authorization` that sign the request: a changed one has to be signed again."""
_SIGNED_VALUE: Final = re.compile(r"(?i)(?:^|[\s,&])[\w.-]*(?:signature|sig|mac)\s*=")
_PLAIN_SCHEMES: Final = re.compile(r"(?i)basic|bearer|.*(key|token)")
_ID_AND_SIGNATURE: Final = re.compile(r"[\w.-]+:(?:[A-Za-z0-9+/_-]{20,}={1,2}|(?:[0-9A-Fa-f]{8}){4,16})")
"""What a signature looks like beside the name of its key: base64 of as many bytes as a hash has, or hexadecimal."""
_CODINGS: Final = frozenset({"contentencoding", "contenttransferencoding"})
_JSON_MEDIA: Final = re.compile(r"[\w.-]+/(?:[\w.-]+[+-])?json(?:[+-][\w.-]+)?")
_CHARSET: Final = re.compile(r"(?i)charset\s*=\s*[\"']?([^\s;\"']+)")
_CHARSETS: Final = frozenset({"utf-8", "utf8", "us-ascii"})
_OF_ONE_REQUEST: Final = frozenset({KEY, "expect", "range", "prefer", *_FRAMING})
"""Headers that other requests of the same caller do not repeat."""


_DOCUMENT: Final = re.compile(r"/\.well-known/recovery-feedback/[A-Za-z0-9_=-]{1,200}")


class NotSendable(Exception):
    """A corrected request cannot be sent as it should be; the message says why."""


class BodyForm(Enum):
    """How the bytes of a body are written."""

    NONE = "none"
    JSON = "json"
    FORM = "form"
    TEXT = "text"
    UNREAD = "unread"
    """A stream, a file, a multipart form, YAML, compressed: sent again as it is, never edited."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request on the wire. `headers` are all that the HTTP library sent on the caller's behalf."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = b""
    """None if it is not at hand: it was a stream."""
    credentials: frozenset[str] = frozenset()
    """Names of credentials in the headers and the query, in lower case, besides the usual ones (`X-Api-Key`)."""
    hidden: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """What no text shows besides credentials."""

    def header(self, name: str) -> str:
        """Return the first value of a header; empty if there is none."""
        return next((value for sent, value in self.headers if sent.lower() == name), "")

    def document(self) -> Request:
        """Return the request document, as a proxy in front of the API reads the same bytes.

        Raises `NotSendable` for a form or query of too many fields.
        """
        parts = urlsplit(self.url)
        kept: dict[str, str] = {}
        for name, value in self.headers:
            low = name.lower()
            if not self._is_undocumented(low):
                kept[low] = f"{kept[low]}, {value}" if low in kept else value
        written, body = self._read_body()
        try:
            query = by_name(fields(parts.query)) if parts.query else {}
        except ValueError as problem:
            raise NotSendable(str(problem)) from None
        return Request(self.method.upper(), parts.path or "/", query, kept, body, written is BodyForm.FORM)

    def secrets(self) -> frozenset[str]:
        """Return the values of credentials, which no text shows."""
        usual = credential_values(self.headers, urlsplit(self.url).query, self.credentials)
        usual |= values_in_address(self.url) | self.hidden
        try:
            return usual | secret_texts(self._written())
        except ValueError:  # too many fields
            return usual

    def edited(self, after: Request, given: Mapping[Place, Json] | None = None) -> SentRequest:
        """Return what to send so that the document is `after`. What the correction leaves alone stays as it was.

        `given` are values that the caller gave when it was asked. Raises `NotSendable`, also where a correction would
        touch a credential, whoever agreed.
        """
        if self.body is None:
            raise NotSendable("the body was a stream, which cannot be sent again")
        before = self.document()
        headers = self._headers(before.headers, after.headers)
        media, body = _media(after.headers), self.body
        if not _same(before.body, after.body) or media != _media(before.headers):
            body = self._edited_body(before.body, after.body, media)
        if body != self.body:
            headers = [(name, value) for name, value in headers if name.lower() not in _FRAMING]
            if body and not media:
                headers.append(("Content-Type", _JSON))
        edited = SentRequest(after.method, self._url(before, after), tuple(headers), body, self.credentials)
        _require_writable(edited)
        if after.path != before.path:
            _require_names(after.path)
        if edited != self:
            self._require_unsigned(body_changes=body != self.body)
            try:
                reason = problem(self._written(), self._after(edited), given)
            except ValueError as too_many:
                raise NotSendable(str(too_many)) from None
            if reason:
                raise NotSendable(reason)
        return edited

    def with_new_key(self, before: SentRequest) -> SentRequest:
        """Return the request under an idempotency key of its own, if `before` had one and a correction set no other.

        The key derives from the old one and from what is sent. Who starts again with the old key, and is corrected in
        the same way, sends the same new key: what was done once is not done twice.
        """
        old = before.header(KEY)
        if not old or self.header(KEY) != old:
            return self
        content = "\0".join((old, self.method, self.url)).encode() + b"\0" + (self.body or b"")
        key = str(uuid.uuid5(uuid.NAMESPACE_URL, content.hex()))
        return replace(self, headers=tuple((n, key if n.lower() == KEY else v) for n, v in self.headers))

    def step(self, step: Request) -> SentRequest:
        """Return a request to the same host, with the caller's credentials and what selects the account and version."""
        own = {name.lower(): value for name, value in step.headers.items()}
        self._require_documented(own)
        _require_same_coding(own)
        query = urlencode(list(query_pairs(step.query)))
        _require_names(step.path)
        path = quote(step.path, safe=_PATH_CHARACTERS)
        alone = Written(f"{path}?{query}", tuple(step.headers.items()), step.body, self.credentials)
        if reason := step_problem(alone, self._written()):
            raise NotSendable(reason)
        headers = [(name, value) for name, value in self._of_the_caller() if name.lower() not in own]
        headers += step.headers.items()
        body = b""
        if step.body is not None:
            body = urlencode(list(form_pairs(step.body))).encode() if step.form else _json(step.body)
            if "content-type" not in own:
                headers.append(("Content-Type", FORM if step.form else _JSON))
        parts = urlsplit(self.url)
        keys = [pair for pair in fields(parts.query) if credential_name.is_secret_parameter(pair[0], self.credentials)]
        query = "&".join(filter(None, (query, urlencode(keys))))
        url = urlunsplit((parts.scheme, parts.netloc, path, query, ""))
        self._require_unsigned(body_changes=False)
        request = SentRequest(step.method, url, tuple(headers), body, self.credentials)
        _require_writable(request)
        return request

    def document_of(self, link: str, token: str) -> SentRequest | None:
        """Return the GET of a document that a proxy keeps for this caller; None for every other link.

        The token of the link is all that it needs: no credential goes along.
        """
        here = urlsplit(self.url)
        try:
            there = urlsplit(urljoin(self.url, link))
        except ValueError:
            return None
        is_ours = _DOCUMENT.fullmatch(there.path) is not None and not there.query
        if (here.scheme, here.netloc) != (there.scheme, there.netloc) or not is_ours:
            return None
        url = urlunsplit((here.scheme, here.netloc.rpartition("@")[2], there.path, "", ""))
        own = (("Recovery-Feedback-Token", token),) if token else ()
        return SentRequest("GET", url, (("Accept", _JSON), *own))

    def content(self) -> tuple[str, str, bytes | None, frozenset[tuple[str, str]]]:
        """Return what makes two requests the same: all but the idempotency key and the framing."""
        headers = ((name.lower(), value) for name, value in self.headers)
        written, value = self._read_body()
        body = _json(value) if written is BodyForm.JSON else self.body
        return self.method, self.url, body, frozenset(one for one in headers if one[0] not in _FRAMING | {KEY})

    def _of_the_caller(self) -> Iterable[tuple[str, str]]:
        for name, value in self.headers:
            low = name.lower()
            is_of_one = (
                low in _OF_ONE_REQUEST or low.startswith(("content-", "if-")) or credential_name.redirects_header(low)
            )
            if not (is_of_one or _CHECKSUM.search(low)):
                yield name, value

    def _written(self) -> Written:
        written, body = self._read_body()
        return Written(self.url, self.headers, body, self.credentials, written is BodyForm.FORM)

    def _after(self, edited: SentRequest) -> Written:
        """Return what is written after a correction. The same bytes are read in the same way, whatever they are called.

        Raises `NotSendable` where a body that is read here would be none that its server reads alike.
        """
        before, _ = self._read_body()
        kind = edited.header("content-type")
        is_same = edited.body == self.body
        if edited.body and kind != self.header("content-type"):
            media = kind.partition(";")[0].strip().lower()
            is_read = media == FORM or _JSON_MEDIA.fullmatch(media) is not None
            is_read = is_read or (not media and before is not BodyForm.FORM)
            is_text = before is BodyForm.TEXT or (before is BodyForm.UNREAD and is_same)
            charset = _CHARSET.search(kind)
            if not (is_read or is_text) or (charset is not None and charset[1].lower() not in _CHARSETS):
                raise NotSendable(f"the correction calls the body {kind}, which is not how it is read")
        if is_same:
            return replace(self._written(), url=edited.url, headers=edited.headers)
        if edited._read_body()[0] in (BodyForm.UNREAD, BodyForm.TEXT) and before is not BodyForm.TEXT:
            raise NotSendable("the body would be in a format that is not read")
        return edited._written()

    def _read_body(self) -> tuple[BodyForm, Json]:
        media, body = self.header("content-type").partition(";")[0].strip().lower(), self.body
        if body == b"":
            return BodyForm.NONE, None
        if body is None or self.header("content-encoding").lower() not in ("", "identity"):
            return BodyForm.UNREAD, None
        if media.startswith(_UNREAD):
            return BodyForm.UNREAD, None
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return BodyForm.UNREAD, None
        try:
            if media == FORM and text[:1] not in ("{", "["):
                return _read_form(text)
            return BodyForm.JSON, json.loads(text, parse_constant=_no_constant)
        except RecursionError:
            return BodyForm.UNREAD, None
        except ValueError:
            return _read_form(text) if media == FORM else (BodyForm.TEXT, text)

    def _edited_body(self, before: Json, after: Json, media: str) -> bytes:
        written, _ = self._read_body()
        if written is BodyForm.UNREAD or self.body is None:
            raise NotSendable("the body is a stream, a file or in a format that is not edited")
        if after is None:
            return b""
        wanted = _written_as(media, written)
        if wanted is written and _same(before, after):
            return self.body
        match wanted:
            case BodyForm.FORM if isinstance(after, Mapping):
                if written is not BodyForm.FORM:
                    return urlencode(list(form_pairs(after))).encode()
                return edited_form(self.body.decode(), after).encode()
            case BodyForm.TEXT if isinstance(after, str):
                return after.encode()
            case BodyForm.JSON:
                if written is BodyForm.JSON:
                    _require_exact(self.body.decode())
                return _json(after)
        raise NotSendable(f"what the correction puts into the body is no {wanted.value}")

    def _headers(self, before: Mapping[str, str], after: Mapping[str, str]) -> list[tuple[str, str]]:
        changed = {name: value for name, value in after.items() if before.get(name) != value}
        self._require_documented(changed)
        _require_same_coding(name for name in {*before, *changed} if before.get(name) != after.get(name))
        out: list[tuple[str, str]] = []
        for name, value in self.headers:
            low = name.lower()
            if low in changed:
                out.append((name, changed.pop(low)))
            elif low not in before or before[low] == after.get(low):
                out.append((name, value))
        return [*out, *changed.items()]

    def _url(self, before: Request, after: Request) -> str:
        parts = urlsplit(self.url)
        path = parts.path if after.path == before.path else quote(after.path, safe=_PATH_CHARACTERS)
        same = _same(before.query, after.query)
        query = parts.query if same else edited_query(parts.query, before.query, after.query)
        return urlunsplit((parts.scheme, parts.netloc, path, query, ""))

    def _require_unsigned(self, *, body_changes: bool) -> None:
        """Raise NotSendable for a request that is signed, or whose body has a checksum: only its sender changes it."""
        parameters = fields(urlsplit(self.url).query)
        is_signed = any(credential_name.is_signature_header(name) for name, _ in self.headers)
        is_signed = is_signed or any(credential_name.is_signature(name, value) for name, value in parameters)
        has_checksum = any(_CHECKSUM.search(name.lower()) for name, _ in self.headers)
        if is_signed or _signs(self.header("authorization")) or (body_changes and has_checksum):
            raise NotSendable("the request is signed or has a checksum, so only its sender can change it")

    def _require_documented(self, names: Iterable[str]) -> None:
        """Raise NotSendable if a correction sets a credential or framing: the caller's own stay."""
        for name in names:
            if self._is_undocumented(name):
                raise NotSendable(f"the correction sets the header {name}, which is the caller's own")

    def _is_undocumented(self, name: str) -> bool:
        return name in UNDOCUMENTED or (credential_name.is_given(name, self.credentials) or is_credential_name(name))


def _signs(authorization: str) -> bool:
    """Whether an `Authorization` is a signature of the request."""
    scheme, _, value = authorization.strip().partition(" ")
    is_signed = _SIGNED_SCHEME.search(scheme.partition(":")[0]) is not None
    if not is_signed and _PLAIN_SCHEMES.fullmatch(scheme):
        return False
    is_pair = _ID_AND_SIGNATURE.fullmatch(value.strip() or scheme) is not None
    return is_signed or is_pair or _SIGNED_VALUE.search(value) is not None


def _require_same_coding(changed: Iterable[str]) -> None:
    """Raise NotSendable if a correction says in which coding a body is: nobody here would read it."""
    for name in changed:
        if credential_name.alike(name) in _CODINGS:
            raise NotSendable(f"the correction changes the header {name}, by which the body is read")


def _read_form(text: str) -> tuple[BodyForm, Json]:
    try:
        return BodyForm.FORM, nested(fields(text))
    except ValueError:  # too many fields
        return BodyForm.UNREAD, None


def _require_names(path: str) -> None:
    """Refuse three dots and more as a segment: some servers take them for two levels up."""
    if any(part and not part.strip(".") for one in readings(path) for part in one.split("/")):
        raise NotSendable("the path has a segment of dots alone")


def _require_writable(request: SentRequest) -> None:
    """Raise NotSendable for what HTTP libraries refuse to write."""
    if _METHOD.fullmatch(request.method) is None:
        raise NotSendable(f"{request.method} is no method of HTTP that is sent here")
    if len(request.url) > _LONGEST_URL:
        raise NotSendable(f"the address would be longer than {_LONGEST_URL} characters")
    for name, value in request.headers:
        if any(ord(character) > 0xFF for character in value) or value != value.strip():
            raise NotSendable(f"the header {name} would have characters that no header can have")


def _media(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _written_as(media: str, before: BodyForm) -> BodyForm:
    if media == FORM:
        return BodyForm.FORM
    if media == _JSON or media.endswith("+json"):
        return BodyForm.JSON
    return BodyForm.JSON if before is BodyForm.NONE else before


def _same(one: Json, other: Json) -> bool:
    """Whether two values are written alike: 1, 1.0 and true differ."""
    return _json(one) == _json(other)


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can write
        return json.dumps(value, separators=(",", ":")).encode()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _require_exact(text: str) -> None:
    """Raise NotSendable if JSON that is read and written again would not say the same."""

    def number(digits: str) -> float:
        value = float(digits)
        if Decimal(digits) != Decimal(repr(value)):
            raise NotSendable(f"the number {digits[:40]} in the body would lose digits")
        return value

    def members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        if len(out := dict(pairs)) < len(pairs):
            raise NotSendable("an object in the body has two members of one name")
        return out

    json.loads(text, parse_float=number, object_pairs_hook=members)
