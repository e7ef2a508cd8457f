"""The body of an answer as plain data, whatever its media type.

Knows: media types, which text is JSON, XML or HTML. Does not know: what an error is, where feedback goes.

A small XML document as objects, lists and texts, as a JSON API would write the same.
Names lose their namespace and begin lower-case (`Code` is `code`), an element of nothing but text is that text,
elements of one name are a list, and what only wraps the rest (a root `Error`, a SOAP envelope) is left out.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import orjson

from corrigible.schema.exchange import Json

_LONGEST: Final = 2000
"""Letters of the text."""
_MOST_TAGS: Final = 2000
_INLINE: Final = frozenset(
    {
        "a",
        "abbr",
        "b",
        "bdi",
        "big",
        "cite",
        "code",
        "em",
        "font",
        "i",
        "kbd",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
    }
    | {"strong", "sub", "sup", "tt", "u", "var"}
)
"""Tags within a line of text."""
_HIDDEN: Final = {
    name: re.compile(rf"</{name}\b", re.IGNORECASE) for name in ("script", "style", "template", "noscript", "svg")
}
_TAG_NAME: Final = re.compile(r"/?([A-Za-z][A-Za-z0-9-]{0,20})")
_NO_CHARACTER: Final = re.compile(r"&#(?:\d{8,}|[xX][\da-fA-F]{8,});?", re.ASCII)
"""References to characters beyond Unicode: Python refuses to read numbers of thousands of digits."""
_BLANKS: Final = re.compile(r"\s+")
_RENAMED: Final = (
    *("request entity too large", "payload too large", "content too large", "request-uri too long", "uri too long"),
    *("requested range not satisfiable", "range not satisfiable", "unprocessable entity", "unprocessable content"),
)
"""Phrases that RFC 9110 changed: Python's own list has the old or the new ones."""
_PHRASES: Final = "|".join(
    map(re.escape, sorted({status.phrase.lower() for status in HTTPStatus if status >= 400}.union(_RENAMED)))
)
_BOILERPLATE: Final = re.compile(
    r"(?:(?:http )?(?:status|error)?:?\s*\d{3}\s*[-\u2013\u2014:|]?\s*)?"
    rf"(?:{_PHRASES}|(?:client |server )?error|oops!?)?"
    r"(?:\s*[(]?\d{3}[)]?)?[.!]?|type status report|[\w. -]{0,40}\bserver(?: at .{1,80})?"
    r"|(?:nginx|openresty|apache|caddy|cloudflare|varnish|envoy|haproxy|apache tomcat)(?:[/ ][\w.()+ -]{0,40})?"
)
"""Lines that say no more than the status and the name of the server."""
_STACK: Final = re.compile(r"at \S.{0,400}[):\d]|file \".{1,400}\", line \d+.{0,200}|traceback \(most recent.{1,60}")
_LABEL: Final = re.compile(r"(?i)(?:message|detail|details|reason)\b:?\s+(?=\S)")


def page_text(page: str) -> str:
    """Return the lines of a page that tell something, the title where no other does; empty where none does."""
    lines: dict[str, None] = {}
    length = 0
    for line in _lines(page):
        if length > _LONGEST:
            break
        if line not in lines:
            lines[line] = None
            length += len(line)
    telling = [
        line for line in lines if not _BOILERPLATE.fullmatch(line.lower()) and not _STACK.fullmatch(line.lower())
    ]
    return "\n".join(_LABEL.sub("", line, count=1) if _LABEL.match(line) else line for line in telling or lines)[
        :_LONGEST
    ]


def _lines(page: str) -> Iterator[str]:
    """Yield the lines of visible text. Each letter is passed once, whatever the markup."""
    parts: list[str] = []
    at = 0
    for _ in range(_MOST_TAGS):
        if at >= len(page):
            break
        start = page.find("<", at)
        parts.append(page[at : start if start >= 0 else len(page)])
        if start < 0:
            break
        name, at = _after_tag(page, start)
        if name is None:
            parts.append("<")
        elif name not in _INLINE:
            yield from _line(parts)
            parts = []
    yield from _line(parts)


def _line(parts: list[str]) -> Iterator[str]:
    from html import unescape  # 1 MB, which few APIs need

    text = _NO_CHARACTER.sub("\ufffd", "".join(parts))
    line = _BLANKS.sub(" ", unescape(text)).strip()
    if line:
        yield line


