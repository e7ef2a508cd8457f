"""What the head of an HTTP message may hold: field names, values and the parts of a request line, octet by octet.

Knows: RFC 9110, 9112 and 9113. Does not know: sockets, libraries, what a header means to us.

HTTP/2 can carry any octet in any part; HTTP/1.1 cannot, and what it cannot carry becomes another request there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from corrigible.schema.cache import cached

Fields = Sequence[tuple[bytes, bytes]]

_TCHAR = rb"!#$%&'*+\-.^_`|~0-9a-z"
TOKEN = rb"[%sA-Z]++" % _TCHAR
"""RFC 9110 section 5.6.2."""
VALUE = rb"[\t\x20-\x7e\x80-\xff]*+"
"""RFC 9110 section 5.5: VCHAR, obs-text, SP, HTAB."""

_TOKEN = re.compile(TOKEN)
_LOWER_TOKEN = re.compile(rb"[%s]+" % _TCHAR)
_VALUE = re.compile(VALUE)
_PATH = re.compile(rb"/[!\"$-~\x80-\xff]*")
"""RFC 9113 section 8.3.1: the path and query parts of a URI, so no fragment; obs-text, as HTTP/1 has it."""
_AUTHORITY = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~%!$&'()*+,;=]+)(?::[0-9]{0,5})?")
"""RFC 3986 section 3.2, without user information (RFC 9110 section 4.2.4); the host of `http` is never empty."""
_STATUS = re.compile(rb"[1-9][0-9][0-9]")
_BLANKS = b" \t"

_CONNECTION_FIELDS = frozenset((b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade"))
"""RFC 9113 section 8.2.2: a message that contains one is malformed."""

_REQUEST_PSEUDO = frozenset((b":method", b":scheme", b":authority", b":path"))


def is_authority(value: bytes) -> bool:
    """Whether this names a host, maybe with a port."""
    return _AUTHORITY.fullmatch(value) is not None


def request_fault(block: Fields, *, ends_stream: bool) -> str | None:
    """Say what makes an HTTP/2 request malformed, by its decoded header block. `ended`: nothing follows it."""
    pseudo: dict[bytes, bytes] = {}
    fault = _pseudo_fault(block, pseudo, _REQUEST_PSEUDO) or _fields_fault(block[len(pseudo) :])
    if fault is not None:
        return fault
    method, authority = pseudo.get(b":method"), pseudo.get(b":authority")
    if method is None or _TOKEN.fullmatch(method) is None:
        return ":method"
    if method == b"CONNECT":
        return "CONNECT"  # not offered inside HTTP/2, neither plain nor extended
    if pseudo.get(b":scheme") not in (b"http", b"https"):
        return ":scheme"
    path = pseudo.get(b":path", b"")
    if _PATH.fullmatch(path) is None and (path != b"*" or method != b"OPTIONS"):
        return ":path"
    if authority is not None and not is_authority(authority):
        return ":authority"
    for name, value in block:
        if name == b"host":
            # "A server SHOULD treat a request as malformed if it contains a Host header field that identifies an
            # entity that differs from the entity in the ":authority" pseudo-header field."
            if not is_authority(value) or (authority is not None and value.lower() != authority.lower()):
                return "host"
            authority = value
        elif name == b"te" and value.lower() != b"trailers":
            return "te"
    length = _lengths(block)
    if len(length) > 1 or not all(map(_is_length, length)) or (ends_stream and length and int(length[0])):
        return "content-length"
    return None


def response_fault(block: Fields, *, ends_stream: bool, bodiless: bool) -> str | None:
    """Say what makes an HTTP/2 response malformed. `bodiless`: a content-length is that of another answer (HEAD)."""
    pseudo: dict[bytes, bytes] = {}
    fault = _pseudo_fault(block, pseudo, (b":status",)) or _fields_fault(block[len(pseudo) :], blanks=True)
    if fault is not None:
        return fault
    status = pseudo.get(b":status", b"")
    if _STATUS.fullmatch(status) is None or status == b"101":  # RFC 9113 section 8.6
        return ":status"
    if status[:1] == b"1":
        return ":status" if ends_stream else None
    length = set(_lengths(block))
    if len(length) > 1 or not all(map(_is_length, length)):
        return "content-length"
    if ends_stream and not bodiless and status not in (b"204", b"304") and any(map(int, length)):
        return "content-length"
    return None


def trailer_fault(block: Fields, *, ends_stream: bool) -> str | None:
    """Say what makes HTTP/2 trailers malformed."""
    if not ends_stream:
        return "trailers that end nothing"
    return _fields_fault(block)


def without_blanks(block: Fields) -> list[tuple[bytes, bytes]]:
    """Return the fields without blanks around their values: those are no part of a value."""
    return [(name, value.strip(_BLANKS)) for name, value in block]


def size(block: Iterable[tuple[bytes, bytes]]) -> int:
    """Return the size of a header list as RFC 9113 section 6.5.2 counts it."""
    return sum(len(name) + len(value) + 32 for name, value in block)


def _pseudo_fault(block: Fields, pseudo_headers: dict[bytes, bytes], allowed: Iterable[bytes]) -> str | None:
    for name, value in block:
        if name[:1] != b":":
            return None  # one after this is no field name
        if name not in allowed:
            return "unknown pseudo-header"
        if name in pseudo_headers:
            return f"second {name.decode()}"
        pseudo_headers[name] = value
    return None


def _fields_fault(fields: Fields, *, blanks: bool = False) -> str | None:
    for name, value in fields:
        if _LOWER_TOKEN.fullmatch(name) is None:
            return "field name"
        if _VALUE.fullmatch(value) is None:
            return "field value"
        if not blanks and value and (value[0] in _BLANKS or value[-1] in _BLANKS):
            return "blanks around a field value"
        if name in _CONNECTION_FIELDS:
            return name.decode()
    return None


def _lengths(block: Fields) -> list[bytes]:
    return [value for name, value in block if name == b"content-length"]


def _is_length(value: bytes) -> bool:
    return value.isdigit() and len(value) < 20


# Headers that vouch for the bytes of an answer: which of them may go with the bytes, and which hold them fast. RFC 9530
# lets whoever changes a message drop its digests. A vendor's checksum is another matter: SDKs look for it, take an
# answer without it, or with a wrong one, for broken, and send the call again, writes too.

DIGESTS: Final = frozenset({"digest", "content-digest", "repr-digest", "content-md5"})
"""RFC 9530 and its forebears: dropped with the bytes that they are about."""
_OF_A_VENDOR: Final = re.compile(
    r"x-amz-checksum-.+|x-amz-(trailer|sdk-checksum-.+)|x-goog-(hash|stored-content-.+)|x-(amz-)?crc32c?"
    r"|(.+-)?(crc-?32c?|crc-?64\w*|checksum|signature(-\w+)?|hmac(-\w+)?)(-.+)?"
    r"|.+-(content|body|payload|response)-(md5|sha\d*|hash|digest)(-.+)?|x-(md5|sha-?(1|256|384|512))"
)
_OF_THE_BODY: Final = ("digest", "content-", "etag", "vary", "transfer-encoding")
"""What RFC 9421 may sign that changes with the body."""


def covers_body(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether the body of an answer with these headers has to stay as it is."""
    headers = [(name.lower(), value) for name, value in headers]
    covers = " ".join(value.lower() for name, value in headers if name == "signature-input")
    if covers and not any(prefix in covers for prefix in _OF_THE_BODY):
        headers = [prefix for prefix in headers if prefix[0] not in ("signature", "signature-input")]
    return _holds("\n".join([name for name, _ in headers])) or any(
        name == "trailer" and _announces(value) for name, value in headers
    )


