"""How much of a request is judged: what it costs is known before it is done.

A validator hands every error out with a copy of the value it is about, and what alternatives say of it with copies of
what is inside: so what is told of a request is told of a part of it that is small enough.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from corrigible.rules.budget import Exhausted, spend
from corrigible.rules.repair.schema import Schema
from corrigible.schema.exchange import Json

from .branch import CHOSEN

MOST_VALUES: Final = 512
"""Of a larger request only a part is looked at for what is wrong; whether it is right is judged whole."""
_MOST_EVER: Final = 2048
_MOST_ALIKE: Final = 64
"""Elements of one array, or undeclared members of one object, that are looked at."""
_HIGHEST_PRICE: Final = 20_000
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
Declared = Callable[[Sequence[str | int]], Mapping[str, Json]]


def part_of(instance: Json, declared: Declared) -> tuple[Json, int]:
    """Return the part of a large instance that is looked at, and how many values it holds.

    That is what is declared, and the first of what is alike.

    Raises Exhausted where that is still too much.
    """
    left, count = MOST_VALUES, 0
    whole: list[Json] = []
    waiting: deque[tuple[Json, tuple[str | int, ...], Any, Any]] = deque([(instance, (), whole, None)])
    while waiting:
        value, path, into, key = waiting.popleft()
        count += 1
        if count > _MOST_EVER:
            raise Exhausted(f"more than {_MOST_EVER:,} values of a request to judge")
        out: Any = value
        if isinstance(value, Mapping):
            out = {}
            names = declared(path)
            known = [name for name in value if name in names]
            others = [name for name in value if name not in names][: min(_MOST_ALIKE, max(0, left))]
            left -= len(others)
            waiting += [(value[name], (*path, name), out, name) for name in (*known, *others)]
        elif isinstance(value, list):
            out = []
            some = value[: min(_MOST_ALIKE, max(0, left))]
            left -= len(some)
            waiting += [(inner, (*path, index), out, None) for index, inner in enumerate(some)]
        if key is None:
            into.append(out)
        else:
            into[key] = out
    spend(count)
    return whole[0], count


def price(instance: Json, schema: Schema) -> int:
    """Return how many values are compared with how many schemas while errors are told. Raises Exhausted: too many.

    Alternatives that lead back to themselves are walked into again and again: their prices add up at every level, and
    here they are only added.
    """
    known: dict[tuple[int, int], int] = {}
    definitions = schema.get("$defs", {})

    def of(here: Json, value: Json) -> int:
        if not isinstance(here, Mapping):
            return 1
        key = (id(here), id(value))
        if key in known:
            return known[key]
        known[key] = 0
        spend()
        count = 1
        if "$ref" in here:
            count += of(definitions.get(str(here["$ref"]).rpartition("/")[2]), value)
        chosen = 0
        for word in _IN_PLACE:
            inner = here.get(word)
            if inner is None:
                continue
            for one in inner if isinstance(inner, list) else inner.values() if word == "dependentSchemas" else (inner,):
                if isinstance(one, Mapping) and CHOSEN in one:  # of these at most one is meant
                    chosen = max(chosen, of(one["then"], value))
                else:
                    count += of(one, value)
        count += chosen
        if isinstance(value, Mapping):
            members, others = here.get("properties", {}), here.get("additionalProperties")
            patterns = here.get("patternProperties", {}).values()
            for name, inner in value.items():
                if name in members:
                    count += of(members[name], inner)
                elif others is not None:
                    count += of(others, inner)
                for one in patterns:
                    count += of(one, inner)
        elif isinstance(value, list):
            ahead = here.get("prefixItems", ())
            for index, inner in enumerate(value):
                if index < len(ahead):
                    count += of(ahead[index], inner)
                elif "items" in here:
                    count += of(here["items"], inner)
                if "contains" in here:
                    count += of(here["contains"], inner)
        known[key] = count
        if count > _HIGHEST_PRICE:
            raise Exhausted("alternatives within alternatives: more to compare than an exchange is worth")
        return count

    return of(schema, instance)
