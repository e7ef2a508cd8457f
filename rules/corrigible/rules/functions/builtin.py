"""What expressions may call besides CEL's own: pure functions on plain values.

From wanted values at some places to guarded operations, parents that are missing included.

Kubernetes quantities: `600m`, `1Gi`, `2e3`. Exact, in decimal arithmetic.

Source: the serialisation format of resource.Quantity (k8s.io/apimachinery/pkg/api/resource).
"""

from __future__ import annotations

import base64 as codec
import copy
import math
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from typing import Any

import re2

from corrigible.rules.budget import UNITS_OF_VALUE, spend, take, walk
from corrigible.rules.pointer import MISSING, MOST_DIGITS, escape, resolve, segments, through_arrays
from corrigible.schema.document import leaves

_RFC3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})")
_KEYS = uuid.UUID("6f0f7c02-6b0e-5a53-9f52-0b6f2a7f3a11")


def integer(value: Any) -> int | None:
    """Return the integer that a number or a text is; null for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**63 else None
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value.strip()):
        return int(value)
    return None


def unix(date: Any) -> int | None:
    """Return the Unix seconds of a date of HTTP (RFC 9110 section 5.6.7) or of RFC 3339; null for anything else."""
    text = str(date)
    try:
        moment = datetime.fromisoformat(text) if _RFC3339.fullmatch(text) else parsedate_to_datetime(text)
        return math.floor((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def at(document: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer (RFC 6901); null if there is none."""
    value = resolve(document, pointer)
    if isinstance(value, tuple):
        raise TypeError("a type is no value of a document")
    return None if value is MISSING else value


def includes(have: Any, want: Any) -> bool:
    """Return whether `have` has every member of `want`. Scalars are compared as text; an empty value equals none."""
    if isinstance(want, Mapping):
        return isinstance(have, Mapping) and all(includes(have.get(name), inner) for name, inner in want.items())
    if isinstance(want, list):
        return (
            isinstance(have, list)
            and len(have) == len(want)
            and all(includes(have_item, other) for have_item, other in zip(have, want, strict=True))
        )
    if isinstance(have, (Mapping, list)):
        return False
    return _text(have) == _text(want)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def names(document: Any, pointer: str) -> list[str]:
    """Return the names of the members of the object at a JSON pointer; none if no object is there."""
    value = resolve(document, pointer)
    return list(value) if isinstance(value, Mapping) else []


def fresh_key(seed: str) -> str:
    """Return a new idempotency key; the same seed gives the same key."""
    return str(uuid.uuid5(_KEYS, seed))


def or_value(value: Any, default: Any) -> Any:
    """Return the value, or the default if it is null."""
    return default if value is None else value


def find(document: Any, pattern: str) -> list[str]:
    """Return the JSON pointers of all places in a document that fit a pattern.

    `*` is any one member or element, `**` any number of levels: `**/name` is `name` at any depth.
    """
    walk()
    parts = segments(pattern if pattern.startswith("/") else f"/{pattern}")
    return list(dict.fromkeys(_fitting(document, parts, "")))


def _fitting(node: Any, parts: Sequence[str], walked: str) -> Iterator[str]:
    spend()
    if not parts:
        take(UNITS_OF_VALUE + len(walked))
        yield walked
        return
    if parts[0] == "**":
        yield from _fitting(node, parts[1:], walked)
        for name in _inner(node):
            step = "/" + escape(name)
            yield from _fitting(resolve(node, step), parts, walked + step)
        return
    names = _inner(node) if parts[0] == "*" else [parts[0]]
    for name in names:
        step = "/" + escape(name)
        inner = resolve(node, step)
        if inner is not MISSING:
            yield from _fitting(inner, parts[1:], walked + step)


def _inner(node: Any) -> list[str]:
    """Return the steps that lead one level deeper."""
    if isinstance(node, Mapping):
        return list(map(str, node))
    return list(map(str, range(len(node)))) if isinstance(node, list) else []


def flat(lists: Sequence[Any]) -> list[Any]:
    """Return the elements of the lists in a list, one level deep; an element that is no list stays."""
    return [inner for one in lists for inner in (one if isinstance(one, list) else [one])]


def base64(text: str) -> str:
    """Return the base64 of the UTF-8 of a text (RFC 4648 section 4)."""
    return codec.b64encode(str(text).encode()).decode()


def is_base64(text: Any) -> bool:
    """Return whether a text is base64, line breaks allowed."""
    try:
        codec.b64decode("".join(str(text).split()), validate=True)
    except ValueError:
        return False
    return isinstance(text, str)


