"""What people say of proposed mappings: the form of the files, a JSON object a line.

A file of proposals says what is to be judged (`Proposal`); a map gives one for each of its mappings. A file of
annotations has what was said (`Annotation`), in the order in which it was said: of one annotator and one proposal the
last line counts. Knows: the forms, lines. Does not know: files that change, who shows what.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from corrigible.rules.errors import AuthoringError, Place

from .conversion import CONVERSIONS
from .mapping import Equivalence, FieldMapping, MapFile, OperationMapping

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


class Proposal(BaseModel):
    """A mapping to be judged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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


class Annotation(BaseModel):
    """What one annotator said of one proposal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
