"""What becomes of each field of an operation in another one: pairs, conversions, and what has no place.

Two fields are a pair if their parents are and their names say the same, or if the target spells in levels what the
source says in one name (`metricName` and `metric/name`). A similar name is enough only where the descriptions agree.
A pair of objects or lists says that the whole goes there, but for what has an entry of its own or is lost.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from corrigible.rules.pointer import segments
from corrigible.rules.safety.decisive import word_set

from .likeness import VARIABLE, Profile, Rarity
from .mapping import Constant, Equivalence, FieldMapping, OperationMapping, OperationName, ValueMapping
from .operation import CanonicalOperation, Field, name_words, stem, text_words
from .rewriting import may_carry, target_problem

ITEM = "*"


@dataclass(slots=True)
class Node:
    """One place; `field` is None where only deeper places are described."""

    name: str
    pointer: str
    field: Field | None = None
    children: dict[str, Node] = dataclasses.field(default_factory=dict)

    @property
    def words(self) -> tuple[str, ...]:
        return name_words(self.name)

    @property
    def type(self) -> str:
        """JSON Schema's word, also where only the members tell it; empty where nothing does."""
        if self.field is not None and self.field.type:
            return self.field.type
        return "" if not self.children else "array" if set(self.children) == {ITEM} else "object"

    @property
    def item(self) -> Node | None:
        return self.children.get(ITEM)


def tree(fields: Iterable[Field], place: str) -> Node:
    """Return the fields whose pointers begin with `/place`."""
    root = Node(place, f"/{place}")
    for one in fields:
        head, *path = segments(one.pointer)
        if head != place:
            continue
        node = root
        raw = one.pointer.split("/")
        for depth, name in enumerate(path):
            node = node.children.setdefault(name, Node(name, "/".join(raw[: depth + 3])))
        node.field = one
    return root


_NAMES: Final = {
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "msec"), "milliseconds"),
    **dict.fromkeys(("second", "sec", "secs"), "seconds"),
    **dict.fromkeys(("minute", "mins"), "minutes"),
    **dict.fromkeys(("cent",), "cents"),
    **dict.fromkeys(("dollar", "euro", "usd", "eur"), "whole money"),
    **dict.fromkeys(("byte",), "bytes"),
    **dict.fromkeys(("kb", "kib"), "kilobytes"),
}
"""The last word of a name, without its ending, and the unit."""
_SAID: Final = (
    (re.compile(r"\bmilliseconds since\b", re.I), "unix milliseconds"),
    (re.compile(r"\bseconds since\b|\bunix time(?:stamp)?\b", re.I), "unix seconds"),
    (re.compile(r"\bin (?:milli-?seconds|ms)\b", re.I), "milliseconds"),
    (re.compile(r"\bin seconds\b", re.I), "seconds"),
    (re.compile(r"\bin minutes\b", re.I), "minutes"),
    (re.compile(r"\bin cents\b", re.I), "cents"),
    (re.compile(r"\bsmallest (?:currency )?unit\b|\bminor units?\b", re.I), "smallest unit of the currency"),
    (re.compile(r"\bin (?:US )?dollars\b|\bin euros\b|\bmajor units?\b", re.I), "whole money"),
    (re.compile(r"\bin bytes\b", re.I), "bytes"),
    (re.compile(r"\bin (?:kilobytes|KB|KiB)\b", re.I), "kilobytes"),
)
_FORMATS: Final = {"unix-time": "unix seconds", "date-time": "date-time", "date": "date"}
CONVERTED: Final = {
    ("milliseconds", "seconds"): "milliseconds to seconds",
    ("seconds", "milliseconds"): "seconds to milliseconds",
    ("unix milliseconds", "unix seconds"): "milliseconds to seconds",
    ("unix seconds", "unix milliseconds"): "seconds to milliseconds",
    ("minutes", "seconds"): "minutes to seconds",
    ("seconds", "minutes"): "seconds to minutes",
    ("cents", "whole money"): "hundredths to units",
    ("whole money", "cents"): "units to hundredths",
    ("unix seconds", "date-time"): "unix time to date-time",
    ("date-time", "unix seconds"): "date-time to unix time",
}
"""Of two units, the name of what converts one to the other without loss (`conversion.CONVERSIONS`)."""


