"""What a listing shows: its resources, by which texts they are named, and whether it shows all.

It is whole if a total or an end says so, or nothing says that there may be more: by names that APIs have for pages,
cursors and totals, by Link (RFC 8288) and Content-Range (RFC 9110).

Knows: JSON answers. Does not know: paths, requests, which API it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.safety.nearness import LONGEST, is_same, last_word, nearest
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json

_MOST: Final = 500
"""Resources that are looked at."""
_MOST_MEMBERS: Final = 100
"""Members of one resource that are looked at."""
_MEMBERS: Final = (
    "data",
    "items",
    "results",
    "values",
    "records",
    "entries",
    "content",
    "resources",
    "_embedded",
    "hits",
)
"""Names under which listings hold their resources."""
_NAMES: Final = ("name", "title", "slug", "key", "code", "login", "username", "label", "alias", "displayName")


class Listing(NamedTuple):
    """The resources of a collection."""

    resources: Sequence[Mapping[str, Json]]
    is_whole: bool
    """A total or an end says that these are all, or nothing says that there may be more."""

    def identifiers(self, variable: str) -> dict[str, Mapping[str, Json]]:
        """Return the resources by what stands for them in a path whose variable has this name."""
        member = self._member(variable)
        return (
            {}
            if member is None
            else {scalar_text(one[member]): one for one in self.resources if _is_plain(one.get(member))}
        )

    def written(self, identifier: str, variable: str) -> Json:
        """Return an identifier as the listing has it: a number is no text."""
        member = self._member(variable)
        resource = self.identifiers(variable).get(identifier)
        return identifier if member is None or resource is None else resource[member]

    def holds(self, value: str) -> bool:
        """Whether a resource has a scalar that reads like this, or too many to tell."""
        for one in self.resources:
            spend(min(len(one), _MOST_MEMBERS))
            inner = islice(one.values(), _MOST_MEMBERS)
            if len(one) > _MOST_MEMBERS or any(_is_plain(each) and is_same(scalar_text(each), value) for each in inner):
                return True
        return False

    def called(self, value: str, variable: str) -> str | None:
        """Return the identifier of the only resource that another of its names stands for; None where it is not one."""
        found = {
            identifier
            for identifier, one in self.identifiers(variable).items()
            if any(isinstance(one.get(name), str) and one[name] == value for name in _NAMES)
        }
        return found.pop() if len(found) == 1 else None

    def near(self, value: str, variable: str) -> list[str]:
        """Return the identifiers near a value, or whose resource has a name near it."""
        known = self.identifiers(variable)
        near = dict.fromkeys(nearest(value, list(known)))
        names: dict[str, list[str]] = {}
        for identifier, one in known.items():
            for name in _NAMES:
                if isinstance(one.get(name), str) and len(one[name]) <= LONGEST:
                    names.setdefault(one[name], []).append(identifier)
        near |= dict.fromkeys(identifier for name in nearest(value, list(names)) for identifier in names[name])
        return list(near)

    def _member(self, variable: str) -> str | None:
        """Return the member that identifies: called like the variable, or like its last word."""
        first = self.resources[0] if self.resources else {}
        for name in (variable, last_word(variable), "id", "uuid", "name", "key", "slug"):
            same = next((one for one in islice(first, _MOST_MEMBERS) if is_same(one, name)), None)
            if same is not None and all(_is_plain(one.get(same)) for one in self.resources):
                return same
        return None


def read_listing(answer: Json, headers: Mapping[str, str] = MappingProxyType({})) -> Listing | None:
    """Return what a JSON answer lists, None where it is no listing of objects. `headers` are those of the answer."""
    around: Mapping[str, Json] = answer if isinstance(answer, Mapping) else {}
    lists = {name: value for name, value in around.items() if isinstance(value, list)}
    usual = [lists[name] for name in _MEMBERS if name in lists][:1]
    found = [answer] if isinstance(answer, list) else usual or list(lists.values())
    if len(found) != 1 or not all(isinstance(one, Mapping) for one in found[0]):
        return None
    resources = [_resource(one) for one in found[0][:_MOST]]
    spend(len(resources))
    return Listing(resources, len(found[0]) <= _MOST and is_all(len(resources), around, headers))


def _resource(one: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a resource with what describes it one level up: JSON:API keeps its members under `attributes`."""
    for name in ("attributes", "metadata"):
        inner = one.get(name)
        if isinstance(inner, Mapping):
            return {**inner, **one}
    return one


