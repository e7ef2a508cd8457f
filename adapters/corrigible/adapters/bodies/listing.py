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
from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.safety.nearness import LONGEST, is_same, last_word, nearest
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json

_MOST: Final = 500
"""Resources that are looked at."""
_MOST_MEMBERS: Final = 100
"""Members of one resource that are looked at."""
_MEMBERS: Final = (
    *("data", "items", "results", "values", "records", "entries", "content", "resources", "_embedded", "hits"),
)
"""Names under which listings hold their resources."""
_BESIDE: Final = ("errors", "warnings")
"""Lists beside it that are empty where nothing is wrong."""
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
    lists = {
        name: value for name, value in around.items() if isinstance(value, list) and (value or name not in _BESIDE)
    }
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
_MORE: Final = word_set(
    "next more cursor cursors continue continuation truncated incomplete marker scroll bookmark remaining after token"
)
"""Words in the name of what leads to the next page, or says that there is one."""
_BEFORE: Final = word_set("prev previous")
_LAST: Final = word_set("last done complete finished")
_TOTAL: Final = word_set("total totals found pages overall")
_COUNT: Final = word_set("count length returned")
"""How many there are, or are on this page."""
_SIZE: Final = word_set("size limit per top take first rows")
_WHERE: Final = word_set("page offset skip skipped start from")
_USUAL: Final = frozenset({10, 15, 20, 25, 30, 40, 50, 60, 75, 100, 150, 200, 250, 300, 500, 1000})
"""Usual sizes of a page: a listing of exactly so many may go on."""
_TOLD: Final = word_set("meta metadata links pagination paging page pager paginator info cursors summary response list")
"""Words in the names of objects for what is told about a list."""
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


class _Sign(StrEnum):
    """What one member says about pages."""

    MORE = "there is more"
    END = "this is the end"
    PAGED = "there are pages, and not how many"
    ROOM = "a page takes more than are shown"


def is_all(shown: int, around: Mapping[str, Json], headers: Mapping[str, str]) -> bool:
    """Whether a listing of so many resources is known, or has to be taken, to be whole.

    `around` is what the list stands in; the names of `headers` are in lower case.
    """
    signs = {_sign(frozenset(words(name)), value, shown) for name, value in _of_headers(headers)}
    waiting = [(around, 0, True)]
    while waiting:
        members, depth, is_told = waiting.pop()
        spend(min(len(members), _MOST_MEMBERS))
        for name, value in islice(members.items(), _MOST_MEMBERS):
            parts = words(name[:64])
            sign = _sign(frozenset(parts), value, shown)
            signs |= {sign} if is_told or sign not in (_Sign.END, _Sign.ROOM) else set()
            if isinstance(value, Mapping) and depth < _DEEPEST:
                waiting.append((value, depth + 1, is_told and not _TOLD.isdisjoint(parts[-1:])))
    if _Sign.MORE in signs:
        return False
    return bool(signs & {_Sign.END, _Sign.ROOM}) or (shown not in _USUAL and _Sign.PAGED not in signs)


def _of_headers(headers: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    """Yield what headers tell of a list, as members do."""
    yield from ((member, headers[name].strip()) for name, member in _HEADERS.items() if name in headers)
    found = _RELATIONS.finditer(headers.get("link", "")[:_LONGEST])
    relations = {one for match in found for one in (match[1] or match[2]).lower().split()}
    if relations & {"next", "prev", "previous", "first", "last"}:
        yield "next", "next" in relations
        yield "prev", bool(relations & {"prev", "previous"})
    if (told := _RANGE.match(headers.get("content-range", "")[:_LONGEST].strip())) is not None:
        yield "skip", int(told["first"] or 0) + (told["first"] == "1")
        yield ("total", told["total"]) if told["total"] != "*" else ("page", 1)


def _sign(name: frozenset[str], value: Json, shown: int) -> _Sign | None:
    """Return what one member says; None where it says nothing about pages."""
    number, is_given = _number(value), value not in (None, False, "", 0, {}, "false")
    if name & _MORE and not isinstance(value, list):
        return _Sign.MORE if is_given else _Sign.END if name != {"after"} else None
    if name & _BEFORE:
        return _Sign.MORE if is_given else _Sign.PAGED
    if name & _LAST and isinstance(value, bool):
        return _Sign.END if value else _Sign.MORE
    if name & _TOTAL or {"last", "page"} <= name:
        total = _number(value.get("value")) if isinstance(value, Mapping) else number
        if isinstance(value, Mapping) and value.get("relation", "eq") != "eq":
            return _Sign.MORE  # a lower bound
        known = 1 if name & {"pages", "page"} else shown
        return None if total is None or total < known else _Sign.MORE if total > known else _Sign.END
    if number is None or number < 0:
        return None
    if name & _COUNT:
        return _Sign.MORE if number > shown else None
    if name & _SIZE:
        is_page = "size" not in name or number != shown or shown in _USUAL
        return _Sign.ROOM if number > shown else _Sign.PAGED if is_page else None
    return (_Sign.MORE if number > 1 else _Sign.PAGED) if name & _WHERE else None


def _number(value: Json) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < 16:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
