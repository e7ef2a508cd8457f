"""Bounds of checking a request: its cost is computed before the work.

A validator returns every error with a copy of its value, and errors of alternatives with copies of the values inside:
errors are therefore computed for a small enough part of the request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from corrigible.adapters.openapi.schema.recursive_choice import CHOSEN
from corrigible.rules.budget import Exhausted, spend
from corrigible.rules.schema_repair.first_violation import duplicates
from corrigible.rules.schema_repair.json_schema import Schema
from corrigible.schema.exchange import Json

LARGE: Final = 128
"""Values. Of a larger request errors are collected for a part only; whether it is valid is checked as a whole."""
_MOST_VALUES: Final = 512
_MOST_EVER: Final = 2048
_MOST_ALIKE: Final = 64
"""Elements of one array, or undeclared members of one object, that are looked at."""
_VALUES_A_STEP: Final = 8
HIGHEST_PRICE: Final = 20_000
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
_BESIDE: Final = frozenset(_IN_PLACE)
Path = Sequence[str | int]


class Known(NamedTuple):
    """Facts about the places of an instance."""

    declared: Callable[[Path], Mapping[str, Json]]
    """The members that are declared at a place."""
    fits: Callable[[Path], Callable[[Json], bool] | None]
    """The check of an element of the array at a place, None where there is none."""


class Part(NamedTuple):
    """A part of an instance."""

    instance: Json
    size: int
    """How many values it holds."""
    elements: Mapping[tuple[str | int, ...], Sequence[int]]
    """By the place of a shortened array in the part: the indexes of its elements in the whole array."""

    def place(self, path: Path) -> Path:
        """Return where a place of the part is in the whole instance."""
        if not self.elements:
            return path
        out: list[str | int] = []
        for step in path:
            at = len(out)
            stands = self.elements.get(tuple(path[:at])) if isinstance(step, int) else None
            out.append(stands[step] if stands is not None and isinstance(step, int) and step < len(stands) else step)
        return out


def part_of(instance: Json, costs: Known) -> Part:
    """Return the part of a large instance that is looked at: what is declared, and some of what is alike.

    Of the elements of a long array those that do not fit. Raises Exhausted where it is still too much.
    """
    left, count = _MOST_VALUES, 0
    whole: list[Json] = []
    elements: dict[tuple[str | int, ...], Sequence[int]] = {}
    waiting: deque[tuple[Json, tuple[str | int, ...], Any, Any]] = deque([(instance, (), whole, None)])
    while waiting:
        value, path, into, key = waiting.popleft()
        count += 1
        if count > _MOST_EVER:
            raise Exhausted(f"more than {_MOST_EVER:,} values of a request to check")
        out: Any = value
        room = min(_MOST_ALIKE, max(0, left))
        if isinstance(value, Mapping):
            out = {}
            spend(1 + len(value) // _VALUES_A_STEP)
            names = costs.declared(path)
            declared = [name for name in value if name in names]
            others = list(islice((name for name in value if name not in names), room))
            left -= len(others)
            waiting += [(value[name], (*path, name), out, name) for name in (*declared, *others)]
        elif isinstance(value, list):
            out = []
            some: Sequence[int] = range(min(len(value), room))
            if len(value) > room:
                some = elements[path] = _not_fitting(value, costs.fits(path), room)
            left -= len(some)
            waiting += [(value[index], (*path, place), out, None) for place, index in enumerate(some)]
        if key is None:
            into.append(out)
        else:
            into[key] = out
    spend(count)
    return Part(whole[0], count, elements)


def _not_fitting(items: Sequence[Json], fits: Callable[[Json], bool] | None, most: int) -> list[int]:
    """Return the indexes of the first elements that do not fit, else of duplicates, else of the first elements."""
    wrong: list[int] = []
    if fits is not None:
        spend(len(items))
        wrong = list(islice((index for index, item in enumerate(items) if not fits(item)), most))
    if not wrong and (again := duplicates(items)[: most // 2]):
        twice = set(duplicates([items[index] for index in again] + list(items)))
        wrong = sorted({index - len(again) for index in twice if index >= len(again)})[:most]
    return wrong or list(range(min(len(items), most)))


def written_out(schema: Schema) -> int:
    """Return how many values a schema holds with every reference written out, and no more than `HIGHEST_PRICE`.

    A value of a request is compared with no more schemas than that.
    """
    definitions = schema.get("$defs", {})
    count = 0
    waiting: list[Json] = [{name: inner for name, inner in schema.items() if name != "$defs"}]
    while waiting and count < HIGHEST_PRICE:
        here = waiting.pop()
        count += 1
        if isinstance(here, dict):
            waiting += here.values()
            if "$ref" in here:
                waiting.append(definitions.get(str(here["$ref"]).rpartition("/")[2]))
        elif isinstance(here, list):
            waiting += here
    return count


def price(instance: Json, schema: Schema) -> int:
    """Return how many comparisons of values with schemas it takes to collect errors. Raises Exhausted: too many.

    Alternatives that lead back to themselves are walked into again and again: their prices add up at every level, and
    here they are only added.
    """
    known: dict[tuple[int, int], int] = {}
    definitions = schema.get("$defs", {})

    def of(here: Json, value: Json) -> int:
        if not isinstance(here, dict):
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
        for word in () if _BESIDE.isdisjoint(here) else _IN_PLACE:
            inner = here.get(word)
            if inner is None:
                continue
            for one in inner if isinstance(inner, list) else inner.values() if word == "dependentSchemas" else (inner,):
                if isinstance(one, dict) and CHOSEN in one:  # at most one of these applies
                    chosen = max(chosen, of(one["then"], value))
                else:
                    count += of(one, value)
        count += chosen
        if isinstance(value, dict):
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
        if count > HIGHEST_PRICE:
            raise Exhausted(f"nested alternatives: more than {HIGHEST_PRICE:,} comparisons")
        return count

    return of(schema, instance)
