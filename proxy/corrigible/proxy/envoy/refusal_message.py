"""What a gateway and a corrector say to each other: a refused exchange one way, the edits of its answer back.

Knows: the sections of a message (docs/corrector.md). Does not know: sockets, HTTP libraries, what is decided. No I/O.

A message is its sections, one behind the other; a header tells their lengths in bytes. A head is lines of `name:value`,
pseudo-headers included: neither names nor values of HTTP can have a line feed in them.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from corrigible.proxy.access_log.entry import Entry
from corrigible.proxy.http.messages import Headers, text_of
from corrigible.schema.exchange import record

SECTIONS: Final = b"corrigible-sections"
"""The header with the lengths of the sections."""
ENTRY: Final = b"corrigible-entry"
"""The header of an answer with what the access log tells of it."""
LOOPS: Final = b"corrigible-loops"
"""The header of an answer that says that a success of this caller is worth knowing of."""

_COUNT: Final = 5


class Unreadable(ValueError):
    """A message is not as it must be. The text says what is wrong."""


@record
class Head:
    """A head with its pseudo-headers apart."""

    pseudo: dict[str, str]
    headers: Headers


@record
class RefusalMessage:
    """A refused exchange."""

    request: Head
    """With `:method`, `:path` and `:authority`."""
    request_body: bytes
    response: Head
    """With `:status`."""
    response_body: bytes
    trailers: Headers = ()


def read_message(lengths: bytes, body: bytes) -> RefusalMessage:
    """Read a message: the value of the header `SECTIONS`, and the body. Raises Unreadable.

    The sections are the request's head and body (in base64), the answer's head, body and trailers.
    """
    parts = lengths.split()
    if len(parts) != _COUNT or not all(part.isdigit() and len(part) < 10 for part in parts):
        raise Unreadable(f"{SECTIONS.decode()} is not {_COUNT} lengths")
    sizes = [int(part) for part in parts]
    if sum(sizes) != len(body):
        raise Unreadable(f"the sections have {sum(sizes)} bytes, the body has {len(body)}")
    sections, at = [], 0
    for size in sizes:
        sections.append(body[at : at + size])
        at += size
    try:
        request_body = base64.b64decode(sections[1], validate=True)
    except binascii.Error:
        raise Unreadable("the request's body is no base64") from None
    trailers = read_head(sections[4]).headers if sections[4] else ()
    return RefusalMessage(read_head(sections[0]), request_body, read_head(sections[2]), sections[3], trailers)


def read_head(section: bytes) -> Head:
    """Read a head. Raises Unreadable."""
    pseudo: dict[str, str] = {}
    headers: list[tuple[str, str]] = []
    for line in text_of(section).split("\n"):
        if not line:
            continue
        end = line.find(":", 1)
        if end < 0:
            raise Unreadable("a line of a head has no colon")
        if line[0] == ":":
            pseudo[line[:end]] = line[end + 1 :]
        else:
            headers.append((line[:end], line[end + 1 :]))
    return Head(pseudo, headers)


def head_edits(before: Headers, after: Headers) -> list[str]:
    """Return the lines that make one list of headers another.

    `-name` removes a header with all its values, `=name:value` sets the one value of it, `+name:value` adds one.
    Names are compared without regard to case, as they are in HTTP.
    """
    old, new = _by_name(before), _by_name(after)
    lines = [f"-{name}" for name in old if name not in new]
    for name, (spelling, values) in new.items():
        _, had = old.get(name, ("", []))
        if had == values:
            continue
        if len(had) == len(values) == 1:
            lines.append(f"={name}:{values[0]}")
        elif had == values[: len(had)]:
            lines += [f"+{spelling}:{value}" for value in values[len(had) :]]
        else:
            lines += [f"-{name}", *(f"+{spelling}:{value}" for value in values)]
    return lines


def _by_name(headers: Iterable[tuple[str, str]]) -> dict[str, tuple[str, list[str]]]:
    found: dict[str, tuple[str, list[str]]] = {}
    for name, value in headers:
        found.setdefault(name.lower(), (name, []))[1].append(value)
    return found


def written(sections: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the value of the header `SECTIONS`, and the body."""
    return b" ".join(b"%d" % len(section) for section in sections), b"".join(sections)


# What a corrector tells of an exchange for the access log, and how it comes back in the log of the gateway. Of feedback
# only goes what the log and the terminal show: verdict, actions and loop, never a value.

_TOLD: Final = ("id", "outcome", "operation", "rules", "reason", "error", "lookups", "correction", "code", "failure")
_LONGEST: Final = 1000
"""Characters of a text."""
_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def told(entry: Entry) -> str:
    """Return what only the corrector knows of an exchange, in ASCII and one line."""
    document: dict[str, Any] = {name: value for name in _TOLD if (value := getattr(entry, name)) not in (None, (), 0)}
    for name, value in document.items():
        if isinstance(value, str):
            document[name] = value[:_LONGEST]
    if entry.feedback is not None:
        document["feedback"] = _told_of(entry.feedback)
    try:
        text = orjson.dumps(document)
    except orjson.JSONEncodeError:  # a surrogate, or a number that is too large
        text = b"\xff"
    # What is ASCII already takes an eighth of the time.
    return text.decode() if text.isascii() else _ENCODER.encode(document)


def with_told(entry: Entry, text: str) -> Entry:
    """Return the entry with what a corrector told. Raises ValueError if that is not readable."""
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("not an object")
    known = {name: document[name] for name in (*_TOLD, "feedback") if name in document}
    if "rules" in known:
        known["rules"] = tuple(known["rules"])
    return replace(entry, **known)


def _told_of(feedback: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: feedback[name] for name in ("type", "recovery", "loop", "retry") if name in feedback}
    kept["suggestions"] = [
        {
            "action": one.get("action"),
            **({"placeholders": True} if one.get("placeholders") else {}),
            **({"safety": safety} if (safety := _flags(one.get("safety") or {})) else {}),
        }
        for one in feedback.get("suggestions") or ()
    ]
    return kept


def _flags(safety: Mapping[str, Any]) -> dict[str, bool]:
    return {name: True for name in ("changes_intent", "requires_confirmation") if safety.get(name)}
