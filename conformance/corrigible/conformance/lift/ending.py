"""Which writes a task asks for: its own operation, and those of the right endings that it lists.

Any other write is a wrong turn, whether the API took it or not. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from corrigible.conformance.lift.log import UNOBTAINABLE
from corrigible.conformance.lift.task import TASKS, Call, Task, TaskError, TaskFile, fill
from corrigible.conformance.model.yaml_file import load_yaml, path_pattern
from corrigible.schema.exchange import Json, Request

ENDINGS: Final = TASKS / "endings"
BY_HAND: Final = "by-hand"
"""The file of episodes that were played by hand, and what they are called among the endings."""
LEAST: Final = 2
"""Endings of each verdict that every task has."""

_Entry = TypeVar("_Entry", bound=BaseModel)
Says = Literal["done", "impossible", "needs input", "gave up"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EndingCall(_Model):
    """One call. Without a method it is the task's own, edited."""

    method: str = ""
    path: str = ""
    query: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = None
    set: dict[str, Any] = Field(default_factory=dict)
    """Values by JSON pointer into the task's request; `-` after a list's pointer appends."""
    without: tuple[str, ...] = ()
    save: dict[str, str] = Field(default_factory=dict)
    """Values of the response, by JSON pointer, for the calls after it."""
    refused: bool = False
    """The API must refuse it. Otherwise it must take it."""

    @model_validator(mode="after")
    def _one_or_the_other(self) -> EndingCall:
        if self.method and (self.set or self.without):
            raise ValueError("a call is written out, or is the task's own with edits: not both")
        return self

    def request(self, task: Task, saved: Mapping[str, Json], *, form: bool) -> Request:
        """Return the request. Raises TaskError for a pointer that leads nowhere."""
        if self.method:
            call = Call(method=self.method, path=self.path, query=self.query, headers=self.headers, body=self.body)
            return call.request(saved, form=form)
        document = deepcopy(task.request.model_dump())
        for pointer in self.without:
            parent, name = _parent(document, pointer)
            del parent[name]
        for pointer, value in self.set.items():
            parent, name = _parent(document, pointer)
            if name == "-":
                parent.append(value)
            else:
                parent[name] = value
        return Call.model_validate(document).request(saved, form=form)


class Ending(_Model):
    """What an agent does, and what it says at the end."""

    calls: tuple[EndingCall, ...] = ()
    says: Says | None = None
    """Default: done; impossible, where the task is."""


class Endings(_Model):
    """Of one task."""

    right: dict[str, Ending] = Field(min_length=LEAST)
    wrong: dict[str, Ending] = Field(min_length=LEAST)
    tried: dict[str, Ending] = Field(default_factory=dict)

    @field_validator("right", "wrong", "tried", mode="before")
    @classmethod
    def _lists(cls, value: Json) -> Json:
        """Accept a list of calls as an ending."""
        if not isinstance(value, dict):
            return value
        return {name: {"calls": inner} if isinstance(inner, list) else inner for name, inner in value.items()}


class Played(_Model):
    """An episode that was played by hand, and its wrong twin."""

    start: Literal["wish", "refusal"]
    take: dict[str, str] = Field(default_factory=dict)
    """Names by a pattern, whose first group was read in the prompt or in what is told of the API."""
    right: Ending
    wrong: Ending


def read_played(domain: str, folder: Path = ENDINGS) -> dict[str, Played]:
    """Read what was played by hand of a domain's tasks. Raises TaskError with the place of what is wrong."""
    path = folder / f"{BY_HAND}.yaml"
    try:
        document = load_yaml(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (yaml.YAMLError, OSError) as error:
        raise TaskError(f"{path}: {error}") from None
    return {name: _checked(Played, entry, path, f"{domain}.{name}") for name, entry in document.get(domain, {}).items()}


def read_endings(file: TaskFile, folder: Path = ENDINGS) -> dict[str, Endings]:
    """Read the endings of a domain's tasks. Raises TaskError with the place of what is wrong or missing."""
    path = folder / f"{file.domain}.yaml"
    try:
        document = load_yaml(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, OSError) as error:
        raise TaskError(f"{path}: {error}") from None
    tasks = {task.id: task for task in file.tasks}
    found: dict[str, Endings] = {}
    for name, entry in document.items():
        if name.startswith("_"):  # parts that several tasks use
            continue
        if name not in tasks:
            raise TaskError(f"{path}: there is no task {name}")
        found[name] = _checked(Endings, entry, path, name)
        if tasks[name].needs in UNOBTAINABLE and not found[name].tried:
            raise TaskError(f"{path}: {name}: `tried` names no way around that was tried")
    if missing := [name for name in tasks if name not in found]:
        raise TaskError(f"{path}: no endings of {', '.join(missing)}")
    for name, played in read_played(file.domain, folder).items():
        if name not in tasks:
            raise TaskError(f"{folder / BY_HAND}.yaml: {file.domain}: there is no task {name}")
        own = found[name]
        more = {"right": {**own.right, BY_HAND: played.right}, "wrong": {**own.wrong, BY_HAND: played.wrong}}
        found[name] = own.model_copy(update=more)
    return found


def _checked(model: type[_Entry], entry: Json, path: Path, name: str) -> _Entry:
    try:
        return model.model_validate(entry)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise TaskError(f"{path}: {name}.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _parent(document: Any, pointer: str) -> tuple[Any, Any]:
    """Return what holds the value at a pointer, and its key there. Makes objects that are missing."""
    *path, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    node = document
    for part in path:
        if isinstance(node, list):
            node = node[int(part)]
        else:
            if node.get(part) is None:
                node[part] = {}
            node = node[part]
    if isinstance(node, list) and last != "-":
        return node, int(last)
    return node, last


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
