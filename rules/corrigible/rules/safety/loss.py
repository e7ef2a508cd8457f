"""What an edit takes from a request: the values sent that do not survive it.

Knows: requests before and after an edit, what look-ups answered. Does not know: who suggested the edit, what a server
accepts.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson

from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, escape, segments
from corrigible.schema.document import Leaf, leaves
from corrigible.schema.edit import same_text
from corrigible.schema.exchange import Json, Request

from .equivalence import is_near_spelling, is_respelled, is_same_value
from .json_text import repaired_json
from .nearness import is_slip

_REPRESENTATION = frozenset({"content-type", "content-encoding", "accept", "accept-encoding", "prefer", "user-agent"})
"""Headers that say how a request is written or how its answer shall be, not what is wished."""
_VERSION = re.compile(r"v\d+(?:\.\d+)*(?:(?:alpha|beta)\d*)?|\d{4}-\d{2}-\d{2}")
_SCALARS = (str, int, float, bool)
_DEEPEST = 100
_FEW_PAIRS = 64
_MOST_PAIRS = 10_000
_A_PAIR = 3
"""Steps."""
_MOST_SEEN = 5000
"""Values of look-ups that are searched for one that a name stands for."""


_LETTERS_A_STEP = 32
_MOST_NAMES = 16
"""New members among which the name of a collection in a path is looked for."""


class LookupResult(NamedTuple):
    """What a look-up asked for, and what came back."""

    path: str
    answer: Json


class Survival(NamedTuple):
    """What lets a value survive beside its own presence."""

    tokens: frozenset[str] = frozenset()
    """Members and headers whose value is a version of what is stored, or a key: another one is no loss."""
    lookup_results: Sequence[LookupResult] = ()
    """Look-ups that show what a name stands for."""
    steps: Json = None
    """Requests that are sent first, with values in them."""
    version: str | None = None
    """The member that names the version of the API, where another one is known to keep all the rest."""
    is_stated: bool = False
    """The new values are of a closed list, in a form or at a path that the description or the server states.

    What is near one of these is a misspelling of it. Anywhere else what goes on from a text is another one.
    """


def losses(
    before: Request, after: Request, survival: Survival | None = None, *, touched: Iterable[str] | None = None
) -> tuple[str, ...]:
    """Return pointers into the request document `before` to each value that `after` does not hold any more.

    A value survives where it stands untouched, stands under another name or at another place, or is written in another
    way that says the same. `touched`: only what these pointers lead to was edited.
    """
    comparison = _Comparison(before, survival or Survival())
    for name, pointer, old, new in _places(before, after, touched):
        comparison.compare(name, pointer, old, new)
    if after.path != before.path:
        comparison.paths(before.path, after.path)
    return comparison.lost_for_good()


def losses_of_scalars(
    patch: Sequence[Mapping[str, Any]], before: Request, survival: Survival
) -> tuple[str, ...] | None:
    """Return what `losses` would, for a patch that only sets scalar members to others; None for all other patches.

    Most edits are like that, and walking two requests costs more than all else that is done to an exchange.
    """
    return None if survival.steps else _Comparison(before, survival).of_scalars(patch)


def _places(before: Request, after: Request, touched: Iterable[str] | None) -> Iterator[tuple[str, str, Json, Json]]:
    """Yield the parts of two requests that may differ: name, pointer, before, after."""
    parts = None if touched is None else {tuple(segments(pointer)[:2]) for pointer in touched}
    for where in ("query", "headers", "body"):
        old, new = getattr(before, where), getattr(after, where)
        if parts is None or (where,) in parts or not (isinstance(old, Mapping) and isinstance(new, Mapping)):
            if parts is None or any(part[:1] == (where,) for part in parts):
                yield "", f"/{where}", MISSING if old is None else old, MISSING if new is None else new
            continue
        for name in sorted(part[1] for part in parts if part[0] == where):
            key = name.lower() if where == "headers" else name
            yield key, f"/{where}/{escape(key)}", old.get(key, MISSING), new.get(key, MISSING)


class _Comparison:
    """Two requests side by side: what is gone from its place, and what is new at another."""

    def __init__(self, before: Request, survival: Survival) -> None:
        self.before, self.survival = before, survival
        self.lost: list[Leaf] = []
        self.gained: list[Leaf] = list(leaves(survival.steps, "")) if survival.steps else []

    def of_scalars(self, patch: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
        """Return what a patch loses that only sets scalar members, and at most one to another value; else None."""
        losses: str | None = None
        pair: tuple[Json, Json] = (None, None)
        for op in patch:
            if op["op"] == "test":
                continue
            pointer = op["path"]
            _, part, *rest = pointer.split("/")
            members = getattr(self.before, part, None)
            if op["op"] != "replace" or len(rest) != 1 or "~" in pointer or type(members) is not dict:
                return None
            name = rest[0].lower() if part == "headers" else rest[0]
            old, new = members.get(name, MISSING), op["value"]
            if type(old) not in _SCALARS or type(new) not in _SCALARS:
                return None
            if (part == "headers" and name in _REPRESENTATION) or self._kept(name, pointer, old, new):
                continue
            if losses is not None:
                return None
            losses, pair = pointer, (old, new)
        return () if losses is None or self._names(*pair) else (losses,)

    def compare(self, name: str, pointer: str, old: Json, new: Json, depth: int = 0) -> None:
        """Tell what of `old` is not in `new` at its place, and what is new there."""
        spend()
        if old is MISSING:
            self.gained += leaves(new, pointer) if new is not MISSING else ()
        elif pointer.startswith("/headers/") and name in _REPRESENTATION:
            return
        elif new is MISSING or depth > _DEEPEST:
            self._gone(name, pointer, old)
        elif isinstance(old, Mapping) and isinstance(new, Mapping):
            for key, inner in old.items():
                self.compare(key, f"{pointer}/{escape(str(key))}", inner, new.get(key, MISSING), depth + 1)
            for key in new.keys() - old.keys():
                self.gained += leaves(new[key], f"{pointer}/{escape(str(key))}")
        elif isinstance(old, list) and isinstance(new, list):
            if pointer == "/body" and (effects := _effects(old)) is not None and (others := _effects(new)) is not None:
                self._patches(effects, others)
            else:
                self._lists(pointer, old, new, depth)
        elif not self._kept(name, pointer, old, new):
            self.lost += leaves(old, pointer)
            self.gained += leaves(new, pointer)

    def paths(self, old: str, new: str) -> None:
        """Compare paths by segment: what the new one does not hold, wherever it stands, is gone."""
        segments = [unquote(segment) for segment in new.split("/") if segment]
        was = [unquote(segment) for segment in old.split("/") if segment]
        removed = [
            s
            for s in was
            if s not in segments and not any(part not in was and self._respelt(s, part) for part in segments)
        ]
        if self.before.method in ("GET", "HEAD"):  # another version of the API reads the same thing
            removed = [segment for segment in removed if not _VERSION.fullmatch(segment)]
        removed = [segment for segment in removed if segment not in self._version()]
        self.lost += [Leaf("/path", segment) for segment in removed]
        self.gained += [Leaf("/path", segment) for segment in segments if segment not in was]

    def _version(self) -> list[str]:
        """Return the segments of the path that name a version which may be another one."""
        body, name = self.before.body, self.survival.version
        named = body.get(name) if isinstance(body, Mapping) and name is not None else None
        return named.split("/") if isinstance(named, str) else []

    def lost_for_good(self) -> tuple[str, ...]:
        """Return where those values stood that stand nowhere now. Each new value accounts for one that is gone."""
        spend(len(self.lost) + len(self.gained))
        lost, open_ones = list(self.lost), list(self.gained)
        if len(lost) * len(open_ones) > _FEW_PAIRS:
            lost, open_ones = _unpaired(lost, open_ones)
        out: dict[str, None] = {}
        if len(lost) * len(open_ones) > _MOST_PAIRS:  # too many to look for spellings: they are named as lost
            return tuple(dict.fromkeys(leaf.pointer for leaf in lost))
        spend(_A_PAIR * len(lost) * len(open_ones))
        names = [one.pointer.rpartition("/")[2] for one in self.gained[:_MOST_NAMES] if one.pointer != "/path"]
        for leaf in lost:
            if leaf.pointer == "/path" and any(is_near_spelling(leaf.value, name) for name in names):
                continue  # `/charges/ch_1` has become the member `charge`
            match = next(
                (one for one in open_ones if self._moved(leaf, one) or self._names(leaf.value, one.value)), None
            )
            if match is None:
                out[leaf.pointer] = None
            else:
                open_ones.remove(match)
        return tuple(out)

    def _respelt(self, old: Json, new: Json) -> bool:
        return (is_near_spelling if self.survival.is_stated else is_respelled)(old, new)

    def _moved(self, old: Leaf, new: Leaf) -> bool:
        """Whether a value stands elsewhere now; under a name that was put right its own spelling may be, too."""
        if is_same_value(old.value, new.value):
            return True
        names = old.pointer.rpartition("/")[2], new.pointer.rpartition("/")[2]
        return self._respelt(old.value, new.value) and (is_slip(*names) or is_near_spelling(*names))

    def _gone(self, name: str, pointer: str, old: Json) -> None:
        in_a_list = any(part.isdecimal() for part in segments(pointer))
        if name in self.survival.tokens and self.before.method == "POST" and not in_a_list:
            return  # nothing is stored yet that it could be a version of; an element names what is stored elsewhere
        clears = self.before.method == "PATCH"
        self.lost += [leaf for leaf in leaves(old, pointer) if clears or leaf.value is not None]

    def _kept(self, name: str, pointer: str, old: Json, new: Json) -> bool:
        loose = self.before.form or pointer.startswith(("/query", "/headers"))
        if (loose and same_text(old, new)) or is_same_value(old, new) or self._respelt(old, new):
            return True
        if self._kept_inside(old, new):
            return True
        if pointer.startswith("/headers/if-") and isinstance(old, str) and new == f'"{old}"':
            return True  # an entity tag is a quoted string (RFC 9110 section 8.8.3)
        if old is None:
            return self.before.method != "PATCH"
        stands_in = name in self.survival.tokens or (name == self.survival.version and pointer == f"/body/{name}")
        return stands_in and isinstance(old, (str, int)) and isinstance(new, (str, int))

    def _kept_inside(self, old: Json, new: Json) -> bool:
        """Whether two texts hold JSON, and the new one all that the old one holds."""
        if not (isinstance(old, str) and isinstance(new, str) and _begins_json(old) and _begins_json(new)):
            return False
        spend((len(old) + len(new)) // _LETTERS_A_STEP)
        before, after = repaired_json(old), repaired_json(new)
        if before is MISSING or after is MISSING:
            return False
        plain = replace(self.before, query={}, headers={}, form=False)
        return not losses(replace(plain, body=before), replace(plain, body=after))

    def _lists(self, pointer: str, old: list[Any], new: list[Any], depth: int) -> None:
        """Compare lists: equal elements are each other wherever they stand, the rest by its order.

        A text or an object that stood there twice and is there once is there still; of numbers the count may matter.
        """
        places: dict[bytes, list[int]] = {}
        for index, element in enumerate(new):
            places.setdefault(_key(element), []).append(index)
        free = dict.fromkeys(range(len(new)))
        open_ones: list[int] = []
        for index, element in enumerate(old):
            indexes = places.get(_key(element))
            if indexes:
                del free[indexes.pop(0)]
            elif indexes is None or not isinstance(element, str | Mapping):
                open_ones.append(index)
        for index in sorted(open_ones, key=lambda index: index not in free):  # those that kept their place first
            other = index if index in free else next(iter(free), None)
            if other is not None:
                del free[other]
            inner = MISSING if other is None else new[other]
            self.compare("", f"{pointer}/{index}", old[index], inner, depth + 1)
        for index in free:
            self.gained += leaves(new[index], f"{pointer}/{index}")

    def _patches(self, old: Mapping[str, Leaf], new: Mapping[str, Leaf]) -> None:
        """Compare JSON patches by what they do: `add /a {b: 1}` does what `add /a/b 1` does."""
        for effect, leaf in old.items():
            other = new.get(effect)
            if other is None:
                self.lost.append(leaf)
            elif not self._kept(segments(effect)[-1] if "/" in effect else "", "/body", leaf.value, other.value):
                self.lost.append(leaf)
                self.gained.append(other)
        self.gained += [leaf for effect, leaf in new.items() if effect not in old]

    def _names(self, old: Json, new: Json) -> bool:
        """Whether a look-up shows that one value names what the other identifies: a branch and its commit."""
        if not self.survival.lookup_results:
            return False
        if not isinstance(old, str | int) or not isinstance(new, str | int) or not re.search("[A-Za-z]", f"{old}{new}"):
            return False  # of two numbers one does not name the other
        return any(_shows(observation, old, new) for observation in self.survival.lookup_results)


def _begins_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[", '"')


def _unpaired(lost: Sequence[Leaf], gained: Sequence[Leaf]) -> tuple[list[Leaf], list[Leaf]]:
    """Return what is left once equal values are each other, in their order."""
    gained_by_value: dict[bytes, deque[Leaf]] = {}
    for one in gained:
        gained_by_value.setdefault(_key(one.value), deque()).append(one)
    left = []
    for leaf in lost:
        equal = gained_by_value.get(_key(leaf.value))
        if equal:
            equal.popleft()
        else:
            left.append(leaf)
    paired = {id(leaf) for same in gained_by_value.values() for leaf in same}
    return left, [leaf for leaf in gained if id(leaf) in paired]


def _key(value: Json) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _effects(operations: Sequence[Json]) -> dict[str, Leaf] | None:
    """Return what each operation of a JSON patch does and the value it does it with; None for any other list."""
    out: dict[str, Leaf] = {}
    for index, operation in enumerate(operations):
        if not (
            isinstance(operation, Mapping)
            and isinstance(operation.get("op"), str)
            and isinstance(operation.get("path"), str)
        ):
            return None
        verb = "put" if operation["op"] in ("add", "replace") else operation["op"]
        if "value" not in operation:
            out[f"{verb} {operation.get('from', '')} {operation['path']}"] = Leaf(f"/body/{index}", operation["path"])
        for leaf in leaves(operation["value"], "") if "value" in operation else ():
            out[f"{verb} {operation['path']}{leaf.pointer}"] = Leaf(f"/body/{index}/value{leaf.pointer}", leaf.value)
    return out or None


def _shows(observation: LookupResult, old: str | int, new: Json) -> bool:
    observed_path = re.sub(r"[?&=]", "/", unquote(observation.path)) + "/"
    if f"/{old}/" in observed_path:
        return any(same_text(value, new) for _, value in _bounded(observation.answer))
    return _in_one_object(observation.answer, old, new)


def _bounded(document: Json) -> Iterator[Leaf]:
    for count, leaf in enumerate(leaves(document, "")):
        if count == _MOST_SEEN:
            return
        yield leaf


def _in_one_object(document: Json, old: str | int, new: Json) -> bool:
    """Whether some object has both values among its own members and those of its members."""
    names: dict[str, set[str]] = {}
    for leaf in _bounded(document):
        if isinstance(leaf.value, list | Mapping):
            continue
        for key, value in (("old", old), ("new", new)):
            if same_text(leaf.value, value) or (key == "old" and _is_named(leaf.value, value)):
                owner = leaf.pointer.rpartition("/")[0]
                for place in (owner, owner.rpartition("/")[0]) if owner and not _is_listed(owner) else (owner,):
                    names.setdefault(place, set()).add(key)
    return any(len(keys) == 2 for keys in names.values())


def _is_named(shown: Json, sent: str | int) -> bool:
    """Whether a look-up shows what was sent, or its full name: `refs/heads/main` of `main`."""
    if is_respelled(shown, sent):
        return True
    return (
        isinstance(shown, str) and isinstance(sent, str) and (shown.endswith(f"/{sent}") or sent.endswith(f"/{shown}"))
    )


def _is_listed(pointer: str) -> bool:
    """Whether an object is the element of a list: what its neighbours say is not about it."""
    return pointer.rpartition("/")[2].isdecimal()
