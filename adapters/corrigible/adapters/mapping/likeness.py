"""How alike two operations are: each sign alone, from 0 to 1, and all together.

The weights were fitted by logistic regression on the part of the ground truth that is there to tune
(`tests/mapping/truth/*.tune.json`), and rounded.

Which operations are compared at all: found by probing, by their paths, and as neighbours of what was found.
A probe is a text that is searched for among the operations of the other API: what an operation says of itself, or an
utterance of a user whose hits belong together.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import exp, log, sqrt
from typing import Final, Literal

from .operation import CanonicalOperation, Field, is_version, name_words, stem, text_words

Effect = Literal["read", "create", "put", "update", "delete", "act"]
"""`put` replaces, or makes what is not there; `act` is any other change."""

VARIABLE: Final = "{}"
_PREFIXES: Final = frozenset({"api", "apis", "rest"})
"""First segments that say nothing of what is called."""
_GRPC: Final = re.compile(r"/[\w.]+/\w+")
_READS: Final = frozenset(
    map(
        stem,
        ("get", "list", "read", "search", "find", "filter", "query", "range", "watch", "lookup", "check", "status"),
    )
)
_EFFECTS: Final[Mapping[str, Effect]] = {
    **dict.fromkeys(map(stem, ("create", "add", "insert", "new", "make", "register", "grant")), "create"),
    **dict.fromkeys(map(stem, ("put", "set", "replace", "upsert")), "put"),
    **dict.fromkeys(map(stem, ("update", "patch", "edit", "modify", "change")), "update"),
    **dict.fromkeys(map(stem, ("delete", "remove", "destroy", "revoke", "clear")), "delete"),
}
_BY_METHOD: Final[Mapping[str, Effect]] = {
    "GET": "read", "HEAD": "read", "OPTIONS": "read", "TRACE": "read",
    "PUT": "put", "PATCH": "update", "DELETE": "delete", "POST": "create",
}  # fmt: skip
_READS_BY_POST: Final = frozenset(map(stem, ("search", "filter", "query", "find", "range", "list", "lookup")))
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_NO_LETTER: Final = re.compile(r"[\W_]")
MOST_FIELDS: Final = 400


@dataclass(frozen=True)
class Profile:
    """One operation, as it is compared."""

    operation: CanonicalOperation

    @cached_property
    def is_grpc(self) -> bool:
        return (
            self.operation.method == "POST"
            and "{" not in self.path
            and _GRPC.fullmatch(self.path) is not None
            and ("." in self.path)
        )

    @property
    def key(self) -> str:
        """API, method and path: what names an operation among all."""
        return f"{self.operation.api} {self.operation.key}"

    @property
    def path(self) -> str:
        return self.operation.path

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """The path without versions and without what every path begins with; `{}` for each variable."""
        parts = [part for part in self.path.strip("/").split("/") if part]
        if self.is_grpc:
            service, _, method = self.path.strip("/").partition("/")
            own = service.rpartition(".")[2]
            parts = [own, *_PART.findall(method.removeprefix(own) or method)]
        kept = [part for at, part in enumerate(parts) if not is_version(part) and not (at == 0 and part in _PREFIXES)]
        return tuple(VARIABLE if part.startswith(("{", ":")) else part for part in kept)

    @cached_property
    def versions(self) -> tuple[str, ...]:
        return tuple(part for part in self.path.strip("/").split("/") if is_version(part))

    @cached_property
    def letters(self) -> str:
        """The path as one word: `kv/deleterange` is what `KV/DeleteRange` is."""
        return "".join(part if part == VARIABLE else _NO_LETTER.sub("", part).lower() for part in self.segments)

    @cached_property
    def literals(self) -> tuple[str, ...]:
        return tuple(part for part in self.segments if part != VARIABLE)

    @cached_property
    def resource(self) -> frozenset[str]:
        """The words of the last literal segment."""
        return frozenset(name_words(self.literals[-1])) if self.literals else frozenset()

    @cached_property
    def effect(self) -> Effect:
        """What a call does, by its method; of POST, by its words."""
        method = self.operation.method
        if method != "POST":
            return _BY_METHOD.get(method, "act")
        last = self.path.rstrip("/").rpartition("/")[2]
        words = name_words(last)
        if words and words[-1] in _READS_BY_POST:
            return "read"
        custom = last.rpartition(":")[2] if ":" in last else ""  # `/v1/things/{id}:cancel`
        for word in name_words(custom or _own_name(self.operation.name)):
            if word in _EFFECTS:
                return _EFFECTS[word]
            if word in _READS:
                return "read"
        if self.is_grpc or custom:
            return "act"
        return "update" if self.segments[-1:] == (VARIABLE,) else "create"

    @cached_property
    def is_list(self) -> bool:
        """Whether it answers with many things of a kind, and no single one."""
        if self.effect != "read":
            return False
        top = {one.pointer.split("/")[2] for one in self.operation.results if one.pointer.count("/") >= 2}
        if top == {"*"}:
            return True
        lists = {
            one.pointer.split("/")[2]
            for one in self.operation.results
            if one.pointer.count("/") == 4 and one.pointer.split("/")[3] == "*"
        }
        return len(lists) == 1 and len(top) <= 6 and not self.path.endswith("}")

    @cached_property
    def name(self) -> tuple[str, ...]:
        return name_words(self.operation.name)

    @cached_property
    def said(self) -> tuple[str, ...]:
        """The words of the summary; where there is none, of the first sentence of the description."""
        first = self.operation.summary or self.operation.description.partition(". ")[0]
        return tuple(text_words(first))

    @cached_property
    def things(self) -> frozenset[str]:
        """The words of the summary that are no verbs: to share a verb alone says nothing."""
        return frozenset(word for word in self.said if word not in _READS and word not in _EFFECTS)

    @cached_property
    def described(self) -> tuple[str, ...]:
        return tuple(text_words(f"{self.operation.summary} {self.operation.description}"))

    @cached_property
    def variables(self) -> tuple[Field, ...]:
        return tuple(one for one in self.operation.arguments if one.pointer.startswith("/path/"))

    @cached_property
    def argument_names(self) -> frozenset[str]:
        """Names of arguments beside those of the path, on the first level."""
        return frozenset(
            joined
            for one in self.operation.arguments
            if not one.pointer.startswith("/path/") and one.pointer.count("/") == 2
            if (joined := " ".join(name_words(one.name)))
        )

    @cached_property
    def result_names(self) -> frozenset[str]:
        """Names of the fields of the answer's things: on the first two levels, lists and envelopes not counted."""
        names = []
        for one in self.operation.results[:MOST_FIELDS]:
            depth = sum(part != "*" for part in one.pointer.split("/")[2:])
            if 1 <= depth <= 2:
                names.append(" ".join(name_words(one.name)))
        return frozenset(names)


