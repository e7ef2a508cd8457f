"""Which elements of a list fit, or come last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corrigible.rules.budget import spend
from corrigible.rules.functions.builtin import at


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
