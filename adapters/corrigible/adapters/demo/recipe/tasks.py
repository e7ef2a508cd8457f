"""The adversarial tasks of the recipe API, as data."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict

from .adapter import PATHS


class Task(BaseModel):
    """One request that is refused, and what would count as success."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: str
    name: str
    category: Literal["context_dependent", "celiac_certification", "numerical_precision", "combined", "impossible"]
    difficulty: float | None = None
    in_paper_figures: bool
    operation: str
    description: str
    success_criterion: str
    request: dict[str, Any]
    refused_with: list[str]
    ends: Literal["accepted", "terminal"]
    paraphrases: list[str] = []
    """What would give the answer away in other words: for `conformance audit`, and not to be shown."""

    @property
    def path(self) -> str:
        """Return where the request is posted to."""
        return PATHS[self.operation]

    def shown(self) -> dict[str, Any]:
        """Return what a solver may see. The rest is the author's."""
        return {
            "name": self.name,
            "description": self.description,
            "success_criterion": self.success_criterion,
            "method": "POST",
            "path": self.path,
            "body": self.request,
        }


@cache
def tasks() -> tuple[Task, ...]:
    """Return all tasks in the order of the file."""
    text = files(__package__).joinpath("tasks.yaml").read_text(encoding="utf-8")
    return tuple(Task.model_validate(entry) for entry in yaml.safe_load(text)["tasks"])


def task(id: str) -> Task:
    """Return one task by its id."""
    return next(candidate for candidate in tasks() if candidate.id == id)
