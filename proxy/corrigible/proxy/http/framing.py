"""HTTP/1.1 heads and chunks, read in the one way that RFC 9112 allows.

Knows: bytes, the grammar. Does not know: sockets, mitmproxy, who asked.

Two servers that read the same bytes differently make one request two. So nothing is guessed here: what is not in the
grammar, and what frames a message twice, is refused before any of it travels on.
"""

from __future__ import annotations

import re
from typing import Final

from .message_head import TOKEN, VALUE, is_authority

HEAD_LIMIT: Final = 1 << 16
"""Start line and fields, in bytes. Envoy takes 60 KiB, nginx 32, Node 16."""
TARGET_LIMIT: Final = 1 << 15
FIELD_LIMIT: Final = 256
"""Fields of one head, or of one trailer section."""
INTERIM_LIMIT: Final = 64
"""Interim answers before the final one."""
CHUNK_LINE_LIMIT: Final = 4096
"""RFC 9112 section 7.1.1: a server ought to limit the total length of chunk extensions."""

_FIELDS = rb"(?:%b:%b\r\n)*+" % (TOKEN, VALUE)
_TARGET = rb"[\x21-\x7e\x80-\xff]++"
_REQUEST = re.compile(rb"%b %b HTTP/1\.[01]\r\n%b\r\n" % (TOKEN, _TARGET, _FIELDS))
_REQUEST_LINE = re.compile(rb"%b %b (HTTP/[0-9]\.[0-9])" % (TOKEN, _TARGET))
_STATUS_LINE = rb"HTTP/1\.[01] [1-9][0-9][0-9](?: %b)?\r\n" % VALUE
_ODD_FIELDS = rb"(?:[\x21-\x39\x3b-\x7e\x80-\xff][\x20-\x39\x3b-\x7e\x80-\xff]*+:%b\r\n)*+" % VALUE
"""A name that is no token frames nothing, and clients that know it may want it."""
_RESPONSE = re.compile(_STATUS_LINE + _ODD_FIELDS + rb"\r\n")
_SECTION = re.compile(_FIELDS)
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[\t ]*(?:;%b)?" % VALUE)
_FRAMING = re.compile(rb"\n(host|content-length|transfer-encoding):([^\r]*+)", re.IGNORECASE)
_EMPTY_LINES = re.compile(rb"(?:\r\n)*+")
_FOLD = re.compile(rb"\r\n[\t ]+")
_LENGTH = re.compile(rb"0|[1-9][0-9]{0,18}")
_ABSOLUTE = re.compile(rb"https?://([^/?]*)", re.IGNORECASE)


