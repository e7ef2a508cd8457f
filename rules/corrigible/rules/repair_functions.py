"""The Python functions that every rule may call by name: for what is a program rather than an expression.

To add one: a pure function of plain JSON values, with a generic name, documented parameters and a test, listed in
`_FUNCTIONS`. It raises ValueError where its arguments make no sense: the rule crashes, and the native answer passes.
Work that grows with its arguments calls `budget.spend`.

Knows: which functions there are. Does not know: rules, the evaluator of expressions, any API.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from corrigible.rules.budget import spend, take_content
from corrigible.rules.functions.builtin import at, includes, integer
from corrigible.rules.safety.written_moment import clock_span


def by_depth(pointers: Sequence[str]) -> list[str]:
    """Return JSON pointers with the outer ones first; those of one depth keep their order."""
    spend(2 * len(pointers))
    return sorted(pointers, key=lambda pointer: pointer.count("/"))


def first_fitting(rows: Sequence[Any], wanted: Any) -> Any:
    """Return the first object of a list that has every member of `wanted` with the same value, null if none has.

    Members of `wanted` that are null or an empty text ask for nothing. Where nothing is asked for, nothing fits.
    """
    if not isinstance(wanted, Mapping):
        raise ValueError("wanted is no object")
    spend(len(rows))
    asked = {name: value for name, value in wanted.items() if value not in (None, "")}
    fitting = (row for row in rows if isinstance(row, Mapping) and all(row.get(n) == v for n, v in asked.items()))
    return next(fitting, None) if asked else None


def indexes(items: Sequence[Any]) -> list[int]:
    """Return the numbers of the elements of a list: 0, 1, and so on."""
    spend(len(items))
    return list(range(len(items)))


def json_text(value: Any) -> str:
    """Return the JSON text of a value, without blanks."""
    take_content(value)
    return orjson.dumps(value).decode()


def json_value(text: Any) -> Any:
    """Return the value that a JSON text says; null for anything else."""
    try:
        value = orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        return None
    take_content(value)
    return value


def last_of_each(items: Sequence[Any], key: str, order: str) -> list[Any]:
    """Return the element with the highest number at the pointer `order`, for each value at the pointer `key`.

    They keep the order of the list. Elements without a value at `key`, or without a number at `order`, are left out.
    """
    spend(2 * len(items))
    last: dict[str, float] = {}
    ranked = [(str(at(item, key)), at(item, order), item) for item in items if at(item, key) is not None]
    ranked = [entry for entry in ranked if type(entry[1]) in (int, float)]
    for name, rank, _ in ranked:
        last[name] = max(rank, last.get(name, rank))
    return [item for name, rank, item in ranked if rank == last[name]]


def differing(have: Any, want: Any) -> list[str]:
    """Return the names of the members of `want` that `have` lacks or has with another value, sorted.

    Values are compared as `includes` does: members inside `want` only, scalars by their text. Where `have` is no
    object, every member of `want` differs.
    """
    if not isinstance(want, Mapping):
        raise ValueError("want is no object")
    spend(len(want))
    there = have if isinstance(have, Mapping) else {}
    return sorted(name for name, value in want.items() if not (name in there and includes(there[name], value)))


_WHOLE = re.compile(r"(?<!\d)(-?\d++)\.0++", re.ASCII)
"""Each run of digits is walked through twice at most."""


def seconds(value: Any) -> int | None:
    """Return the seconds that a text such as `30s`, `10 min` or `2h` says; null for anything else.

    A number without a unit is null as well, and so is a capital `M`, which is no sign of minutes.
    """
    return clock_span(value)


def whole_number(value: Any, words: Any) -> int | None:
    """Return the integer that a value is: 30, 30.0, "30", "30.0" or a word of `words`; null for anything else.

    `words` gives the numbers of words in small letters, such as `{ten: 10}`.
    """
    if not isinstance(words, Mapping):
        raise ValueError("words is no object")
    number = integer(value)
    if number is not None or not isinstance(value, str):
        return number
    text = value.strip().lower()
    return words[text] if text in words else integer(_WHOLE.sub(r"\1", text))


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    by_depth,
    differing,
    first_fitting,
    indexes,
    json_text,
    json_value,
    last_of_each,
    seconds,
    whole_number,
)


def repair_functions() -> Mapping[str, Callable[..., Any]]:
    """Return the functions by name."""
    return {one.__name__: one for one in _FUNCTIONS}
