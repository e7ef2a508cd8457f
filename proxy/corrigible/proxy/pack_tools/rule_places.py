"""The places of requests and the members that a rule names, each with its line: a description or a case must have them.

Knows: the text of rules, descriptions. Does not know: how a case is judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from corrigible.adapters.base import Described
from corrigible.rules.errors import did_you_mean
from corrigible.rules.language.syntax import without_literals
from corrigible.rules.language.yaml_source import Trail
from corrigible.rules.pointer import MISSING, parameter_pointer, segments, to_pointer, value_at
from corrigible.schema.exchange import Json, Request

_EXPRESSIONS: Final = ("when", "lookup", "let", "suggest", "also_resolves")
_PROSE: Final = frozenset(
    {"message", "action", "actor", "applicability", "side_effects", "recovery", "type", "as", "op", "who", "schema"}
)
"""Members of entries that are no expressions."""
_OPEN: Final = frozenset({"let", "parameters", "set", "steps", "value", "body", "headers", "message"})
"""Members of rules whose own members have any name."""
_MEMBERS: Final = re.compile(
    r"(?<![\w.])(?:request\.)?(?P<part>body|query)(?P<path>(?:\.\??[A-Za-z_]\w*)+)(?P<call>\s*\()?"
)
_POINTER: Final = re.compile(r"(?P<quote>['\"])(?P<pointer>/(?:body|query)(?:/[\w.~-]+)+)(?P=quote)")
_OPTIONAL: Final = re.compile(r"(?P<root>[A-Za-z_]\w*)?[\w.?\])]*\.\?(?P<member>[A-Za-z_]\w*)")
_TESTED: Final = re.compile(r"(?<![\w.])has\(\s*(?P<root>\w+)[\w.\[\]'\"]*?\.(?P<member>[A-Za-z_]\w*)\s*\)")
_AT: Final = re.compile(r"(?<![\w.])at\(\s*(\w+)[^(),]*,\s*['\"]((?:/[\w.~-]+)+)['\"]\s*\)")
_VARIABLE: Final = re.compile(
    r"\.(?:map|filter|all|exists|exists_one|existsOne|transformList|transformMap)\(\s*([A-Za-z_]\w*)\s*,"
    r"|(?<![\w.])cel\.bind\(\s*([A-Za-z_]\w*)\s*,"
)
_SHOWN: Final = 6
"""Names of an object that are listed where none is near."""


class Place(NamedTuple):
    """A place of the request that a rule names."""

    pointers: tuple[str, ...]
    """Where it may be: a parameter is in the body or in the query."""
    trail: Trail
    is_written: bool
    """Whether a suggestion writes it, or asks for it. What is read or removed may be what the API does not have."""
    is_of_others: bool = False
    """Whether the suggestion calls another operation."""

    @property
    def shown(self) -> str:
        return self.pointers[0] if len(self.pointers) == 1 else segments(self.pointers[0])[-1]


def expressions(rule: Mapping[str, Any]) -> Iterator[tuple[Trail, str]]:
    """Yield the expressions of a rule, and texts that may be one."""
    waiting: list[tuple[Trail, Any]] = [((name,), rule[name]) for name in reversed(_EXPRESSIONS) if name in rule]
    while waiting:
        trail, value = waiting.pop()
        if isinstance(value, str):
            yield trail, value
        elif isinstance(value, Mapping):
            is_open = not _OPEN.isdisjoint(trail)
            inner = [(key, one) for key, one in value.items() if is_open or key not in _PROSE or _is_call(key, one)]
            waiting += [((*trail, key), one) for key, one in reversed(inner)]
        elif isinstance(value, list):
            waiting += [((*trail, index), one) for index, one in reversed(list(enumerate(value)))]


def _is_call(key: str, value: Any) -> bool:
    """Whether this is the message of a gRPC call, and no sentence."""
    return key == "message" and isinstance(value, Mapping)


def places(rule: Mapping[str, Any]) -> list[Place]:
    """Return the places of the request that a rule names in full."""
    written = [place for index, one in enumerate(rule["suggest"]) for place in _suggested(one, ("suggest", index))]
    named = {pointer for place in written for pointer in place.pointers}
    return [*written, *(place for place in _read(rule) if named.isdisjoint(place.pointers))]


def _suggested(entry: Mapping[str, Any], trail: Trail) -> Iterator[Place]:
    for relation in ("all", "one_of"):
        members = entry.get(relation)
        if isinstance(members, list):
            for index, one in enumerate(members):
                yield from _suggested(one, (*trail, relation, index))
        elif isinstance(members, Mapping):
            yield from _suggested(members["suggest"], (*trail, relation, "suggest"))
    changes, patch, asked = entry.get("set"), entry.get("patch"), entry.get("ask")
    goes_elsewhere = entry.get("action") == "USE_ALTERNATIVE_ENDPOINT" or any(
        one in ("/path", "/method") for one in (*(changes if isinstance(changes, Mapping) else ()), *(_paths(patch)))
    )
    if entry.get("action", "MODIFY_PARAMS") == "MODIFY_PARAMS":
        for name, value in (entry.get("parameters") or {}).items():
            yield Place(_of_parameter(name), (*trail, "parameters", name), value is not None, goes_elsewhere)
    for name, value in changes.items() if isinstance(changes, Mapping) else ():
        pointers = (name,) if name.startswith("/") else _of_parameter(name) if not name.startswith("(") else ()
        yield from _places(pointers, (*trail, "set", name), value is not None, goes_elsewhere)
    for index, edit in enumerate(patch if isinstance(patch, list) else ()):
        is_written = edit["op"] in ("add", "replace", "move", "copy")
        yield from _places((edit["path"],), (*trail, "patch", index, "path"), is_written, goes_elsewhere)
    for index, one in enumerate(asked if isinstance(asked, list) else [asked]):
        at = (*trail, "ask", index) if isinstance(asked, list) else (*trail, "ask")
        pointer = one if isinstance(one, str) else one["pointer"] if isinstance(one, Mapping) else ""
        yield from _places((pointer,), at, True, goes_elsewhere)


def _paths(patch: Any) -> Iterator[str]:
    yield from (edit.get("path", "") for edit in (patch if isinstance(patch, list) else ()))


def _of_parameter(name: str) -> tuple[str, ...]:
    return (parameter_pointer(name), parameter_pointer(name, "/query"))


def _places(pointers: Sequence[str], trail: Trail, is_written: bool, is_of_others: bool) -> Iterator[Place]:
    if pointers and all(re.match(r"/(?:body|query)/.", one) for one in pointers):
        yield Place(tuple(pointers), trail, is_written, is_of_others)


def _read(rule: Mapping[str, Any]) -> Iterator[Place]:
    for trail, text in expressions(rule):
        masked = without_literals(text)
        for match in _MEMBERS.finditer(masked):
            names = re.findall(r"[A-Za-z_]\w*", match["path"])
            if match["call"]:
                names.pop()  # a method
            if names:
                yield Place((to_pointer([match["part"], *names]),), trail, False)
        for match in _POINTER.finditer(text):
            before, after = masked[: match.start()].rstrip(), masked[match.end() :].lstrip()
            if not before.endswith(("+", "startsWith(", "endsWith(", "contains(")) and not after.startswith("+"):
                yield Place((match["pointer"],), trail, False)


class DescribedPlaces:
    """What the operations of a description declare."""

    def __init__(self, description: Described, operations: Mapping[str, str]) -> None:
        """`operations` are the names that the pack gives them, by method and path."""
        self._description = description
        self._requests: dict[str, Request] = {}
        for key, name in description.operations.templates.items():
            method, _, path = key.partition(" ")
            self._requests.setdefault(name, Request(method, path))
        self._named: dict[str, list[str]] = {name: [name] for name in self._requests}
        for key, name in operations.items():
            found = description.operations.find(key.partition(" ")[0], key.partition(" ")[2])
            if found is not None:
                self._named.setdefault(name, []).append(found[0])

    def undeclared(
        self, places: Iterable[Place], operations: Sequence[str], requests: Sequence[Request]
    ) -> Iterator[tuple[Place, str]]:
        """Yield the places that no operation of a rule has, with what is near.

        A place that is only read or removed is one that the API may not know: it counts where no case has it either.
        """
        of_rule = [one for name in operations for one in self._named.get(name, ())]
        if operations and not of_rule:
            return
        for place in places:
            if not place.is_written and any(
                value_at(request, pointer) is not MISSING for request in requests for pointer in place.pointers
            ):
                continue
            chosen = of_rule if of_rule and not place.is_of_others else self._requests
            near: dict[str, dict[str, None]] = {}
            if any([self._may_have(one, pointer, near) for one in chosen for pointer in place.pointers]):
                continue
            whose = "the operation has no" if len(chosen) == 1 else f"none of the {len(chosen)} operations has"
            hints = [did_you_mean(name, beside) for name, beside in near.items()]
            beside = list(next(iter(near.values()), {}))[:_SHOWN]
            hint = next(filter(None, hints), f"; there is {', '.join(beside)}" if beside else "")
            yield place, f'{whose} "{place.shown}" in the description{hint}'

    def _may_have(self, operation: str, pointer: str, near: dict[str, dict[str, None]]) -> bool:
        """Whether an operation declares a place, or nothing around it. Adds the name it lacks, with those beside it."""
        request, parts = self._requests[operation], segments(pointer)
        for end in range(2, len(parts) + 1):
            place = self._description.declared_place(request, operation, to_pointer(parts[:end]))
            if place.schema:
                continue
            if not place.siblings:
                return not (end == 2 and self._has_no(operation, parts[0]))
            if parts[end - 1] not in place.siblings:
                near.setdefault(parts[end - 1], {}).update(dict.fromkeys(place.siblings))
                return False
        return True

    def _has_no(self, operation: str, part: str) -> bool:
        """Whether an operation has no body, or no parameters in the query."""
        if part == "body" and self._description.body_schemas(operation):
            return False
        return all(one[0] != part for one in self._description.vocabulary(operation).places)


_OUTSIDE: Final = frozenset({"captures", "params", "spec", "tables", "exchange"})
"""Names whose members do not come from what was sent or answered."""


def tolerant_members(text: str) -> Iterator[str]:
    """Yield the members of an expression that may be missing: `x.?name`, `has(x.name)`, `body.name`."""
    masked = without_literals(text)
    for match in (*_OPTIONAL.finditer(masked), *_TESTED.finditer(masked)):
        if match["root"] not in _OUTSIDE:
            yield match["member"]
    for match in _MEMBERS.finditer(masked):
        names = re.findall(r"[A-Za-z_]\w*", match["path"])
        yield from names[:-1] if match["call"] else names
    for root, pointer in _AT.findall(text):
        yield from (one for one in segments(pointer) if not one.isdecimal() and root not in _OUTSIDE)


def member_names(value: Json) -> Iterator[str]:
    """Yield the names of all members of a value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            yield from map(str, one)
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def loop_names(rule: Mapping[str, Any]) -> Iterator[tuple[Trail, str]]:
    """Yield the names that entries give to the elements of a list: `as`."""
    waiting: list[tuple[Trail, Any]] = [(("suggest",), rule["suggest"])]
    while waiting:
        trail, value = waiting.pop()
        for key, one in value.items() if isinstance(value, Mapping) else enumerate(value):
            if key == "as" and "each" in value:
                yield (*trail, key), str(one)
            elif isinstance(one, Mapping | list):
                waiting.append(((*trail, key), one))


def variables(text: str) -> Iterator[str]:
    """Yield the names that macros of an expression give to elements: `x` of `list.map(x, x + 1)`."""
    for match in _VARIABLE.finditer(without_literals(text)):
        yield match[1] or match[2]
