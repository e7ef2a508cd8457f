"""Tasks: calls that a local server refuses, and what the right answer to each is. Data of the adapters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from corrigible.rules.errors import CorrigibleError
from corrigible.schema.exchange import Json, Request

_SAVED = re.compile(r"\{(\w+)\}")


class Expectation(StrEnum):
    """What the right answer is. Explained at the top of every tasks.yaml."""

    REPAIRED = "repaired"
    FLAGGED = "flagged"
    ASK = "ask"
    NEVER = "never"
    ALREADY = "already"
    WAIT = "wait"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Call(_Model):
    """A request as a client would write it."""

    method: str
    path: str
    query: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = None

    def request(self, saved: Mapping[str, Json], *, form: bool) -> Request:
        """Return the request document, with saved values filled in."""
        filled = fill(self.model_dump(), saved)
        return Request(**filled, form=form)


class Setup(_Model):
    """A request that is sent before, and what to keep of its answer."""

    request: Call
    save: dict[str, str] = Field(default_factory=dict)


class End(_Model):
    """A read that must find these members when all is over."""

    get: str
    has: dict[str, Any]


class Task(_Model):
    """One call, and what the right answer is."""

    name: str
    server: str | None = None
    expect: Expectation
    setup: tuple[Setup, ...] = ()
    request: Call
    at: tuple[str, ...] = ()
    final: dict[str, Any] = Field(default_factory=dict)
    fresh: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    end: tuple[End, ...] = ()

    @model_validator(mode="after")
    def _can_fail(self) -> Task:
        if self.expect in (Expectation.REPAIRED, Expectation.FLAGGED) and not self.final:
            raise ValueError(f"{self.expect} needs `final`: any success would do otherwise")
        if self.expect is Expectation.ASK and not self.at:
            raise ValueError("ask needs `at`: any question would do otherwise")
        if self.expect is Expectation.ALREADY and not self.names:
            raise ValueError("already needs `names`: the result would not be looked for")
        return self


class TaskFile(_Model):
    """The tasks of one API."""

    api: str
    form: bool = False
    headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every call and never in a document: credentials."""
    tasks: tuple[Task, ...]

    @model_validator(mode="after")
    def _unique(self) -> TaskFile:
        names = [task.name for task in self.tasks]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two tasks are called {', '.join(twice)}")
        return self


class TaskError(CorrigibleError):
    """A tasks.yaml is wrong, and says where."""


def read_tasks(text: str, source: str) -> TaskFile:
    """Read a tasks.yaml."""
    try:
        return TaskFile.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise TaskError(f"{source}: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise TaskError(f"{source}: {where}: {first['msg']} ({error.error_count()} problems in all)") from None


def fill(value: Json, saved: Mapping[str, Json]) -> Json:
    """Put saved values where `{name}` stands. Alone it keeps the type of the value."""
    match value:
        case str():
            if (alone := _SAVED.fullmatch(value)) and alone[1] in saved:
                return saved[alone[1]]
            return _SAVED.sub(lambda found: str(saved.get(found[1], found[0])), value)
        case dict():
            return {key: fill(inner, saved) for key, inner in value.items()}
        case list() | tuple():
            return [fill(inner, saved) for inner in value]
        case _:
            return value
