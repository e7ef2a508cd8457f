"""What a model answered, read: numbers of listed operations and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from corrigible.schema.exchange import Json

_LONGEST: Final = 500


class UnreadableAnswer(Exception):
    """An answer is not of the form that was asked for."""


def read_answer(text: str) -> Mapping[str, Json]:
    """Return the JSON object of an answer; a fence around it is none of it. Raises UnreadableAnswer."""
    inner = text.strip()
    if inner.startswith("```"):
        inner = inner.strip("`").removeprefix("json").strip()
    try:
        document = json.loads(inner)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise UnreadableAnswer("no JSON object")
    return document


def chosen(document: Mapping[str, Json], count: int) -> tuple[list[int], int]:
    """Return the numbers of calls that are listed, from 0, and how many are not. Raises UnreadableAnswer."""
    numbers = document.get("calls")
    if not isinstance(numbers, list):
        raise UnreadableAnswer("`calls` is no list")
    listed = [one - 1 for one in numbers if isinstance(one, int) and not isinstance(one, bool) and 1 <= one <= count]
    return listed, len(numbers) - len(listed)


def judged(document: Mapping[str, Json], count: int) -> dict[int, str]:
    """Return the candidates that are taken for the same, from 0, with the reasoning. Raises UnreadableAnswer."""
    mappings = document.get("mappings")
    if not isinstance(mappings, list):
        raise UnreadableAnswer("`mappings` is no list")
    found: dict[int, str] = {}
    for one in mappings:
        number = one.get("candidate") if isinstance(one, Mapping) else None
        if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= count:
            found.setdefault(number - 1, " ".join(str(one.get("reasoning", "")).split())[:_LONGEST])
    return found
