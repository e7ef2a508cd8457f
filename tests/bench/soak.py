"""A soak: our proxies before real servers for minutes or hours, under mixed traffic, with memory that stays flat.

Run by `make soak`: ten minutes, or CORRIGIBLE_SOAK_SECONDS. It fails where the memory of a proxy and its children grows
over the second half by more than a bound, where a call is answered otherwise than it should be, or where nothing is
explained. The bound is a rate: 610 bytes lost at each of 100 refusals a second are 3.5 MiB a minute.

Then a proxy with each engine is refused otherwise each time. What is kept of refusals is bounded: from the 6,000th on
no process grows by more than 5 MiB.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from corrigible.adapters.sandbox.server import Command, Running, free_port
from corrigible.conformance.model.yaml_file import SUITE
from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.transport.grpc import GrpcCall, GrpcClient

from .refusals import callers as be_refused
from .refusals import refusing

BIN: Final = Path(sys.executable).parent
SECONDS: Final = 600.0
BOUND: Final = 0.5
"""MiB a minute by which memory may grow over the second half."""
NOISE: Final = 6.0
"""MiB by which the figure moves anyway: what is less over the whole second half is no growth."""
FULL: Final = 6000
"""Refusals of which no two are alike, after which all that is kept of refusals is as large as it gets."""
GROWTH: Final = 5.0
"""MiB by which a process may grow from then on."""
ENGINES: Final = ("mitmproxy", "envoy")
CALLERS: Final = 60
STRANGERS: Final = 0.02
"""Share of calls by somebody who never called before."""
Json = Any


class Call(NamedTuple):
    """One kind of HTTP call."""

    name: str
    weight: int
    method: str
    path: str
    status: int
    body: Callable[[], Json] | None = None
    explained: bool = False
    """It is refused, and the proxy says what would work."""


def order(**more: Json) -> dict[str, Json]:
    return {
        "customer": "cus_ada",
        "currency": "eur",
        "channel": "web",
        "lines": [{"sku": "tea", "quantity": 1}],
        **more,
    }


def wide(members: int) -> Callable[[], Json]:
    return lambda: order(**{f"unknown_{number}": "x" * 20 for number in range(members)})


COCOA: Final = [{"sku": "cocoa", "quantity": 2}]
"""There is none."""
CALLS: Final = (
    Call("a list", 30, "GET", "/v1/orders", 200),
    Call("one object", 20, "GET", "/v1/items/tea", 200),
    Call("a write that is tried", 10, "POST", "/v1/orders?dry_run=true", 201, order),
    Call("by a rule with a look-up", 10, "POST", "/v1/refunds", 422, lambda: {"order": "ord_1", "amount": 500}, True),
    Call("by a rule that ends it", 5, "POST", "/v1/orders/ord_3/cancel", 409, None, True),
    Call("by a rule with a choice", 5, "POST", "/v1/orders", 422, lambda: order(lines=COCOA), True),
    Call("by the description alone", 10, "POST", "/v1/orders", 400, lambda: order(gift="true"), True),
    Call("by the description, a query", 5, "GET", "/v1/orders?limit=500", 400, None, True),
    Call("a path that is misspelt", 3, "GET", "/v1/ordres", 404, None, True),
    Call("an unknown thing", 3, "GET", "/v1/orders/nothing", 404),
    Call("a body of 30 KB", 2, "POST", "/v1/orders", 400, wide(800)),
    Call("a body of 300 KB", 1, "POST", "/v1/orders", 400, wide(8000)),
)  # fmt: skip


class Sample(NamedTuple):
    at: float
    mib: float


@dataclass(slots=True)
class Tally:
    """What was asked and how it went, of all callers together."""

    done: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, name: str, *, explained: bool, wrong: str = "") -> None:
        with self.lock:
            self.done[name] += 1
            self.explained[name] += explained
            if wrong:
                self.wrong[f"{name}: {wrong}"] += 1


def tree(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    found = [pid]
    for one in found:
        with suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def memory(pid: int) -> float:
    """Return the MiB that a process and its children hold; pages that they share count once."""
    total = 0
    for one in tree(pid):
        with suppress(OSError):
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


def slope(samples: Sequence[Sample]) -> float:
    """Return the MiB a minute by which memory grows over the second half, by least squares."""
    half = second_half(samples)
    if len(half) < 3:
        return 0.0
    return statistics.linear_regression([one.at for one in half], [one.mib for one in half]).slope * 60


def second_half(samples: Sequence[Sample]) -> Sequence[Sample]:
    middle = (samples[0].at + samples[-1].at) / 2 if samples else 0.0
    return [one for one in samples if one.at >= middle]


def grows(samples: Sequence[Sample], bound: float = BOUND, noise: float = NOISE) -> bool:
    """Whether memory grows by more than the bound, and by more than it moves anyway."""
    half = second_half(samples)
    if len(half) < 3:
        return False
    rate = slope(samples)
    return rate > bound and rate * (half[-1].at - half[0].at) / 60 > noise


def callers(port: int, tally: Tally, over: threading.Event, seed: int) -> None:
    """Make calls over one connection, as one of many callers each time, until it is over."""
    dice, fresh = random.Random(seed), 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    while not over.is_set():
        call = dice.choices(CALLS, [one.weight for one in CALLS])[0]
        fresh += 1
        who = f"stranger-{seed}-{fresh}" if dice.random() < STRANGERS else f"caller-{dice.randrange(CALLERS)}"
        headers = {"Authorization": f"Bearer {who}", "Prefer": "recovery-feedback=reflective"}
        body = None
        if call.body is not None:
            body = json.dumps(call.body())
            headers["Content-Type"] = "application/json"
        try:
            connection.request(call.method, call.path, body, headers)
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            tally.note(call.name, explained=False, wrong=type(problem).__name__)
            continue
        wrong = "" if answer.status == call.status else str(answer.status)
        explained = b'"recovery_feedback"' in said
        if explained and call.status < 400:
            wrong = "a success with feedback"
        tally.note(call.name, explained=explained, wrong=wrong)
    connection.close()


GOOD: Final = {"customerEmail": "ada@example.com", "currency": "EUR", "items": [{"sku": "mug-blue", "quantity": 2}]}
GRPC: Final[tuple[tuple[str, str, Json, int], ...]] = (
    ("gRPC, a list", "ListProducts", {}, 0),
    ("gRPC, refused", "CreateOrder", {**GOOD, "customerEmail": "Ada@Example.com"}, 3),
    ("gRPC, refused, a look-up", "CreateOrder", {**GOOD, "items": [{"sku": "tea-gren", "quantity": 1}]}, 3),
    ("gRPC, refused, 60 items", "CreateOrder", {**GOOD, "items": [{"sku": "mug-blue", "quantity": 50}] * 60}, 3),
)


def grpc_callers(port: int, tally: Tally, over: threading.Event, seed: int) -> None:
    dice = random.Random(seed)
    with GrpcClient(f"127.0.0.1:{port}") as wire:
        while not over.is_set():
            name, method, document, code = dice.choice(GRPC)
            who = ("authorization", f"Bearer caller-{dice.randrange(CALLERS)}")
            path = grpc_shop.path(method)
            got = wire.send(GrpcCall(path, (grpc_shop.request(path, document),), (who,)), timeout=30)
            wrong = "" if got.code == code else f"code {got.code}"
            tally.note(name, explained=got.feedback is not None, wrong=wrong)


class Held(NamedTuple):
    """What the processes of a proxy hold, by process, in MiB."""

    refusals: int
    """So many were before."""
    mib: Mapping[int, float]


def resident(pid: int) -> Mapping[int, float]:
    """Return the MiB of resident memory of a process and of each that descends from it."""
    found = {}
    for one in tree(pid):
        with suppress(OSError):
            pages = int(Path(f"/proc/{one}/statm").read_text().split()[1])
            found[one] = pages * os.sysconf("SC_PAGESIZE") / (1 << 20)
    return found


def growth(held: Sequence[Held]) -> float:
    """Return the MiB by which the process that grew most has grown since the refusals after which none should."""
    later = [one for one in held if one.refusals >= FULL]
    if not later:
        return 0.0
    first, last = later[0].mib, later[-1].mib
    return max((mib - first[pid] for pid, mib in last.items() if pid in first), default=0.0)


def vary(engine: str, most: int, every: float) -> list[Held]:
    """Refuse so many requests otherwise each time, through a proxy. Returns what it held meanwhile."""
    reference, port = Path(SUITE, "reference"), free_port()
    explained: list[bool] = []
    with refusing() as upstream:
        words = [str(BIN / "corrigible"), "proxy", "--quiet", "--engine", engine, "--listen", f"127.0.0.1:{port}"]
        words += ["--upstream", f"http://127.0.0.1:{upstream}", "--pack", str(reference / "pack")]
        with _listening(engine, [*words, "--spec", str(reference / "openapi.yaml")], port) as running:
            arguments = (port, lambda: len(explained) >= most, explained.append)
            threads = [threading.Thread(target=be_refused, args=(*arguments, seed)) for seed in (5, 6)]
            for thread in threads:
                thread.start()
            held = []
            while any(thread.is_alive() for thread in threads):
                held.append(Held(len(explained), resident(running.process.pid)))
                time.sleep(every)
            held.append(Held(len(explained), resident(running.process.pid)))
    if len(explained) < most or not any(explained):
        raise RuntimeError(f"{engine}: {len(explained)} of {most} were answered, {sum(explained)} explained")
    return held


@contextmanager
def proxies() -> Iterator[tuple[Running, Running]]:
    """Start the servers and a proxy before each: HTTP, and gRPC."""
    behind, http_port, grpc_port = free_port(), free_port(), free_port()
    behind_grpc = free_port()
    reference = Path(SUITE, "reference")
    shop = [str(BIN / "conformance"), "serve-reference", "--port", str(behind), "--grpc-port", str(behind_grpc)]
    start = [str(BIN / "corrigible"), "proxy"]
    over_http = ["--upstream", f"http://127.0.0.1:{behind}", "--pack", str(reference / "pack")]
    over_http += ["--spec", str(reference / "openapi.yaml"), "--listen", f"127.0.0.1:{http_port}"]
    over_grpc = ["--grpc-upstream", f"127.0.0.1:{behind_grpc}", "--pack", str(reference / "grpc_pack")]
    over_grpc += ["--descriptors", str(reference / "shop.binpb"), "--listen", f"127.0.0.1:{grpc_port}"]
    with ExitStack() as stack:
        stack.enter_context(_listening("the shop", shop, behind))
        yield (
            stack.enter_context(_listening("HTTP", [*start, *over_http], http_port)),
            stack.enter_context(_listening("gRPC", [*start, *over_grpc], grpc_port)),
        )


@contextmanager
def _listening(title: str, command: list[str], port: int) -> Iterator[Running]:
    with Running(title, Command(command), port) as running:
        running.wait_until_listening(60)
        yield running


def soak(seconds: float, every: float, told: Callable[[str], None]) -> tuple[dict[str, list[Sample]], Tally, float]:
    """Let it run. Returns the samples of each proxy, what was asked, and the seconds it took."""
    tally, over = Tally(), threading.Event()
    with proxies() as running:
        web, rpc = running
        threads = [threading.Thread(target=callers, args=(web.port, tally, over, seed)) for seed in range(3)]
        threads.append(threading.Thread(target=grpc_callers, args=(rpc.port, tally, over, 99)))
        samples: dict[str, list[Sample]] = {one.title: [] for one in running}
        for thread in threads:
            thread.start()
        began, next_line = time.monotonic(), 0.0
        try:
            while (passed := time.monotonic() - began) < seconds:
                for one in running:
                    samples[one.title].append(Sample(passed, memory(one.process.pid)))
                    if one.process.poll() is not None:
                        tally.wrong[f"the proxy for {one.title} ended"] += 1
                if passed >= next_line:
                    next_line += max(30.0, seconds / 40)
                    held = ", ".join(f"{title} {found[-1].mib:.1f} MiB" for title, found in samples.items())
                    told(f"{passed:6.0f} s  {tally.done.total():8} calls  {held}")
                time.sleep(every)
        finally:
            over.set()
            for thread in threads:
                thread.join(60)
        return samples, tally, time.monotonic() - began


def report(samples: dict[str, list[Sample]], tally: Tally, seconds: float, bound: float) -> list[str]:
    """Return the figures, one line each."""
    lines = [f"{tally.done.total()} calls in {seconds:.0f} s, {tally.done.total() / seconds:.0f} a second"]
    for name, count in tally.done.most_common():
        lines.append(f"  {count:8}  {name}, {tally.explained[name]} explained")
    for title, found in samples.items():
        half = second_half(found)
        times = (("at first", found[0]), ("at half time", half[0]), ("at the end", found[-1]))
        held = ", ".join(f"{one.mib:.1f} {when}" for when, one in times)
        lines.append(f"{title}: MiB {held}; second half {slope(found):+.3f} a minute, bound {bound:g}")
    return lines


def problems(samples: dict[str, list[Sample]], tally: Tally, bound: float) -> list[str]:
    """Return what makes a soak fail."""
    found = [f"{title}: memory grows by {slope(s):.2f} MiB a minute" for title, s in samples.items() if grows(s, bound)]
    found += [f"{count} times {said}" for said, count in tally.wrong.most_common()]
    found += [f"{one.name}: never explained" for one in CALLS if one.explained and not tally.explained[one.name]]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    given = float(os.environ.get("CORRIGIBLE_SOAK_SECONDS", SECONDS))
    parser.add_argument("--seconds", type=float, default=given, help="default: %(default)g")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two looks at the memory")
    parser.add_argument("--bound", type=float, default=BOUND, help="MiB a minute, over the second half: %(default)g")
    parser.add_argument("--refusals", type=int, default=4 * FULL, help="varied ones, for each engine: %(default)s")
    args = parser.parse_args(arguments)
    samples, tally, seconds = soak(args.seconds, args.every, lambda line: print(line, flush=True))
    print("\n".join(report(samples, tally, seconds, args.bound)))
    wrong = problems(samples, tally, args.bound)
    for engine in ENGINES:
        held = vary(engine, args.refusals, args.every)
        grown = growth(held)
        print(f"{engine}: {held[-1].refusals} varied refusals; {grown:+.1f} MiB after {FULL}, bound {GROWTH:g}")
        if grown > GROWTH:
            wrong.append(f"{engine}: a process grows by {grown:.1f} MiB after {FULL} varied refusals")
    print("\n".join(["FAILED", *wrong]) if wrong else "memory stays flat")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
