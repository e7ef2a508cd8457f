"""Which reads of an API show the state that a refused call ran into: of the same resource, of its collection.

Knows: methods and path templates. Does not know: answers, errors, what is suggested.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from corrigible.adapters.operation import Operations
from corrigible.rules.budget import spend
from corrigible.rules.safety.decisive import words
from corrigible.rules.safety.nearness import last_word, letters

_CHANGES: Final = ("PATCH", "PUT")
_ENDINGS: Final = ("id", "ids", "name", "names", "key", "slug", "uuid", "ref", "code")
"""Last words of names of members that refer to another resource: `book_shelf_name`, `ownerIds`."""
_NAMING: Final = ("name", "slug", "key", "code", "by-name", "by_name")
_MOST_ALIKE: Final = 200
"""Paths with the same last segment that are looked at."""
_LONGEST: Final = 40
"""Segments of a path that is looked at."""


def _tokens(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ACTIONS: Final = _tokens(
    """
    ack acknowledge activate approve cancel claim clear confirm consume deactivate delete dequeue deploy destroy disable
    enable erase execute flush increment invoke kill lease lock login logoff logout next pause pop purge reboot rebuild
    receive refresh regenerate reindex reject reload remove renew reset restart restore resume retry revoke rollback
    rotate run send shutdown signin signout start stop subscribe sync terminate toggle trigger undo unlock unsubscribe
    upgrade wipe
    """
)
"""Words of a GET that does something, against RFC 9110: `/user/logout`, `/jobs/7/cancel`. It is no look-up."""
_READING: Final = _tokens("get list read fetch find index show")
"""Words of the name of an operation that only reads, whatever else the name says."""


class NamedResource(NamedTuple):
    """A resource that the path of a request names."""

    variable: str
    """The name of the variable in the template."""
    value: str
    """What stands there, decoded."""
    at: int
    """The index of the segment."""
    collection: str
    """The path whose GET lists the resources of its kind, empty where there is none."""


class Item(NamedTuple):
    """The path of one resource of a collection."""

    member: str
    """What stands in it: the last word of its variable, or a member that the path names: `/variables/name/{name}`."""
    variable: str
    base: str
    """What stands before the variable."""
    is_readable: bool
    changes: tuple[str, ...]
    """The methods that change one."""
    by_name: bool = False
    others: frozenset[str] = frozenset()
    """What has a path of its own in the place of the variable: `me`, `logout`."""

    def path(self, value: str) -> str:
        """Return the path of one resource, empty where it may be another operation's."""
        is_taken = value.casefold() in self.others or value.casefold() in _ACTIONS
        return "" if is_taken else f"{self.base}/{quote(value, safe='')}"


class Creation(NamedTuple):
    """The collection in which a request creates, and how one of its resources is read and changed."""

    collection: str
    """The path whose GET lists it, empty where it cannot be listed."""
    items: tuple[Item, ...]
    """How one resource is read or changed, by its identifier first."""


