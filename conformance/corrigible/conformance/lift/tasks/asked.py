"""Which writes a task asks for: its own operation, and those of the right endings that it lists.

Any other write is a wrong turn, whether the API took it or not. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from corrigible.conformance.model.paths import path_pattern
from corrigible.schema.exchange import Json, Request

from .ending import Endings
from .task import Task, fill


@dataclass(frozen=True, slots=True)
class Asked:
    """Operations as (method, path); `{name}` in a path is a saved value, or any one segment if nothing saved it."""

    operations: tuple[tuple[str, str], ...]

    def includes(self, request: Request, saved: Mapping[str, Json]) -> bool:
        """Return whether a request is of one of the operations."""
        for method, path in self.operations:
            if method == request.method and path_pattern(str(fill(path, saved))).fullmatch(request.path):
                return True
        return False


def asked_of(task: Task, endings: Endings) -> Asked:
    """Return what a task asks for. Reads among them do no harm: only writes are looked up."""
    operations = [(task.request.method, task.request.path)]
    for ending in endings.right.values():
        for call in ending.calls:
            method, path = (call.method, call.path) if call.method else operations[0]
            method, path = str(call.set.get("/method", method)), str(call.set.get("/path", path))
            operations.append((method, path))
    return Asked(tuple(dict.fromkeys(operations)))


def known(tasks: Collection[Task], endings: Mapping[str, Endings]) -> dict[str, Asked]:
    """Return what each task asks for."""
    return {task.id: asked_of(task, endings[task.id]) for task in tasks if task.id in endings}
