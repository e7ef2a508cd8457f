"""How alike two operations are: each sign alone, from 0 to 1, and all together.

The weights were fitted by logistic regression on the part of the ground truth that is there to tune
(`tests/mapping/truth/*.tune.json`), and rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from math import exp
from typing import Final

from corrigible.adapters.mapping.words import name_words

from .profile import VARIABLE, Effect, Profile, Rarity, Vector, cosine

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