class Malformed(Exception):
    """A message that is refused: with this status where it is a request."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def empty_lines(received: bytes) -> int:
    """Return how many bytes of empty lines come first."""
    match = _EMPTY_LINES.match(received)
    return match.end() if match is not None else 0


def end_of_request_head(received: bytes) -> int | None:
    """Return where the head ends that these bytes begin with, None where that is still to come.

    Raises Malformed where no end within the limits would make it a head.
    """
    end = received.find(b"\r\n\r\n", 0, HEAD_LIMIT)
    if end >= 0:
        return end + 4
    line = received.find(b"\n", 0, TARGET_LIMIT)
    if line < 0 and len(received) >= TARGET_LIMIT:
        raise Malformed(414, "the request target is too long")
    if len(received) >= HEAD_LIMIT:
        raise Malformed(431, "the head of the request is too long")
    if b"\n" in received.replace(b"\r\n", b""):
        raise Malformed(400, "a line of the request's head does not end in CR LF")
    return None


def is_request_head(head: bytes) -> bool:
    """Whether this is one request head by the grammar of RFC 9112, to its end."""
    return _REQUEST.fullmatch(head) is not None


def check_request(head: bytes) -> None:
    """Raise Malformed where the head of a request can be read in two ways, or in none."""
    if not is_request_head(head):
        raise _request_error(head)
    line = head[: head.index(b"\r\n")]
    method, target, version = line.split(b" ")
    if len(target) > TARGET_LIMIT:
        raise Malformed(414, "the request target is too long")
    if head.count(b"\r\n") - 2 > FIELD_LIMIT:
        raise Malformed(431, "the request has too many header fields")
    hosts, lengths, codings = _framing(head)
    # RFC 9112 section 3.2: a server MUST respond with 400 to any HTTP/1.1 request that lacks a Host, or has several.
    if len(hosts) > 1 or (not hosts and version == b"HTTP/1.1"):
        raise Malformed(400, "a request has exactly one Host")
    if any(hosts) and not is_authority(hosts[0]):  # it is empty where the target has no authority
        raise Malformed(400, "the Host is not valid")
    absolute = _ABSOLUTE.match(target)
    if absolute is not None:
        if not is_authority(absolute[1]):
            raise Malformed(400, "the request target is not valid")
    elif method == b"CONNECT":
        if not is_authority(target) or lengths or codings:
            raise Malformed(400, "the CONNECT is not valid")
    elif not target.startswith(b"/") and (target != b"*" or method != b"OPTIONS"):
        raise Malformed(400, "the request target is not valid")
    if codings:
        _check_coding(codings, lengths, version)
    elif lengths and (len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0])):
        raise Malformed(400, "the Content-Length is not valid")


def _check_coding(codings: list[bytes], lengths: list[bytes], version: bytes) -> None:
    # RFC 9112 section 6.1: a server MUST treat an HTTP/1.0 message with a Transfer-Encoding as faulty framing.
    if version != b"HTTP/1.1":
        raise Malformed(400, "HTTP/1.0 has no Transfer-Encoding")
    if lengths:
        raise Malformed(400, "a request has a Content-Length or a Transfer-Encoding, not both")
    names = [name.strip(b"\t ").lower() for value in codings for name in value.split(b",")]
    if len(codings) > 1 or names.count(b"chunked") > 1 or b"" in names:
        raise Malformed(400, "the Transfer-Encoding is not valid")
    if names != [b"chunked"]:
        # RFC 9112 section 6.1: a server that does not understand a transfer coding SHOULD respond with 501.
        raise Malformed(501, "the only supported transfer coding is chunked")


def _request_error(head: bytes) -> Malformed:
    line, _, fields = head.partition(b"\r\n")
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        return Malformed(400, "the request line is not valid")
    if match[1] not in (b"HTTP/1.1", b"HTTP/1.0"):
        return Malformed(505, "the supported versions are HTTP/1.1 and HTTP/1.0")
    if fields[:1] in (b" ", b"\t") or b"\r\n " in fields or b"\r\n\t" in fields:
        return Malformed(400, "a header field is folded over several lines")
    return Malformed(400, "a header field is not valid")


def end_of_response_head(received: bytes) -> int | None:
    """Return where the head ends that these bytes begin with, None where that is still to come.

    Lines may end in LF alone, where all of them do: a recipient MAY recognize it (RFC 9112 section 2.2).
    """
    line = received.find(b"\n", 0, HEAD_LIMIT)
    is_bare_lf = line > 0 and received[line - 1 : line] != b"\r"
    mark = b"\n\n" if is_bare_lf else b"\r\n\r\n"
    end = received.find(mark, 0, HEAD_LIMIT)
    if end < 0:
        if len(received) >= HEAD_LIMIT:
            raise Malformed(502, "the upstream's answer has too long a head")
        return None
    return end + len(mark)


def read_response(head: bytes, *, upgradable: bool, bodiless: bool) -> bytes:
    """Return the head of an answer as it can be handed on. Raises Malformed where it can be read in two ways.

    `upgradable` says whether the request asked for another protocol, `bodiless` whether it was a HEAD.
    """
    if b"\r" not in head:
        head = head.replace(b"\n", b"\r\n")
    if b"\r\n " in head or b"\r\n\t" in head:
        # RFC 9112 section 5.2: a proxy MUST replace each obs-fold in a response with one or more SP.
        line, _, fields = head.partition(b"\r\n")
        head = line + b"\r\n" + _FOLD.sub(b" ", fields)
    if b" :" in head or b"\t:" in head:
        # RFC 9112 section 5.1: a proxy MUST remove any such whitespace from a response.
        parts = (line.partition(b":") for line in head.split(b"\r\n"))
        head = b"\r\n".join(name.rstrip(b"\t ") + colon + value for name, colon, value in parts)
    if _RESPONSE.fullmatch(head) is None:
        raise Malformed(502, "the upstream's answer is not valid HTTP")
    if head.count(b"\r\n") - 2 > FIELD_LIMIT:
        raise Malformed(502, "the upstream's answer has too many header fields")
    status = head[9:12]
    if status == b"101" and not upgradable:
        raise Malformed(502, "the upstream changed to a protocol that nobody asked for")
    _, lengths, codings = _framing(head)
    if len(lengths) > 1 or (lengths and not _LENGTH.fullmatch(lengths[0])):
        raise Malformed(502, "the upstream's answer can be read in two ways")
    # RFC 9112 section 6.3: a length beside a coding ought to be handled as an error. nginx and Envoy do so as well.
    faulty = lengths or len(codings) > 1 or not head.startswith(b"HTTP/1.1")
    if codings and faulty and not (bodiless or status in (b"204", b"304")):
        raise Malformed(502, "the upstream's answer can be read in two ways")
    return head


def _framing(head: bytes) -> tuple[list[bytes], list[bytes], list[bytes]]:
    hosts: list[bytes] = []
    lengths: list[bytes] = []
    codings: list[bytes] = []
    for name, padded in _FRAMING.findall(head):
        value = padded.strip(b"\t ")
        match len(name):
            case 4:
                hosts.append(value)
            case 14:
                lengths.append(value)
            case 17:
                codings.append(value)
    return hosts, lengths, codings


def chunk_size(line: bytes) -> int:
    """Return the size that the line before a chunk declares. Extensions end here: no other hop sees them."""
    match = _CHUNK_LINE.fullmatch(line)
    if match is None:
        raise Malformed(400, "a chunk's size is not valid")
    return int(match[1], 16)


def read_trailers(section: bytes) -> list[tuple[bytes, bytes]]:
    """Read the lines behind the last chunk, each with its CR LF."""
    if _SECTION.fullmatch(section) is None:
        raise Malformed(400, "a trailer field is not valid")
    lines = section.split(b"\r\n")[:-1]
    if len(lines) > FIELD_LIMIT:
        raise Malformed(400, "there are too many trailer fields")
    pairs = (line.split(b":", 1) for line in lines)
    return [(name, value.strip(b"\t ")) for name, value in pairs]