def with_references(resource: Mapping[str, Json]) -> dict[str, Json]:
    """Return a resource also with what it refers to by identifiers, as requests have them.

    `{"owner": {"id": 7}}` has `owner_id`, and `{"roles": [{"id": 1}]}` has `role_ids`.
    """
    out = dict(resource)
    for name, value in resource.items():
        if isinstance(value, Mapping) and "id" in value:
            out.setdefault(f"{name}_id", value["id"])
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) and "id" in one for one in value):
            out.setdefault(f"{name.removesuffix('s')}_ids", [one["id"] for one in value])
    return out


def _is_plain(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and 0 < len(str(value)) <= LONGEST


# Whether it is whole


_DEEPEST: Final = 3
"""Objects around a list: `{"meta": {"page": {"total": 9}}}`."""
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
    **{"x-total-count": "total", "x-total": "total", "x-wp-total": "total", "x-next-page": "next"},
    **{"x-total-pages": "pages", "x-wp-totalpages": "pages"},
}
_RELATIONS: Final = re.compile(r"(?i);\s*rel\s*=\s*(?:\"([^\"]{1,200})\"|([^\s;,]{1,40}))")
_RANGE: Final = re.compile(
    r"(?i)(?:[a-z]{1,20}[ =])?(?:(?P<first>\d{1,12})-(?P<last>\d{1,12})|\*)/(?P<total>\d{1,12}|\*)"
)
_LONGEST: Final = 4000
"""Characters of a header."""


class _Fact(NamedTuple):
    """What one member says."""

    name: str
    """Without separators, in lower case."""
    value: Json
    is_about_the_list: bool = True
    """Whether it stands beside the list, or in an object for what is told about it."""


class _Sign(StrEnum):
    """What one member says about pages: there is more, this is the end, or there are pages, and not how many."""

    MORE = "more"
    END = "end"
    PAGED = "paged"


def is_all(shown: int, around: Mapping[str, Json], headers: Mapping[str, str]) -> bool:
    """Whether a listing of so many resources is known, or has to be taken, to be whole.

    `around` is what the list stands in; the names of `headers` are in lower case.
    """
    facts = [*islice(_facts(around), _MOST_MEMBERS), *_facts_of(headers)]
    signs = [(_sign(one.name, one.value, shown), one) for one in facts]
    if any(sign is _Sign.MORE for sign, _ in signs):
        return False
    if any(sign is _Sign.END and one.is_about_the_list for sign, one in signs):
        return True
    sizes = [size for one in facts if one.is_about_the_list and (size := _size(one, shown))]
    if any(shown < size for size in sizes):
        return True
    return not sizes and shown not in _USUAL and not any(sign is _Sign.PAGED for sign, _ in signs)


def _facts(around: Mapping[str, Json], depth: int = 0, *, is_about: bool = True) -> Iterator[_Fact]:
    spend(min(len(around), _MOST_MEMBERS))
    for name, value in islice(around.items(), _MOST_MEMBERS):
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


def _sign(name: str, value: Json, shown: int) -> _Sign | None:
    """Return what one member says; None where it says nothing about pages."""
    number = _number(value)
    if _TOTAL.fullmatch(name) or _PAGES.fullmatch(name):
        total = _total_inside(value) if number is None and _TOTAL.fullmatch(name) else number
        known = shown if _TOTAL.fullmatch(name) else 1
        return None if total is None or total < known else _Sign.MORE if total > known else _Sign.END
    is_given = value not in (None, False, "", 0, {}) and value != "false"
    if _NEXT.fullmatch(name) and not isinstance(value, list):
        return _Sign.MORE if is_given else _Sign.END if name != "after" else None
    if _NEXT.fullmatch(name):
        return None
    if _LAST.fullmatch(name) and isinstance(value, bool):
        return _Sign.END if value else _Sign.MORE
    if _BEFORE.fullmatch(name):
        return _Sign.MORE if value not in (None, False, "", 0, {}) else _Sign.PAGED
    if _COUNT.fullmatch(name):
        return _Sign.MORE if number is not None and name != "size" and number > shown else None
    if (_OFFSET.fullmatch(name) or _PAGE.fullmatch(name)) and number is not None:
        return _Sign.MORE if number > 1 else _Sign.PAGED
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
