"""How right proposed mappings are by judged ones: precision and recall of operations, precision of field maps.

Apart from the product's own evaluation, so that what is judged does not judge itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from corrigible.adapters.mapping.conversion import CONVERSIONS
from corrigible.adapters.mapping.mapping import Equivalence, FieldMapping, OperationMapping
from tests.mapping.judged import FieldPair, JudgedMapping, TruthFile


@dataclass
class Count:
    """What was proposed, and what should have been."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    unjudged: int = 0
    """Proposals that the truth says nothing of: in no other figure."""

    @property
    def precision(self) -> float | None:
        """Right of what was proposed and judged; None where nothing was."""
        return _share(self.right, self.right + self.wrong)

    @property
    def recall(self) -> float | None:
        """Right of what there was to find; None where nothing was."""
        return _share(self.right, self.right + self.missed)

    @property
    def f1(self) -> float | None:
        """Twice right, of what was proposed and what there was to find."""
        return _share(2 * self.right, 2 * self.right + self.wrong + self.missed)

    def __iadd__(self, other: Count) -> Count:
        self.right += other.right
        self.wrong += other.wrong
        self.missed += other.missed
        self.unjudged += other.unjudged
        return self


@dataclass
class Score:
    """The figures of one set of proposals."""

    sources: int = 0
    """Judged source operations."""
    without: int = 0
    """Those of them that no operation of the target API can stand for."""
    operations: Count = field(default_factory=Count)
    """Pairs of operations, whatever their class; `related` is no proposal."""
    classes: Count = field(default_factory=Count)
    """Pairs of operations, right only with the judged class."""
    arguments: Count = field(default_factory=Count)
    """Pairs of fields, of operations that were mapped rightly."""
    results: Count = field(default_factory=Count)
    moved: Count = field(default_factory=Count)
    """Of the pairs of fields those with two pointers: what to take each field to where it was does not find."""
    conversions: Count = field(default_factory=Count)
    """Right pairs of fields: with the judged conversion, or with another one."""
    caught: int = 0
    """Traps that were proposed."""

    @property
    def fields(self) -> Count:
        """Arguments and results together."""
        total = Count()
        total += self.arguments
        total += self.results
        return total

    def __iadd__(self, other: Score) -> Score:
        self.sources += other.sources
        self.without += other.without
        self.caught += other.caught
        for name in ("operations", "classes", "arguments", "results", "moved", "conversions"):
            count: Count = getattr(self, name)
            count += getattr(other, name)
        return self


def score(proposed: Iterable[OperationMapping], truth: Sequence[TruthFile]) -> dict[tuple[str, str], Score]:
    """Return a score by source and target API.

    Proposals between other APIs, and of source operations that no file judges, do not count.
    """
    of_source: dict[tuple[str, str, str], list[OperationMapping]] = {}
    for one in proposed:
        key = (one.source.api, f"{one.source.method} {one.source.path}", one.target.api)
        of_source.setdefault(key, []).append(one)
    result: dict[tuple[str, str], Score] = {}
    for file in truth:
        total = result.setdefault((file.source_api, file.target_api), Score())
        for operation in file.operations:
            given = of_source.get((file.source_api, operation.source.key, file.target_api), ())
            total += _of_source(given, operation.right, {trap.target.key for trap in operation.traps})
    return result


def total_of(scores: Iterable[Score]) -> Score:
    """Return the sum of all: each judged operation counts once, however many its API has."""
    total = Score()
    for one in scores:
        total += one
    return total


def _of_source(given: Sequence[OperationMapping], right: dict[str, JudgedMapping], traps: set[str]) -> Score:
    result = Score(sources=1, without=0 if right else 1)
    offered = {
        f"{one.target.method} {one.target.path}": one for one in given if one.equivalence is not Equivalence.RELATED
    }
    for key, proposal in offered.items():
        judged = right.get(key)
        if judged is None:
            result.operations.wrong += 1
            result.classes.wrong += 1
            result.caught += key in traps
            continue
        result.operations.right += 1
        if judged.equivalence is proposal.equivalence:
            result.classes.right += 1
        else:
            result.classes.wrong += 1
            result.classes.missed += 1
        result.arguments += _of_fields(
            proposal.arguments,
            judged.arguments,
            judged.lost_arguments,
            judged.judged_arguments,
            judged.doubtful_arguments,
        )
        result.results += _of_fields(
            proposal.results, judged.results, judged.lost_results, judged.judged_results, judged.doubtful_results
        )
        result.moved += _of_moved(proposal, judged)
        result.conversions += _of_conversions(proposal.arguments, judged.arguments)
        result.conversions += _of_conversions(proposal.results, judged.results)
    missed = len(right.keys() - offered.keys())
    result.operations.missed += missed
    result.classes.missed += missed
    return result


def _of_fields(
    proposed: Sequence[FieldMapping],
    pairs: Sequence[FieldPair],
    lost: Sequence[str],
    judged: Sequence[str],
    doubtful: Sequence[str],
) -> Count:
    result = Count()
    right = {(pair.source, pair.target) for pair in pairs}
    sources = {pair.source for pair in pairs}
    gone, known, open_ = frozenset(lost), frozenset(judged), frozenset(doubtful)
    found = set()
    for one in proposed:
        if (one.source, one.target) in right:
            result.right += 1
            found.add(one.source)
        elif not open_.isdisjoint(_upwards(one.source)):
            result.unjudged += 1
        elif (
            one.source in sources or not gone.isdisjoint(_upwards(one.source)) or one.source.rpartition("/")[0] in known
        ):
            result.wrong += 1
        else:
            result.unjudged += 1
    result.missed = len(sources - found)
    return result


def _of_moved(proposal: OperationMapping, judged: JudgedMapping) -> Count:
    result = Count()
    for proposed, pairs, lost, parents, doubtful in (
        (
            proposal.arguments,
            judged.arguments,
            judged.lost_arguments,
            judged.judged_arguments,
            judged.doubtful_arguments,
        ),
        (proposal.results, judged.results, judged.lost_results, judged.judged_results, judged.doubtful_results),
    ):
        moved = [one for one in proposed if one.source != one.target]
        count = _of_fields(moved, pairs, lost, parents, doubtful)
        wanted = {pair.source for pair in pairs} - {pair.source for pair in pairs if pair.source == pair.target}
        right = {(pair.source, pair.target) for pair in pairs}
        count.missed = len(wanted - {one.source for one in moved if (one.source, one.target) in right})
        result += count
    return result


def _of_conversions(proposed: Sequence[FieldMapping], pairs: Sequence[FieldPair]) -> Count:
    """Count right pairs by whether what happens to the value is right too.

    Words for what no conversion does are met by no proposal: to take the value as it is would be wrong.
    """
    judged = {(pair.source, pair.target): pair.conversion for pair in pairs}
    result = Count()
    for one in proposed:
        wanted = judged.get((one.source, one.target))
        if wanted is None:
            continue
        if wanted == one.conversion and (not wanted or wanted in CONVERSIONS):
            result.right += 1
        else:
            result.wrong += 1
    return result


def _upwards(pointer: str) -> Iterator[str]:
    """Yield the pointer and all that it stands in."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
