"""All that passes between an agent and an episode: the briefing, its moves, the responses.

An agent never learns the name of its arm, nor anything about the upstream but responses.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from corrigible.conformance.lift.log import Reflection
from corrigible.model.conversation import Usage
from corrigible.schema.carrier import CAUSE, DETAIL
from corrigible.schema.exchange import Json, Request
from corrigible.schema.exchange import Protocol as Carriage
from corrigible.schema.feedback import MEMBER


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. For gRPC the status is the code, and the body {code, message, details} of an error."""

    status: int
    body: Json
    """Decoded JSON, or text where it is not JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case. An agent sees those that a client acts on: retry-after, warning, link."""
    succeeded: bool = False


def without_feedback(body: Json) -> Json:
    """Return an answer without its feedback, wherever it stands."""
    match body:
        case Mapping():
            return {name: without_feedback(inner) for name, inner in body.items() if name != MEMBER}
        case list():
            return [without_feedback(item) for item in body if not _carries(item)]
        case _:
            return body


def _carries(item: Any) -> bool:
    """Whether an element of a list is there for the feedback alone: a cause, an Any."""
    if not isinstance(item, Mapping):
        return False
    return item.get("reason") == CAUSE or str(item.get("@type", "")).rpartition("/")[2] == DETAIL


_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def is_read(request: Request, read_methods: Collection[str] = ()) -> bool:
    """Return whether a request only reads. `read_methods` are the gRPC methods that do, as `package.Service/Method`."""
    if request.protocol is Carriage.GRPC:
        return request.method.removeprefix("/") in read_methods
    return request.method in _SAFE_METHODS


Kind = Literal["scripted", "model", "external"]
Ending = Literal["done", "impossible", "needs input", "gave up", "unreadable", "stopped by loop breaker"]


@dataclass(frozen=True, slots=True)
class Briefing:
    """What an agent knows at the start."""

    about: str
    """The API, in general."""
    prompt: str
    """What is wanted."""
    request: Request
    """The first request, for agents that do not write it themselves."""
    facts: Mapping[str, Json] = field(default_factory=dict)
    """The values that the prompt states, for scripts that cannot read."""
    attempts: int = 5
    read_methods: tuple[str, ...] = ()
    """The gRPC methods that only read: calls of them that work are no attempts."""
    refusal: Response | None = None
    """What `request` was answered with, where the episode starts at the refusal: it was made, and is no attempt."""


@dataclass(frozen=True, slots=True)
class Send:
    """Call the API: the steps first, in order, after the wait."""

    request: Request
    steps: tuple[Request, ...] = ()
    wait: float = 0.0
    """Seconds that the agent would wait; an episode may shorten it."""
    applied: tuple[int, ...] | None = None
    """Indexes of the suggestions that the agent applied, if it knows them."""
    usage: Usage | None = None
    note: str = ""
    """The agent's own comment, for the viewer."""
    ends_episode: bool = True
    """Success of this call ends the episode. False: a look-up (no attempt if it succeeds) or a preparation."""
    lost: int = 0
    """Attempts before this call whose text could not be read as a call."""
    reflections: tuple[Reflection, ...] = ()
    """Reflections before this call, in order."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End the episode."""

    ending: Ending
    reason: str = ""
    usage: Usage | None = None
    lost: int = 0
    reflections: tuple[Reflection, ...] = ()


Move = Send | Stop


class Agent(Protocol):
    """Plays episodes. `play` yields moves, is sent what they led to, and ends with a Stop; after success it is closed.

    Whatever it raises makes the episode an error, never a failure.
    """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    @property
    def identity(self) -> Mapping[str, Json]:
        """What makes two runs of it comparable: version, model, parameters. Part of an episode's key; no secrets."""

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]: ...
