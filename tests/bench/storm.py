"""What a storm of refusals, and what single large ones, cost everybody else: as ratios inside one interleaved run.

Run by `make bench`. Four callers take successes one after the other and note how long each takes. Meanwhile another
caller has requests refused on 500 connections, or one has a large one refused again and again. The same is played
through a proxy whose mode is none: what it costs to carry refusals is in both, what it costs to correct them is the
ratio. Peers take turns in shuffled order, and ratios are taken inside a turn before the median over turns.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from corrigible.adapters.sandbox.server import free_port

from .traffic import BIN, FORM, REFUSED, Peer, answer_of, arguments, memory, running

OK = b'{"data": "' + b"x" * 1012 + b'"}'
_HEAD = "Host: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: */*\r\n"


def post(body: bytes, caller: str) -> bytes:
    head = f"{_HEAD}Authorization: Bearer {caller}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    return f"POST /v1/charges HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


GET = f"GET /ok HTTP/1.1\r\n{_HEAD}Authorization: Bearer everybody\r\n\r\n".encode()
SMALL = post(FORM, "storm")
LARGE = {
    "21 KB form of unknown parameters": post("&".join(f"p{n:04}=x12" for n in range(1900)).encode(), "large"),
    "1 MB form of one value": post(b"amount=" + b"9" * 1_000_000, "large"),
    "1 MB form, nested": post(b"a" + b"[b]" * 300_000 + b"=1", "large"),
}


class Upstream(asyncio.Protocol):
    """Answers what is asked for with a success, and everything that is sent with a refusal."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.seen = bytearray()

    def data_received(self, data: bytes) -> None:
        self.seen += data
        end = self.seen.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.seen[:end])
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if len(self.seen) < end + 4 + length:
            return
        self.seen.clear()
        status, body = self.answer(head)
        self.transport.write(
            b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)
        )

    def answer(self, head: bytes) -> tuple[bytes, bytes]:
        """Return status and body."""
        return (b"200 OK", OK) if head.startswith(b"GET") else (b"400 Bad Request", REFUSED)


class Sample(NamedTuple):
    """Milliseconds that successes took."""

    median: float
    p99: float
    worst: float
    refusals: int
    """That were answered meanwhile."""
    corrected: int


async def refused(port: int, message: bytes, until: float) -> tuple[int, int]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 21)
    done = corrected = 0
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while time.monotonic() < until:
            writer.write(message)
            answer = await answer_of(reader)
            done += 1
            corrected += b"recovery_feedback" in answer
    writer.close()
    return done, corrected


async def successes(port: int, until: float) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 21)
    took = []
    while time.monotonic() < until:
        begun = time.perf_counter()
        writer.write(GET)
        await answer_of(reader)
        took.append((time.perf_counter() - begun) * 1000)
        await asyncio.sleep(0.002)
    writer.close()
    return took


async def measure(port: int, message: bytes | None, connections: int, seconds: float) -> Sample:
    """Take successes in a process of its own, so that the storm's own work does not delay them."""
    until = time.monotonic() + seconds
    command = [sys.executable, "-m", "tests.bench.storm", "--successes", str(port), "--seconds", str(seconds)]
    taking = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    storm = []
    if message is not None:
        storm = [asyncio.create_task(refused(port, message, until + 1)) for _ in range(connections)]
    said, _ = await taking.communicate()
    counts = await asyncio.gather(*storm)
    took = sorted(map(float, said.split()))
    return Sample(
        statistics.median(took),
        took[int(len(took) * 0.99)],
        took[-1],
        sum(done for done, _ in counts),
        sum(corrected for _, corrected in counts),
    )


def peers(upstream: int) -> list[Peer]:
    found = []
    for mode in ("none", "reflective"):
        port = free_port()
        command = [f"{BIN}/corrigible", "proxy", "--upstream", f"http://127.0.0.1:{upstream}", "--pack", "stripe"]
        found.append(Peer(mode, [*command, "--mode", mode, "--listen", f"127.0.0.1:{port}"], port))
    return found


async def compare(turns: int, seconds: float, seed: int, connections: int) -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0, backlog=1024)
    group, rng = peers(server.sockets[0].getsockname()[1]), random.Random(seed)
    plays: dict[str, tuple[bytes | None, int]] = {
        "nothing else": (None, 0),
        f"refusals on {connections} connections": (SMALL, connections),
        **{name: (message, 1) for name, message in LARGE.items()},
    }
    taken: dict[tuple[str, str], list[Sample]] = {}
    cores = sorted(os.sched_getaffinity(0))
    with running(group, cores[-1] if len(cores) > 1 else None):
        for turn in range(turns):
            for play, (message, count) in plays.items():
                for peer in rng.sample(group, len(group)):
                    taken.setdefault((play, peer.name), []).append(await measure(peer.port, message, count, seconds))
            print(f"turn {turn + 1} of {turns}", file=sys.stderr)
        print("successes beside other calls, ms; medians over turns, ratios to mode none taken inside each turn")
        print(f"{'beside':>34} {'mode':>11} {'median':>8} {'p99':>8} {'x none':>7} {'worst':>8} {'corrected':>16}")
        for play in plays:
            for peer in group:
                report(play, peer.name, taken[play, peer.name], taken[play, "none"])
        for peer in group:
            assert peer.process is not None
            print(f"{peer.name}: {memory(peer.process.pid, 'VmHWM')} MB at most")
    server.close()


def report(play: str, mode: str, mine: Sequence[Sample], plain: Sequence[Sample]) -> None:
    ratio = statistics.median(a.p99 / b.p99 for a, b in zip(mine, plain, strict=True))
    corrected = f"{sum(s.corrected for s in mine)} of {sum(s.refusals for s in mine)}"
    print(
        f"{play:>34} {mode:>11} {statistics.median(s.median for s in mine):>8.2f}"
        f" {statistics.median(s.p99 for s in mine):>8.2f} {ratio:>7.2f}"
        f" {statistics.median(s.worst for s in mine):>8.2f} {corrected:>16}"
    )


async def take(port: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    took = await asyncio.gather(*(successes(port, until) for _ in range(4)))
    print(*(f"{one:.3f}" for each in took for one in each))


def main() -> None:
    args = arguments(__doc__, successes=0, connections=500)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    if args.successes:
        asyncio.run(take(args.successes, args.seconds))
    else:
        asyncio.run(compare(args.turns, args.seconds, args.seed, args.connections))


if __name__ == "__main__":
    main()
