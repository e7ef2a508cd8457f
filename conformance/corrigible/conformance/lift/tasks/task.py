"""Tasks: what is wanted of an API, the first request, and the end state that counts as success.

Knows: the YAML of a task file, saved values. Does not know: agents, arms, how anything is sent.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from corrigible.conformance.lift.log.record import UNOBTAINABLE
from corrigible.conformance.lift.tasks.likeness import checked
from corrigible.conformance.model.yaml_text import load_yaml
from corrigible.schema.exchange import Json, Request

TASKS: Final = Path(__file__).parent
"""The task files of the suite."""
_SAVED = re.compile(r"\{(\w+)\}")
_BYTES = re.compile(r"\{base64:([^{}]*)\}")
"""Bytes in a gRPC message, written as text: `{base64:/{tenant}/name}`."""

Needs = Literal["nothing", "prompt", "agent", "impossible", "restraint"]
"""What a fix needs besides the error response: nothing; a value of the prompt; an agent who writes out what the
response says in words; or there is none (impossible), or none without lifting a protection (restraint)."""


class TaskError(Exception):
    """A task file is wrong, and says where."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Call(_Model):
    """A request as a client would write it. For gRPC `method` is the full method name and `path` is empty."""

    method: str
    path: str = ""
    query: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = None

    def request(self, saved: Mapping[str, Json], *, form: bool) -> Request:
        """Return the request document, with saved values filled in."""
        return Request(**fill(self.model_dump(), saved), form=form)


class Setup(_Model):
    """A set-up call to the upstream, and the values to save from its response, by JSON pointer."""

    request: Call
    save: dict[str, str] = Field(default_factory=dict)
    caller: str = "owner"
    """The caller whose credentials it carries: a name of the environment."""


class Read(_Model):
    """A read from the upstream at the end of an episode."""

    read: Call
    has: dict[str, Any] | list[Any] | None = None
    """Members that must be there (scalars compare by text; null: must not be there)."""
    status: int | None = None
    """The expected status, if not 200: 404 says that something is gone."""
    at: str = ""
    """The JSON pointer that `has` and `count` refer to."""
    count: int | None = None
    """How many elements the list at `at` must have: nothing was done twice."""
    alternative: Read | None = None
    """Another way in which the same can have come about."""
    save: dict[str, str] = Field(default_factory=dict)
    """Values of the response, by JSON pointer, that the reads after this one may name."""

    @model_validator(mode="after")
    def _compares(self) -> Read:
        checked(self.has)
        return self


class Made(_Model):
    """What an accepted call of the agent made: an object without a name that the prompt could give it."""

    by: dict[str, Any]
    """Members of the request."""
    at: str
    """The JSON pointer into the response: an id."""


class Kept(_Model):
    """A read whose response must be the same before and after the episode."""

    read: Call
    but: tuple[str, ...] = ()
    """Pointers that may differ: what the task is to change, clocks, counters."""


class Task(_Model):
    """One task. `{name}` is a saved value, `{base64:text}` is bytes."""

    id: str = Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$")
    origin: str = Field(min_length=1)
    """Where the error was observed: a server, a document, a paper."""
    prompt: str = Field(min_length=1)
    """The whole instruction to the agent. It must not contain the fix: `conformance audit` checks it."""
    facts: dict[str, Any] = Field(default_factory=dict)
    """Values that the prompt states, by the name a schema would give them. Each stands in the prompt."""
    needs: Needs
    proof: str = ""
    """Why it cannot be had: the server's source or documentation. `endings/` has the ways around that were tried."""
    holds: bool = False
    """Of an impossible task: what is wanted is so already, and to say that it is done is right."""
    setup: tuple[Setup, ...] = ()
    request: Call
    """The request that the prompt leads to; the API refuses it."""
    success: tuple[Read, ...] = ()
    """Conditions on the end state. Of an impossible task: what must not be reached."""
    accepted: dict[str, Any] | None = None
    """Members of the request that must have been accepted, for an API without state to read."""
    made: dict[str, Made] = Field(default_factory=dict)
    """Names for what the agent makes, for the reads of `success`."""
    kept: tuple[Kept, ...] = ()
    paraphrases: tuple[str, ...] = ()
    """Paraphrases of the fix, which the audit searches for."""

    @model_validator(mode="after")
    def _can_fail(self) -> Task:
        if (self.needs in UNOBTAINABLE) is not bool(self.proof):
            raise ValueError(
                "`proof` says why a task is impossible or a matter of restraint, and is there for these only"
            )
        checked(self.accepted)
        if not self.success and self.accepted is None:
            raise ValueError("a task needs `success` or `accepted`: any end would do otherwise")
        for name, value in self.facts.items():
            for text in _texts(value):
                if text not in self.prompt:
                    raise ValueError(f"the fact {name} ({text}) does not stand in the prompt")
        return self


class TaskFile(_Model):
    """The tasks of one API."""

    domain: str
    about: str
    """What every agent is told about the API: what it is, how to call it. No fix."""
    form: bool = False
    """Bodies are sent as forms."""
    tasks: tuple[Task, ...]

    @model_validator(mode="after")
    def _unique(self) -> TaskFile:
        names = [task.id for task in self.tasks]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two tasks are called {', '.join(twice)}")
        return self


def read_tasks(path: Path) -> TaskFile:
    """Read a task file. Raises TaskError with the place of what is wrong."""
    try:
        return TaskFile.model_validate(load_yaml(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, OSError) as error:
        raise TaskError(f"{path}: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise TaskError(f"{path}: {place}: {first['msg']} ({error.error_count()} problems in all)") from None


def fill(value: Json, saved: Mapping[str, Json]) -> Json:
    """Replace `{name}` by saved values (a lone one keeps its type), then encode `{base64:text}`."""
    match value:
        case str():
            if (alone := _SAVED.fullmatch(value)) and alone[1] in saved:
                return saved[alone[1]]
            text = _SAVED.sub(lambda match: str(saved.get(match[1], match[0])), value)
            return _BYTES.sub(lambda match: base64.b64encode(match[1].encode()).decode(), text)
        case dict():
            return {str(fill(key, saved)): fill(inner, saved) for key, inner in value.items()}
        case list() | tuple():
            return [fill(inner, saved) for inner in value]
        case _:
            return value


def _texts(value: Json) -> list[str]:
    match value:
        case dict():
            return [text for inner in value.values() for text in _texts(inner)]
        case list():
            return [text for inner in value for text in _texts(inner)]
        case bool() | None:
            return []
        case _:
            return [str(value)]
