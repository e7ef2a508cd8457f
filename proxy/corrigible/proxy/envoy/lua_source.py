"""The texts of the Lua filters, each with its settings before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from corrigible.proxy.http.digest_headers import DIGESTS
from corrigible.proxy.http.own_location import Rewritten

from .gateway import Gateway

_FOLDER = Path(__file__).parent / "lua"
_TEXTS = {
    "ask": ("common", "ask"),
    "exchange": ("common", "request", "references", "refusal"),
    "refusal": ("common", "references", "refusal"),
    "grpc": ("common", "request", "grpc"),
    "location": ("references", "location"),
}
"""What a filter consists of. What is kept of a request is found by who reads its answer only in the same filter."""


@cache
def _text(name: str) -> str:
    return (_FOLDER / f"{name}.lua").read_text("utf-8")


def lua_filter(name: str, gateway: Gateway, *, watches: bool = False) -> str:
    """Return the text of a filter, by its name in `_TEXTS`. `watches`: for successes that end a loop."""
    upstream = gateway.upstream
    config = {
        "correctors": len(gateway.correctors),
        "timeout_ms": round(gateway.seconds * 1000),
        "limit": gateway.body_limit,
        "is_grpc": gateway.is_grpc,
        "asks_for_target": gateway.asks_for_target,
        "is_none": gateway.is_none,
        "watches": watches,
        "media_types": {one: True for one in gateway.media_types},
        "refusing": [one._asdict() for one in gateway.refusing],
        "digests": sorted({*DIGESTS, "etag"}),
        "origin": None if gateway.rewritten is Rewritten.NONE else f"{upstream.scheme}://{upstream.authority.lower()}",
    }
    texts = map(_text, _TEXTS[name])
    return "\n".join([f"local CONFIG = {literal(config)}", *texts])


def literal(value: Any) -> str:
    """Return a value as Lua writes it."""
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return '"' + "".join(_escaped(char) for char in value.encode()) + '"'
        case Mapping():
            return "{" + ", ".join(f"[{literal(key)}] = {literal(each)}" for key, each in value.items()) + "}"
        case Sequence():
            return "{" + ", ".join(map(literal, value)) + "}"
    raise TypeError(type(value).__name__)


def _escaped(byte: int) -> str:
    return chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03d}"
