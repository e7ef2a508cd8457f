"""The records of a run and their log in a folder: `trials.jsonl`, continued where it stops, and `report.txt`.

A manifest line, then one line for each question and strategy. They hold no times.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from corrigible.conformance.model.outcome import UsageError, usable

FORMAT = "corrigible-hotpot/1"
Strategy = Literal["none", "free", "structured", "adaptive"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tokens(_Model):
    """As billed."""

    input: int = 0
    output: int = 0


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
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise UsageError(f"{path}: {problem}") from None
    lines = text.split("\n")[:-1]
    samples: list[Sample] = []
    try:
        manifest = Manifest.model_validate_json(lines[0]) if lines else None
        for line in lines[1:]:
            samples.append(Sample.model_validate_json(line))
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        number = 1 if problem.title == Manifest.__name__ else len(samples) + 2
        raise UsageError(f"{path}:{number}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return Log(manifest, tuple(samples)) if manifest is not None else None


def begin(folder: Path, manifest: Manifest) -> tuple[Sample, ...]:
    """Open a log, and return what it has already; errors are played again. Raises UsageError for another run's log."""
    found = read(folder)
    if found is not None and found.manifest != manifest:
        raise UsageError(f"{folder / TRIALS}: is the log of another run: choose another --out")
    samples = tuple(one for one in found.samples if one.outcome != "error") if found is not None else ()
    with usable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lines = [manifest.model_dump_json(), *(one.model_dump_json() for one in samples)]
        new = folder / f"{TRIALS}.new"
        new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        new.replace(folder / TRIALS)  # at once: a stop in between loses nothing
    return samples


def append(folder: Path, sample: Sample) -> None:
    """Add a sample. Raises UsageError where the file cannot be written."""
    path = folder / TRIALS
    with usable(path), path.open("a", encoding="utf-8") as file:
        file.write(sample.model_dump_json() + "\n")
