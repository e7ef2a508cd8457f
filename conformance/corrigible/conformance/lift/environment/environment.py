"""How an API and the proxy before it are started and reached, and how an episode gets a state of its own.

Knows: environments.yaml, processes. Does not know: tasks, arms, agents.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corrigible.conformance.lift.tasks.task import Setup, fill
from corrigible.conformance.model.usage_error import UsageError, did_you_mean
from corrigible.conformance.transport.process import ServerProcess, free_port, search_path, words
from corrigible.schema.exchange import Json

from .http_client import Client, HttpClient
from .process_reaper import ProcessReaper

ENVIRONMENTS: Final = Path(__file__).with_name("environments.yaml")
_READY: Final = r"(?:listening on|corrigible:) (?:[a-z]+://)?127\.0\.0\.1:{port}\b"
_UNSAVED: Final = re.compile(r"\{\w+\}")
_WAIT: Final = 90.0


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Environment(_Model):
    """One API: an entry of environments.yaml, where its members are explained."""

    why: str
    upstream: str
    proxy: str
    scheme: str = "http"
    grpc: bool = False
    descriptors: str = ""
    description: str = ""
    learn: dict[str, str] = Field(default_factory=dict)
    needs: dict[str, str] = Field(default_factory=dict)
    callers: dict[str, dict[str, str]]
    begin: tuple[Setup, ...] = ()
    fresh: tuple[str, ...] = ()
    in_turn: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    clocks: tuple[str, ...] = ()
    numbered: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()

    def lacks(self, environ: Mapping[str, str] = os.environ) -> str:
        """Return why it cannot be started here, nothing where it can."""
        return "; ".join(f"{name} is not set: {what}" for name, what in self.needs.items() if not environ.get(name))

    def is_fresh(self, task: str) -> bool:
        """Whether a task gets servers of its own."""
        return any(fnmatchcase(task, pattern) for pattern in self.fresh)

    def is_in_turn(self, task: str) -> bool:
        """Whether a task waits until no other such task is played at the same servers."""
        return any(fnmatchcase(task, pattern) for pattern in self.in_turn)

    def credentials(self, caller: str, saved: Mapping[str, Json]) -> dict[str, str]:
        """Return the headers of a caller, without those that nothing was saved for. Raises UsageError for no caller."""
        if caller not in self.callers:
            raise UsageError(f"no caller {caller!r}{did_you_mean(caller, self.callers)}")
        headers: dict[str, str] = fill(self.callers[caller], saved)
        return {name: value for name, value in headers.items() if not _UNSAVED.search(value)}

    @property
    def agent(self) -> str:
        """The caller who makes the attempts."""
        return "agent" if "agent" in self.callers else "owner"


@cache
def environments(path: Path = ENVIRONMENTS) -> Mapping[str, Environment]:
    """Read environments.yaml. Raises UsageError with the place of what is wrong."""
    try:
        entries: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        return {name: Environment.model_validate(entry) for name, entry in entries.items()}
    except (OSError, yaml.YAMLError, ValidationError) as problem:
        raise UsageError(f"{path}: {problem}") from None


@dataclass(frozen=True, slots=True)
class RunningEnvironment:
    """An upstream and the proxy before it, running."""

    environment: Environment
    upstream_client: Client
    """Straight to the upstream."""
    proxy_client: Client
    """Through the proxy."""
    upstream: ServerProcess
    proxy: ServerProcess
    address: str
    """HOST:PORT of the proxy, for agents that call by themselves."""
    learned: Mapping[str, str] = field(default_factory=dict)

    def ended(self) -> str | None:
        """Return which of the two programs ended, and with what last words."""
        for name, program in (("upstream", self.upstream), ("proxy", self.proxy)):
            if (how := program.ended()) is not None:
                return f"the {name} {how}: {program.last_words()[-400:]}"
        return None


@contextmanager
def start(environment: Environment, reaper: ProcessReaper | None = None) -> Iterator[RunningEnvironment]:
    """Start both. Raises UsageError where one does not come up."""
    with ExitStack() as stack:
        behind = _Started("the upstream", stack, reaper, environment.upstream, {})
        address = f"127.0.0.1:{behind.port}"
        said = behind.said_when_ready()
        found: dict[str, str] = {}
        for name, pattern in environment.learn.items():
            hit = re.search(pattern, said)
            if hit is None:
                raise UsageError(f"the upstream did not say its {name} ({pattern}): {said[-400:]}")
            found[name] = hit[1]
        reached = address if environment.grpc else f"{environment.scheme}://{address}"
        front = _Started("the proxy", stack, reaper, environment.proxy, {**found, "upstream": reached})
        at = f"127.0.0.1:{front.port}"
        front.said_when_ready()
        if environment.grpc:
            upstream_client, proxy_client = _grpc(environment, address), _grpc(environment, at)
        else:
            ca = Path(found["ca"]) if "ca" in found else None
            upstream_client, proxy_client = HttpClient(reached, authority=ca), HttpClient(f"http://{at}")
        for client in (upstream_client, proxy_client):
            stack.callback(client.close)
        yield RunningEnvironment(environment, upstream_client, proxy_client, behind.program, front.program, at, found)


class _Started:
    def __init__(
        self, what: str, stack: ExitStack, reaper: ProcessReaper | None, command: str, given: Mapping[str, str]
    ) -> None:
        self.what = what
        self.port = free_port()
        filled = words(command, {**given, "port": str(self.port)})

        def told(group: int) -> None:
            if reaper is not None:
                reaper.started(group)
                stack.callback(reaper.ended, group)  # pushed before the program, so called when it is stopped

        self.program: ServerProcess = stack.enter_context(
            ServerProcess(filled, address=f"127.0.0.1:{self.port}", wait=_WAIT, grace=10.0, told=told)
        )

    def said_when_ready(self) -> str:
        """Return what the program printed once it says that it listens.

        An open port may be too early, or somebody else's.
        """
        ready = re.compile(_READY.format(port=self.port))
        until = time.monotonic() + _WAIT
        while time.monotonic() < until:
            said = self.program.said()
            if ready.search(said):
                return said
            if (how := self.program.ended()) is not None:
                raise UsageError(f"{self.what} {how}: {said[-400:]}")
            time.sleep(0.02)
        raise UsageError(f"{self.what} is not ready after {_WAIT:g} s: {self.program.last_words()[-400:]}")


def _grpc(environment: Environment, address: str) -> Client:
    try:
        from .grpc_client import GrpcClient
    except ModuleNotFoundError as problem:
        raise UsageError(
            f"this needs a package that is not installed: {problem.name}: corrigible[conformance]"
        ) from None
    return GrpcClient(address, printed(environment.descriptors))


@cache
def description_of(command: str) -> Json:
    """Return the OpenAPI description that a command prints, None without a command."""
    if not command:
        return None
    try:
        return json.loads(printed(command))
    except ValueError:
        raise UsageError(f"{command}: what it prints is no JSON") from None


@cache
def printed(command: str) -> bytes:
    """Return what a command prints."""
    try:
        ran = subprocess.run(
            words(command, {}), capture_output=True, check=True, env={**os.environ, "PATH": search_path()}
        )
    except (OSError, subprocess.CalledProcessError) as problem:
        raise UsageError(f"{command}: {problem}") from None
    return ran.stdout
