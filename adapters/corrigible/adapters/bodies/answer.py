"""The body of an answer as plain data, whatever its media type.

Knows: media types, which text is JSON, XML or HTML. Does not know: what an error is, where feedback goes.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

import orjson

from corrigible.schema.exchange import Json

from .html_page import page_text
from .xml_document import read_xml

LONGEST: Final = 1 << 16
"""Bytes that are read of an answer that is no JSON: an error is told at its beginning."""
_HTML_START: Final = re.compile(
    r"(?i)\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body|title|h[1-6]|pre|p|center)\b"
)


class Answer(NamedTuple):
    """What was read."""

    content: Json
    """JSON as it is; XML as objects, lists and texts; any other text as one text; None where there is nothing."""
    is_json: bool
    """Whether the body is JSON, so that it may take a member. (JSON behind a byte order mark is none, RFC 8259.)"""


_EMPTY: Final = Answer(None, is_json=False)


def read_answer(headers: Mapping[str, str], body: bytes) -> Answer:
    """Return the content of a body that has no Content-Encoding any more. `headers` have lower-case names."""
    try:
        return Answer(orjson.loads(body), is_json=True)
    except orjson.JSONDecodeError:
        pass
    if body.startswith(codecs.BOM_UTF8):
        return Answer(read_answer(headers, body.removeprefix(codecs.BOM_UTF8)).content, is_json=False)
    start = body[:LONGEST]
    if not start.strip() or b"\0" in start:
        return _EMPTY
    media, _, parameters = headers.get("content-type", "").partition(";")
    text = _decoded(start, parameters)
    if "html" in media.lower() or _HTML_START.match(text):
        return Answer(page_text(text) or None, is_json=False)
    if "xml" in media.lower() or text.lstrip().startswith("<?xml"):
        return Answer(read_xml(start), is_json=False)
    return Answer(text.strip(), is_json=False)


def _decoded(body: bytes, parameters: str) -> str:
    """Return a body as text: UTF-8, unless it says otherwise."""
    named = re.search(r"(?i)charset\s*=\s*\"?([\w.:-]{1,40})", parameters)
    name = named[1].lower() if named is not None else "utf-8"
    try:
        name = codecs.lookup(name).name
    except LookupError:
        name = "utf-8"
    return body.decode(name if name in _CHARSETS else "utf-8", "replace").removeprefix("\ufeff")


_CHARSETS: Final = frozenset(
    {"utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252", "utf-16", "utf-16-le", "utf-16-be"}
)
"""Decoders of linear cost that name text; `codecs` has others (zlib, punycode)."""
