"""The peers: each a proxy before the same API, started on one core."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from corrigible.adapters.sandbox.certificate import Files
from corrigible.adapters.sandbox.runtimes import find_node, npm_folder
from corrigible.adapters.sandbox.server import SandboxError, free_port

from . import envoys
from .tasks import TASKS

BIN = Path(sys.executable).parent
_START_SECONDS = 60.0
_STOP_SECONDS = 15.0


class Sample(NamedTuple):
    """One peer under one load for a second or so."""

    rate: float
    """Requests a second."""
    cpu: float
    """Microseconds of CPU, user and system, of all processes of the peer per request."""
    p50: float
    """Milliseconds."""
    p99: float


@dataclass(slots=True)
class Peer:
    """A proxy with all its processes, or the API itself."""

    name: str
    ports: dict[str, int]
    """By `http` and `tls`; HTTP/2 is on the port of `tls`."""
    commands: list[list[str]] = field(default_factory=list)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    results: dict[str, list[Sample]] = field(default_factory=dict)

    def port(self, wire: str) -> int | None:
        return self.ports.get("tls" if wire == "h2" else wire)

    def pids(self) -> list[int]:
        return [pid for process in self.processes for pid in tree(process.pid)]

    def cpu(self) -> float:
        """Return the seconds of CPU that all processes have used."""
        return sum(map(cpu_seconds, self.pids()))

    def memory(self) -> int:
        """Return MiB; pages that processes share count once."""
        return round(sum(map(proportional, self.pids())) / 1024)


def tree(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += tree(int(child))
    return found


def cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def proportional(pid: int) -> int:
    """Return KB."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def peers(folder: Path, files: Files, upstream: int) -> list[Peer]:
    """Return the peers, Envoy first: what the others are compared with."""
    url = f"http://127.0.0.1:{upstream}"
    http, tls = free_port(), free_port()
    envoy = envoys.command(envoys.plain(http, tls, files, upstream), folder, "plain")
    group = [Peer("Envoy", {"http": http, "tls": tls}, [envoy])]
    for engine in ("envoy", "mitmproxy"):
        ports = {"http": free_port(), "tls": free_port()}
        words = [f"{BIN}/corrigible", "proxy", "--upstream", url, "--pack", "stripe", "--quiet", "--engine", engine]
        commands = [[*words, "--listen", f"127.0.0.1:{port}"] for port in ports.values()]
        commands[1] += ["--tls-cert", str(files.certificate), "--tls-key", str(files.key)]
        group.append(Peer(f"corrigible, {engine}", ports, commands))
    port = free_port()
    pem = folder / "both.pem"
    pem.write_bytes(files.key.read_bytes() + files.certificate.read_bytes())
    words = ["-q", "--mode", f"reverse:{url}", "--listen-host", "127.0.0.1", "-p", str(port), "--certs", str(pem)]
    group.append(Peer("mitmdump", {"http": port, "tls": port}, [[f"{BIN}/mitmdump", *words]]))
    try:
        group.append(prism(folder, url))
    except SandboxError as problem:
        print(f"without Prism: {' '.join(str(problem).split())}", file=sys.stderr)
    return group


def prism(folder: Path, url: str) -> Peer:
    """Return Prism, with a description of what the API answers. Raises SandboxError where it cannot be installed."""
    installed = npm_folder("bench-prism", Path(__file__).parent.parent / "prism")
    anything: dict[str, object] = {"content": {"*/*": {"schema": {}}}}
    paths: dict[str, dict[str, object]] = {}
    for task in TASKS:
        answers = {str(task.status): {"description": "", "content": {"application/json": {"schema": {}}}}}
        operation: dict[str, object] = {"responses": answers}
        paths.setdefault(task.path, {})[task.method.lower()] = (
            operation | {"requestBody": anything} if task.body else operation
        )
    description = folder / "openapi.json"
    info = {"title": "bench", "version": "1"}
    description.write_text(json.dumps({"openapi": "3.0.3", "info": info, "paths": paths}), "utf-8")
    port = free_port()
    script = installed / "node_modules" / "@stoplight" / "prism-cli" / "dist" / "index.js"
    words = ["proxy", str(description), url, "-h", "127.0.0.1", "-p", str(port), "-v", "silent"]
    return Peer("Prism", {"http": port}, [[str(find_node().executable), str(script), *words]])


@contextlib.contextmanager
def running(group: Sequence[Peer], core: int | None) -> Iterator[None]:
    """Start all peers on one core, and stop them."""
    pin = ["taskset", "-c", str(core)] if core is not None else []
    try:
        for peer in group:
            for command in peer.commands:
                peer.processes.append(
                    subprocess.Popen([*pin, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                )
        for peer in group:
            for port in peer.ports.values():
                _wait(peer, port)
        yield
    finally:
        processes = [process for peer in group for process in peer.processes]
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait(peer: Peer, port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.05)
    raise SystemExit(f"{peer.name} did not listen")
