"""What Stripe's own description says about the request of an operation: the `spec` of expressions.

`facts.json` is derived from it by generate_facts.py and read on first use: most exchanges never need it.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import Any

import orjson

Json = Any


@functools.cache
def facts(operation: str) -> Json:
    """Return `{required, properties}` of an operation's body or query, `{}` where nothing is known of it."""
    document = _document()
    said = document["operations"].get(operation)
    if said is None:
        return {}
    return {
        "required": said.get("required", []),
        "properties": {name: _unfolded(inner, document["shared"]) for name, inner in said["properties"].items()},
    }


@functools.cache
def _document() -> dict[str, Json]:
    document: dict[str, Json] = orjson.loads(files(__package__).joinpath("facts.json").read_bytes())
    return document


def _unfolded(value: Json, shared: list[Json]) -> Json:
    if not isinstance(value, dict):
        return value
    place = value.get("$ref")
    if isinstance(place, int):
        return _unfolded(shared[place], shared)
    return {key: _unfolded(inner, shared) for key, inner in value.items()}