def _after_tag(page: str, start: int) -> tuple[str | None, int]:
    """Return the name of the tag that begins there (None for a mere `<`), and where the text behind it begins."""
    if page.startswith("<!--", start):
        end = page.find("-->", start)
        return "!", end + 3 if end >= 0 else len(page)
    named = _TAG_NAME.match(page, start + 1)
    if named is None and page[start + 1 : start + 2] not in ("!", "?"):
        return None, start + 1
    end = page.find(">", start)
    if end < 0:
        return "!", len(page)
    name = named[1].lower() if named is not None else "!"
    if name in _HIDDEN and page[start + 1] != "/":
        closing = _HIDDEN[name].search(page, end)
        return name, closing.start() if closing is not None else len(page)
    return name, end + 1


_MOST_ELEMENTS: Final = 2000
_DEEPEST: Final = 32
_ITEMS: Final = frozenset(
    {"item", "list-item", "listitem", "li", "element", "entry", "string", "anytype", "member", "error", "i"}
)
"""Names of the elements of a list, whatever the list is called."""
_FAULT: Final = {"faultcode": "code", "faultstring": "message", "reason": "message"}


class _Refused(Exception):
    """The document is none that is read."""


class _Element:
    __slots__ = ("children", "name", "text")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = _local(name)
        self.children: list[tuple[str, Json]] = [
            (_local(key), value) for key, value in attributes.items() if not key.startswith("xml") and ":" not in key
        ]
        self.text: list[str] = []

    def value(self) -> Json:
        text = "".join(self.text).strip()
        if not self.children:
            return text
        names = {name for name, _ in self.children}
        if len(names) == 1 and not text and (listed := self._listed(next(iter(names)))) is not None:
            return listed
        members: dict[str, Any] = {}
        for name, value in self.children:
            if name not in members:
                members[name] = value
            elif name == "message" and members[name] == value:
                continue  # some servers write `Message` and `message`, for clients of both kinds
            elif isinstance(members[name], _Several):
                members[name].append(value)
            else:
                members[name] = _Several([members[name], value])
        if text:
            members.setdefault("message", text)
        return {name: list(value) if isinstance(value, _Several) else value for name, value in members.items()}

    def _listed(self, name: str) -> list[Json] | None:
        """Return the elements of `<errors><error/><error/></errors>`."""
        own = self.name.lower()
        is_plural = own in (f"{name.lower()}s", f"{name.lower()}es", f"{name.lower()}list", f"arrayof{name.lower()}")
        if is_plural or (name.lower() in _ITEMS and (name.lower() != "error" or len(self.children) > 1)):
            return [value for _, value in self.children]
        return None


class _Several(list[Json]):
    """Elements of one name."""


def read_xml(body: bytes) -> Json:
    """Return the content of a document, None where it is malformed, too large or has a document type."""
    from xml.parsers import expat  # 1 MB, which few APIs need

    parser = expat.ParserCreate()
    parser.buffer_text = True
    stack: list[_Element] = [_Element("", {})]
    count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1 + len(attributes)
        if count > _MOST_ELEMENTS or len(stack) > _DEEPEST:
            raise _Refused
        stack.append(_Element(name, attributes))

    def end(_: str) -> None:
        closed = stack.pop()
        stack[-1].children.append((closed.name, closed.value()))

    def refuse(*_: object) -> None:
        raise _Refused

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: stack[-1].text.append(text)
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(body, True)
    except (_Refused, expat.ExpatError, ValueError, LookupError):  # an encoding that Python has none for
        return None
    return _unwrapped(*stack[0].children[0])


def _unwrapped(name: str, value: Json) -> Json:
    """Return what a root element wraps."""
    if isinstance(value, list):
        return {name: value}
    if not isinstance(value, dict):
        return value if name in ("string", "message") else {name: value}
    if name == "envelope" and isinstance(value.get("body"), dict) and isinstance(value["body"].get("fault"), dict):
        return _fault(value["body"]["fault"])
    return value


def _fault(fault: dict[str, Json]) -> dict[str, Json]:
    """Return a SOAP fault, of 1.1 (`faultcode`, `faultstring`) or 1.2 (`Code/Value`, `Reason/Text`)."""
    out: dict[str, Json] = {}
    for name, value in fault.items():
        if isinstance(value, dict) and name in ("code", "reason"):
            value = value.get("value" if name == "code" else "text", value)
            if isinstance(value, dict):  # with an attribute, such as xml:lang
                value = value.get("message", value)
        out[_FAULT.get(name, name)] = value
    return out


def _local(name: str) -> str:
    """Return a name without its prefix, and as JSON spells it: `ErrorCode` is `errorCode`, `ID` stays."""
    name = name.rpartition(":")[2]
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]


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
