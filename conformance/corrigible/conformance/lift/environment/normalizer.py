"""Replaces what differs between two runs: ids by order of appearance, times by `<time>`, names of the episode.

Knows: the patterns of an environment. Does not know: tasks, arms, which API this is. Pure.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Final

from corrigible.schema.exchange import Json

from .environment import Environment

_TIMES: Final = (
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?\b",
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT",
)
_UUID: Final = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{8,}={0,2}")
_FINGERPRINT: Final = "fingerprint"
"""A member of `loop`; every proxy makes it with a key of its own."""


class Normalizer:
    """The ids of one episode. The first one to appear is `<id:1>`."""

    def __init__(self, environment: Environment, own: Mapping[str, str]) -> None:
        """`own` maps names in the log to the texts of this episode alone."""
        self._ids: dict[str, str] = {}
        self._own = {text: f"<{name}>" for name, text in own.items() if text}
        self._known = frozenset(environment.known)
        self._clocks, self._numbered = frozenset(environment.clocks), frozenset(environment.numbered)
        self._coded = environment.grpc
        self.reads = environment.reads
        """The gRPC methods that only read."""
        self._find_ids = re.compile("|".join((_UUID, *environment.ids)))
        self._find_times = re.compile("|".join((*_TIMES, *environment.times)))
        self._find_own = re.compile("|".join(map(re.escape, sorted(self._own, key=len, reverse=True))) or r"(?!)")

    def __call__(self, value: Json) -> Json:
        """Return a value, normalized."""
        return self._value(value, "")

    def text(self, text: str) -> str:
        """Return a text, normalized."""
        if self._coded:
            text = _BASE64.sub(self._decoded, text)
        out = self._find_own.sub(lambda match: self._own[match[0]], text)
        out = self._find_ids.sub(self._named, out)
        return self._find_times.sub("<time>", out)

    def _value(self, value: Json, member: str) -> Json:
        match value:
            case bool() | None:
                return value
            case _ if member == _FINGERPRINT:
                return "<fingerprint>"
            case int() | float() | str() if member in self._clocks:
                return "<time>"
            case int() if member in self._numbered:
                return self._id(str(value))
            case str() if member in self._numbered and value.isdecimal():
                return self._id(value)
            case str():
                return self.text(value)
            case Mapping() if "path" in value and "value" in value and self._is_clock(value["path"]):
                return {**{name: self._value(inner, name) for name, inner in value.items()}, "value": "<time>"}
            case Mapping():
                return {self.text(str(key)): self._value(inner, str(key)) for key, inner in value.items()}
            case list() | tuple():
                return [self._value(inner, member) for inner in value]
            case _:
                return value

    def _is_clock(self, pointer: Json) -> bool:
        """Return whether a patch edits a clock."""
        return isinstance(pointer, str) and pointer.rpartition("/")[2] in self._clocks

    def _decoded(self, match: re.Match[str]) -> str:
        """Return base64 as its text if that holds a name of this episode."""
        try:
            plain = base64.b64decode(match[0], validate=True).decode()
        except ValueError:
            return match[0]
        return f"<base64:{plain}>" if self._find_own.search(plain) else match[0]

    def _named(self, match: re.Match[str]) -> str:
        return match[0] if match[0] in self._known else self._id(match[0])

    def _id(self, text: str) -> str:
        return self._ids.setdefault(text, f"<id:{len(self._ids) + 1}>")