Vector = Mapping[str, float]
"""Words of a text and their weights."""


def _own_name(name: str) -> str:
    """Return a name without what it belongs to: `KV_DeleteRange`, `issues/create`, `package.Service/Method`."""
    return re.split(r"[/._]", name)[-1] if re.search(r"[/.]|_[A-Z]", name) else name


class Rarity:
    """How much a word says, by how many operations have it."""

    def __init__(self, texts: Iterable[Iterable[str]]) -> None:
        counts: Counter[str] = Counter()
        total = 0
        for text in texts:
            counts.update(set(text))
            total += 1
        self._total = total
        self._worth = {word: log((total + 1) / (count + 0.5)) for word, count in counts.items()}

    def of(self, word: str) -> float:
        return max(self._worth.get(word, log(2.0 * (self._total + 1))), 0.05)

    def vector(self, text: Iterable[str]) -> Vector:
        """Return a text as weights of its words, of length 1."""
        weights = {word: (1 + log(count)) * self.of(word) for word, count in Counter(text).items()}
        length = sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}

    def cosine(self, one: Iterable[str], other: Iterable[str]) -> float:
        """Compare two texts by the words they have, 0 to 1; 0 where one has none."""
        return cosine(self.vector(one), self.vector(other))

    def overlap(self, one: frozenset[str], other: frozenset[str]) -> float:
        """Return the weighted share of what both have in what either has."""
        if not one or not other:
            return 0.0
        both = sum(self.of(word) for word in sorted(one & other))
        return both / (sum(self.of(word) for word in sorted(one | other)) or 1.0)

    def contained(self, one: frozenset[str], other: frozenset[str]) -> float:
        """Return the weighted share of what both have in what the smaller one has."""
        if not one or not other:
            return 0.0
        both = sum(self.of(word) for word in sorted(one & other))
        return both / (min(sum(map(self.of, sorted(one))), sum(map(self.of, sorted(other)))) or 1.0)


def cosine(one: Vector, other: Vector) -> float:
    """Compare two texts, 0 to 1; 0 where one has no word."""
    if len(one) > len(other):
        one, other = other, one
    return sum(weight * other[word] for word, weight in one.items() if word in other)


