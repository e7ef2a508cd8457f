"""The 4+1 taxonomy of errors of the paper on "structure snowballing" in constrained reflection, said of API calls.

The paper's categories follow the flow of information: find it, link it, stay within what is known, conclude, write it
down. A call to an API takes the same five steps, so each category keeps its place and gets a meaning for calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Category:
    """One kind of error."""

    name: str
    paper: str
    """What the paper calls it."""
    meaning: str
    """As the model is told."""


CATEGORIES: Final = (
    Category(
        "WRONG_TARGET",
        "RETRIEVAL_FOCUS",
        "the call went to the wrong operation, path or object, or changed another part than the one complained about",
    ),
    Category(
        "MISSING_LINK",
        "BRIDGE_FAILURE",
        "the right operation, but what ties it to something else was missing or stale: an id, a version, a token, "
        "a precondition that must hold first",
    ),
    Category(
        "INVENTED_VALUE",
        "HALLUCINATION",
        "a member or value that neither the task, nor the description, nor any answer stated",
    ),
    Category(
        "WRONG_INFERENCE",
        "INFERENCE_ERROR",
        "everything needed was known, but the conclusion was wrong: a limit, a calculation, members that contradict "
        "each other, a rule about states",
    ),
    Category(
        "FORMAT_MISMATCH",
        "FORMATTING_MISMATCH",
        "the right content in the wrong form: the name of a member, its type, its place, its encoding",
    ),
)
NAMES: Final = tuple(category.name for category in CATEGORIES)
