"""The proposals that are being judged, and their judgements so far.

Knows: proposals, annotations, one file. Does not know: HTTP, pages, clocks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from corrigible.adapters.mapping.agreement import agreements
from corrigible.adapters.mapping.annotation import (
    Annotation,
    Name,
    Proposal,
    Verdict,
    corrected,
    latest,
    read_annotations,
)
from corrigible.adapters.mapping.conversion import CONVERSIONS
from corrigible.adapters.mapping.mapping import Equivalence, FieldMapping
from corrigible.rules.errors import CorrigibleError
from corrigible.schema.exchange import Json

from .journal import Journal


class BadJudgement(CorrigibleError):
    """What was sent cannot be kept."""


class Judgement(BaseModel):
    """What the page sends."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    annotator: Name
    number: int = Field(ge=0)
    """Which proposal."""
    key: str
    """Its key, so that a page of an earlier run does not judge another one."""
    verdict: Verdict
    equivalence: Equivalence | None = None
    arguments: tuple[FieldMapping, ...] = Field(default=(), max_length=2000)
    note: str = Field(default="", max_length=4000)


class AnnotationDesk:
    """One run of the page."""

    def __init__(self, proposals: Sequence[Proposal], file: Path, now: Callable[[], str]) -> None:
        """`now` gives the time, ISO 8601. Raises AuthoringError, JournalInUse and OSError."""
        keys = {proposal.key: proposal for proposal in proposals}
        self.proposals = tuple(keys.values())
        self._now = now
        self._journal = Journal(file)
        try:
            self._annotations = read_annotations(file)
        except BaseException:
            self._journal.close()
            raise
        self._lock = threading.Lock()

    def close(self) -> None:
        self._journal.close()

    def judge(self, judgement: Judgement) -> Annotation:
        """Keep a judgement. Raises BadJudgement, and OSError where the disk does not take it."""
        if judgement.number >= len(self.proposals) or self.proposals[judgement.number].key != judgement.key:
            raise BadJudgement("no such proposal: load the page anew")
        proposal = self.proposals[judgement.number]
        right = None
        if judgement.verdict is Verdict.ACCEPT:
            right = proposal.mapping
        elif judgement.verdict is Verdict.CORRECT:
            unknown = next(
                (one.conversion for one in judgement.arguments if one.conversion not in ("", *CONVERSIONS)), None
            )
            if unknown is not None:
                raise BadJudgement(f'no conversion is called "{unknown}"; there are: {", ".join(CONVERSIONS)}')
            for one in judgement.arguments:
                for pointer in (one.source, one.target):
                    if not pointer.startswith("/"):
                        raise BadJudgement(f'"{pointer}" is no place such as /body/name')
            right = corrected(
                proposal.mapping, judgement.arguments, judgement.equivalence or proposal.mapping.equivalence
            )
        annotation = Annotation(
            annotator=judgement.annotator,
            at=self._now(),
            verdict=judgement.verdict,
            utterance=proposal.utterance,
            proposed=proposal.mapping,
            mapping=right,
            note=judgement.note,
        )
        line = annotation.model_dump_json(exclude_defaults=False)
        with self._lock:
            self._journal.add(line)
            self._annotations.append(annotation)
        return annotation

    def said(self, annotator: str) -> dict[str, Json]:
        """Return what one annotator has said, by the numbers of the proposals. What others say is not shown."""
        with self._lock:
            said = latest(self._annotations)
        out: dict[str, Json] = {}
        for number, proposal in enumerate(self.proposals):
            one = said.get((annotator, proposal.key))
            if one is not None:
                document = one.model_dump(mode="json", include={"verdict", "mapping", "note"})
                out[str(number)] = document
        return out

    def agreement(self) -> list[Mapping[str, Any]]:
        """Return how far each two annotators agree."""
        with self._lock:
            annotations = list(self._annotations)
        keys = {proposal.key for proposal in self.proposals}
        return [one._asdict() for one in agreements(one for one in annotations if one.key in keys)]

    def export(self) -> str:
        """Return what counts, a line each, in the order in which it was said."""
        with self._lock:
            counting = list(latest(self._annotations).values())
        return "".join(f"{one.model_dump_json()}\n" for one in counting)
