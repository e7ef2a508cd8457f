"""The log of a run in a folder: `trials.jsonl`, continued where it stops, and `report.txt`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from corrigible.conformance.model.usage_error import UsageError

from .record import Manifest, Sample

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
    lines = _whole_lines(text)
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


def _whole_lines(text: str) -> list[str]:
    return text.split("\n")[:-1]  # not splitlines: a model may write other characters that end lines


def begin(folder: Path, manifest: Manifest) -> tuple[Sample, ...]:
    """Open a log, and return what it has already; errors are played again. Raises UsageError for another run's log."""
    found = read(folder)
    if found is not None and found.manifest != manifest:
        raise UsageError(f"{folder / TRIALS}: is the log of another run: choose another --out")
    samples = tuple(one for one in found.samples if one.outcome != "error") if found is not None else ()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lines = [manifest.model_dump_json(), *(one.model_dump_json() for one in samples)]
        new = folder / f"{TRIALS}.new"
        new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        new.replace(folder / TRIALS)  # at once: a stop in between loses nothing
    except OSError as problem:
        raise UsageError(f"{folder}: {problem.strerror}") from None
    return samples


def append(folder: Path, sample: Sample) -> None:
    """Add a sample. Raises UsageError where the file cannot be written."""
    path = folder / TRIALS
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(sample.model_dump_json() + "\n")
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror}") from None