class RelatedReads:
    """The reads of one API, found by the shapes of its paths."""

    def __init__(self, operations: Operations, needs_query: Callable[[str], bool]) -> None:
        """`needs_query` says of an operation whether it has required parameters besides those of its path."""
        self._operations = operations
        self._needs_query = needs_query
        self._methods: dict[tuple[str, ...], dict[str, str]] = {}
        """By the shape of a path (`("flows", "{}")`): each method, with its operation."""
        self._templates: dict[str, list[tuple[str, ...]]] = {}
        """By operation: its templates."""
        self._ended: set[tuple[str, ...]] = set()
        """The shapes whose GET is described with a slash at its end."""
        self._listings: dict[str, list[tuple[str, ...]]] = {}
        """By its last segment: each shape of a GET that ends in no variable."""
        self._fixed: dict[tuple[str, ...], set[str]] = {}
        """By the shape of the beginning of a path: the segments that go on from it and are no variables."""
        for key, name in operations.templates.items():
            method, _, template = key.partition(" ")
            parts = tuple(template.strip("/").split("/"))
            if any("{" in part and not _is_variable(part) for part in parts) or template.rpartition("/")[2][:2] == "{+":
                continue
            shape = _shape(parts)
            self._methods.setdefault(shape, {})[method.upper()] = name
            for at, part in enumerate(shape):
                if part != "{}":
                    self._fixed.setdefault(shape[:at], set()).add(part.casefold())
            self._templates.setdefault(name, []).append(parts)
            if method.upper() == "GET":
                if shape[-1] != "{}":
                    self._listings.setdefault(shape[-1], []).append(shape)
                if template.endswith("/"):
                    self._ended.add(shape)

        self._order = {last: number for number, last in enumerate(self._listings)}
        self._named: dict[str, list[str]] = {}
        """By its letters: the last segments of listings."""
        for last in self._listings:
            self._named.setdefault(letters(last), []).append(last)

    def named(self, method: str, path: str) -> list[NamedResource]:
        """Return the resources that a path names, the innermost first."""
        segments = path.strip("/").split("/")
        template = self._template(method, segments)
        resources = []
        for at in reversed(range(len(template))):
            if _is_variable(template[at]):
                shape = _shape(template[:at])
                collection = self._listed(segments[:at], shape) or self._beside(segments[:at], template)
                resources.append(NamedResource(template[at][1:-1], unquote(segments[at]), at, collection))
        return resources

    def _beside(self, segments: Sequence[str], template: Sequence[str]) -> str:
        """Return the listing that is called in another number than the path of one: `/nodes` of `/node/{name}`."""
        *around, last = segments or ("",)
        forms = (one for form in _number_forms(letters(last)) for one in self._named.get(form, ()))
        base = template[: len(around)]
        return next((there for one in forms if (there := self._listed((*around, one), _shape((*base, one))))), "")

    def creation(self, method: str, path: str) -> Creation | None:
        """Return the collection that a POST to a path adds to, None where it is not seen to be one."""
        segments = path.strip("/").split("/")
        template = self._template(method, segments)
        if method != "POST" or not template or _is_variable(template[-1]):
            return None
        shape, base = _shape(template), "/" + "/".join(segments)
        items = [one for one in (self._item(shape, base), *self._items_by_name(shape, base)) if one is not None]
        listed = self._listed(segments, shape)
        return Creation(listed, tuple(items)) if listed or items else None

    def _item(self, shape: tuple[str, ...], base: str, name: str = "") -> Item | None:
        whole = (*shape, *([name] if name else []), "{}")
        methods = self._methods.get(whole)
        if not methods:
            return None
        parts = next(parts for one in methods.values() for parts in self._templates[one] if _shape(parts) == whole)
        variable = parts[-1][1:-1]
        member = name or last_word(variable)
        changes = tuple(method for method in _CHANGES if method in methods)
        under = f"{base}/{name}" if name else base
        others = frozenset(self._fixed.get(whole[:-1], ()))
        return Item(member, variable, under, self._reads(whole), changes, bool(name), others)

    def _items_by_name(self, shape: tuple[str, ...], base: str) -> Iterator[Item | None]:
        """Yield the paths that name a member before its value: `/variables/name/{name}`."""
        for name in _NAMING:
            if (*shape, name, "{}") in self._methods:
                yield self._item(shape, base, name)

    def collections(self, member: str, method: str, path: str) -> list[str]:
        """Return the listings of what a member of a request refers to: of `book_shelf_name` that is `/book_shelves`.

        Paths with variables count where the request's own path gives their values. What is nearest to the root comes
        first: `/auth/shelves` may be the shelves that somebody sees; of equally near ones, what has most of the path.
        One below another base path counts where it is the only one.
        """
        heads = list(_heads(member))
        segments = path.strip("/").split("/")
        template = self._template(method, segments)
        known = {part: segments[at] for at, part in enumerate(template) if _is_variable(part)}
        found: dict[bool, dict[str, None]] = {True: {}, False: {}}
        forms = [form for head in heads for form in _number_forms(letters(head))]
        near = {one for form in forms for one in self._named.get(form, ())}
        spend(len(self._listings) // 2)
        for last in sorted(near, key=self._order.__getitem__):
            for shape in filter(self._reads, self._listings[last][:_MOST_ALIKE]):
                name = self._methods[shape]["GET"]
                listing = next(parts for parts in self._templates[name] if _shape(parts) == shape)
                written = [known.get(part, part) for part in listing]
                is_whole = not any(_is_variable(part) for part in written)
                if is_whole and (there := self._listed(written, shape)):
                    found[_begins_alike(listing, template)].setdefault(there)
        alike = sorted(found[True], key=lambda there: (there.strip("/").count("/"), -_shared(there, path)))
        return alike or (list(found[False]) if len(found[False]) == 1 else [])

    def _listed(self, segments: Sequence[str], shape: tuple[str, ...]) -> str:
        """Return the path of a collection, empty where it cannot be listed, or is another operation's."""
        if not self._reads(shape):
            return ""
        path = "/" + "/".join(segments)
        match = self._operations.find("GET", path)
        if match is None or match[0] != self._methods[shape]["GET"]:
            return ""
        return f"{path}/" if shape in self._ended else path

    def _reads(self, shape: tuple[str, ...]) -> bool:
        """Whether there is a GET that needs no more than its path, and does nothing."""
        name = self._methods.get(shape, {}).get("GET")
        return bool(shape) and name is not None and not self._needs_query(name) and not _acts(shape, name)

    def _template(self, method: str, segments: Sequence[str]) -> tuple[str, ...]:
        """Return the template of a request's path, empty where it names no operation."""
        if len(segments) > _LONGEST:
            return ()
        match = self._operations.find(method, "/" + "/".join(segments))
        for parts in self._templates.get(match[0], ()) if match is not None else ():
            fits = len(parts) == len(segments) and all(
                _is_variable(part) or part == segment for part, segment in zip(parts, segments, strict=True)
            )
            if fits:
                return parts
        return ()


def _shared(one: str, other: str) -> int:
    """Return how many segments two paths have in common at their beginning."""
    pairs = zip(one.strip("/").split("/"), other.strip("/").split("/"), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _begins_alike(listing: Sequence[str], template: Sequence[str]) -> bool:
    """Whether two paths are below the same base path: a description lists each path once for every server."""
    return listing[:1] == template[:1] or len(listing) == 1


def _acts(shape: Sequence[str], operation: str) -> bool:
    """Whether a GET does something: by the last fixed segment of its path, or the first word of its name."""
    last = next((part for part in reversed(shape) if part != "{}"), "")
    named = words(operation)
    return last.casefold() in _ACTIONS or (bool(named) and named[0] in _ACTIONS and _READING.isdisjoint(named))


def _number_forms(name: str) -> Iterator[str]:
    """Yield a name, its plurals, and what it may be the plural of, as `is_plural` has them."""
    yield name
    if len(name) > 1:
        yield from (f"{name}s", f"{name}es", f"{name.removesuffix('y')}ies")
    for ending, others in (("s", ("",)), ("es", ("",)), ("ies", ("y", ""))):
        singular = name.removesuffix(ending)
        if singular != name:
            yield from (f"{singular}{other}" for other in others if len(f"{singular}{other}") > 1)


def _heads(member: str) -> Iterator[str]:
    """Yield what a member may refer to: itself, and without a last word such as `id`."""
    yield member
    low = member.lower()
    for ending in _ENDINGS:
        if low.endswith(ending) and len(low) > len(ending) + 1:
            yield member[: -len(ending)].rstrip("_-")


def _is_variable(part: str) -> bool:
    return part.startswith("{") and part.endswith("}") and part.count("{") == 1


def _shape(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple("{}" if _is_variable(part) else part for part in parts)
