"""Whether a listing is all that there is, or a page of it: by what stands around the list, and by headers.

It is whole if a total or an end says so, or nothing says that there may be more.

Knows: names that APIs have for pages, cursors and totals, Link (RFC 8288), Content-Range (RFC 9110). Does not know:
resources, requests, which API it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.schema.exchange import Json

_DEEPEST: Final = 3
"""Objects around a list: `{"meta": {"page": {"total": 9}}}`."""
_MOST: Final = 100
"""Members that are looked at."""
_NEXT: Final = re.compile(
    r"(?:@?odata)?next(?:page|link|url|uri|href|cursor|marker|offset|start|key|token|pagetoken|pageurl|pagelink"
    r"|pagecursor|records?path)?"
    r"|(?:has|is)?(?:more|truncated|incomplete|nextpage|hasmore|morepages|moreresults|moreitems|moredata)|hasnext"
    r"|morerecords|continue|continuation(?:token|key)?|cursor|marker|endcursor|scrollid|pagetoken|paginationtoken"
    r"|lastevaluatedkey|bookmark|incompleteresults|after|remaining(?:items?)?(?:count)?"
)
"""Where the next page is, or that there is one."""
_LAST: Final = re.compile(r"(?:is)?last(?:page)?|is(?:done|complete|finished)|done|complete")
"""Whether this is the last page, where the value is true or false; else the number of it."""
_BEFORE: Final = re.compile(r"(?:has)?prev(?:ious)?(?:page|link|url|cursor|token|pageurl|pagelink)?")
_TOTAL: Final = re.compile(
    r"(?:(?:grand|overall|full|max)?total|num|all)(?:count|items|results|elements|entries|records|rows|hits|objects"
    r"|size|number)?|(?:record|item|result|row)(?:s)?(?:count|total)|total[a-z]+count|(?:results|count)total|found"
)
_COUNT: Final = re.compile(r"count|size|length|numberofelements|returned")
"""How many there are, or are on this page."""
_PAGES: Final = re.compile(
    r"(?:total|num|numberof|count)?pages?(?:count|total)|(?:total|num|numberof)pages?|pages|lastpage|maxpage"
)
_SIZE: Final = re.compile(
    r"(?:per|items?per|results?per|x?per)page|(?:page|batch|max)?size|pagelimit|limit|maxresults|maxitems|\$?top|rows"
    r"|itemsperpage|resultsperpage|pagelength|first|take"
)
_PAGE: Final = re.compile(r"(?:current|this)?page(?:number|no|num|index)?")
_OFFSET: Final = re.compile(r"offset|skip|skipped|startindex|startat|from|startelement|startposition")
_USUAL: Final = frozenset({10, 15, 20, 25, 30, 40, 50, 60, 75, 100, 150, 200, 250, 300, 500, 1000})
"""Usual sizes of a page: a listing of exactly so many may go on."""
_WRAPPER: Final = re.compile(
    r"(?:response|list|result|search|collection|query)?(?:meta(?:data)?|links?|pag(?:e|ing|er|ination|inator)(?:info|meta)?"
    r"|cursors?|info|summary|counts?|totals?|next|first|last|self)|list|hits|resultset"
)
"""Objects for what is told about a list."""
_HEADERS: Final = {
    "x-total-count": "total",
    "x-total": "total",
    "x-wp-total": "total",
    "x-next-page": "next",
    "x-total-pages": "pages",
    "x-wp-totalpages": "pages",
}
_RELATIONS: Final = re.compile(r"(?i);\s*rel\s*=\s*(?:\"([^\"]{1,200})\"|([^\s;,]{1,40}))")
_RANGE: Final = re.compile(
    r"(?i)(?:[a-z]{1,20}[ =])?(?:(?P<first>\d{1,12})-(?P<last>\d{1,12})|\*)/(?P<total>\d{1,12}|\*)"
)
_LONGEST: Final = 4000
"""Characters of a header."""


class _Signs(NamedTuple):
    """What says that there is more than is shown, and what says that there is not."""

    is_more: bool
    is_end: bool
    is_paged: bool
    """Whether something says that there are pages, and not how many."""


class _Fact(NamedTuple):
    """What one member says."""

    name: str
    """Without separators, in lower case."""
    value: Json
    is_about_the_list: bool = True
    """Whether it stands beside the list, or in an object for what is told about it."""


def is_all(shown: int, around: Mapping[str, Json], headers: Mapping[str, str]) -> bool:
    """Whether a listing of so many resources is known, or has to be taken, to be whole.

    `around` is what the list stands in; the names of `headers` are in lower case.
    """
    facts = [*islice(_facts(around), _MOST), *_facts_of(headers)]
    signs = [(sign, one) for one in facts if (sign := _sign(one.name, one.value, shown)) is not None]
    if any(sign.is_more for sign, _ in signs):
        return False
    if any(sign.is_end and one.is_about_the_list for sign, one in signs):
        return True
    sizes = [size for one in facts if one.is_about_the_list and (size := _size(one, shown))]
    if any(shown < size for size in sizes):
        return True
    return not sizes and shown not in _USUAL and not any(sign.is_paged for sign, _ in signs)


def _facts(around: Mapping[str, Json], depth: int = 0, *, is_about: bool = True) -> Iterator[_Fact]:
    spend(min(len(around), _MOST))
    for name, value in islice(around.items(), _MOST):
        tight = "".join(mark for mark in str(name)[:64].lower() if mark.isalnum() or mark in "@$")
        yield _Fact(tight, value, is_about)
        if isinstance(value, Mapping) and depth < _DEEPEST:
            yield from _facts(value, depth + 1, is_about=is_about and _WRAPPER.fullmatch(tight) is not None)


def _facts_of(headers: Mapping[str, str]) -> Iterator[_Fact]:
    for name, member in _HEADERS.items():
        if name in headers:
            yield _Fact(member, headers[name].strip())
    relations = {
        one.lower()
        for match in _RELATIONS.finditer(headers.get("link", "")[:_LONGEST])
        for one in (match[1] or match[2]).split()
    }
    if relations & {"next", "prev", "previous", "first", "last"}:
        yield _Fact("next", "next" in relations)
        yield _Fact("prev", bool(relations & {"prev", "previous"}))
    if (found := _RANGE.match(headers.get("content-range", "")[:_LONGEST].strip())) is not None:
        if found["first"] is not None:
            yield _Fact("skip", int(found["first"]) + (int(found["first"]) == 1))
        yield _Fact("total", found["total"]) if found["total"] != "*" else _Fact("page", 1)


def _size(one: _Fact, shown: int) -> int:
    """Return how many a page takes, 0 where that is not told: `size` may be how many are shown."""
    size = _number(one.value) if _SIZE.fullmatch(one.name) else None
    return 0 if size is None or size < 0 or (one.name == "size" and size == shown not in _USUAL) else size


def _sign(name: str, value: Json, shown: int) -> _Signs | None:
    """Return what one member says; None where it says nothing about pages."""
    number = _number(value)
    if _TOTAL.fullmatch(name):
        total = number if number is not None else _total_inside(value)
        return None if total is None else _Signs(total > shown, total == shown, False)
    if _PAGES.fullmatch(name):
        return None if number is None else _Signs(number > 1, number == 1, False)
    if _NEXT.fullmatch(name):
        if isinstance(value, list):
            return None
        is_given = value not in (None, False, "", 0, {}) and value != "false"
        return _Signs(is_given, not is_given and name != "after", False)
    if _LAST.fullmatch(name) and isinstance(value, bool):
        return _Signs(not value, value, False)
    if _BEFORE.fullmatch(name):
        return _Signs(value not in (None, False, "", 0, {}), False, True)
    if _COUNT.fullmatch(name):
        return None if number is None or name == "size" else _Signs(number > shown, False, False)
    if _OFFSET.fullmatch(name):
        return None if number is None else _Signs(number > 1, False, True)
    if _PAGE.fullmatch(name):
        return None if number is None else _Signs(number > 1, False, True)
    return None


def _total_inside(value: Json) -> int | None:
    """Return the number of `{"value": 900, "relation": "eq"}`; one that is only a lower bound is none."""
    if not isinstance(value, Mapping):
        return None
    return _number(value.get("value")) if value.get("relation", "eq") == "eq" else 1 << 60


def _number(value: Json) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 16:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
