"""What `corrigible demo` prints: requests and answers as plain text."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterator
from typing import Final, TextIO

from corrigible.schema.exchange import Json, Request

from .client import Answer

WIDTH: Final = 96
BOLD, DIM = "\033[1m", "\033[2m"
_RED, _GREEN, _PLAIN = "\033[31m", "\033[32m", "\033[0m"


class Page:
    """Plain text of at most 100 columns, with colours on a terminal."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._colours = out.isatty() and "NO_COLOR" not in os.environ

    def line(self, text: str = "", colour: str = "") -> None:
        painted = f"{colour}{text}{_PLAIN}" if colour and self._colours else text
        print(painted, file=self._out, flush=True)

    def head(self, text: str) -> None:
        self.line(f"=== {text} ".ljust(WIDTH, "="), BOLD)

    def step(self, text: str) -> None:
        self.line()
        self.line(text, BOLD)

    def request(self, request: Request, *, before: Request | None = None) -> None:
        """Print a request; with `before`, mark the lines that differ."""
        self.line(f"   {request.method} {request.path}")
        old = list(lines({} if before is None else _members(before)))
        for text in lines(_members(request)):
            changed = before is not None and text not in old
            self.line(f"   {'>' if changed else ' '} {text}", _GREEN if changed else "")

    def answer(self, answer: Answer, body: Json, note: str = "") -> None:
        verdict = "accepted" if answer.succeeded else "rejected"
        head = f"   {answer.status} {answer.reason}, {verdict}" + (f": {note}" if note else "")
        self.line(head, _GREEN if answer.succeeded else _RED)
        for text in lines(body):
            self.line(f"     {text}", "" if note else DIM)


def _members(request: Request) -> dict[str, Json]:
    """Return the headers, the query and the body of a request."""
    return {**{f"{name}:": value for name, value in request.headers.items()}, **request.query, **(request.body or {})}


def lines(value: Json, name: str = "", *, width: int = WIDTH - 5) -> Iterator[str]:
    """Yield JSON, with as many members on a line as fit."""
    start = f"{json.dumps(name)}: " if name else ""
    flat = start + json.dumps(value, ensure_ascii=False)
    if len(flat) < width or not isinstance(value, dict | list) or not value:
        yield from textwrap.wrap(flat, width, subsequent_indent="  ", break_on_hyphens=False)
        return
    yield start + ("{" if isinstance(value, dict) else "[")
    members = list(value.items()) if isinstance(value, dict) else [("", inner) for inner in value]
    for index, (key, inner) in enumerate(members):
        *most, last = lines(inner, key, width=width - 2)
        comma = "," if index < len(members) - 1 else ""
        yield from (f"  {line}" for line in (*most, last + comma))
    yield "}" if isinstance(value, dict) else "]"