def base64_meant(text: Any) -> str:
    """Return the base64 of a text that lacks only its padding, or is in the URL alphabet; empty for plain text.

    Short words are base64 by accident: they decode to no text.
    """
    clean = "".join(str(text).split()).translate(str.maketrans("-_", "+/")).rstrip("=")
    padded = clean + "=" * (-len(clean) % 4)
    if not isinstance(text, str) or len(clean) < _SHORTEST_CODE or not is_base64(padded):
        return ""
    try:
        return padded if codec.b64decode(padded).decode().isprintable() else ""
    except UnicodeDecodeError:
        return padded if len(clean) >= _LONGEST_WORD else ""


_SHORTEST_CODE = 4
_LONGEST_WORD = 20
"""Longer texts of letters and digits alone are codes, whatever they decode to."""


def respell(text: str, keep: str, filler: str) -> str:
    """Return a text in which each run of characters outside a class such as `[a-z0-9-]` is one filler.

    No filler is left at either end, nor two in a row.
    """
    if not (keep.startswith("[") and keep.endswith("]")) or keep.startswith("[^"):
        raise ValueError(f"{keep}: not a class such as [a-z0-9-]")
    take(UNITS_OF_VALUE + len(str(text)) * (1 + len(filler)))
    out = str(re2.sub(f"[^{keep[1:-1]}]+", filler.replace("\\", "\\\\"), str(text)))
    if filler:
        mark = re.escape(filler)
        out = re.sub(f"(?:{mark}){{2,}}", lambda _: filler, out)
        out = re.sub(f"^(?:{mark})+|(?:{mark})+$", "", out)
    return out


_BINARY = {suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_DECIMAL = {
    suffix: Decimal(10) ** power
    for suffix, power in {
        "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
    }.items()
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,2})|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]))?")
_MOST_DIGITS = 30


def quantity(text: Any) -> float | None:
    """Return a Kubernetes quantity in base units (cores, bytes, pieces); null for anything else."""
    number = _read(text)
    return None if number is None else float(number)


def quantity_text(number: float, like: Any) -> str | None:
    """Return a number as a Kubernetes quantity with a suffix like that of another; null if that cannot be exact.

    `like` decides between binary (`Mi`) and decimal (`M`, `m`); the largest suffix that leaves an integer is used.
    """
    value = Decimal(repr(float(number))).normalize()
    match = _QUANTITY.fullmatch(str(like).strip())
    binary = match is not None and match[3] in _BINARY
    # A little noise of binary floating point is not part of the number: nothing smaller than a nano can be said.
    value = value.quantize(_DECIMAL["n"]) if abs(value) < 10**15 else value
    units = {"": Decimal(1), **_BINARY} if binary else _DECIMAL
    largest = units["Ei" if binary else (match and match[3]) or ""]
    for suffix, unit in sorted(units.items(), key=lambda suffix_unit: suffix_unit[1], reverse=True):
        if unit > max(largest, Decimal(1)):
            continue  # 2000 stays 2000, and becomes 2k only beside another k
        count = value / unit
        if count == count.to_integral_value():
            return f"{count:f}".partition(".")[0] + suffix
    return None


def _read(text: Any) -> Decimal | None:
    if not isinstance(text, (str, int, float)):
        return None
    stripped = str(text).strip()
    match = _QUANTITY.fullmatch(stripped) if len(stripped) <= _MOST_DIGITS else None
    if match is None:
        return None
    try:
        number = Decimal(match[1])
    except InvalidOperation:
        return None
    if match[2]:
        return number * Decimal(10) ** int(match[2])
    suffix = match[3] or ""
    return number * (_BINARY.get(suffix) or _DECIMAL[suffix])


MOST_CHANGES = 128
"""More do not fit into any feedback."""
_NAMES = ("name", "id", "key", "path", "containerPort", "port", "mountPath", "ip")
"""Members that tell an element from its neighbours, the best first."""

Operation = dict[str, Any]
"""One operation of RFC 6902."""


