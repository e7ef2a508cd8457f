"""What people say of proposed mappings: the form of the files, a JSON object a line.

A file of proposals says what is to be judged (`Proposal`); a map gives one for each of its mappings. A file of
annotations has what was said (`Annotation`), in the order in which it was said: of one annotator and one proposal the
last line counts. Knows: the forms, lines. Does not know: files that change, who shows what.

How far annotators agree: Cohen's kappa of each two, over the proposals that both judged.
Source: J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20 (1960).

What several annotators say of a mapping, as one word; and maps in which that stands.
Of each annotator the last line about a pair of operations counts, whatever the utterance was. Whether the target is a
substitute is decided by the majority; where as many say yes as no, it is open. What the mapping is, is what most of
those say who take it for one; where as many say this as that, the weaker class is taken, then what was said last.
A class of people cannot make good what has no place: who keeps `same` beside lost fields means `weaker`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from corrigible.rules.errors import AuthoringError, Place

from .conversion import CONVERSIONS
from .mapping import Equivalence, Evidence, FieldMapping, FileModel, MapFile, OperationMapping, OperationName

Model = TypeVar("Model", bound=BaseModel)
Name = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""Of an annotator."""


class Verdict(StrEnum):
    """What an annotator says of a proposed mapping."""

    ACCEPT = "accept"
    """It is right as it is."""
    CORRECT = "correct"
    """The operations do the same, but not as proposed: the annotation has what is right."""
    REJECT = "reject"
    """The target is no substitute for the source."""


class Proposal(FileModel):
    """A mapping to be judged."""

    mapping: OperationMapping
    utterance: str = ""
    """What somebody wants, in words, where the mapping was found by that."""
    source_text: str = ""
    target_text: str = ""
    """What the descriptions say of the operations."""

    @property
    def key(self) -> str:
        """What names it among all: utterance, source and target."""
        source, target = self.mapping.source, self.mapping.target
        names = [self.utterance, source.api, source.method, source.path, target.api, target.method, target.path]
        return json.dumps(names, ensure_ascii=False, separators=(",", ":"))


class Annotation(FileModel):
    """What one annotator said of one proposal."""

    format: Literal["corrigible annotation 1"] = "corrigible annotation 1"
    annotator: Name
    at: str
    """The time, ISO 8601 with its zone."""
    verdict: Verdict
    utterance: str = ""
    proposed: OperationMapping
    """As it was shown."""
    mapping: OperationMapping | None = None
    """What is right by the annotator: as proposed, or corrected; None where it was rejected."""
    note: str = Field(default="", max_length=4000)

    @model_validator(mode="after")
    def _fits(self) -> Annotation:
        if self.mapping is None:
            return self
        if (self.mapping.source, self.mapping.target) != (self.proposed.source, self.proposed.target):
            raise ValueError("mapping is about other operations than proposed")
        for one in (*self.mapping.arguments, *self.mapping.results):
            if one.conversion and one.conversion not in CONVERSIONS:
                raise ValueError(f'no conversion is called "{one.conversion}"')
        return self

    @property
    def key(self) -> str:
        """The key of its proposal."""
        return Proposal(mapping=self.proposed, utterance=self.utterance).key


def proposals_of(file: MapFile) -> list[Proposal]:
    """Return the mappings of a map, each to be judged, those of one source together."""
    ordered = sorted(file.mappings, key=lambda one: (one.source.api, one.source.path, one.source.method, -one.score))
    return [Proposal(mapping=mapping) for mapping in ordered]


def read_proposals(path: Path) -> list[Proposal]:
    """Read a file of proposals. Raises AuthoringError with the line."""
    return list(_read(path, Proposal, is_growing=False))


def read_annotations(path: Path) -> list[Annotation]:
    """Read a file of annotations, in its order. Raises AuthoringError with the line.

    A last line without its end was being written when its writer was ended: nobody was told that it is there.
    """
    return list(_read(path, Annotation, is_growing=True))


def latest(annotations: Iterable[Annotation]) -> dict[tuple[str, str], Annotation]:
    """Return what counts, by annotator and key of the proposal."""
    return {(one.annotator, one.key): one for one in annotations}


def corrected(proposed: OperationMapping, fields: Iterable[FieldMapping], equivalence: Equivalence) -> OperationMapping:
    """Return a mapping with other fields and another class; an argument that has no field any more is lost."""
    arguments = tuple(fields)
    kept = {one.source for one in arguments}
    lost = dict.fromkeys([*proposed.lost_arguments, *(one.source for one in proposed.arguments)])
    return proposed.model_copy(
        update={
            "equivalence": equivalence,
            "arguments": arguments,
            "lost_arguments": tuple(one for one in lost if one not in kept),
        }
    )


def _read(path: Path, model: type[Model], *, is_growing: bool) -> Iterator[Model]:
    try:
        text = path.read_bytes()
    except OSError as problem:
        raise AuthoringError(Place(path, 0), (problem.strerror or str(problem)).lower()) from None
    lines = text.split(b"\n")
    if is_growing:
        lines = lines[:-1]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield model.model_validate_json(line)
        except ValidationError as problem:
            first = problem.errors(include_url=False)[0]
            where = "/".join(map(str, first["loc"])) or "the line"
            raise AuthoringError(Place(path, number), f"{where}: {first['msg']}") from None


class Agreement(NamedTuple):
    """Two annotators."""

    one: str
    other: str
    shared: int
    """Proposals that both judged."""
    same: int
    """Those of which both say the same."""
    kappa: float | None
    """None where chance alone would make them agree on everything, or nothing is shared."""


def agreements(annotations: Iterable[Annotation]) -> list[Agreement]:
    """Return the agreement of each two annotators on the verdicts, by name."""
    verdicts: dict[str, dict[str, str]] = {}
    for (annotator, key), one in latest(annotations).items():
        verdicts.setdefault(annotator, {})[key] = one.verdict
    out = []
    for one_name, other_name in combinations(sorted(verdicts), 2):
        first, second = verdicts[one_name], verdicts[other_name]
        pairs = [(first[key], second[key]) for key in first if key in second]
        out.append(Agreement(one_name, other_name, len(pairs), sum(a == b for a, b in pairs), cohens_kappa(pairs)))
    return out


def cohens_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return (observed - expected) / (1 - expected) agreement; None where that is not defined."""
    count = len(pairs)
    if not count:
        return None
    observed = sum(a == b for a, b in pairs) / count
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(first[category] * second[category] for category in first) / count**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


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