_NEAR_EFFECTS: Final[dict[frozenset[Effect], float]] = {
    frozenset({"put", "update"}): 0.7,
    frozenset({"put", "create"}): 0.6,
    frozenset({"put", "act"}): 0.6,
    frozenset({"create", "act"}): 0.8,
    frozenset({"update", "create"}): 0.3,
    frozenset({"update", "act"}): 0.4,
    frozenset({"delete", "act"}): 0.2,
}
"""Of two that are not the same. Reading and changing have nothing in common."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for two operations doing the same."""

    path: float
    exact_path: float
    resource: float
    name: float
    said: float
    described: float
    variables: float
    arguments: float
    results: float
    results_held: float
    effect: float
    many: float

    def values(self) -> tuple[float, ...]:
        return tuple(getattr(self, one.name) for one in fields(self))


_WEIGHTS: Final = Signs(
    path=2.0,
    exact_path=3.0,
    resource=2.5,
    name=1.3,
    said=2.5,
    described=0.3,
    variables=2.0,
    arguments=0.6,
    results=0.3,
    results_held=0.3,
    effect=3.8,
    many=1.8,
).values()
_BIAS: Final = -16.2
NEIGHBOURS: Final = 2.0
"""What it adds that the neighbours of two operations are mapped to each other."""
_ANSWERED_ENOUGH: Final = 0.4
_SAID_SOMETHING: Final = 0.5
_OTHER_THING: Final = 0.1
"""The most for two that call their things otherwise, and say little alike."""
_SAID_ENOUGH: Final = 0.75
"""Of summaries and fields alone, where paths say nothing: the share from which two operations are the same."""


def likeness(signs: Signs, neighbours: float = 0.0) -> float:
    """Return how likely two operations do the same, 0 to 1. Those that differ in effect or in their things never do."""
    if not signs.effect:
        return 0.0
    total = _BIAS + sum(weight * value for weight, value in zip(_WEIGHTS, signs.values(), strict=True))
    by_all = 1 / (1 + exp(-(total + NEIGHBOURS * neighbours)))
    if not signs.resource and signs.said < _SAID_SOMETHING:
        by_all = min(by_all, _OTHER_THING)
    return max(by_all, _by_words(signs))


def _by_words(signs: Signs) -> float:
    """Judge by what is said and answered alone. Nothing where an answer is undescribed: that agrees with anything."""
    if signs.effect < 1 or not signs.many or signs.results < _ANSWERED_ENOUGH or signs.variables < 1:
        return 0.0
    share = 0.5 * max(signs.said, signs.described) + 0.2 * signs.name + 0.3 * signs.results
    return share if share >= _SAID_ENOUGH else 0.0


class Comparison:
    """Compares operations of a corpus: the rarity of words comes from it."""

    def __init__(self, profiles: Sequence[Profile]) -> None:
        self._text = Rarity(one.described for one in profiles)
        self._names = Rarity(one.name for one in profiles)
        self._paths = Rarity(name_words(one.path) for one in profiles)
        self._arguments = Rarity(one.argument_names for one in profiles)
        self._results = Rarity(one.result_names for one in profiles)
        self._known: dict[str, tuple[Vector, Vector, Vector]] = {}

    def _vectors(self, one: Profile) -> tuple[Vector, Vector, Vector]:
        """Return name, summary and description as vectors."""
        if one.key not in self._known:
            said, described = self._text.vector(one.said), self._text.vector(one.described)
            self._known[one.key] = self._names.vector(one.name), said, described
        return self._known[one.key]

    def signs(self, one: Profile, other: Profile) -> Signs:
        exact = one.letters == other.letters or _spelt(one.segments) == _spelt(other.segments)
        resource = 1.0 if exact else self._paths.overlap(one.resource, other.resource)
        effect = 1.0 if one.effect == other.effect else _NEAR_EFFECTS.get(frozenset({one.effect, other.effect}), 0.0)
        if not resource and not one.things & other.things:
            effect = 0.0  # to delete a label is not to delete an issue
        name, said, described = map(cosine, self._vectors(one), self._vectors(other))
        return Signs(
            path=1.0 if one.letters == other.letters else path_likeness(one.segments, other.segments),
            exact_path=float(exact),
            resource=resource,
            name=name,
            said=said,
            described=described,
            variables=_count_likeness(one.segments.count(VARIABLE), other.segments.count(VARIABLE)),
            arguments=_or_neither(self._arguments.overlap, one.argument_names, other.argument_names),
            results=_or_neither(self._results.overlap, one.result_names, other.result_names),
            results_held=_or_neither(self._results.contained, one.result_names, other.result_names),
            effect=effect,
            many=float(one.is_list == other.is_list),
        )


