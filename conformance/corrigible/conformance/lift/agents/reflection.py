"""What a model does between a refusal and its next call: nothing, or a reflection in one form or another.

The 4+1 taxonomy of errors is that of the paper on "structure snowballing". Its categories follow the flow of
information: find it, link it, stay within what is known, conclude, write it down. A call to an API takes the same five
steps, so each category keeps its place and gets a meaning for calls.
Knows: what was sent and answered, earlier reflections of the episode. Does not know: providers, arms, how a call is
written. Everything a strategy asks the model is here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, Protocol

from corrigible.conformance.lift.log import Reflection
from corrigible.schema.exchange import Json


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


SAME_RULE: Final = 0.8
"""From this likeness on two correction rules say the same."""
_LONGEST: Final = 2000


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call and its answer, as the model saw them."""

    request: Mapping[str, Json]
    answer: str


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An episode until now. Its last trial was refused."""

    about: str
    prompt: str
    trials: Sequence[PastCall]
    memory: Sequence[Reflection] = ()
    """Earlier reflections of this episode, and of no other."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What the model said to a question, and the tokens it took."""

    text: str
    tokens: int = 0


Ask = Callable[[str, Mapping[str, Json] | None], ModelAnswer]
"""A question in words, and the JSON Schema of the answer where it is to be structured."""


class Strategy(Protocol):
    """Returns what is to be recorded, in order; the last one is shown to the model before its next call."""

    @property
    def name(self) -> str: ...

    def reflect(self, trajectory: Trajectory, ask: Ask) -> tuple[Reflection, ...]: ...


class NoReflection:
    """The retry loop as it is."""

    name = "none"

    def reflect(self, trajectory: Trajectory, ask: Ask) -> tuple[Reflection, ...]:
        return ()


class Free:
    """Free text, as in Reflexion."""

    name = "free"

    def reflect(self, trajectory: Trajectory, ask: Ask) -> tuple[Reflection, ...]:
        return (_free(trajectory, ask, FREE),)


class Structured:
    """One category and one correction rule, by decoding constrained to a schema; the first error counts."""

    name = "structured"

    def reflect(self, trajectory: Trajectory, ask: Ask) -> tuple[Reflection, ...]:
        return (_structured(trajectory, ask),)


class Adaptive:
    """Structured, until a correction repeats without success: then free text once, and structured again."""

    name = "adaptive"

    def reflect(self, trajectory: Trajectory, ask: Ask) -> tuple[Reflection, ...]:
        first = _structured(trajectory, ask)
        if not first.repeated:
            return (first,)
        return first, _free(trajectory, ask, LIFTED).model_copy(update={"lifted": True})


STRATEGIES: Final[Mapping[str, Strategy]] = {
    one.name: one for one in (NoReflection(), Free(), Structured(), Adaptive())
}

_ASKED: Final = "You look back at calls of an API that did not lead to what was wanted, so that the next one does."
FREE: Final = "Say in a few sentences what went wrong and what the next call should do differently."
STRUCTURED: Final = (
    "Name the first error of the sequence of calls, and only that one: later ones often follow from it. Give its"
    " category, the number of the call it was made in, and one rule that corrects it in the next call. Categories:\n"
    + "\n".join(f"- {one.name}: {one.meaning}" for one in CATEGORIES)
)
LIFTED: Final = (
    "The last correction was the same as the one before, and did not help. Put the categories aside. Go back to what is"
    " wanted, question what you took for granted, and say in a few sentences what the next call should do instead."
)
SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "error_type": {"type": "string", "enum": list(NAMES)},
        "first_error_in_call": {"type": "integer"},
        "correction_rule": {"type": "string"},
    },
    "required": ["error_type", "first_error_in_call", "correction_rule"],
    "additionalProperties": False,
}
WORDS: Final = (_ASKED, FREE, STRUCTURED, LIFTED)
"""All that is said, for the hash of an agent."""


def _free(trajectory: Trajectory, ask: Ask, how: str) -> Reflection:
    answer = ask(_question(trajectory, how), None)
    return Reflection(form="free", text=answer.text.strip()[:_LONGEST], tokens=answer.tokens)


def _structured(trajectory: Trajectory, ask: Ask) -> Reflection:
    answer = ask(_question(trajectory, STRUCTURED), SCHEMA)
    made = _read(answer)
    return made.model_copy(update={"repeated": is_repeated(made, trajectory)})


def _read(answer: ModelAnswer) -> Reflection:
    """Read a structured answer. One that does not fit the schema is kept as it came, without a category."""
    try:
        document: Any = json.JSONDecoder().raw_decode(answer.text, max(answer.text.find("{"), 0))[0]
        category, rule = document["error_type"], document["correction_rule"]
        first = int(document["first_error_in_call"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return Reflection(form="structured", text=answer.text.strip()[:_LONGEST], tokens=answer.tokens)
    known = category if category in NAMES else ""
    return Reflection(
        form="structured", text=str(rule)[:_LONGEST], category=known, first=max(first, 0), tokens=answer.tokens
    )


def is_repeated(made: Reflection, trajectory: Trajectory) -> bool:
    """Whether a structured correction is the one before once more: same category, and the same rule or the same call.

    The call before this reflection was made under the one before and was refused, so that one did not help.
    """
    before = next((one for one in reversed(trajectory.memory) if one.form == "structured"), None)
    if before is None or made.category != before.category:
        return False
    if SequenceMatcher(None, made.text.casefold(), before.text.casefold(), autojunk=False).ratio() >= SAME_RULE:
        return True
    sent = [trial.request for trial in trajectory.trials[-2:]]
    return len(sent) == 2 and sent[0] == sent[1]


def as_prompt(made: Reflection) -> str:
    """Return a reflection as the model that is to act on it reads it."""
    if made.form == "free" or not made.category:
        return made.text
    rule = {"error_type": made.category, "first_error_in_call": made.first, "correction_rule": made.text}
    return json.dumps(rule, ensure_ascii=False)


def _question(trajectory: Trajectory, how: str) -> str:
    parts = [f"The API: {trajectory.about}", f"What is wanted: {trajectory.prompt}"]
    for number, trial in enumerate(trajectory.trials, start=1):
        sent = json.dumps(trial.request, ensure_ascii=False)
        parts.append(f"Call {number}: {sent}\nAnswer {number}: {trial.answer}")
    if trajectory.memory:
        lines = "\n".join(f"- {as_prompt(one)}" for one in trajectory.memory)
        parts.append(f"Your earlier reflections, in order:\n{lines}")
    return "\n\n".join((_ASKED, *parts, how))
