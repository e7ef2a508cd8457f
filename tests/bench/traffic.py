"""Our mitmproxy front end beside plain mitmdump, as ratios inside one interleaved run. Times, never a test.

Run by `make bench`. The upstream and the clients share one core, the proxy under load has the other; peers take turns
in shuffled order, and every ratio is taken inside a turn before the median over turns. CPU per request (user and
system, of the proxy's process) is the steadier of the two figures.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from corrigible.adapters.sandbox.server import free_port

BIN = Path(sys.executable).parent
REFUSED = json.dumps(
    {
        "error": {
            "code": "amount_too_small",
            "doc_url": "https://stripe.com/docs/error-codes/amount-too-small",
            "message": "Amount must be at least 50 cents",
            "param": "amount",
            "request_log_url": "https://dashboard.stripe.com/test/logs/req_" + "0" * 240,
            "type": "invalid_request_error",
        }
    },
    indent=2,
).encode()
ANSWERS = {
    b"/ok1k": (b"200 OK", b'{"data": "' + b"x" * 1012 + b'"}'),
    b"/ok100k": (b"200 OK", b'{"data": "' + b"x" * 102_388 + b'"}'),
    b"/v1/charges": (b"400 Bad Request", REFUSED),
}
FORM = b"amount=10&currency=usd&source=tok_visa"


def request(path: str) -> bytes:
    head = "Host: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: */*\r\n"
    if path != "/v1/charges":
        return f"GET {path} HTTP/1.1\r\n{head}\r\n".encode()
    head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(FORM)}\r\n"
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + FORM


class Upstream(asyncio.Protocol):
    """A server that knows three answers and reads no more than it must."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.seen = b""

    def data_received(self, data: bytes) -> None:
        self.seen += data
        head, mark, rest = self.seen.partition(b"\r\n\r\n")
        if not mark or (head.startswith(b"POST") and len(rest) < len(FORM)):
            return
        self.seen = b""
        status, body = ANSWERS[head.split(b" ", 2)[1]]
        self.transport.write(
            b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)
        )


@dataclass(slots=True)
class Peer:
    """One proxy, as a process of its own."""

    name: str
    command: Sequence[str]
    port: int
    process: subprocess.Popen[bytes] | None = None
    results: dict[tuple[str, int], list[Sample]] = field(default_factory=dict)


class Sample(NamedTuple):
    rate: float
    """Requests a second."""
    cpu: float
    """Microseconds of the proxy's CPU per request."""


def peers(upstream: int) -> list[Peer]:
    url = f"http://127.0.0.1:{upstream}"
    found = []
    for name in ("mitmdump", "corrigible"):
        port = free_port()
        if name == "mitmdump":
            command = [
                f"{BIN}/mitmdump",
                "-q",
                "--mode",
                f"reverse:{url}",
                "--listen-host",
                "127.0.0.1",
                "-p",
                str(port),
            ]
        else:
            command = [f"{BIN}/corrigible", "proxy", "--upstream", url, "--pack", "stripe"]
            command += ["--listen", f"127.0.0.1:{port}"]
        found.append(Peer(name, command, port))
    return found


@contextlib.contextmanager
def running(group: Sequence[Peer], core: int | None) -> Iterator[None]:
    pin = ["taskset", "-c", str(core)] if core is not None else []
    try:
        for peer in group:
            peer.process = subprocess.Popen([*pin, *peer.command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for peer in group:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", peer.port), 0.2):
                    break
                time.sleep(0.05)
            else:
                raise SystemExit(f"{peer.name} did not listen")
        yield
    finally:
        for peer in group:
            if peer.process is not None:
                peer.process.send_signal(signal.SIGTERM)
        for peer in group:
            if peer.process is not None:
                peer.process.wait(15)


async def answer_of(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    low = head.lower()
    length = int(low.partition(b"content-length:")[2].partition(b"\r\n")[0])
    return head + await reader.readexactly(length)


async def client(port: int, message: bytes, until: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    done = 0
    while time.monotonic() < until:
        writer.write(message)
        await answer_of(reader)
        done += 1
    writer.close()
    return done


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int, field_name: str) -> int:
    """Return a figure of /proc/PID/status in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field_name):
            return int(line.split()[1]) // 1024
    raise LookupError(field_name)


async def measure(peer: Peer, path: str, clients: int, seconds: float) -> Sample:
    assert peer.process is not None
    message = request(path)
    before, begin = cpu_seconds(peer.process.pid), time.monotonic()
    done = sum(await asyncio.gather(*(client(peer.port, message, begin + seconds) for _ in range(clients))))
    wall, spent = time.monotonic() - begin, cpu_seconds(peer.process.pid) - before
    return Sample(done / wall, spent / done * 1e6)


async def compare(turns: int, seconds: float, seed: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Upstream, "127.0.0.1", 0)
    upstream = server.sockets[0].getsockname()[1]
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(0, {cores[0]})
    group, rng = peers(upstream), random.Random(seed)
    paths = ("/ok1k", "/ok100k", "/v1/charges")
    with running(group, cores[1] if len(cores) > 1 else None):
        for peer in group:
            for path in paths:
                await measure(peer, path, 4, 0.3)
        for turn in range(turns):
            for path in paths:
                for peer in rng.sample(group, len(group)):
                    peer.results.setdefault((path, 16), []).append(await measure(peer, path, 16, seconds))
            print(f"turn {turn + 1} of {turns}", file=sys.stderr)
    report(group, paths)
    group = peers(upstream)
    with running(group, cores[1] if len(cores) > 1 else None):
        for peer in group:
            await measure(peer, "/ok100k", 64, 2 * seconds)
        print("\npeak memory with 64 parallel successes of 100 KB, MB (x mitmdump)")
        peaks = {peer.name: memory(peer.process.pid, "VmHWM") for peer in group if peer.process is not None}
        for name, peak in peaks.items():
            print(f"{name:>26} {peak:>6}   x {peak / peaks['mitmdump']:.2f}")
    server.close()


def report(group: Sequence[Peer], paths: Sequence[str]) -> None:
    plain = group[0]
    print("16 connections; medians over turns, ratios taken inside each turn")
    print(f"{'':>26} {'path':>12} {'req/s':>8} {'x mitmdump':>11} {'CPU us':>8} {'x mitmdump':>11}")
    for path in paths:
        for peer in group:
            mine, theirs = peer.results[path, 16], plain.results[path, 16]
            rate = statistics.median(a.rate / b.rate for a, b in zip(mine, theirs, strict=True))
            cpu = statistics.median(a.cpu / b.cpu for a, b in zip(mine, theirs, strict=True))
            print(
                f"{peer.name:>26} {path:>12} {statistics.median(s.rate for s in mine):>8.0f} {rate:>11.2f}"
                f" {statistics.median(s.cpu for s in mine):>8.0f} {cpu:>11.2f}"
            )


def arguments(what: str | None, **more: int) -> argparse.Namespace:
    """Read how many turns of how many seconds to take, in the order of which seed; and further numbers."""
    parser = argparse.ArgumentParser(description=(what or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--seed", type=int, default=7)
    for name, value in more.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def main() -> None:
    args = arguments(__doc__)
    asyncio.run(compare(args.turns, args.seconds, args.seed))


if __name__ == "__main__":
    main()
