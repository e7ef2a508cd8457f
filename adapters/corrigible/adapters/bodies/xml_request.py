"""The XML body of a request, as far as it is read: whether it is well-formed, and where its elements are.

Values are not judged: which type an element has is not told by its text. Documents with a document type are not read.
Knows: XML 1.0. Does not know: descriptions, errors.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from xml.parsers import expat

from corrigible.rules.budget import spend

_MOST_ELEMENTS: Final = 2000
_DEEPEST: Final = 64
_BYTES_A_STEP: Final = 256
_ENCODING: Final = re.compile(r"\s*<\?xml[^>]{0,200}encoding=[\"'](?!utf-?8[\"']|us-ascii[\"'])", re.IGNORECASE)


class Fault(NamedTuple):
    """Where a document is not well-formed."""

    line: int
    column: int


class Element(NamedTuple):
    """An element of a document."""

    path: tuple[str, ...]
    """The names from the root on, without prefixes."""
    line: int
    text: str
    """What stands in it, where that is nothing but text."""


class _Unread(Exception):
    """The document is none that is read."""


def is_xml(media: str) -> bool:
    return media in ("application/xml", "text/xml") or media.endswith("+xml")


def read_elements(text: str) -> list[Element] | Fault | None:
    """Return the elements of a document in their order, or where it is broken; None where it is not read."""
    if "\ufffd" in text or _ENCODING.match(text) is not None:
        return None  # its octets are not at hand
    spend(1 + len(text) // _BYTES_A_STEP)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    elements: list[Element] = []
    open_: list[tuple[str, int, list[str], int]] = []

    def start(name: str, _: dict[str, str]) -> None:
        if len(elements) + len(open_) >= _MOST_ELEMENTS or len(open_) >= _DEEPEST:
            raise _Unread
        open_.append((name.rpartition(":")[2], parser.CurrentLineNumber, [], len(elements)))

    def end(_: str) -> None:
        path = tuple(one[0] for one in open_)
        _, line, parts, before = open_.pop()
        elements.append(Element(path, line, "".join(parts).strip() if len(elements) == before else ""))

    def characters(data: str) -> None:
        if open_:
            open_[-1][2].append(data)

    def refuse(*_: object) -> None:
        raise _Unread

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except _Unread:
        return None
    except expat.ExpatError as problem:
        return Fault(problem.lineno, problem.offset + 1)
    except ValueError:
        return None
    return elements