def _or_neither(
    measure: Callable[[frozenset[str], frozenset[str]], float], one: frozenset[str], other: frozenset[str]
) -> float:
    """Measure; two that have nothing are as alike as can be, and one that has something is not."""
    if not one and not other:
        return 1.0
    return measure(one, other)


def path_likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """Compare two paths by their longest common order of segments; a variable counts half."""
    if not one or not other:
        return float(one == other)
    row = [0.0] * (len(other) + 1)
    for here in one:
        above, row = row, [0.0]
        for at, there in enumerate(other):
            row.append(max(above[at + 1], row[at], above[at] + _segment_likeness(here, there)))
    return 2 * row[-1] / (_weight(one) + _weight(other))


def _weight(segments: Sequence[str]) -> float:
    return sum(0.5 if part == VARIABLE else 1.0 for part in segments)


def _segment_likeness(one: str, other: str) -> float:
    if VARIABLE in (one, other):
        return 0.5 if one == other else 0.0
    if one == other:
        return 1.0
    left, right = name_words(one), name_words(other)
    if left == right:
        return 0.85
    shared = set(left) & set(right)
    return 0.6 * len(shared) / max(len(left), len(right)) if shared else 0.0


def _spelt(segments: Sequence[str]) -> tuple[object, ...]:
    return tuple(part if part == VARIABLE else name_words(part) for part in segments)


def _count_likeness(one: int, other: int) -> float:
    return 1 - abs(one - other) / max(one, other, 1)


Probe = Callable[[str, int], Sequence[str]]
"""Returns the keys of the best operations of one API for a text."""

PROBED: Final = 12
"""Hits of one probe."""
_FROM_NEIGHBOURS: Final = 12
_MOST: Final = 60
"""Candidates of one operation."""


class Neighbours:
    """The operations of one API that share schemas or, with what stands before it, the place in the path."""

    def __init__(self, profiles: Iterable[Profile]) -> None:
        self._by_mark: dict[object, list[str]] = defaultdict(list)
        self._marks: dict[str, list[object]] = {}
        for one in profiles:
            self._marks[one.key] = marks = list(_marks(one))
            for mark in marks:
                self._by_mark[mark].append(one.key)

    def of(self, key: str, most: int) -> list[str]:
        """Return the nearest ones: those that share the most, and the rarest, first."""
        shares: dict[str, float] = defaultdict(float)
        for mark in self._marks[key]:
            others = self._by_mark[mark]
            if len(others) > 200:  # a schema that everything has: a status, an error
                continue
            for other in others:
                shares[other] += 1 / log(1 + len(others))
        shares.pop(key, None)
        return sorted(shares, key=lambda one: (-shares[one], one))[:most]


def _marks(one: Profile) -> Iterator[object]:
    for name in one.operation.schemas:
        yield "schema", name
    yield "path", container(one)


def container(one: Profile) -> tuple[str, ...]:
    """Return the path up to its last literal segment, without it."""
    last = max((at for at, part in enumerate(one.segments) if part != "{}"), default=0)
    return one.segments[:last]


class Candidates:
    """The operations of one API, as candidates for those of another one."""

    def __init__(self, targets: Mapping[str, Profile], probe: Probe) -> None:
        self._targets, self._probe = targets, probe
        self._neighbours = Neighbours(targets.values())
        self._by_path: dict[object, list[str]] = defaultdict(list)
        for key, one in targets.items():
            for form in dict.fromkeys((_path_shape(one), one.letters)):
                self._by_path[form].append(key)
        self._probed: dict[str, list[str]] = {}

    def of(self, source: Profile, together: Iterable[str] = ()) -> list[str]:
        """Return the keys of the operations to compare with one; `together`: those that an utterance found with it."""
        found = dict.fromkeys((*self._by_path.get(_path_shape(source), ()), *self._by_path.get(source.letters, ())))
        found |= dict.fromkeys(together)
        operation = source.operation
        said = operation.summary or operation.description.partition(". ")[0]
        words = " ".join(name_words(operation.path))
        for text in (f"{said} {words}", " ".join(name_words(operation.name)) + " " + words):
            found |= dict.fromkeys(self._hits(text))
        for key in list(found)[:3]:
            found |= dict.fromkeys(self._neighbours.of(key, _FROM_NEIGHBOURS))
        return list(found)[:_MOST]

    def _hits(self, text: str) -> list[str]:
        if text not in self._probed:
            self._probed[text] = [key for key in self._probe(text, PROBED) if key in self._targets]
        return self._probed[text]


def _path_shape(one: Profile) -> tuple[object, ...]:
    return tuple(part if part == "{}" else name_words(part) for part in one.segments)
