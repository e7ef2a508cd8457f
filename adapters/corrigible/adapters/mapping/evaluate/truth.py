"""Ground truth of mappings, as people judged it: `tests/mapping/README.md` says what each member means.

Anybody's file may be scored, so members that no score needs are passed over. The judgements of this project are also
read by `tests/mapping/judged.py`, strictly and apart from this: what is judged does not judge itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from corrigible.adapters.mapping.mapping import Equivalence
from corrigible.rules.errors import AuthoringError, Place


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Called(_Model):
    """An operation of the API that the file names."""

    method: str
    path: str

    @property
    def key(self) -> str:
        return f"{self.method} {self.path}"


class JudgedPair(_Model):
    """Two fields that are the same."""

    source: str
    target: str


class JudgedMapping(_Model):
    """A target that is right."""

    target: Called
    equivalence: Equivalence
    arguments: tuple[JudgedPair, ...] = ()
    results: tuple[JudgedPair, ...] = ()
    judged_arguments: tuple[str, ...] = ()
    judged_results: tuple[str, ...] = ()
    doubtful_arguments: tuple[str, ...] = ()
    doubtful_results: tuple[str, ...] = ()


class JudgedOperation(_Model):
    """A source, and all that is right for it."""

    source: Called
    mappings: tuple[JudgedMapping, ...] = ()
    judged_targets: frozenset[str] | None = None
    """Keys of the targets of which something is known; None: of all, so that those that are not listed are wrong."""


class Truth(_Model):
    """One file."""

    format: Literal["corrigible mapping truth 1"]
    source_api: str
    target_api: str
    split: str = ""
    operations: tuple[JudgedOperation, ...]


def read_truth(path: Path) -> Truth:
    """Read a file. Raises AuthoringError where it is none."""
    try:
        return Truth.model_validate_json(path.read_bytes())
    except OSError as problem:
        raise AuthoringError(Place(path, 0), f"cannot be read: {problem.strerror}") from None
    except ValidationError as problem:
        first: Any = problem.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise AuthoringError(
            Place(path, 0), f"no ground truth of mappings: {where or 'the file'}: {first['msg']}"
        ) from None