def edits(document: Any, changes: Sequence[Sequence[Any]]) -> list[Operation]:
    """Return the operations that make `changes` of a document: `[pointer, value]` sets, `[pointer]` removes.

    What is there already gives no operation. Parents that are missing are made, several changes below one parent
    together. Every edit inside an array follows a `test` that identifies its element. Raises ValueError for a place
    that cannot be: a member of a text, an element of an array that is not there.
    """
    if len(changes) > MOST_CHANGES:
        raise ValueError(f"{len(changes):,} changes at once, {MOST_CHANGES} are the most")
    walk(len(changes) ** 2 // 8)
    after = copy.deepcopy(document)
    tested: set[str] = set()
    guards: list[Operation] = []
    operations_by_place: dict[str, Operation] = {}
    for change in changes:
        pointer, wanted = str(change[0]), change[1] if len(change) > 1 else MISSING
        old = resolve(after, pointer)
        if old is wanted or (old is not MISSING and wanted is not MISSING and _same(old, wanted)):
            continue
        for element in through_arrays(document, pointer):
            if element not in tested and resolve(document, element) is not MISSING:
                tested.add(element)
                guards.append(_identifying(document, element))
        if wanted is MISSING:
            operations_by_place[pointer] = {"op": "remove", "path": pointer}
            _remove(after, pointer)
            continue
        place, value = _with_parents(after, pointer, wanted)
        _put(after, place, value)
        above = next((p for p in operations_by_place if place == p or place.startswith(p + "/")), None)
        if above is not None:
            operations_by_place[above]["value"] = copy.deepcopy(resolve(after, above))
        elif resolve(document, place) is MISSING:
            operations_by_place[place] = {"op": "add", "path": place, "value": copy.deepcopy(value)}
        else:
            operations_by_place[place] = {"op": "replace", "path": place, "value": value}
            before = resolve(document, place)
            test: Operation = {"op": "test", "path": place, "value": before}
            if not isinstance(before, (Mapping, list)) and test not in guards:
                guards.append(test)
    # Removals go last and backwards, so that no index moves under another edit.
    settings = [op for op in operations_by_place.values() if op["op"] != "remove"]
    removals = sorted((op for op in operations_by_place.values() if op["op"] == "remove"), key=_order, reverse=True)
    return [*guards, *settings, *removals]


def _order(op: Operation) -> list[tuple[int, str]]:
    parts = segments(str(op["path"]))
    return [(int(part), "") if part.isdecimal() and len(part) <= MOST_DIGITS else (-1, part) for part in parts]


def _same(left_value: Any, other: Any) -> bool:
    return bool(left_value == other) and isinstance(left_value, bool) == isinstance(other, bool)


def _with_parents(document: Any, pointer: str, value: Any) -> tuple[str, Any]:
    """Return the outermost place that is missing on the way, and what belongs there."""
    parts = segments(pointer)
    walked, node = "", document
    for index, part in enumerate(parts):
        step = "/" + escape(part)
        inner = resolve(node, step)
        if not isinstance(node, (Mapping, list)):
            raise ValueError(f"{walked or '/'}: nothing can be put into it")
        if isinstance(node, list) and inner is MISSING and part != "-" and part != str(len(node)):
            raise ValueError(f"{walked}{step}: there is no such element")
        walked += step
        if inner is MISSING or inner is None:
            for later in reversed(parts[index + 1 :]):
                value = [value] if later in ("-", "0") else {later: value}
            return walked, value
        node = inner
    return walked, value


def _put(document: Any, pointer: str, value: Any) -> None:
    parent, _, _ = pointer.rpartition("/")
    node, last = resolve(document, parent), segments(pointer)[-1]
    if isinstance(node, list):
        if last == "-" or int(last) == len(node):
            node.append(copy.deepcopy(value))
        else:
            node[int(last)] = copy.deepcopy(value)
    else:
        node[last] = copy.deepcopy(value)


def _remove(document: Any, pointer: str) -> None:
    node, last = resolve(document, pointer.rpartition("/")[0]), segments(pointer)[-1]
    if isinstance(node, dict):
        node.pop(last, None)
    # An element stays in the copy: the other changes name their elements by where they stand now.


def _identifying(document: Any, element: str) -> Operation:
    """Return a test that holds for this element and not, as a rule, for its neighbours."""
    value = resolve(document, element)
    if isinstance(value, Mapping):
        plain = [name for name, inner in value.items() if not isinstance(inner, (Mapping, list)) and inner is not None]
        name = next((name for name in _NAMES if name in plain), plain[0] if plain else None)
        if name is not None:
            return {"op": "test", "path": f"{element}/{escape(name)}", "value": value[name]}
        only = next(iter(value)) if len(value) == 1 else ""
        if isinstance(value.get(only), Mapping):  # one of several kinds: {put: {key: ...}}
            return _identifying(document, f"{element}/{escape(only)}")
        held = (leaf for leaf in leaves(value, element) if not isinstance(leaf.value, Mapping | list | None))
        scalars = sorted(held, key=lambda leaf: leaf[0].rpartition("/")[2] not in _NAMES)
        if scalars:  # less than all of it: a caller may have written out what goes without saying
            return {"op": "test", "path": scalars[0].pointer, "value": scalars[0].value}
    return {"op": "test", "path": element, "value": value}
