"""What a listing shows: its resources, by which texts they are named, and whether it shows all.

Knows: JSON answers. Does not know: paths, requests, which API it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.safety.nearness import LONGEST, is_same, last_word, nearest
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json

from .paging import is_all

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
    lists = [answer] if isinstance(answer, list) else [value for _, value in _lists(around)]
    if len(lists) != 1 or not all(isinstance(one, Mapping) for one in lists[0]):
        return None
    resources = [_resource(one) for one in lists[0][:_MOST]]
    spend(len(resources))
    is_whole = len(lists[0]) <= _MOST and is_all(len(resources), around, headers)
    return Listing(resources, is_whole)


def _lists(around: Mapping[str, Json]) -> Iterator[tuple[str, list[Json]]]:
    """Yield the list that holds the resources: the only one, or the one with a usual name."""
    lists = {name: value for name, value in around.items() if isinstance(value, list)}
    usual = [name for name in _MEMBERS if name in lists]
    chosen: list[str] = [*usual[:1]] or (list(lists) if len(lists) == 1 else [])
    for name in chosen:
        yield name, lists[name]


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
