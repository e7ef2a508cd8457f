"""The text of an HTML page that tells an error: its paragraphs, without what every such page says.

Knows: tags. Does not know: scripts, styles, what the text means.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

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
    text = _NO_CHARACTER.sub("\ufffd", "".join(parts))
    line = _BLANKS.sub(" ", html.unescape(text)).strip()
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