@cached(1024)
def _holds(names: str) -> bool:
    """Whether one of the names, a line each, holds a body fast. The answers of an API have the same ones."""
    return any(name not in DIGESTS and _OF_A_VENDOR.fullmatch(name) is not None for name in names.split("\n"))


def _announces(value: str) -> bool:
    return any(_holds(name.strip().lower()) for name in value.split(","))


# Which headers of a request go with the look-ups that are made for it: who asks, for whom, in which version. A list of
# what may travel: what nobody knows may lead a look-up astray.


def _tokens(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS: Final = re.compile(r"[-_.]+")
_ALWAYS: Final = frozenset({"authorization", "cookie", "dpop", "accept-language"})
_WHO: Final = _tokens(
    """
    access account api apikey apitoken app application auth authentication authorization bearer beta business
    caller client clientid company consumer context credential credentials csrf customer database email env
    environment extra group groups id identity impersonate key login member merchant namespace org organisation
    organization orgid owner partition partner pass passwd password pin principal profile project projectid
    realm region role scope secret seller session sessionid shop sid site space store subaccount subject
    subscription team tenant tenantid token uid user userid username version workspace xsrf
    """
)
"""A name that has one of these words says who asks, for which account and in which version of the API."""
_WHERE: Final = _tokens(
    """
    accept agent attempt cache callback connection content correlation count dest destination digest encoding
    etag expect expires feedback forward forwarded host http http2 idempotency idempotent if ip length match
    method methods modified nonce origin original override path port prefer prefix proto protocol proxy query
    range ratelimit redirect referer referrer remote request retry rewrite rewritten route routing scheme sec
    server signature target te timeout timestamp trace traceparent tracestate trailer transfer upgrade uri url
    verb via websocket
    """
)
"""One of these: it is about that one request, its body or its way, or would make a look-up another one."""
_BEHIND_A_GATE: Final = re.compile(
    r"x-(forwarded|auth-request)-(user|email|groups|roles?|preferred-username|access-token|id-token|tenant)|(x-)?remote-user"
    r"|x-ms-client-principal(-\w+)?|x-goog-authenticated-user-\w+"
)
"""What gateways that log people in add for the servers behind them."""


def is_forwarded(name: str) -> bool:
    """Whether a header of this name, in lower case, goes with look-ups."""
    if name in _ALWAYS or _BEHIND_A_GATE.fullmatch(name):
        return True
    tokens = {token for token in _WORDS.split(name) if token}
    return not tokens & _WHERE and bool(tokens & _WHO)
