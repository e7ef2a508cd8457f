"""How an API and the proxy before it are started and reached, and how an episode gets a state of its own.

Knows: environments.yaml, processes. Does not know: arms, agents, how an episode is played.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corrigible.conformance.lift.tasks.task import Setup, fill
from corrigible.conformance.model.usage_error import UsageError, did_you_mean
from corrigible.conformance.model.yaml_text import load_yaml
from corrigible.conformance.transport.process import ServerProcess, free_port, search_path, words
from corrigible.schema.exchange import Json
from corrigible.schema.extra import install_line

from .http_client import Client, HttpClient

ENVIRONMENTS: Final = Path(__file__).with_name("environments.yaml")
_READY: Final = r"(?:listening on|corrigible:) (?:[a-z]+://)?127\.0\.0\.1:{port}\b"
_UNSAVED: Final = re.compile(r"\{\w+\}")
_START_TIMEOUT: Final = 90.0


class Environment(BaseModel):
    """One API: an entry of environments.yaml, where its members are explained."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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

    def why_unavailable(self, environ: Mapping[str, str] = os.environ) -> str:
        """Return why it cannot be started here; empty where it can."""
        return "; ".join(
            f"{name} is not set: {requirement}" for name, requirement in self.needs.items() if not environ.get(name)
        )

    @property
    def has_pack(self) -> bool:
        """Whether the proxy knows a pack; otherwise a description alone."""
        return "--pack" in self.proxy.split()

    def on(self, engine: str) -> Environment:
        """Return the same API behind a proxy with this engine; empty: the proxy's default."""
        return self.model_copy(update={"proxy": f"{self.proxy} --engine {engine}"}) if engine else self

    def is_fresh(self, task: str) -> bool:
        """Return whether a task gets servers of its own."""
        return any(fnmatchcase(task, pattern) for pattern in self.fresh)

    def is_in_turn(self, task: str) -> bool:
        """Return whether a task waits until no other such task is played on the same servers."""
        return any(fnmatchcase(task, pattern) for pattern in self.in_turn)

    def credentials(self, caller: str, saved: Mapping[str, Json]) -> dict[str, str]:
        """Return a caller's headers, without those that name an unsaved value. Raises UsageError."""
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
    """Read environments.yaml. Raises UsageError with the place of a mistake."""
    try:
        entries: dict[str, Any] = load_yaml(path.read_text(encoding="utf-8"))
        return {name: Environment.model_validate(entry) for name, entry in entries.items()}
    except (OSError, yaml.YAMLError, ValidationError) as problem:
        raise UsageError(f"{path}: {problem}") from None


@dataclass(frozen=True, slots=True)
class RunningEnvironment:
    """An upstream and the proxy before it, running."""

    environment: Environment
    upstream_client: Client
    proxy_client: Client
    upstream: ServerProcess
    proxy: ServerProcess
    address: str
    """HOST:PORT of the proxy."""

    def ended(self) -> str | None:
        """Return which of the two programs ended, and the end of its output; None while both run."""
        for name, program in (("upstream", self.upstream), ("proxy", self.proxy)):
            if (ending := program.ended()) is not None:
                return f"the {name} {ending}: {program.last_words()[-400:]}"
        return None


@contextmanager
def start(environment: Environment) -> Iterator[RunningEnvironment]:
    """Start both programs. Raises UsageError where one does not start."""
    with ExitStack() as stack:
        upstream, address, output = _started(stack, "upstream", environment.upstream, {})
        learned: dict[str, str] = {}
        for name, pattern in environment.learn.items():
            match = re.search(pattern, output)
            if match is None:
                raise UsageError(f"the upstream did not print its {name} ({pattern}): {output[-400:]}")
            learned[name] = match[1]
        url = address if environment.grpc else f"{environment.scheme}://{address}"
        proxy, proxy_address, _ = _started(stack, "proxy", environment.proxy, {**learned, "upstream": url})
        if environment.grpc:
            clients = _grpc_client(environment, address), _grpc_client(environment, proxy_address)
        else:
            ca = Path(learned["ca"]) if "ca" in learned else None
            clients = HttpClient(url, authority=ca), HttpClient(f"http://{proxy_address}")
        for client in clients:
            stack.callback(client.close)
        yield RunningEnvironment(environment, *clients, upstream, proxy, proxy_address)


def _started(stack: ExitStack, label: str, command: str, names: Mapping[str, str]) -> tuple[ServerProcess, str, str]:
    """Start a program, and wait until it says that it listens. Return it, its address, and what it printed.

    An open port is no proof: it may be open too early, or belong to another program.
    """
    port = free_port()
    address = f"127.0.0.1:{port}"
    filled = words(command, {**names, "port": str(port)})
    program = stack.enter_context(ServerProcess(filled, address=address, wait=_START_TIMEOUT, grace=10.0))
    ready = re.compile(_READY.format(port=port))
    deadline = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < deadline:
        output = program.output()
        if ready.search(output):
            return program, address, output
        if (ending := program.ended()) is not None:
            raise UsageError(f"the {label} {ending}: {output[-400:]}")
        time.sleep(0.02)
    raise UsageError(f"the {label} is not ready after {_START_TIMEOUT:g} s: {program.last_words()[-400:]}")


def _grpc_client(environment: Environment, address: str) -> Client:
    try:
        from .grpc_client import GrpcClient
    except ModuleNotFoundError as problem:
        raise UsageError(f"{problem.name} is not installed: {install_line('conformance')}") from None
    return GrpcClient(address, output_of(environment.descriptors))


@cache
def description_of(command: str) -> Json:
    """Return the OpenAPI description that a command prints, None without a command."""
    if not command:
        return None
    try:
        return json.loads(output_of(command))
    except ValueError:
        raise UsageError(f"{command}: its output is not JSON") from None


@cache
def output_of(command: str) -> bytes:
    """Return what a command prints. Raises UsageError with its last error line where it fails."""
    environ = {**os.environ, "PATH": search_path()}
    try:
        ran = subprocess.run(words(command, {}), capture_output=True, check=True, env=environ)
    except OSError as problem:
        raise UsageError(f"{command}: {problem}") from None
    except subprocess.CalledProcessError as problem:
        lines = problem.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"{command}: {lines[-1] if lines else f'exit status {problem.returncode}'}") from None
    return ran.stdout
