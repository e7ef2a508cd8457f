"""Scores of proposed mappings by ground truth: of operations, and of fields."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corrigible.adapters.mapping.mapping import Equivalence, FieldMapping, OperationMapping

from .share import NOTHING, Share
from .truth import JudgedMapping, JudgedPair, Truth


@dataclass(frozen=True, slots=True)
class MappingScore:
    """What holds of some mappings, over the operations that were judged."""

    operations: Share = NOTHING
    """Targets proposed as substitutes. Whatever is proposed as `related` is no substitute, and is counted apart."""
    related: Share = NOTHING
    fields: Share = NOTHING
    """Pairs of fields in mappings that are right, where people judged; a parent of judged ones may be judged, too."""
    unjudged: int = 0
    """Pairs that nobody judged."""
    classes_right: int = 0
    """Of the right targets, those whose class is the judged one."""

    def __add__(self, other: MappingScore) -> MappingScore:
        return MappingScore(
            self.operations + other.operations,
            self.related + other.related,
            self.fields + other.fields,
            self.unjudged + other.unjudged,
            self.classes_right + other.classes_right,
        )


def score(mappings: Iterable[OperationMapping], truths: Iterable[Truth]) -> MappingScore:
    """Score mappings by all truths together; what truth says nothing of is not counted."""
    by_source: dict[tuple[str, str, str], list[OperationMapping]] = defaultdict(list)
    for one in mappings:
        key = f"{one.source.method} {one.source.path}"
        by_source[one.source.api, one.target.api, key].append(one)
    total = MappingScore()
    for truth in truths:
        for judged in truth.operations:
            proposed = by_source[truth.source_api, truth.target_api, judged.source.key]
            if (known := judged.judged_targets) is not None:
                proposed = [one for one in proposed if f"{one.target.method} {one.target.path}" in known]
            total += _of_one(proposed, judged.mappings)
    return total


def _of_one(proposed: Sequence[OperationMapping], judged: Sequence[JudgedMapping]) -> MappingScore:
    right = {one.target.key: one for one in judged if one.equivalence is not Equivalence.RELATED}
    near = {one.target.key for one in judged if one.equivalence is Equivalence.RELATED}
    total = MappingScore(operations=Share(0, 0, len(right)), related=Share(0, 0, len(near)))
    for one in proposed:
        key = f"{one.target.method} {one.target.path}"
        if one.equivalence is Equivalence.RELATED:
            total += MappingScore(related=Share(key in near, 1, 0))
            continue
        total += MappingScore(operations=Share(key in right, 1, 0))
        if key in right:
            same_class = one.equivalence is right[key].equivalence
            total += MappingScore(classes_right=int(same_class)) + _of_fields(one, right[key])
    return total


def _of_fields(one: OperationMapping, judged: JudgedMapping) -> MappingScore:
    arguments = _pairs(one.arguments, judged.arguments, judged.judged_arguments, judged.doubtful_arguments)
    return arguments + _pairs(one.results, judged.results, judged.judged_results, judged.doubtful_results)


def _pairs(
    proposed: Sequence[FieldMapping], right: Sequence[JudgedPair], parents: Sequence[str], doubtful: Sequence[str]
) -> MappingScore:
    listed = {(pair.source, pair.target) for pair in right}
    judged, unclear = set(parents), set(doubtful)
    found = wrong = unjudged = 0
    for pair in proposed:
        if (pair.source, pair.target) in listed:
            found += 1
        elif pair.source not in unclear and pair.source.rpartition("/")[0] in judged:
            wrong += 1
        else:
            unjudged += 1
    return MappingScore(fields=Share(found, found + wrong, len(listed)), unjudged=unjudged)
