"""How an API and the proxy before it are started and reached, and how an episode gets a state of its own.

Also what differs between two runs: ids are replaced by order of appearance, times by `<time>`, names of the episode.
Knows: environments.yaml, processes. Does not know: arms, agents, how an episode is played.

Sends request documents over HTTP/1.1, as a client of the API would, on kept connections.
"""

from __future__ import annotations

import base64
import json
import os
import re
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote, urlencode

import httpx
from pydantic import BaseModel, ConfigDict, Field

from corrigible.conformance.lift.agents.protocol import Response
from corrigible.conformance.lift.task import Setup, fill
from corrigible.conformance.model.outcome import UsageError, did_you_mean
from corrigible.conformance.model.yaml_file import checked, loaded
from corrigible.conformance.transport.process import ServerProcess, free_port, search_path, words
from corrigible.schema.document import SENDERS_OWN, form_pairs, query_pairs, scalar_text
from corrigible.schema.exchange import Json, Request
from corrigible.schema.extra import install_line

_SAFE_IN_PATHS: Final = "/%:@!$&'()*+,;=~-._"
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})


class Unreachable(Exception):
    """A server did not respond: an error, and no observation of the agent."""


class Client(Protocol):
    """Sends request documents to one server. Usable from several threads."""

    def send(self, request: Request, headers: Mapping[str, str], *, timeout: float = 30.0) -> Response: ...

    def close(self) -> None: ...


class HttpClient:
    """Connections to one server. No header is sent but those that are given."""

    def __init__(self, url: str, *, authority: Path | None = None) -> None:
        trust = ssl.create_default_context(cafile=authority) if authority is not None else url.startswith("https:")
        self._url, self._client = httpx.URL(url), httpx.Client(verify=trust, trust_env=False)

    def close(self) -> None:
        self._client.close()

    def send(self, request: Request, headers: Mapping[str, str], *, timeout: float = 30.0) -> Response:
        """Send one request and read the response. `headers`, such as credentials, win over those of the document."""
        sent = {"accept-encoding": "identity"}
        sent |= {n.lower(): scalar_text(v) for n, v in request.headers.items() if n.lower() not in SENDERS_OWN}
        sent |= {name.lower(): value for name, value in headers.items()}
        content: bytes | None = None
        if request.body is not None and request.form:
            content = urlencode(list(form_pairs(request.body))).encode()
            sent["content-type"] = "application/x-www-form-urlencoded"
        elif request.body is not None:
            content = json.dumps(request.body).encode()
            sent.setdefault("content-type", "application/json")
        target = quote(request.path, safe=_SAFE_IN_PATHS)
        if request.query:
            target += f"?{urlencode(list(query_pairs(request.query)))}"
        extensions = {"timeout": httpx.Timeout(timeout).as_dict()}
        url = self._url.copy_with(raw_path=target.encode())
        built = httpx.Request(request.method, url, headers=sent, content=content, extensions=extensions)
        return _response(self._exchange(built))

    def _exchange(self, request: httpx.Request) -> httpx.Response:
        opened: list[str] = []
        request.extensions["trace"] = lambda event, _: opened.append(event) if event.startswith("connection.") else None
        while True:
            opened.clear()
            try:
                return self._client.send(request)
            except httpx.RequestError as problem:
                # A kept connection may have been closed meanwhile, before it answered anything: then ask once more.
                closed = isinstance(problem, httpx.RemoteProtocolError) and "without sending a response" in str(problem)
                lost = isinstance(problem, httpx.NetworkError) and request.method in _IDEMPOTENT
                if opened or not (closed or lost):
                    raise Unreachable(f"{request.method} {request.url.raw_path.decode()}: {problem}") from None


def _response(response: httpx.Response) -> Response:
    text = response.content.decode("utf-8", "replace")
    try:
        body: Json = json.loads(text) if text else None
    except (ValueError, RecursionError):
        body = text
    is_failure = isinstance(body, dict) and body.get("success") is False
    return Response(response.status_code, body, dict(response.headers), response.is_success and not is_failure)


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
    return {name: checked(Environment, entry, path, name) for name, entry in loaded(path).items()}


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
        from corrigible.conformance.lift.grpc_client import GrpcClient
    except ModuleNotFoundError as problem:
        raise UsageError(f"{problem.name} is not installed: {install_line('conformance')}") from None
    return GrpcClient(address, output_of(environment.descriptors))


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


_TIMES: Final = (
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?\b",
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT",
)
_UUID: Final = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{8,}={0,2}")
_FINGERPRINT: Final = "fingerprint"
"""A member of `loop`; every proxy makes it with a key of its own."""


class Normalizer:
    """The ids of one episode. The first one to appear is `<id:1>`."""

    def __init__(self, environment: Environment, own: Mapping[str, str]) -> None:
        """`own` maps names in the log to the texts of this episode alone."""
        self._ids: dict[str, str] = {}
        self._own = {text: f"<{name}>" for name, text in own.items() if text}
        self._known = frozenset(environment.known)
        self._clocks, self._numbered = frozenset(environment.clocks), frozenset(environment.numbered)
        self._coded = environment.grpc
        self.reads = environment.reads
        """The gRPC methods that only read."""
        self._find_ids = re.compile("|".join((_UUID, *environment.ids)))
        self._find_times = re.compile("|".join((*_TIMES, *environment.times)))
        self._find_own = re.compile("|".join(map(re.escape, sorted(self._own, key=len, reverse=True))) or r"(?!)")

    def __call__(self, value: Json) -> Json:
        """Return a value, normalized."""
        return self._value(value, "")

    def text(self, text: str) -> str:
        """Return a text, normalized."""
        if self._coded:
            text = _BASE64.sub(self._decoded, text)
        out = self._find_own.sub(lambda match: self._own[match[0]], text)
        out = self._find_ids.sub(self._named, out)
        return self._find_times.sub("<time>", out)

    def _value(self, value: Json, member: str) -> Json:
        match value:
            case bool() | None:
                return value
            case _ if member == _FINGERPRINT:
                return "<fingerprint>"
            case int() | float() | str() if member in self._clocks:
                return "<time>"
            case int() if member in self._numbered:
                return self._id(str(value))
            case str() if member in self._numbered and value.isdecimal():
                return self._id(value)
            case str():
                return self.text(value)
            case Mapping() if "path" in value and "value" in value and self._is_clock(value["path"]):
                return {**{name: self._value(inner, name) for name, inner in value.items()}, "value": "<time>"}
            case Mapping():
                return {self.text(str(key)): self._value(inner, str(key)) for key, inner in value.items()}
            case list() | tuple():
                return [self._value(inner, member) for inner in value]
            case _:
                return value

    def _is_clock(self, pointer: Json) -> bool:
        """Return whether a patch edits a clock."""
        return isinstance(pointer, str) and pointer.rpartition("/")[2] in self._clocks

    def _decoded(self, match: re.Match[str]) -> str:
        """Return base64 as its text if that holds a name of this episode."""
        try:
            plain = base64.b64decode(match[0], validate=True).decode()
        except ValueError:
            return match[0]
        return f"<base64:{plain}>" if self._find_own.search(plain) else match[0]

    def _named(self, match: re.Match[str]) -> str:
        return match[0] if match[0] in self._known else self._id(match[0])

    def _id(self, text: str) -> str:
        return self._ids.setdefault(text, f"<id:{len(self._ids) + 1}>")