def unit_of(field: Field) -> str:
    """Return the unit; empty where nothing tells it."""
    if field.format in _FORMATS:
        return _FORMATS[field.format]
    if field.type not in ("integer", "number", "") and not is_number_text(field):
        return ""
    words = name_words(field.name)
    if words and words[-1] in _NAMES:
        return _NAMES[words[-1]]
    return next((unit for pattern, unit in _SAID if pattern.search(field.description)), "")


def is_number_text(field: Field) -> bool:
    """Whether a number is written as text: 64 bits in proto-JSON."""
    return field.type == "string" and field.format in ("int64", "uint64")


def without_unit(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a name without the unit at its end."""
    return words[:-1] if len(words) > 1 and words[-1] in _NAMES else words


def unit_conversion(source: Field, target: Field) -> str | None:
    """Return what converts values of one field for another: empty for nothing, None where nothing can."""
    one, other = unit_of(source), unit_of(target)
    if one == other or not (one and other):
        return ""
    if is_number_text(source) or is_number_text(target):
        return None  # conversions of units take and give numbers
    return CONVERTED.get((one, other))


SYNONYMS: Final = (
    word_set("first limit take top count perpage pagesize maxresult maxitem pagelimit"),
    *map(word_set, ("q query keyword search searchterm text", "since after", "before until", "offset skip")),
)
"""Names of arguments that any API uses in one sense: their `name_words` as one."""
_SURE: Final = 1.0
_SPLIT: Final = 0.9
_SYNONYM: Final = 0.85
_POSITION: Final = 0.9
"""Scores of pairs by what speaks for them."""
_NEAR_WORDS: Final = 0.5
_NEAR_SAID: Final = 0.45
_LONE: Final = 0.7
_DEEPEST_SPLIT: Final = 3
_NUMBERS: Final = frozenset({"integer", "number"})
_PLACES: Final = ("query", "header", "body")


@dataclass(slots=True)
class FieldMap:
    """The fields of one side of a mapping."""

    pairs: list[FieldMapping] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Pointers of the source without a place."""
    matched: set[str] = field(default_factory=set)
    """Pointers of the target that something goes to."""


def result_map(source: Profile, target: Profile, rarity: Rarity) -> FieldMap:
    """Map the fields of answers."""
    one, other = tree(source.operation.results, "result"), tree(target.operation.results, "result")
    found = FieldMap()
    one, other = _without_envelopes(source, one, target, other)
    _Matcher(found, rarity).below(one, other)
    found.lost = _lost(tree(source.operation.results, "result"), {pair.source for pair in found.pairs})
    return found


def argument_map(source: Profile, target: Profile, rarity: Rarity) -> FieldMap:
    """Map the arguments: of the path by their order, others by name, those of the same place first."""
    found = FieldMap()
    matcher = _Matcher(found, rarity)
    ones = {place: tree(source.operation.arguments, place) for place in ("path", *_PLACES)}
    others = {place: tree(target.operation.arguments, place) for place in ("path", *_PLACES)}
    for left, right in _variables(source, target):
        if left in ones["path"].children and right in others["path"].children:
            matcher.take(ones["path"].children[left], others["path"].children[right], _POSITION)
    for place in _PLACES:
        matcher.below(ones[place], others[place])
    for place in ("path", *_PLACES):
        for elsewhere in ("path", *_PLACES):
            if place != elsewhere:
                matcher.by_name(ones[place], others[elsewhere])
    matched = {pair.source for pair in found.pairs}
    found.lost = [pointer for place in ("path", *_PLACES) for pointer in _lost(ones[place], matched)]
    return found


def _without_envelopes(source: Profile, one: Node, target: Profile, other: Node) -> tuple[Node, Node]:
    """Return where the things of two answers are: of a bare list and a list in an envelope, the lists."""
    if source.is_list and target.is_list and (one.item is None) != (other.item is None):
        return _items(one), _items(other)
    return one, other


def _items(node: Node) -> Node:
    if node.item is not None:
        return node.item
    lists = [child.item for child in node.children.values() if child.item is not None and child.item.children]
    return lists[0] if len(lists) == 1 else node


def _variables(source: Profile, target: Profile) -> Iterator[tuple[str, str]]:
    """Yield the variables of two paths that stand for the same: of the same name, or at the same place of the path."""
    ones, others = _names(source), _names(target)
    right = list(others)
    left = []
    for name in ones:
        same = next((one for one in right if name_words(one) == name_words(name)), None)
        if same is None:
            left.append(name)
        else:
            right.remove(same)
            yield name, same
    paired = {here: there for here, there in _aligned(source.segments, target.segments)}
    is_one_each = len(left) == len(right)
    for name in left:
        at = paired.get(ones[name])
        there = next((one for one in right if others[one] == at), None)
        if at is None or there is None:
            continue
        is_alike = is_one_each and _type(source, name) == _type(target, there)
        if is_alike or _is_of_one_kind(source.segments, ones[name], target.segments, at):
            right.remove(there)
            yield name, there


def _is_of_one_kind(one: Sequence[str], at: int, other: Sequence[str], to: int) -> bool:
    """Whether two variables are about things of one name: a project's number is no owner of a repository."""
    while at and to and one[at - 1] == other[to - 1] == VARIABLE:
        at, to = at - 1, to - 1
    return bool(at and to) and _alike(one[at - 1], other[to - 1]) == 1


def _type(profile: Profile, name: str) -> str:
    return next((one.type for one in profile.variables if one.name == name), "")


def _names(profile: Profile) -> dict[str, int]:
    """Return the variables of a path and their places among its segments."""
    parts = [part for part in profile.path.strip("/").split("/") if part]
    names = [part.strip("{}:+") for part in parts if part.startswith(("{", ":"))]
    places = [at for at, part in enumerate(profile.segments) if part == VARIABLE]
    return dict(zip(names, places, strict=False))


def _aligned(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of the longest common order of two paths, of variables only."""
    table = [[0.0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for at in range(len(one) - 1, -1, -1):
        for to in range(len(other) - 1, -1, -1):
            table[at][to] = max(
                table[at + 1][to], table[at][to + 1], table[at + 1][to + 1] + _alike(one[at], other[to])
            )
    pairs, at, to = [], 0, 0
    while at < len(one) and to < len(other):
        alike = _alike(one[at], other[to])
        if alike and table[at][to] == table[at + 1][to + 1] + alike:
            if one[at] == VARIABLE:
                pairs.append((at, to))
            at, to = at + 1, to + 1
        elif table[at][to] == table[at + 1][to]:
            at += 1
        else:
            to += 1
    return pairs


def _alike(one: str, other: str) -> float:
    if VARIABLE in (one, other):
        return 0.4 if one == other else 0.0
    return 1.0 if name_words(one) == name_words(other) else 0.0


def _lost(node: Node, matched: set[str]) -> list[str]:
    """Return the highest places that nothing of goes anywhere, and single ones beside those that do."""
    lost: list[str] = []
    for child in node.children.values():
        if child.pointer in matched or any(pointer.startswith(f"{child.pointer}/") for pointer in matched):
            lost += _lost(child, matched)
        elif child.name != ITEM or node.pointer not in matched:
            lost.append(child.pointer)
    return lost


class _Matcher:
    def __init__(self, found: FieldMap, rarity: Rarity) -> None:
        self._found, self._rarity = found, rarity
        self._taken: set[str] = set()

    def take(self, one: Node, other: Node, score: float) -> bool:
        """Make a pair of two places and of what is below them. False where their types cannot be converted."""
        conversion = _conversion(one, other)
        is_barred = not other.pointer.startswith("/result") and not may_carry(one.pointer, other.pointer)
        if conversion is None or is_barred:
            return False
        self._taken.add(one.pointer)
        self._found.matched.add(other.pointer)
        self._found.pairs.append(
            FieldMapping.model_construct(
                source=one.pointer, target=other.pointer, conversion=conversion, score=round(score, 3)
            )
        )
        if not conversion:
            self.below(one, other)
        return True

    def below(self, one: Node, other: Node) -> None:
        """Pair the members of two places that are a pair."""
        if one.item is not None and other.item is not None:
            if one.item.field is None or other.item.field is None:
                self.below(one.item, other.item)
            else:
                self.take(one.item, other.item, _SURE)
        self.by_name(one, other)
        self._split(one, other)
        self._split_back(one, other)
        self._near(one, other)

    def by_name(self, one: Node, other: Node) -> None:
        """Pair members whose names have the same words, a unit at the end not counted, then synonyms."""
        for form, score in ((_exact, _SURE), (_spelling, _SURE), (_no_unit, _SURE), (_bare, _SPLIT)):
            by_form: dict[object, list[Node]] = {}
            for child in self._free_targets(other):
                by_form.setdefault(form(child), []).append(child)
            for child in self._free(one):
                same = by_form.get(form(child), [])
                if len(same) == 1 and same[0].pointer not in self._found.matched:
                    self.take(child, same[0], score)
        if one.pointer in ("/query", "/body"):
            for child in self._free(one):
                group = next((names for names in SYNONYMS if "".join(child.words) in names), None)
                near = [c for c in self._free_targets(other) if group and "".join(c.words) in group]
                if len(near) == 1:
                    self.take(child, near[0], _SYNONYM)

    def _split(self, one: Node, other: Node) -> None:
        """Pair a member with a deeper one of the target whose path has the same words."""
        deeper = {words: node for words, node in self._deeper(other)}
        for child in self._free(one):
            found = deeper.get(child.words) if len(child.words) > 1 else None
            if found is not None and found.pointer not in self._found.matched and _same_depth(child, found):
                self.take(child, found, _SPLIT)

    def _split_back(self, one: Node, other: Node) -> None:
        """Pair a deeper member of the source with one of the target whose name has the words of its path."""
        targets = {child.words: child for child in self._free_targets(other) if len(child.words) > 1}
        if not targets:
            return
        for words, node in self._deeper(one):
            found = targets.get(words)
            if found is None or node.pointer in self._taken or found.pointer in self._found.matched:
                continue
            if _same_depth(node, found):
                self.take(node, found, _SPLIT)

    def _deeper(
        self, node: Node, before: tuple[str, ...] = (), depth: int = 0
    ) -> Iterator[tuple[tuple[str, ...], Node]]:
        for child in node.children.values():
            if child.name == ITEM:
                continue
            words = (*before, *child.words)
            if depth:
                yield words, child
            if depth + 1 < _DEEPEST_SPLIT and child.item is None:
                yield from self._deeper(child, words, depth + 1)

    def _near(self, one: Node, other: Node) -> None:
        """Pair members of similar names whose descriptions agree, the most alike first."""
        free = self._free_targets(other)
        scored = sorted(
            (-score, at, to)
            for at, child in enumerate(self._free(one))
            for to, candidate in enumerate(free)
            if (score := self._likeness(child, candidate)) > 0
        )
        left = self._free(one)
        used: set[int] = set()
        for score, at, to in scored:
            if at not in used and free[to].pointer not in self._found.matched and self.take(left[at], free[to], -score):
                used.add(at)

    def _likeness(self, one: Node, other: Node) -> float:
        if one.field is None or other.field is None or one.name == ITEM or other.name == ITEM:
            return 0.0
        if one.type and other.type and one.type != other.type:
            return 0.0
        words = self._rarity.overlap(frozenset(one.words), frozenset(other.words))
        said = self._rarity.cosine(text_words(one.field.description), text_words(other.field.description))
        if words >= _NEAR_WORDS and said >= _NEAR_SAID:
            return 0.5 * (words + said)
        return said * 0.8 if said >= _LONE and words > 0 else 0.0

    def _free(self, node: Node) -> list[Node]:
        return [child for child in node.children.values() if child.pointer not in self._taken and child.name != ITEM]

    def _free_targets(self, node: Node) -> list[Node]:
        return [c for c in node.children.values() if c.pointer not in self._found.matched and c.name != ITEM]


def _same_depth(one: Node, other: Node) -> bool:
    return bool(one.children) == bool(other.children)


def _exact(node: Node) -> object:
    return node.name


def _spelling(node: Node) -> object:
    return node.words


def _no_unit(node: Node) -> object:
    return without_unit(node.words)


def _bare(node: Node) -> object:
    """Return the words of a name without those that only repeat the type: `is_locked`, `forks_count`."""
    words = without_unit(node.words)
    if node.type == "boolean" and len(words) > 1 and words[0] in _ASKS:
        return words[1:]
    is_number = node.type in _NUMBERS or (node.field is not None and is_number_text(node.field))
    return words[:-1] if is_number and len(words) > 1 and words[-1] == "count" else words


_ASKS: Final = frozenset(map(stem, ("is", "has")))


def _conversion(one: Node, other: Node) -> str | None:
    """Return what converts a value of one place for another: empty for nothing, None where nothing can."""
    left, right = one.type, other.type
    if left and right and left != right and not ({left, right} <= _NUMBERS):
        unit = unit_conversion(one.field, other.field) if one.field is not None and other.field is not None else ""
        if unit is None or unit:
            return unit
        match left, right:
            case ("integer" | "boolean", "string"):
                return "to text"
            case ("string", "integer"):
                return "to integer"
            case (_, "array") if other.item is not None and other.item.type == left:
                return "to list"
            case ("array", _) if one.item is not None and one.item.type == right:
                return "only item"
        return None
    if left == "array" and one.item is not None and other.item is not None:
        inner, outer = one.item.type, other.item.type
        if inner and outer and inner != outer and not ({inner, outer} <= _NUMBERS):
            return None
    if one.field is not None and other.field is not None and not one.children and not other.children:
        return unit_conversion(one.field, other.field)
    return ""


_GROUP_VERSION: Final = re.compile(r"/(?:api|apis/([^/{}]+))/(v\d+(?:(?:alpha|beta)\d+)?)(?:/|$)")
"""The paths of Kubernetes and of what extends it; there a body names its version again."""
_VERSION_FIELD: Final = "/body/apiVersion"


def compared(source: Profile, target: Profile, rarity: Rarity, score: float) -> OperationMapping:
    """Return the mapping of one operation to another, without its evidence."""
    arguments, results = argument_map(source, target, rarity), result_map(source, target, rarity)
    constants = _constants(source, target, arguments)
    pairs = tuple(_renamed(pair, source, target) for pair in arguments.pairs)
    return OperationMapping(
        source=named(source.operation),
        target=named(target.operation),
        equivalence=_class(source, target, arguments, results, constants),
        score=round(score, 4),
        arguments=pairs,
        constants=tuple(constants),
        results=tuple(results.pairs),
        lost_arguments=tuple(arguments.lost),
        lost_results=tuple(results.lost),
        needed=tuple(_needed(target, arguments, {one.target for one in constants})),
    )


def named(operation: CanonicalOperation) -> OperationName:
    return OperationName(api=operation.api, method=operation.method, path=operation.path)


def _class(
    source: Profile, target: Profile, arguments: FieldMap, results: FieldMap, constants: Sequence[Constant]
) -> Equivalence:
    if arguments.lost or results.lost or source.operation.left_out:
        return Equivalence.WEAKER
    if target.effect == "put" and source.effect in ("create", "update"):
        return Equivalence.STRONGER  # it also replaces what is there
    changed = constants or any(
        pair.conversion or pair.source != pair.target for pair in (*arguments.pairs, *results.pairs)
    )
    if changed or (source.operation.method, source.path) != (target.operation.method, target.path):
        return Equivalence.SAME_WITH_CONVERSION
    return Equivalence.SAME


def _constants(source: Profile, target: Profile, arguments: FieldMap) -> list[Constant]:
    """Return what the target needs and only one value fits, and the version that its path names."""
    constants = [
        Constant(target=one.pointer, value=_typed(one))
        for one in target.operation.arguments
        if one.required and len(one.enum) == 1 and one.pointer not in arguments.matched and one.pointer.count("/") == 2
        if not target_problem(one.pointer)
    ]
    told, here = _version(target), _version(source)
    if told and told != here:
        constants.append(Constant(target=_VERSION_FIELD, value=told))
    return constants


def _renamed(pair: FieldMapping, source: Profile, target: Profile) -> FieldMapping:
    """Return a pair; of the version in a body with what it is called in the target."""
    told, here = _version(target), _version(source)
    if pair.target != _VERSION_FIELD or pair.source != _VERSION_FIELD or not told or not here or told == here:
        return pair
    return pair.model_copy(update={"values": (ValueMapping(source=here, target=told),)})


def _version(profile: Profile) -> str:
    """Return the group and version of a path whose body names them again, empty where it has none: `batch/v1`."""
    found = _GROUP_VERSION.search(profile.path)
    if found is None or all(one.pointer != _VERSION_FIELD for one in profile.operation.arguments):
        return ""
    group, version = found.groups()
    return f"{group}/{version}" if group else version


def _typed(field: Field) -> str | int | bool:
    (value,) = field.enum
    match field.type:
        case "boolean":
            return value == "true"
        case "integer" if value.lstrip("-").isdigit():
            return int(value)
    return value


def _needed(target: Profile, arguments: FieldMap, fixed: set[str]) -> list[str]:
    """Return the required arguments of the target that nothing goes to; below optional ones nothing is required."""
    optional = tuple(f"{one.pointer}/" for one in target.operation.arguments if not one.required)
    return [
        one.pointer
        for one in target.operation.arguments
        if one.required
        and one.pointer not in arguments.matched
        and one.pointer not in fixed
        and not any(matched.startswith(f"{one.pointer}/") for matched in arguments.matched)
        and not one.pointer.startswith(optional)
    ]
