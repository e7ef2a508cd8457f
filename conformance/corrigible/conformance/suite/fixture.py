"""Sets up a subject in front of the suite's upstream, and cleans up.

Knows: what each role and profile needs behind and in front of it. Does not know: checks, outcomes, reports.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from corrigible.conformance.model.outcome import Role, UsageError, usable
from corrigible.conformance.model.yaml_file import SUITE
from corrigible.conformance.reference.api import Shop
from corrigible.conformance.reference.upstream import Answering, Upstream
from corrigible.conformance.suite.config import SubjectConfig
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import Headers, HttpClient, HttpRequest, HttpResponse, KeepAlive
from corrigible.conformance.transport.process import ServerProcess, accepts, free_port, words
from corrigible.schema.exchange import Json
from corrigible.schema.extra import install_line

_SHOWN: Final = 4096
"""Bytes of one body that a trace shows."""


@dataclass(frozen=True, slots=True)
class SubjectSpec:
    """One thing to be judged, in one profile."""

    profile: str
    role: Role
    config: SubjectConfig
    about: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict)
    seed: int = 0
    folder: Path | None = None
    """Where its command is started."""

    @property
    def column(self) -> str:
        return self.about or self.profile

    @property
    def reached(self) -> str:
        """How, for reports: the command as it is written, or an address."""
        config = self.config
        option = {"consumer": config.consumer, "pack": config.pack}.get(self.role)
        return option or config.start or config.target or config.grpc or "nothing"


@dataclass(frozen=True, slots=True)
class RunningSubject:
    """A subject that is ready, and the program behind it where the suite started one."""

    subject: Subject
    launched: ServerProcess | None = None

    def ended(self) -> str | None:
        return self.launched.ended() if self.launched is not None else None

    def wait_for_end(self) -> str | None:
        return self.launched.wait_for_end() if self.launched is not None else None

    def last_words(self) -> str:
        return self.launched.last_words() if self.launched is not None else ""


Fixture = Callable[[SubjectSpec], AbstractContextManager[RunningSubject]]


class TracingClient(HttpClient):
    """A wire whose traffic is written down. `overdue` hears of answers that did not come, or end, in time."""

    def __init__(
        self, url: str, who: str, note: Callable[[str, str], None], overdue: Callable[[str], None] | None = None
    ) -> None:
        super().__init__(url)
        self._who, self._note, self._overdue = who, note, overdue

    def send(self, request: HttpRequest, *, timeout: float = 10.0, line: KeepAlive | None = None) -> HttpResponse:
        response = super().send(request, timeout=timeout, line=line)
        self._note(self._who, f"{shown_request(request)}\n\n{shown_answer(response)}")
        if self._overdue is not None and response.error is not None and "timed out" in response.error:
            self._overdue(response.error)
        return response


@contextmanager
def running_subject(spec: SubjectSpec) -> Iterator[RunningSubject]:
    """Start what has to be started. Raises UsageError where the subject cannot be reached."""
    settings: dict[str, Json] = {**spec.settings, **spec.config.settings}
    match spec.role:
        case "consumer":
            settings["consumer"] = spec.config.consumer
            settings.setdefault("folder", str(spec.folder) if spec.folder is not None else None)
            settings["folder"] = str(spec.folder) if spec.folder is not None else None
        case "pack":
            settings["pack"] = spec.config.pack
    subject = Subject(role=spec.role, profile=spec.profile, config=settings, seed=spec.seed)
    with ExitStack() as stack:
        launched = None
        if spec.role in ("producer", "proxy"):
            launched = _connected(spec, subject, stack)
        yield RunningSubject(subject, launched)


def _connected(spec: SubjectSpec, subject: Subject, stack: ExitStack) -> ServerProcess | None:
    over_grpc = spec.profile == "grpc"
    behind = ""
    if spec.role == "proxy":
        port = _upstream_port(spec.config.upstream_listen)
        behind = (_grpc_upstream if over_grpc else _http_upstream)(spec, subject, stack, port)
        subject.start_another = _another(spec, spec.config.http2) if spec.config.http2 else None
    address, launched = _address(spec, behind, stack)
    if over_grpc:
        subject.grpc = address
    else:
        subject.target = TracingClient(f"http://{address}", "to the subject", subject.note, subject.overdue)
    return launched


def _address(spec: SubjectSpec, behind: str, stack: ExitStack) -> tuple[str, ServerProcess | None]:
    """Return where the subject accepts connections, started if need be."""
    configured = spec.config.grpc if spec.profile == "grpc" else spec.config.target
    address = _authority(configured) if configured else None
    if spec.config.start is None:
        if address is None:
            option = "--grpc HOST:PORT" if spec.profile == "grpc" else "--target URL"
            raise UsageError(f"{spec.profile}: nothing to judge: give {option}, or a config file with how to start it")
        if (refusal := accepts(address, 5.0)) is not None:
            raise UsageError(f"{spec.profile}: nothing accepts connections at {configured}: {refusal}")
        return address, None
    port = int(address.rpartition(":")[2]) if address else free_port()
    address = address or f"127.0.0.1:{port}"
    command = words(spec.config.start, filled(port, behind))
    launched = ServerProcess(command, address=address, wait=spec.config.wait, folder=spec.folder, env=spec.config.env)
    return address, stack.enter_context(launched)


def _another(spec: SubjectSpec, command: str) -> Callable[[str, Path], AbstractContextManager[str]]:
    """Return what starts one more of a subject in front of a URL, by a command of its own."""
    scheme = "https" if "{certificate}" in command else "http"

    @contextmanager
    def beside(upstream: str, certificate: Path) -> Iterator[str]:
        port = free_port()
        values = {**filled(port, upstream), "certificate": str(certificate)}
        address, started = f"127.0.0.1:{port}", words(command, values)
        with ServerProcess(started, address=address, wait=spec.config.wait, folder=spec.folder, env=spec.config.env):
            yield f"{scheme}://{address}"

    return beside


def filled(port: int, upstream: str) -> dict[str, str]:
    """Return what commands of a config file may name."""
    return {"port": str(port), "upstream": upstream, "suite": str(SUITE), "python": sys.executable}


def _authority(url: str) -> str:
    """Return HOST:PORT of an address with or without http:// in front."""
    if "://" not in url:
        return url.rstrip("/")
    try:
        wire = HttpClient(url)
    except ValueError as problem:
        raise UsageError(str(problem)) from None
    return f"{wire.host}:{wire.port}"


