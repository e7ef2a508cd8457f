"""All validators of one annotated error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from . import edit, intent, near, shape, trust
from . import retry as pace
from .annotated_error import AnnotatedError
from .finding import Finding

JUDGES: Final[tuple[Callable[[AnnotatedError], Iterator[Finding]], ...]] = (
    shape.judge,
    edit.judge,
    intent.judge,
    near.judge,
    pace.judge,
    trust.judge,
)


def feedback_findings(annotated: AnnotatedError, requirements: frozenset[str] | None = None) -> Iterator[Finding]:
    """Yield what is wrong, of the given requirements or of all. What is no feedback at all is only said to be none."""
    if not isinstance(annotated.feedback, Mapping):
        findings = shape.judge(annotated)
    else:
        findings = (finding for judge in JUDGES for finding in judge(annotated))
    yield from (finding for finding in findings if requirements is None or finding.requirement in requirements)
