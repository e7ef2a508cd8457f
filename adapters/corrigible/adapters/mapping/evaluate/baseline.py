"""What a single sign alone would map: similar names, or similar descriptions. To see what the rest is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import mul
from typing import NamedTuple

from corrigible.adapters.mapping.build.profile import Profile, Rarity, cosine
from corrigible.adapters.mapping.mapping import Equivalence, FieldMapping, OperationMapping, OperationName
from corrigible.adapters.mapping.operation import CanonicalOperation, Field

from .mapping_score import MappingScore, score
from .truth import Truth

Likeness = Callable[[Profile, Profile], float]


class Baseline(NamedTuple):
    """A method, and its score at the threshold that suits it best on these very judgements."""

    name: str
    threshold: float
    score: MappingScore


def by_names(profiles: Sequence[Profile]) -> Likeness:
    """Compare the words of names."""
    rarity = Rarity(one.name for one in profiles)
    vectors = {one.key: rarity.vector(one.name) for one in profiles}
    return lambda one, other: cosine(vectors[one.key], vectors[other.key])


def by_descriptions(profiles: Sequence[Profile]) -> Likeness:
    """Compare the words of summaries and descriptions."""
    rarity = Rarity(one.described for one in profiles)
    vectors = {one.key: rarity.vector(one.described) for one in profiles}
    return lambda one, other: cosine(vectors[one.key], vectors[other.key])


def by_vectors(vectors: Mapping[str, Sequence[float]]) -> Likeness:
    """Compare the vectors of operations by their key."""
    return lambda one, other: sum(map(mul, vectors[one.key], vectors[other.key]))


def baseline(
    name: str,
    likeness: Likeness,
    operations: Mapping[str, Sequence[CanonicalOperation]],
    truths: Sequence[Truth],
) -> Baseline:
    """Map each judged source to the most alike target, from the threshold on that gives the best F1."""
    nearest = list(_nearest(likeness, operations, truths))
    best = Baseline(name, 0.0, score((), truths))
    for threshold in sorted({round(one.score, 2) for one in nearest}):
        found = score((one for one in nearest if one.score >= threshold), truths)
        if (found.operations.f1 or 0) > (best.score.operations.f1 or 0):
            best = Baseline(name, threshold, found)
    return best


def _nearest(
    likeness: Likeness, operations: Mapping[str, Sequence[CanonicalOperation]], truths: Sequence[Truth]
) -> Iterable[OperationMapping]:
    profiles = {api: {one.key: Profile(one) for one in listed} for api, listed in operations.items()}
    for truth in truths:
        targets = profiles[truth.target_api]
        for judged in truth.operations:
            source = profiles[truth.source_api].get(judged.source.key)
            others = [one for key, one in targets.items() if source is not None and one.key != source.key]
            if source is None or not others:
                continue
            alike, target = max(
                ((likeness(source, one), one) for one in others), key=lambda pair: (pair[0], pair[1].key)
            )
            yield OperationMapping(
                source=_named(source),
                target=_named(target),
                equivalence=Equivalence.WEAKER,
                score=min(max(alike, 0.0), 1.0),
                arguments=_same_names(source.operation.arguments, target.operation.arguments),
                results=_same_names(source.operation.results, target.operation.results),
            )


def _named(one: Profile) -> OperationName:
    return OperationName(api=one.operation.api, method=one.operation.method, path=one.operation.path)


def _same_names(sources: Sequence[Field], targets: Sequence[Field]) -> tuple[FieldMapping, ...]:
    """Pair fields by their last name alone, wherever they stand: the first that has it."""
    first: dict[str, str] = {}
    for one in targets:
        first.setdefault(one.name, one.pointer)
    return tuple(FieldMapping(source=one.pointer, target=first[one.name]) for one in sources if one.name in first)
