"""Load on one peer: by wrk and h2load where they are on the path, else by this process, which makes less of it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import httpx

from .peers import Peer, Sample
from .tasks import Task

_UNIT = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


class WrongAnswer(Exception):
    """A peer answered otherwise than it should: no figure means anything then."""


class Load(NamedTuple):
    requests: int
    p50: float
    """Milliseconds."""
    p99: float


def generator(task: Task) -> str | None:
    """Return what makes the load of a task; None where nothing can."""
    if task.wire == "h2":
        return "h2load" if shutil.which("h2load") else None
    if shutil.which("wrk"):
        return "wrk"
    return "this process" if task.wire == "http" else None


def check(peer: Peer, task: Task, *, corrected: bool) -> None:
    """Make the request once. Raises WrongAnswer where the answer is not what it should be."""
    url = f"{task.scheme}://127.0.0.1:{peer.port(task.wire)}{task.path}"
    with httpx.Client(verify=False, trust_env=False, timeout=30) as client:
        answer = client.request(task.method, url, headers=task.headers(), content=task.body or None)
    if answer.status_code != task.status:
        raise WrongAnswer(f"{peer.name}: {task.name} has status {answer.status_code}")
    if task.status >= 400 and (b"recovery_feedback" in answer.content) is not corrected:
        raise WrongAnswer(f"{peer.name}: {task.name} is corrected: {not corrected}")


async def measure(peer: Peer, task: Task, connections: int, seconds: float) -> Sample:
    """Load a peer. Raises WrongAnswer where it answers anything but the task's status."""
    port = peer.port(task.wire)
    assert port is not None
    before, began = peer.cpu(), time.monotonic()
    match generator(task):
        case "wrk":
            load = await wrk(port, task, connections, seconds)
        case "h2load":
            load = await _h2load(port, task, connections, seconds)
        case _:
            load = await _own(port, task, connections, seconds)
    wall, spent = time.monotonic() - began, peer.cpu() - before
    done = max(load.requests, 1)
    return Sample(done / wall, spent / done * 1e6, load.p50, load.p99)


async def _output(*words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return output.decode()


async def wrk(port: int, task: Task, connections: int, seconds: float, *, pause: int = 0) -> Load:
    """Load a port. `pause`: milliseconds between an answer and the next request, on average.

    Raises WrongAnswer where a status is not the task's.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(task.script(pause))
        script.flush()
        words = ("-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--latency", "-s", script.name)
        said = await _output("wrk", *words, f"{task.scheme}://127.0.0.1:{port}{task.path}")
    count = re.search(r"(\d+) requests in", said)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    half, most = (re.search(rf"{share}%\s+([\d.]+)(us|ms|s|m)\b", said) for share in (50, 99))
    assert count and half and most, said
    others = int(refused[1]) if refused else 0
    if others != (int(count[1]) if task.status >= 400 else 0) or "Socket errors" in said:
        raise WrongAnswer(f"{task.name}: {said}")
    p50, p99 = (float(found[1]) * _UNIT[found[2]] for found in (half, most))
    return Load(int(count[1]), p50, p99)


async def _h2load(port: int, task: Task, connections: int, seconds: float) -> Load:
    headers = [word for name, value in task.headers().items() for word in ("-H", f"{name}: {value}")]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        words = ("-t1", f"-c{connections}", "-m1", f"-D{max(1, round(seconds))}", f"--log-file={log}")
        said = await _output("h2load", *words, *headers, f"https://127.0.0.1:{port}{task.path}")
        lines = [line.split("\t") for line in log.read_text().splitlines()]
    took = sorted(int(line[2]) / 1000 for line in lines)
    if not took or any(line[1] != str(task.status) for line in lines):
        raise WrongAnswer(f"{task.name}: {said}")
    return Load(len(took), took[len(took) // 2], took[int(len(took) * 0.99)])


async def _own(port: int, task: Task, connections: int, seconds: float) -> Load:
    until = time.monotonic() + seconds
    took = sorted(
        one
        for each in await asyncio.gather(*(_caller(port, task, number, until) for number in range(connections)))
        for one in each
    )
    if not took:
        raise WrongAnswer(f"{task.name}: no answer in {seconds:g} s")
    return Load(len(took), took[len(took) // 2], took[int(len(took) * 0.99)])


async def _caller(port: int, task: Task, number: int, until: float) -> list[float]:
    """Call until it is over, over a new connection where a server closes one: some do between two calls."""
    took: list[float] = []
    while time.monotonic() < until:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while time.monotonic() < until:
                took.append(await _timed(reader, writer, task, f"{number} {len(took)}"))
        writer.close()
    return took


async def _timed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, task: Task, caller: str) -> float:
    """Make one call. Returns how many milliseconds it took."""
    headers = task.headers() | {"Host": "127.0.0.1", "Authorization": f"Bearer {caller}"}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    begun = time.perf_counter()
    head = f"{task.method} {task.path} HTTP/1.1\r\n{head}Content-Length: {len(task.body)}\r\n\r\n"
    writer.write(head.encode() + task.body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    if answer.split(b" ", 2)[1] != str(task.status).encode():
        raise WrongAnswer(f"{task.name}: {answer.decode('latin-1')}")
    return (time.perf_counter() - begun) * 1000
