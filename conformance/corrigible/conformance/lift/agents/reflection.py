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
from typing import Any, Final

from corrigible.conformance.lift.log import Reflection
from corrigible.conformance.model.yaml_file import SUITE, load_yaml
from corrigible.schema.exchange import Json


@dataclass(frozen=True, slots=True)
class Category:
    """One kind of error."""

    name: str
    paper: str
    """What the paper calls it."""
    meaning: str
    """As the model is told."""


def prompts(part: str) -> Any:
    """Return the texts and schemas of a part of what is said to models."""
    return _PROMPTS[part]


_PROMPTS: Final = load_yaml((SUITE / "lift" / "prompts.yaml").read_text(encoding="utf-8"))
_SAID: Final = prompts("reflection")
CATEGORIES: Final = tuple(Category(**one) for one in _SAID["categories"])
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


@dataclass(frozen=True, slots=True)
class Strategy:
    """What is recorded between two calls, in order; the last one is shown to the model before its next call."""

    name: str
    reflect: Callable[[Trajectory, Ask], tuple[Reflection, ...]]


def _adaptive(trajectory: Trajectory, ask: Ask) -> tuple[Reflection, ...]:
    """Structured, until a correction repeats without success: then free text once, and structured again."""
    first = _structured(trajectory, ask)
    if not first.repeated:
        return (first,)
    return first, _free(trajectory, ask, LIFTED).model_copy(update={"lifted": True})


STRATEGIES: Final[Mapping[str, Strategy]] = {
    one.name: one
    for one in (
        Strategy("none", lambda trajectory, ask: ()),
        Strategy("free", lambda trajectory, ask: (_free(trajectory, ask, FREE),)),  # as in Reflexion
        # One category and one correction rule, by decoding constrained to a schema; the first error counts.
        Strategy("structured", lambda trajectory, ask: (_structured(trajectory, ask),)),
        Strategy("adaptive", _adaptive),
    )
}

_ASKED: Final[str] = _SAID["asked"]
FREE: Final[str] = _SAID["free"]
LIFTED: Final[str] = _SAID["lifted"]
STRUCTURED: Final = "\n".join([_SAID["structured"], *(f"- {one.name}: {one.meaning}" for one in CATEGORIES)])
SCHEMA: Final[Mapping[str, Json]] = _SAID["schema"]
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