def _upstream_port(listen: str | None) -> int:
    if listen is None:
        return 0
    host, _, port = listen.rpartition(":")
    if host not in ("127.0.0.1", "localhost", "") or not port.isdecimal() or int(port) >= 1 << 16:
        raise UsageError(f"--upstream-listen {listen}: the suite's upstream listens on 127.0.0.1:PORT only")
    return int(port)


def _http_upstream(spec: SubjectSpec, subject: Subject, stack: ExitStack, port: int) -> str:
    with usable(f"the suite's upstream cannot listen on 127.0.0.1:{port}"):
        upstream = stack.enter_context(Upstream(reference_api(spec.profile), port=port))
    subject.upstream = upstream
    subject.direct = TracingClient(upstream.url, "straight to the upstream", subject.note)
    return upstream.url


def _grpc_upstream(spec: SubjectSpec, subject: Subject, stack: ExitStack, port: int) -> str:
    upstream: Any = stack.enter_context(_optional("grpc_upstream").GrpcUpstream(port=port))
    subject.grpc_upstream = upstream
    return f"127.0.0.1:{upstream.port}"


def reference_api(profile: str) -> Answering | None:
    """Return a fresh reference API for what has no script. Profiles without one script every answer."""
    return Shop() if profile in ("http-json", "problem+json") else None


def _optional(name: str) -> Any:
    try:
        return import_module(f"corrigible.conformance.reference.{name}")
    except ModuleNotFoundError as problem:
        raise UsageError(f"{problem.name} is not installed: {install_line('conformance')}") from None


def shown_request(request: HttpRequest) -> str:
    return f"> {request.method} {request.target}\n{_message_text(request.headers, request.body, '> ')}"


def shown_answer(response: HttpResponse) -> str:
    if response.status == 0:
        return f"< {response.error}"
    cut = f"\n< ({response.error})" if response.error else ""
    early = "".join(f"< {status}\n" for status in response.informational)
    trailers = f"\n{_message_text(response.trailers, b'', '< ')}" if response.trailers else ""
    head = f"{early}< {response.status} {response.reason}\n"
    return f"{head}{_message_text(response.headers, response.body, '< ')}{trailers}{cut}"


def _message_text(headers: Headers, body: bytes, mark: str) -> str:
    lines = [f"{mark}{name}: {value}" for name, value in headers]
    if body:
        try:
            text = body[:_SHOWN].decode("utf-8")
        except UnicodeDecodeError:
            text = f"({len(body)} bytes) {body[:256].hex(' ')}"
        more = f"\n... {len(body) - _SHOWN} bytes more" if len(body) > _SHOWN else ""
        lines += ["", text + more]
    return "\n".join(lines)
