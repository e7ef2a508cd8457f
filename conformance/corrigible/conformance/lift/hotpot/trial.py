"""The records of a run and their log in a folder: `trials.jsonl`, continued where it stops, and `report.txt`.

A manifest line, then one line for each question and strategy. They hold no times.

Who acts, reflects and judges: what is asked of it, the words it is asked with, and scripts that know the answers.

Scripts act so that every figure of the report has something to count. They say nothing of language models.
Knows: questions, steps, reflections. Does not know: providers, right answers (only scripts and the judge are told).

Plays all questions under all strategies: trials of an actor until its answer is right, reflections in between.

A model as actor, reflector and judge, through the suite's client of providers.
"""

from __future__ import annotations

import hashlib
import json
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corrigible.conformance.lift.agents.model import ModelAgent, ProviderFailed, identity
from corrigible.conformance.lift.agents.reflection import prompts
from corrigible.conformance.lift.hotpot.game import (
    UNREADABLE,
    DataFile,
    Question,
    Verb,
    Wiki,
    f1,
    is_exact,
    read_action,
)
from corrigible.conformance.model.outcome import UsageError, usable
from corrigible.model.provider_client import ProviderClient
from corrigible.schema.exchange import Json

FORMAT = "corrigible-hotpot/1"
Strategy = Literal["none", "free", "structured", "adaptive"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tokens(_Model):
    """As billed."""

    input: int = 0
    output: int = 0

    def plus(self, more: Tokens) -> Tokens:
        return Tokens(input=self.input + more.input, output=self.output + more.output)


class Step(_Model):
    """What the actor wrote, up to the end of its action, and what it was shown."""

    text: str
    observation: str = ""


class Reflection(_Model):
    """What the reflector made of a failed trial."""

    form: Literal["free", "structured"]
    text: str
    """Free text, or the correction rule; an answer that could not be read, as it came."""
    error_type: str = ""
    """Empty: free text, or unreadable."""
    first_step: int = 0
    """The step of the first fatal error, from 1; 0: not stated."""
    repeated: bool = False
    """The error type of the reflection before, which did not help."""
    lifted: bool = False
    """Free text, because a structured reflection repeated."""


class Trial(_Model):
    """One trajectory, and what came of it."""

    steps: tuple[Step, ...]
    answer: str | None
    """None: it did not finish."""
    correct: bool
    exact: bool
    f1: float
    judged: bool | None = None
    """What an LLM judge said, where it was asked and its answer could be read."""
    reflections: tuple[Reflection, ...] = ()
    """Made after this trial."""


class Sample(_Model):
    """One question under one strategy."""

    question: str
    """Its id."""
    agent: str
    strategy: Strategy
    outcome: Literal["success", "failure", "error"]
    """An error (the provider failed) is no observation."""
    why: str = ""
    trials: tuple[Trial, ...] = ()
    tokens: Tokens | None = None
    """Of the actor and the reflector, not of a judge; None: not billed."""

    @property
    def won(self) -> bool:
        return self.outcome == "success"

    @property
    def error_types(self) -> tuple[str, ...]:
        """Of all structured reflections, in order; an unreadable one has none."""
        return tuple(r.error_type for trial in self.trials for r in trial.reflections if r.form == "structured")


class Manifest(_Model):
    """All that determines a run; no secrets."""

    format: Literal["corrigible-hotpot/1"] = "corrigible-hotpot/1"
    version: int
    """Of the loop: grows with every change of what an agent does."""
    data: str
    """The SHA-256 of the file of questions."""
    questions: tuple[str, ...]
    agents: dict[str, dict[str, Any]]
    strategies: tuple[Strategy, ...]
    evaluator: Literal["exact", "f1", "judge"]
    f1_threshold: float
    trials: int
    steps: int
    seed: int


TRIALS: Final = "trials.jsonl"
REPORT: Final = "report.txt"


@dataclass(frozen=True, slots=True)
class Log:
    """A run until now."""

    manifest: Manifest
    samples: tuple[Sample, ...]


def read(folder: Path) -> Log | None:
    """Read the log of a folder, None where there is none. A last line that was cut off is left out.

    Raises UsageError where it cannot be read.
    """
    path = folder / TRIALS
    if not path.exists():
        return None
    with usable(path):
        lines = path.read_text("utf-8").split("\n")[:-1]
    models: list[type[Manifest] | type[Sample]] = [Manifest, *[Sample] * (len(lines) - 1)]
    manifest: Manifest | None = None
    samples: list[Sample] = []
    for number, (model, line) in enumerate(zip(models, lines, strict=False), start=1):
        try:
            entry = model.model_validate_json(line)
        except ValidationError as problem:
            first = problem.errors(include_url=False, include_input=False)[0]
            raise UsageError(f"{path}:{number}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        if isinstance(entry, Sample):
            samples.append(entry)
        else:
            manifest = entry
    return Log(manifest, tuple(samples)) if manifest is not None else None


def begin(folder: Path, manifest: Manifest) -> tuple[Sample, ...]:
    """Open a log, and return what it has already; errors are played again. Raises UsageError for another run's log."""
    found = read(folder)
    if found is not None and found.manifest != manifest:
        raise UsageError(f"{folder / TRIALS}: is the log of another run: choose another --out")
    samples = tuple(one for one in found.samples if one.outcome != "error") if found is not None else ()
    with usable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        new = folder / f"{TRIALS}.new"
        new.write_text("".join(f"{one.model_dump_json()}\n" for one in (manifest, *samples)), encoding="utf-8")
        new.replace(folder / TRIALS)  # at once: a stop in between loses nothing
    return samples


def append(folder: Path, sample: Sample) -> None:
    """Add a sample. Raises UsageError where the file cannot be written."""
    with usable(folder / TRIALS), (folder / TRIALS).open("a", encoding="utf-8") as file:
        file.write(sample.model_dump_json() + "\n")


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


def _after(form: str) -> Callable[[View], bool]:
    return lambda view: any(one.form == form for one in view.memory)


def _mixed(view: View) -> bool:
    others = [is_right for name, (_, is_right) in SCRIPTS.items() if name != "mixed"]
    return others[zlib.crc32(view.question.id.encode()) % len(others)](view)


SCRIPTS: Final[Mapping[str, tuple[str, Callable[[View], bool]]]] = {
    "always": ("right in the first trial", lambda view: True),
    "never": ("never right: a death loop where reflections are structured", lambda view: False),
    "words-help": ("right after a reflection in free text", _after("free")),
    "types-help": ("right after a structured reflection", _after("structured")),
    "third": ("right in the third trial, whatever was reflected", lambda view: view.number >= 3),
    "mixed": ("one of the others, by the question", _mixed),
}


class ScriptedPlayer:
    """Opens what supports the answer, looks into it, then answers, right or wrong as its script says."""

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


VERSION: Final = 1
_LONGEST: Final = 4000
"""Characters of one step or reflection that are kept and shown."""


class Rules(_Model):
    """How a sample is played and judged."""

    evaluator: Literal["exact", "f1", "judge"] = "exact"
    f1_threshold: float = Field(default=0.8, gt=0, le=1)
    trials: int = Field(default=5, ge=1, le=50)
    steps: int = Field(default=7, ge=1, le=50)


def play(question: Question, player: Player, strategy: Strategy, rules: Rules) -> Sample:
    """Play a question to its end. The last trial gets no reflection: nothing could use it."""
    purse = _Purse()
    trials: list[Trial] = []
    memory: list[Reflection] = []
    outcome: Literal["success", "failure", "error"]
    try:
        for number in range(1, rules.trials + 1):
            trial = _trial(View(question, number, (), tuple(memory)), player, rules, purse)
            if not trial.correct and number < rules.trials:
                view = View(question, number, trial.steps, tuple(memory), (*trials, trial))
                made = _reflections(view, player, strategy, purse)
                memory.extend(made)
                trial = trial.model_copy(update={"reflections": made})
            trials.append(trial)
            if trial.correct:
                break
        outcome, why = "success" if trials[-1].correct else "failure", ""
    except ProviderFailed as problem:
        outcome, why = "error", str(problem)
    return Sample(
        question=question.id, agent=player.name, strategy=strategy, outcome=outcome, why=why,
        trials=tuple(trials), tokens=purse.tokens,
    )  # fmt: skip


class _Purse:
    """Adds up tokens. One answer without a bill leaves the sum unknown."""

    def __init__(self) -> None:
        self.tokens: Tokens | None = Tokens()

    def paid(self, said: Said) -> str:
        had, new = self.tokens, said.tokens
        self.tokens = had.plus(new) if had is not None and new is not None else None
        return said.text


def _trial(view: View, player: Player, rules: Rules, purse: _Purse) -> Trial:
    wiki = Wiki(view.question)
    steps: list[Step] = []
    answer: str | None = None
    for _ in range(rules.steps):
        text = purse.paid(player.act(View(view.question, view.number, tuple(steps), view.memory)))
        action = read_action(text)
        if action is None:
            steps.append(Step(text=text.strip()[:_LONGEST], observation=UNREADABLE))
            continue
        written = text[: action.end].strip()[-_LONGEST:]
        if action.verb == "Finish":
            steps.append(Step(text=written))
            answer = action.argument
            break
        steps.append(Step(text=written, observation=wiki.observe(action)))
    return _evaluated(view.question, tuple(steps), answer, player, rules)


def _evaluated(question: Question, steps: tuple[Step, ...], answer: str | None, player: Player, rules: Rules) -> Trial:
    """Judge an answer. A judge is asked only about what does not match; an unreadable verdict counts for wrong."""
    exact = answer is not None and is_exact(answer, question.answer)
    score = f1(answer, question.answer) if answer is not None else 0.0
    judged: bool | None = None
    correct = exact
    if rules.evaluator == "f1":
        correct = score >= rules.f1_threshold
    elif rules.evaluator == "judge" and not exact and answer:
        judged = read_verdict(player.judge(question.text, question.answer, answer).text)
        correct = judged is True
    return Trial(steps=steps, answer=answer, correct=correct, exact=exact, f1=score, judged=judged)


def _reflections(view: View, player: Player, strategy: Strategy, purse: _Purse) -> tuple[Reflection, ...]:
    if strategy == "none":
        return ()
    if strategy == "free":
        return (_free(purse.paid(player.reflect(view, "free"))),)
    made = read_reflection(purse.paid(player.reflect(view, "structured")))
    before = next((one for one in reversed(view.memory) if one.form == "structured"), None)
    repeated = before is not None and bool(made.error_type) and made.error_type == before.error_type
    made = made.model_copy(update={"repeated": repeated, "text": made.text[:_LONGEST]})
    if strategy == "adaptive" and repeated:
        lifted = _free(purse.paid(player.reflect(view, "lifted"))).model_copy(update={"lifted": True})
        return made, lifted
    return (made,)


def _free(text: str) -> Reflection:
    return Reflection(form="free", text=text.strip()[:_LONGEST])


MOST_ERRORS: Final = 5
"""In a row: then a provider is asked no more."""


def run(
    data: DataFile,
    questions: Sequence[Question],
    players: Sequence[Player],
    strategies: Sequence[Strategy],
    rules: Rules,
    *,
    seed: int,
    folder: Path,
    on_sample: Callable[[Sample], None] = lambda sample: None,
) -> Log:
    """Play what the log lacks, and return the whole. Raises UsageError where the log cannot be used."""
    manifest = Manifest(
        version=VERSION,
        data=data.sha256,
        questions=tuple(one.id for one in questions),
        agents={one.name: dict(one.identity) for one in players},
        strategies=tuple(strategies),
        seed=seed,
        **rules.model_dump(),
    )
    samples = list(begin(folder, manifest))
    known = {(one.question, one.agent, one.strategy) for one in samples}
    for player in players:
        errors = 0
        # Question by question, so that a run that is stopped has pairs.
        for question, strategy in ((q, s) for q in questions for s in strategies):
            if (question.id, player.name, strategy) in known or errors >= MOST_ERRORS:
                continue
            sample = play(question, player, strategy, rules)
            errors = errors + 1 if sample.outcome == "error" else 0
            append(folder, sample)
            samples.append(sample)
            on_sample(sample)
    return Log(manifest, tuple(samples))


_OF_CALLS: Final = frozenset({"mode", "first_request", "vocabulary"})
"""Settings that say how a call of an API is written."""


class ModelPlayer:
    """Asks a model; a structured answer is constrained by JSON Schema (llama.cpp makes a grammar of it).

    Where `constrained` is set, as it is for `--local-model`, the actor's steps are so, too.
    """

    def __init__(self, agent: ModelAgent, seed: int) -> None:
        self._agent, self._seed = agent, seed
        self._client = ProviderClient(agent.endpoint, agent.rate, random.Random(seed), sleep=agent.sleep)

    def close(self) -> None:
        self._client.close()

    @property
    def name(self) -> str:
        return self._agent.name

    @cached_property
    def identity(self) -> Mapping[str, Json]:
        agent = self._agent
        chosen = {name: value for name, value in identity(agent.settings).items() if name not in _OF_CALLS}
        return {
            "provider": agent.provider, "wire": agent.wire, "model": agent.model, "address": agent.address,
            "fake": agent.endpoint.fake, "prompt": WORDS, **chosen,
        }  # fmt: skip

    def act(self, view: View) -> Said:
        if not self._agent.settings.constrained:
            return self._ask(PROMPTS["actor"], actor_prompt(view), view.number)
        said = self._ask(PROMPTS["constrained"], actor_prompt(view), view.number, STEP_SCHEMA)
        return Said(as_step(said.text), said.tokens)

    def reflect(self, view: View, form: Literal["free", "structured", "lifted"]) -> Said:
        schema = BOUNDED_REFLECTION_SCHEMA if self._agent.settings.constrained else REFLECTION_SCHEMA
        text = reflector_prompt(view, form)
        return self._ask(PROMPTS["reflector"], text, view.number, schema if form == "structured" else None)

    def judge(self, question: str, gold: str, answer: str) -> Said:
        return self._ask(PROMPTS["judge"], judge_prompt(question, gold, answer), 0, PROMPTS["judge_schema"])

    def _ask(self, system: str, text: str, number: int, schema: Mapping[str, Json] | None = None) -> Said:
        agent = self._agent
        # The seed is of the trial too: where nothing was reflected, a trial would else only be the one before again.
        question, sampling = agent.apart(system, text, schema, "answer"), agent.sampling(self._seed * 1000 + number)
        reply, _ = agent.ask(self._client, question, sampling)
        text = reply.text.encode("utf-8", "replace").decode()  # a lone surrogate, which a model may write, has no UTF-8
        usage = reply.usage
        return Said(text, Tokens(input=usage.input, output=usage.output) if usage is not None else None)
