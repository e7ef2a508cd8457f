"""YAML request bodies as the Kubernetes API reads them: YAML 1.1 by go-yaml's rules, then JSON.

Events become values in one pass without recursion, so that depth, aliases and size are bounded while reading.
"""

from __future__ import annotations

import re
from math import isinf
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

MEDIA_TYPES = frozenset(
    {"application/yaml", "application/x-yaml", "application/apply-patch+yaml", "text/yaml", "text/x-yaml"}
)
_MOST_BYTES = 1 << 20
_MOST_NODES = 100_000
_DEEPEST = 100
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
for _value, _names in ((True, ("y", "yes", "on", "true")), (False, ("n", "no", "off", "false"))):
    _WORDS |= {spelt: _value for name in _names for spelt in (name, name.capitalize(), name.upper())}
# go-yaml has neither base 60 (`12:30` stays text) nor dates: both would be a surprise in a body.
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+|0b[01]+|0o?[0-7]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset({None, "!", *(_TAG + name for name in ("str", "int", "float", "bool", "null", "map", "seq"))})
_MOST_DIGITS = 40


def read_yaml(body: bytes) -> Any:
    """Return the one document of a YAML body. Raises ValueError for what is none, or is too much of it."""
    if len(body) > _MOST_BYTES:
        raise ValueError("too long")
    try:
        return _Reader().read(body)
    except (yaml.YAMLError, RecursionError) as problem:
        raise ValueError("no YAML") from problem


class _Open:
    """A collection that is being read."""

    __slots__ = ("anchor", "key", "merges", "named", "nodes", "value")

    def __init__(self, value: dict[str, Any] | list[Any], anchor: str | None, nodes: int) -> None:
        self.value = value
        self.anchor = anchor
        self.nodes = nodes
        """How many nodes had been read before it."""
        self.named = False
        self.key: str | None = None
        """The member that is being read; None for a merge, `<<`."""
        self.merges: list[Any] = []


class _Reader:
    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0
        self._documents = 0
        self._result: Any = None

    def read(self, body: bytes) -> Any:
        for event in yaml.parse(body, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            match event:
                case ScalarEvent():
                    self._scalar(event)
                case MappingStartEvent() | SequenceStartEvent():
                    self._start(event)
                case CollectionEndEvent():
                    self._end()
                case AliasEvent():
                    self._alias(event.anchor or "")
                case DocumentStartEvent():
                    self._documents += 1
                    if self._documents > 1:
                        raise ValueError("several documents")
        return self._result

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > _MOST_NODES:
            raise ValueError("too many nodes")

    def _scalar(self, event: ScalarEvent) -> None:
        if event.tag not in _PLAIN_TAGS:
            raise ValueError(f"the tag {event.tag} has no JSON")
        is_plain = event.implicit[0] and event.style in (None, "")
        value = resolved(event.value) if is_plain else _tagged(event.value, event.tag)
        self._count(1)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        merge = is_plain and event.value == "<<"
        self._add(value, merge=merge)

    def _start(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        if event.tag not in _PLAIN_TAGS:
            raise ValueError(f"the tag {event.tag} has no JSON")
        if len(self._open) >= _DEEPEST:
            raise ValueError("too deep")
        if self._open and isinstance(self._open[-1].value, dict) and not self._open[-1].named:
            raise ValueError("a collection is no member name")
        self._count(1)
        value: dict[str, Any] | list[Any] = {} if isinstance(event, MappingStartEvent) else []
        self._open.append(_Open(value, event.anchor, self._nodes - 1))

    def _end(self) -> None:
        closed = self._open.pop()
        if isinstance(closed.value, dict):
            for merged in closed.merges:
                for name, value in merged.items():
                    closed.value.setdefault(name, value)
        if closed.anchor:
            self._anchors[closed.anchor] = (closed.value, self._nodes - closed.nodes)
        self._add(closed.value)

    def _alias(self, anchor: str) -> None:
        if anchor not in self._anchors:
            raise ValueError("an alias of nothing")
        value, nodes = self._anchors[anchor]
        self._count(nodes)
        self._add(_copied(value, len(self._open)))

    def _add(self, value: Any, *, merge: bool = False) -> None:
        if not self._open:
            self._result = value
            return
        collection = self._open[-1]
        if isinstance(collection.value, list):
            collection.value.append(value)
        elif not collection.named:
            collection.named, collection.key = True, None if merge else _name(value)
        else:
            collection.named = False
            if collection.key is None:
                collection.merges += _mappings(value)
            else:
                collection.value[collection.key] = value


def _copied(value: Any, depth: int) -> Any:
    """Return a value of its own: an edit of one place is none of the other."""
    if depth > _DEEPEST:
        raise ValueError("too deep")
    if isinstance(value, dict):
        return {name: _copied(inner, depth + 1) for name, inner in value.items()}
    return [_copied(inner, depth + 1) for inner in value] if isinstance(value, list) else value


def _mappings(value: Any) -> list[dict[str, Any]]:
    elements = value if isinstance(value, list) else [value]
    if not all(isinstance(element, dict) for element in elements):
        raise ValueError("only mappings are merged")
    return elements


def _name(value: Any) -> str:
    """Spell a member name: JSON has texts only."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
    raise ValueError("a collection is no member name")


def _tagged(text: str, tag: str | None) -> Any:
    if tag in (None, "!", f"{_TAG}str"):
        return text
    return resolved(text)


def resolved(text: str) -> Any:
    """Return what a plain scalar stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if not text or text[0] not in "+-.0123456789" or len(text) > _MOST_DIGITS:
        return text
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        return _integer(digits)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if isinf(number):
            return text  # out of range to go-yaml, and so no number; infinity would be null in JSON
        is_integer = number.is_integer() and abs(number) < 1 << 53
        return int(number) if is_integer else number
    return text


def _integer(digits: str) -> int:
    sign, digits_only = (-1, digits[1:]) if digits[0] == "-" else (1, digits.lstrip("+"))
    low = digits_only.lower()
    if low.startswith(("0x", "0b", "0o")):
        return sign * int(low, 0)
    return sign * (int(low, 8) if low.startswith("0") and len(low) > 1 else int(low))
