"""The tasks that come with the adapters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Final

from corrigible.adapters.demo.recipe.tasks import tasks as recipe_tasks

from .task import Call, Expectation, Task, TaskFile, read_tasks

_MAY_CHANGE: Final = frozenset({"ingredients", "substitute"})
"""What a fix of a recipe is free to edit. The rest of the request is its goal."""


def _stripe() -> TaskFile:
    text = files("corrigible.adapters.apis.stripe").joinpath("tasks.yaml").read_text(encoding="utf-8")
    return read_tasks(text, "stripe/tasks.yaml")


def _github() -> TaskFile:
    text = files("corrigible.adapters.apis.github").joinpath("tasks.yaml").read_text(encoding="utf-8")
    return read_tasks(text, "github/tasks.yaml")


def _recipe() -> TaskFile:
    return TaskFile(
        api="recipe",
        tasks=tuple(
            Task(
                name=task.id,
                expect=Expectation.REPAIRED if task.ends == "accepted" else Expectation.NEVER,
                request=Call(method="POST", path=task.path, body=task.request),
                final={"body": {key: value for key, value in task.request.items() if key not in _MAY_CHANGE}},
            )
            for task in recipe_tasks()
        ),
    )


TASKS: Final[Mapping[str, Callable[[], TaskFile]]] = {"stripe": _stripe, "github": _github, "recipe": _recipe}
