"""Who acts, reflects and judges: what is asked of it, the words it is asked with, and scripts that know the answers.

Scripts act so that every figure of the report has something to count. They say nothing of language models.
Knows: questions, steps, reflections. Does not know: providers, right answers (only scripts and the judge are told).
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, get_args

from corrigible.conformance.lift.agents.reflection import prompts
from corrigible.conformance.lift.hotpot.game import Question, Verb, is_exact
from corrigible.conformance.lift.hotpot.log import Reflection, Step, Tokens, Trial
from corrigible.schema.exchange import Json

PROMPTS: Final[Mapping[str, Any]] = prompts("hotpot")
ERROR_TYPES: Final[Mapping[str, str]] = PROMPTS["error_types"]


@dataclass(frozen=True, slots=True)
class Said:
    """A text, and what it cost; None: not billed."""

    text: str
    tokens: Tokens | None


@dataclass(frozen=True, slots=True)
class View:
    """An episode until now, as actor and reflector may see it."""

    question: Question
    number: int
    """Of the trial, from 1."""
    steps: Sequence[Step]
    memory: Sequence[Reflection]
    """Episodic: of this question and strategy only."""
    past: Sequence[Trial] = ()


class Player(Protocol):
    """An actor, its reflector, and its judge."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Literal["scripted", "model"]: ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """What its results depend on; no secrets."""
        ...

    def act(self, view: View) -> Said: ...

    def reflect(self, view: View, form: Literal["free", "structured", "lifted"]) -> Said: ...

    def judge(self, question: str, gold: str, answer: str) -> Said: ...


_STRUCTURED: Final = "\n".join([PROMPTS["structured"], *(f"- {name}: {text}" for name, text in ERROR_TYPES.items())])
STEP_SCHEMA: Final[Mapping[str, Json]] = PROMPTS["step_schema"]
REFLECTION_SCHEMA: Final[Mapping[str, Json]] = PROMPTS["reflection_schema"]
BOUNDED_REFLECTION_SCHEMA: Final[Mapping[str, Json]] = {
    **REFLECTION_SCHEMA,
    "properties": {**REFLECTION_SCHEMA["properties"], **PROMPTS["bounds"]},
}
_TEXTS: Final = [PROMPTS[name] for name in ("actor", "constrained", "reflector", "free", "lifted")]
_SCHEMAS: Final = [STEP_SCHEMA, REFLECTION_SCHEMA, BOUNDED_REFLECTION_SCHEMA, PROMPTS["judge_schema"]]
WORDS: Final = hashlib.sha256(json.dumps([[*_TEXTS, _STRUCTURED, PROMPTS["judge"]], _SCHEMAS]).encode()).hexdigest()
"""The hash of all that a model is told."""


def actor_prompt(view: View) -> str:
    """Return what the actor is told before a step."""
    titles = "\n".join(f"- {one.title}" for one in view.question.paragraphs)
    parts = [f"Titles of the paragraphs:\n{titles}"]
    if view.memory:
        parts.append("Reflections on your failed trials, in order:\n" + _memory(view.memory))
    parts.append(f"Question: {view.question.text}")
    parts.extend(_written(view.steps))
    return "\n\n".join(parts)


def reflector_prompt(view: View, form: Literal["free", "structured", "lifted"]) -> str:
    """Return what the reflector is asked after a failed trial."""
    parts = [f"Question: {view.question.text}", *_written(view.steps, numbered=True)]
    answer = view.past[-1].answer if view.past else None
    parts.append("The trial ended without an answer." if answer is None else f"The answer {answer!r} is wrong.")
    if view.memory:
        parts.append("Your earlier reflections, in order:\n" + _memory(view.memory))
    parts.append(_STRUCTURED if form == "structured" else PROMPTS[form])
    return "\n\n".join(parts)


def judge_prompt(question: str, gold: str, answer: str) -> str:
    """Return what the judge is asked."""
    return f"Question: {question}\nRight answer: {gold}\nAnswer: {answer}\n\nAre the two answers equivalent?"


def as_step(text: str) -> str:
    """Return a step that was decoded by STEP_SCHEMA in the lines of ReAct; one that does not fit it as it came."""
    document = _object(text)
    thought, action, argument = (document.get(name) for name in ("thought", "action", "argument"))
    if action not in get_args(Verb) or not isinstance(thought, str) or not isinstance(argument, str):
        return text
    # Without a bracket nothing in the thought is taken for an action.
    return f"Thought: {_line(thought).replace('[', '(')}\nAction: {action}[{_line(argument)}]"


def read_reflection(text: str) -> Reflection:
    """Read a structured reflection. One that does not fit the schema is kept as it came, without a type."""
    document = _object(text)
    error_type, rule = document.get("error_type"), document.get("correction_rule")
    step = document.get("first_error_in_step")
    if error_type not in ERROR_TYPES or not isinstance(rule, str):
        return Reflection(form="structured", text=text.strip())
    first = step if isinstance(step, int) and not isinstance(step, bool) and step > 0 else 0
    return Reflection(form="structured", text=rule, error_type=str(error_type), first_step=first)


def read_verdict(text: str) -> bool | None:
    """Read what a judge said; None where it cannot be read."""
    verdict = _object(text).get("equivalent")
    return verdict if isinstance(verdict, bool) else None


def as_prompt(made: Reflection) -> str:
    """Return a reflection as the actor reads it."""
    if not made.error_type:
        return made.text
    document = {"error_type": made.error_type, "first_error_in_step": made.first_step, "correction_rule": made.text}
    return json.dumps(document, ensure_ascii=False)


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.JSONDecoder().raw_decode(text, max(text.find("{"), 0))[0]
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _line(text: str) -> str:
    return " ".join(text.split())


def _memory(memory: Sequence[Reflection]) -> str:
    return "\n".join(f"- {as_prompt(one)}" for one in memory)


def _written(steps: Sequence[Step], *, numbered: bool = False) -> list[str]:
    return [
        (f"Step {number}:\n" if numbered else "")
        + one.text
        + (f"\nObservation: {one.observation}" if one.observation else "")
        for number, one in enumerate(steps, start=1)
    ]


_VERSION: Final = 1
_WRONG: Final = "none of these"


def _always(view: View) -> bool:
    return True


def _never(view: View) -> bool:
    return False


def _words_help(view: View) -> bool:
    return any(one.form == "free" for one in view.memory)


def _types_help(view: View) -> bool:
    return any(one.form == "structured" for one in view.memory)


def _third(view: View) -> bool:
    return view.number >= 3


def _mixed(view: View) -> bool:
    of_one: tuple[Callable[[View], bool], ...] = (_always, _never, _words_help, _types_help, _third)
    return of_one[zlib.crc32(view.question.id.encode()) % len(of_one)](view)


SCRIPTS: Final[Mapping[str, tuple[str, Callable[[View], bool]]]] = {
    "always": ("right in the first trial", _always),
    "never": ("never right: a death loop where reflections are structured", _never),
    "words-help": ("right after a reflection in free text", _words_help),
    "types-help": ("right after a structured reflection", _types_help),
    "third": ("right in the third trial, whatever was reflected", _third),
    "mixed": ("one of the others, by the question", _mixed),
}


class ScriptedPlayer:
    """Opens what supports the answer, looks into it, then answers, right or wrong as its script says."""

    kind: Literal["scripted"] = "scripted"

    def __init__(self, script: str) -> None:
        self._script, self._is_right = script, SCRIPTS[script][1]

    @property
    def name(self) -> str:
        return f"script {self._script}"

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"script": self._script, "version": _VERSION}

    def act(self, view: View) -> Said:
        titles = list(dict.fromkeys(title for title, _ in view.question.supporting))
        at = len(view.steps)
        if at < len(titles):
            return _said(f"Thought: this one may say it.\nAction: Search[{titles[at]}]")
        answer = view.question.answer if self._is_right(view) else _WRONG
        return _said(f"Thought: that is enough.\nAction: Finish[{answer}]")

    def reflect(self, view: View, form: Literal["free", "structured", "lifted"]) -> Said:
        if form != "structured":
            return _said("The answer was wrong; another one is needed.")
        # One type where nothing will help, so that it repeats; others in turn.
        kinds = ("FORMATTING_MISMATCH",) if self._script != "third" else ("RETRIEVAL_FOCUS", "BRIDGE_FAILURE")
        document = {
            "error_type": kinds[(view.number - 1) % len(kinds)],
            "first_error_in_step": len(view.steps),
            "correction_rule": "Write the answer in another form.",
        }
        return _said(json.dumps(document))

    def judge(self, question: str, gold: str, answer: str) -> Said:
        return _said(json.dumps({"equivalent": is_exact(answer, gold)}))


def _said(text: str) -> Said:
    """Return a text with a bill of its words, so that sums can be checked; no tokenizer counts so."""
    return Said(text, Tokens(input=0, output=len(text.split())))
