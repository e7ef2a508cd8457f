"""What several annotators say of a mapping, as one word; and maps in which that stands.

Of each annotator the last line about a pair of operations counts, whatever the utterance was. Whether the target is a
substitute is decided by the majority; where as many say yes as no, it is open. What the mapping is, is what most of
those say who take it for one; where as many say this as that, the weaker class is taken, then what was said last.
A class of people cannot make good what has no place: who keeps `same` beside lost fields means `weaker`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from .annotation import Annotation, Verdict
from .mapping import Equivalence, Evidence, OperationMapping, OperationName

_STRENGTH: Final = {
    **{Equivalence.RELATED: 0, Equivalence.WEAKER: 1, Equivalence.STRONGER: 2},
    **{Equivalence.SAME_WITH_CONVERSION: 3, Equivalence.SAME: 4},
}
"""How much a class promises."""

OperationPair = tuple[OperationName, OperationName]
"""Source and target."""


class Consensus(NamedTuple):
    """What is said of one pair of operations."""

    mapping: OperationMapping
    """What is right; where the target is no substitute, or that is open, as it was proposed last."""
    verdict: bool | None
    """Whether the target is right: a substitute, or related as judged. None where as many say yes as no."""
    agreeing: int
    """Annotators who say so; of an open one, who say yes."""
    judged_by: int

    @property
    def evidence(self) -> Evidence:
        """What a map keeps of it. Who the annotators are is not told."""
        note = f"{self.agreeing} of {self.judged_by} annotators"
        if self.verdict is None:
            note += " take it for right: open"
        return Evidence(kind="annotation", score=round(self.agreeing / self.judged_by, 3), note=note)


def pair_of(mapping: OperationMapping) -> OperationPair:
    return mapping.source, mapping.target


def consensus(annotations: Iterable[Annotation]) -> dict[OperationPair, Consensus]:
    """Return what is said of each pair, in the order in which they were judged first."""
    said: dict[OperationPair, dict[str, Annotation]] = {}
    for one in annotations:
        by_annotator = said.setdefault(pair_of(one.proposed), {})
        by_annotator.pop(one.annotator, None)  # so that what is said last stands last
        by_annotator[one.annotator] = one
    return {pair: _of_pair(list(by_annotator.values())) for pair, by_annotator in said.items()}


def _of_pair(said: Sequence[Annotation]) -> Consensus:
    right = [_kept(one) for one in said if one.verdict is not Verdict.REJECT]
    against = len(said) - len(right)
    if len(right) > against:
        return Consensus(_most(right), True, len(right), len(said))
    proposed = said[-1].proposed
    if len(right) == against:
        return Consensus(proposed, None, len(right), len(said))
    return Consensus(proposed, False, against, len(said))


def _kept(one: Annotation) -> OperationMapping:
    mapping = one.mapping or one.proposed
    promises = _STRENGTH[mapping.equivalence] > _STRENGTH[Equivalence.WEAKER]
    if promises and (mapping.lost_arguments or mapping.lost_results):
        return mapping.model_copy(update={"equivalence": Equivalence.WEAKER})
    return mapping


def _most(said: Sequence[OperationMapping]) -> OperationMapping:
    """Return the mapping that most say: its class and the places of its fields are what is compared."""
    counts: dict[object, int] = {}
    for one in said:
        counts[_form(one)] = counts.get(_form(one), 0) + 1
    return max(enumerate(said), key=lambda item: (counts[_form(item[1])], -_STRENGTH[item[1].equivalence], item[0]))[1]


def _form(one: OperationMapping) -> object:
    fields = frozenset((field.source, field.target, field.conversion, field.values) for field in one.arguments)
    return one.equivalence, fields, frozenset(one.lost_arguments)


def judged_mappings(
    mappings: Iterable[OperationMapping], said: Mapping[OperationPair, Consensus]
) -> Iterator[OperationMapping]:
    """Yield mappings as people judged them: without the rejected ones, and with those that only people found.

    What is open is `related`: nothing is offered that half of the annotators take for wrong. What nobody judged is
    as it was. Those that are new stand last.
    """
    left = dict(said)
    for one in mappings:
        word = left.pop(pair_of(one), None)
        if word is None:
            yield one
        elif word.verdict is None:
            evidence = (*one.evidence, word.evidence)
            yield one.model_copy(update={"equivalence": Equivalence.RELATED, "evidence": evidence})
        elif word.verdict:
            yield _as_judged(word, one.evidence)
    for word in left.values():
        if word.verdict:
            yield _as_judged(word, word.mapping.evidence)


def _as_judged(word: Consensus, found: Sequence[Evidence]) -> OperationMapping:
    evidence = (*(one for one in found if one.kind != "annotation"), word.evidence)
    return word.mapping.model_copy(update={"evidence": evidence, "score": word.evidence.score})
