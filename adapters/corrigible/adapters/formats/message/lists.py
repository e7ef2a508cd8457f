"""A list in a sentence: `'a', 'b' or 'c'`, `[a, b]`, `a, b, c.`, `("a", "b")`, `:a, :b`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.schema.exchange import Json

_ITEM: Final = re.compile(
    r"""\s*(?:`(?P<tick>[^`\n]{0,120})`|"(?P<double>[^"\n]{0,120})"|'(?P<single>[^'\n]{0,120})'|“(?P<curly>[^”\n]{0,120})”"""
    r"""|:?(?P<bare>[\w$@*+/#-](?:[\w$@*+/:#-]|\.(?=[\w$@*+/:#-]))*))"""
)
_BETWEEN: Final = re.compile(r"\s*(?:,?\s*(?:and|or|&)(?: the)?(?=[\s'\"`“])|[,|;])")
_ASIDE: Final = re.compile(r"\s*\([^()\n]{1,160}\)")
_OPENING: Final = {"[": "]", "(": ")", "{": "}", "<": ">"}
_INTEGER: Final = re.compile(r"-?\d{1,18}")
_NUMBER: Final = re.compile(r"-?\d{1,18}\.\d{1,18}")
_LITERALS: Final = {"true": True, "false": False, "True": True, "False": False, "null": None, "None": None}
_MOST: Final = 300


_TICKED: Final = re.compile(r"""\s*`("[^`\n]{0,400}",[^`\n]{0,400}")`""")


class Listed(NamedTuple):
    """The items of a list and how it is written."""

    items: tuple[Json, ...]
    """Texts; numbers and words of JSON that are not quoted as what they are."""
    is_closed: bool
    """Whether it stands in brackets, or all of its items in quotes, so that its end is sure."""
    end: int


def read_list(text: str, at: int = 0) -> Listed:
    """Return the list that begins at an index of a text; no items where there is none."""
    ticked = _TICKED.match(text, at)
    if ticked is not None:  # superstruct: `"a","b"`
        return read_list(ticked[1])._replace(end=ticked.end())
    closings: list[str] = []
    while (opening := re.match(r"\s*([\[({<])", text[at : at + 20])) is not None:
        closings.append(_OPENING[opening[1]])
        at += opening.end()
    items: list[Json] = []
    quoted = True
    while len(items) < _MOST:
        spend()
        match = _ITEM.match(text, at)
        if match is None:
            break
        bare = match["bare"]
        if bare is not None and items and quoted:
            break  # after quoted items a word goes on with the sentence
        quoted = quoted and bare is None
        items.append(_value(bare) if bare is not None else next(one for one in match.groups()[:4] if one is not None))
        at = match.end()
        if bare is None and (aside := _ASIDE.match(text, at)) is not None and _BETWEEN.match(text, aside.end()):
            at = aside.end()  # `'id' (what that means) or 'ordinal' (what that means)`
        between = _BETWEEN.match(text, at) or (_SPACES.match(text, at) if closings else None)
        if between is None:
            break
        at = between.end()
    rest = text[at:].lstrip()
    if closings and not rest.startswith(closings[-1]):
        return Listed((), False, at)
    return Listed(tuple(items), bool(closings) or quoted, at)


_SPACES: Final = re.compile(r"\s+(?=[^\s\])}>])")
"""Go prints the list `[active inactive]`."""


def _value(bare: str) -> Json:
    if _INTEGER.fullmatch(bare):
        return int(bare)
    if _NUMBER.fullmatch(bare):
        return float(bare)
    return _LITERALS.get(bare, bare)


def names_in(text: str) -> list[str]:
    """Return the names that a list of members holds, none where it holds anything else."""
    items = read_list(text).items
    return [str(item) for item in items] if all(isinstance(item, str | int) for item in items) else []
