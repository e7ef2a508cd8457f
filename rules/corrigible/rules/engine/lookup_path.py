"""Paths that a rule computes: a value of somebody else stands for one segment of them, or for none.

Ids come from look-ups and native text and are put into paths by concatenation (`'/v1/charges/' + charge.id`). Knows:
segments. Does not know: expressions, which rule it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from corrigible.schema.document import is_path
from corrigible.schema.exchange import Json

_IS_PLACE: Final = re.compile(r"/|[a-z]+://")
"""A path or an address as a whole, and no id."""
_MOST_VALUES: Final = 20_000
_LEADS_AWAY: Final = re.compile(r"[/?#%\\\x00-\x1f\x7f-\x9f]")
LONGEST_CAPTURE: Final = 256
"""An id, a name, a date, an amount: what is longer is prose."""
_PRINTED: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f]*")


def encode_values(path: str, values: Iterable[str]) -> str | None:
    """Percent-encode these values in a computed path, so that each stays one segment; None if the path is then no path.

    The values come from look-ups and native errors, not from the request itself.
    """
    for value in values:
        start = path.find(f"/{value}")
        while start >= 0:
            end = start + 1 + len(value)
            if path[end : end + 1] in ("", "/"):
                segment = quote(value, safe="!$&'()*+,;=:@~")
                path, end = f"{path[:start]}/{segment}{path[end:]}", start + 1 + len(segment)
            start = path.find(f"/{value}", end)
    return path if is_path(path) else None


def foreign_texts(scope: Mapping[str, Any], names: Iterable[str], own: Any, whole: frozenset[str]) -> list[str]:
    """Return the texts under some names of a scope that would lead a path away, the longest first.

    `own` is what the caller sent; `whole` names members whose values are parts of a path as they are.
    """
    texts = (text for name in names for text in _texts(scope.get(name), whole))
    foreign = {text for text in texts if _LEADS_AWAY.search(text) and not _IS_PLACE.match(text)}
    if not foreign:
        return []
    sent = [*_texts(own)]
    return sorted((text for text in foreign if not any(text in one for one in sent)), key=len, reverse=True)


def may_be_value(text: str) -> bool:
    """Whether what a pattern captured from native text may become a value: short, and on one line."""
    return len(text) <= LONGEST_CAPTURE and _PRINTED.fullmatch(text) is not None


def _texts(value: Json, whole: frozenset[str] = frozenset()) -> Iterator[str]:
    waiting = [value]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        here = waiting.pop()
        match here:
            case str():
                yield here
            case Mapping():
                waiting += [inner for name, inner in here.items() if name not in whole]
            case list() | tuple():
                waiting += here
