"""Numbers that somebody wrote as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from corrigible.rules.functions.builtin import integer
from corrigible.rules.safety.time_span import clock_span

_WHOLE = re.compile(r"(-?\d+)\.0+", re.ASCII)


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
