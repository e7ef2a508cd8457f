"""What our filters and correctors add to Envoy: CPU per request beside Envoy without them, inside one interleaved run.

Times, never a test. Run by `make bench`. Clients and upstream share one core, the proxies have the other; peers take
turns in shuffled order, and every ratio is taken inside a turn before the median over turns. CPU (user and system) is
that of all processes of a peer. With `wrk` on the path it makes the load, else this process does; a successful request
costs Envoy less under the greater load, so the two are not to be compared.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from corrigible.adapters.sandbox.server import free_port
from corrigible.proxy.envoy import envoy_path
from corrigible.proxy.envoy.bootstrap import connection_manager, listener
from corrigible.proxy.envoy.gateway import Gateway, clusters
from corrigible.proxy.http.api_routes import Upstream as At

from .storm import Upstream as StormUpstream
from .traffic import BIN, FORM, REFUSED, Peer, Sample, arguments, client, cpu_seconds, memory, running

_HEAD = "Host: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: */*\r\nAuthorization: Bearer bench\r\n"
_BODY = b'{"data": "' + b"x" * 1012 + b'"}'


class Task(NamedTuple):
    name: str
    method: str
    path: str
    body: bytes = b""
    content_type: str = "application/json"

    def request(self) -> bytes:
        head = f"{self.method} {self.path} HTTP/1.1\r\n{_HEAD}"
        if self.body:
            head += f"Content-Type: {self.content_type}\r\nContent-Length: {len(self.body)}\r\n"
        return f"{head}\r\n".encode() + self.body

    def script(self) -> str:
        """Return it as wrk takes it."""
        text = "".join(f"\\{byte:03d}" for byte in self.body)
        lines = [f'wrk.method = "{self.method}"', "local n = 0"]
        if self.body:
            lines += [f'wrk.body = "{text}"', f'wrk.headers["Content-Type"] = "{self.content_type}"']
        # A thousand callers in turn: one that is refused again and again is another matter.
        caller = f'n = (n + 1) % 1000; wrk.headers["Authorization"] = "Bearer {self.name} " .. n'
        return "\n".join([*lines, f"request = function() {caller}; return wrk.format() end"])


TASKS = (
    Task("GET 1 KB", "GET", "/ok1k"),
    Task("GET 100 KB", "GET", "/ok100k"),
    Task("POST 1 KB", "POST", "/ok1k", _BODY),
    Task("refused", "POST", "/v1/charges", FORM, "application/x-www-form-urlencoded"),
)


class Upstream(StormUpstream):
    """Answers by the path."""

    def answer(self, head: bytes) -> tuple[bytes, bytes]:
        path = head.split(b" ", 2)[1]
        if path == b"/v1/charges":
            return b"400 Bad Request", REFUSED
        return b"200 OK", b"x" * 102_400 if path == b"/ok100k" else _BODY


def plain_config(folder: Path, port: int, upstream: int) -> Path:
    """Return Envoy's configuration with nothing of ours in it."""
    gateway = Gateway("127.0.0.1", port, At("http", "127.0.0.1", upstream), ())
    manager = connection_manager(gateway)["typed_config"]
    for name in ("early_header_mutation_extensions", "access_log", "local_reply_config"):
        del manager[name]
    route = {"match": {"prefix": "/"}, "route": {"cluster": "api", "timeout": "0s"}}
    manager["route_config"]["virtual_hosts"] = [{"name": "api", "domains": ["*"], "routes": [route]}]
    manager["http_filters"] = manager["http_filters"][-1:]
    own = listener(gateway)
    own["filter_chains"] = [{"filters": [{"name": "http", "typed_config": manager}]}]
    path = folder / "plain.json"
    path.write_text(json.dumps({"static_resources": {"listeners": [own], "clusters": clusters(gateway)[:1]}}), "utf-8")
    return path


