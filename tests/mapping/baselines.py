"""Mappings by one thing alone, to compare with: the likeness of names, or that of descriptions.

For each source operation the most alike target is taken, if it is alike enough; fields of the same pointer go to each
other. There is no class.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from rapidfuzz import fuzz

from corrigible.adapters.mapping.mapping import Equivalence, FieldMapping, OperationMapping, OperationName
from corrigible.adapters.mapping.operation import CanonicalOperation, Field

Likeness = Callable[[CanonicalOperation, CanonicalOperation], float]
"""Between 0 and 1."""

_WORD: Final = re.compile(r"[a-z]+|[0-9]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PLACEHOLDER: Final = re.compile(r"\{[^}]*\}")


def nearest(
    sources: Iterable[CanonicalOperation], targets: Sequence[CanonicalOperation], likeness: Likeness
) -> list[OperationMapping]:
    """Return for each source the most alike target that is not itself, with the likeness as score.

    None where nothing is alike at all.
    """
    found = []
    for source in sources:
        best = max(
            (target for target in targets if target != source),
            key=lambda target: likeness(source, target),
            default=None,
        )
        if best is not None and (much := likeness(source, best)) > 0:
            found.append(_mapping(source, best, much))
    return found


def at_least(mappings: Iterable[OperationMapping], threshold: float) -> list[OperationMapping]:
    """Return those with such a score."""
    return [one for one in mappings if one.score >= threshold]


def by_names(source: CanonicalOperation, target: CanonicalOperation) -> float:
    """Return the mean of how alike method with path, and the names of the operations, are (rapidfuzz `ratio`)."""
    return (fuzz.ratio(_route(source), _route(target)) + fuzz.ratio(_name(source), _name(target))) / 200


def by_descriptions(*apis: Iterable[CanonicalOperation]) -> Likeness:
    """Return the cosine of TF-IDF vectors of summary and description; rare words are those of the APIs given."""
    words = {(one.api, one.key): Counter(_words(f"{one.summary} {one.description}")) for api in apis for one in api}
    documents = Counter(word for counts in words.values() for word in counts)
    weights = {word: math.log((1 + len(words)) / (1 + count)) + 1 for word, count in documents.items()}
    vectors = {
        key: _unit({word: (1 + math.log(count)) * weights[word] for word, count in counts.items()})
        for key, counts in words.items()
    }

    def likeness(source: CanonicalOperation, target: CanonicalOperation) -> float:
        one, other = vectors[source.api, source.key], vectors[target.api, target.key]
        if len(other) < len(one):
            one, other = other, one
        return min(1.0, sum(weight * other.get(word, 0.0) for word, weight in one.items()))

    return likeness


def _mapping(source: CanonicalOperation, target: CanonicalOperation, much: float) -> OperationMapping:
    return OperationMapping(
        source=OperationName(api=source.api, method=source.method, path=source.path),
        target=OperationName(api=target.api, method=target.method, path=target.path),
        equivalence=Equivalence.SAME,
        score=min(1.0, much),
        arguments=_same(source.arguments, target.arguments),
        results=_same(source.results, target.results),
    )


def _same(source: Sequence[Field], target: Sequence[Field]) -> tuple[FieldMapping, ...]:
    there = {one.pointer for one in target}
    return tuple(FieldMapping(source=one.pointer, target=one.pointer) for one in source if one.pointer in there)


def _route(operation: CanonicalOperation) -> str:
    return f"{operation.method} {_PLACEHOLDER.sub('{}', operation.path)}".lower()


def _name(operation: CanonicalOperation) -> str:
    return " ".join(_words(operation.name))


def _words(text: str) -> list[str]:
    return _WORD.findall(_HUMP.sub(" ", text).lower())


def _unit(vector: Mapping[str, float]) -> dict[str, float]:
    length = math.sqrt(sum(weight * weight for weight in vector.values()))
    return {word: weight / length for word, weight in vector.items()} if length else {}