def peers(folder: Path, upstream: int) -> list[Peer]:
    plain, ours, other = free_port(), free_port(), free_port()
    words = [f"{BIN}/corrigible", "proxy", "--upstream", f"http://127.0.0.1:{upstream}", "--pack", "stripe", "--quiet"]
    config = str(plain_config(folder, plain, upstream))
    envoy = [envoy_path(), "-c", config, "--disable-hot-restart", "--concurrency", "1", "--log-level", "error"]
    return [
        Peer("Envoy", envoy, plain),
        Peer("corrigible on Envoy", [*words, "--listen", f"127.0.0.1:{ours}", "--engine", "envoy"], ours),
        Peer("corrigible on mitmproxy", [*words, "--listen", f"127.0.0.1:{other}"], other),
    ]


def tree(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += tree(int(child))
    return found


def spent_by(pid: int) -> float:
    return sum(cpu_seconds(one) for one in tree(pid))


async def measure(peer: Peer, task: Task, clients: int, seconds: float) -> Sample:
    assert peer.process is not None
    before = spent_by(peer.process.pid)
    loop = asyncio.get_running_loop()
    begin = loop.time()
    wrk = shutil.which("wrk")
    if wrk is None:
        until = time.monotonic() + seconds
        done = sum(await asyncio.gather(*(client(peer.port, task.request(), until) for _ in range(clients))))
    else:
        done = await wrk_load(wrk, peer, task, clients, seconds)
    wall = loop.time() - begin
    return Sample(done / wall, (spent_by(peer.process.pid) - before) / done * 1e6)


async def wrk_load(wrk: str, peer: Peer, task: Task, clients: int, seconds: float) -> int:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(task.script())
        script.flush()
        words = ("-t1", f"-c{clients}", f"-d{max(1, round(seconds))}s", "-s", script.name)
        process = await asyncio.create_subprocess_exec(
            wrk, *words, f"http://127.0.0.1:{peer.port}{task.path}", stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
    found = re.search(rb"(\d+) requests in", output)
    assert found is not None, output
    return int(found[1])


async def compare(turns: int, seconds: float, seed: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Upstream, "127.0.0.1", 0)
    cores = sorted(os.sched_getaffinity(0))
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        group = peers(Path(folder), server.sockets[0].getsockname()[1])
        if len(cores) > 1:
            os.sched_setaffinity(0, {cores[0]})
        with running(group, cores[1] if len(cores) > 1 else None):
            for peer in group:
                for task in TASKS:
                    await measure(peer, task, 4, 1)
            for turn in range(turns):
                for task in TASKS:
                    for peer in rng.sample(group, len(group)):
                        peer.results.setdefault((task.name, 16), []).append(await measure(peer, task, 16, seconds))
                print(f"turn {turn + 1} of {turns}", file=sys.stderr)
            report(group)
            memories = {
                peer.name: sum(memory(pid, "VmRSS") for pid in tree(peer.process.pid)) for peer in group if peer.process
            }
            print("\nmemory of all processes, MB: " + ", ".join(f"{name} {each}" for name, each in memories.items()))
    server.close()


def report(group: Sequence[Peer]) -> None:
    print(f"16 connections, load by {'wrk' if shutil.which('wrk') else 'this process'}; medians over turns")
    print(f"{'':>24} {'':>11} {'req/s':>8} {'x Envoy':>8} {'CPU us':>8} {'x Envoy':>8}")
    for task in TASKS:
        for peer in group:
            mine, plain = peer.results[task.name, 16], group[0].results[task.name, 16]
            rate = statistics.median(a.rate / b.rate for a, b in zip(mine, plain, strict=True))
            cpu = statistics.median(a.cpu / b.cpu for a, b in zip(mine, plain, strict=True))
            print(
                f"{peer.name:>24} {task.name:>11} {statistics.median(s.rate for s in mine):>8.0f} {rate:>8.2f}"
                f" {statistics.median(s.cpu for s in mine):>8.1f} {cpu:>8.2f}"
            )


def main() -> None:
    args = arguments(__doc__)
    asyncio.run(compare(args.turns, args.seconds, args.seed))


if __name__ == "__main__":
    main()
