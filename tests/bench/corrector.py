"""How many refusals a corrector answers in a second of one core: a process of its own, asked as Envoy asks it.

Run by `make bench`. Two loads: the 500-byte refusal of the side-by-side run, and the cases of the Stripe pack that need
no look-up. Each question is of another caller. Each load runs twice: as it is, so that the corrector knows nearly all
of it from before, and with another request id in each question, so that it knows none. What counts is the CPU of the
corrector, user and system: this process, which asks, may be slower. Times, never a test.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

import orjson

import corrigible.rules
from corrigible.rules.pack.cases import Case, load_cases
from corrigible.rules.pack.load import rule_files
from corrigible.schema.exchange import Json

from .results import Goal, record
from .side_by_side.peers import cpu_seconds
from .side_by_side.tasks import CALLERS, FORM, REFUSED
from .traffic import BIN, arguments

CONNECTIONS = 16
_PACK = Path(corrigible.rules.__path__[0], "packs", "stripe")
_START_SECONDS = 60.0


class Question(NamedTuple):
    """A refused exchange, but for who calls."""

    request: bytes
    """The head, as lines of `name:value`."""
    sent: bytes
    response: bytes
    answer: bytes

    def message(self, caller: int, id: int | None = None) -> bytes:
        """Return what Envoy sends to a corrector. With an `id` it is no repetition of another one."""
        head = self.request + b"authorization:Bearer bench %d\n" % caller
        if id is not None:
            head += b"x-request-id:%d\n" % id
        parts = (head, base64.b64encode(self.sent), self.response, self.answer, b"")
        body = b"".join(parts)
        lengths = b" ".join(b"%d" % len(part) for part in parts)
        return (
            b"POST /v1/refusal HTTP/1.1\r\nhost: corrigible\r\ncorrigible-peer: 127.0.0.1\r\n"
            b"corrigible-sections: %b\r\nx-envoy-expected-rq-timeout-ms: 1500\r\ncontent-length: %d\r\n\r\n%b"
        ) % (lengths, len(body), body)


def question(
    method: str, target: str, headers: Mapping[str, str], sent: bytes, status: int, answer: bytes, kind: str
) -> Question:
    request = {":authority": "127.0.0.1", ":path": target, ":method": method, ":scheme": "http"}
    request |= {"user-agent": "bench", "accept": "*/*", **headers}
    response = {":status": str(status), "content-length": str(len(answer)), "content-type": kind}
    response |= {"date": "Thu, 26 Nov 2026 12:00:00 GMT", "server": "envoy"}
    return Question(_head(request), sent, _head(response), answer)


def _head(headers: Mapping[str, str]) -> bytes:
    return "".join(f"{name}:{value}\n" for name, value in headers.items()).encode()


def bench_case() -> list[Question]:
    form = {"content-type": "application/x-www-form-urlencoded", "content-length": str(len(FORM))}
    return [question("POST", "/v1/charges", form, FORM, 400, REFUSED, "application/json")]


def pack_cases() -> list[Question]:
    """Return the cases of the Stripe pack that need no look-up."""
    cases = [case for file in rule_files(_PACK) for case in load_cases(file)]
    return [_question_of(case) for case in cases if not case.text.lookups]


def _question_of(case: Case) -> Question:
    request, response = case.exchange.request, case.exchange
    target = request.path + (f"?{urlencode(list(_pairs(request.query)))}" if request.query else "")
    sent, headers = b"", dict(request.headers)
    headers.pop("authorization", None)
    if request.body is not None and request.method != "GET":
        if request.form:
            sent = urlencode(list(_pairs(request.body))).encode()
            headers.setdefault("content-type", "application/x-www-form-urlencoded")
        else:
            sent = orjson.dumps(request.body)
            headers.setdefault("content-type", "application/json")
        headers["content-length"] = str(len(sent))
    kind = response.headers.get("content-type", "application/json")
    return question(request.method, quote(target, "/?=&%"), headers, sent, response.status, response.body, kind)


def _pairs(value: Json, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields of a form, as Stripe spells nested ones."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _pairs(inner, f"{name}[{key}]" if name else str(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _pairs(inner, f"{name}[{index}]")
    else:
        yield name, value if isinstance(value, str) else orjson.dumps(value).decode()


class Load(NamedTuple):
    """What a corrector is asked."""

    questions: Sequence[Question]
    is_new: bool
    """None of them was asked before."""


async def _ask(path: str, load: Load, callers: Iterator[int], until: float) -> int:
    reader, writer = await asyncio.open_unix_connection(path, limit=1 << 20)
    done = 0
    while time.monotonic() < until:
        caller = next(callers)
        asked = load.questions[caller % len(load.questions)]
        writer.write(asked.message(caller % CALLERS, caller if load.is_new else None))
        head = await reader.readuntil(b"\r\n\r\n")
        if head[9:12] not in (b"200", b"204"):
            sys.exit(f"the corrector answered {head.decode()}")
        if head[9:12] == b"200":
            await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
        done += 1
    writer.close()
    return done


async def measure(pid: int, path: str, load: Load, callers: Iterator[int], seconds: float) -> float:
    """Return microseconds of the corrector's CPU for each refusal."""
    before, until = cpu_seconds(pid), time.monotonic() + seconds
    asking = [_ask(path, load, callers, until) for _ in range(CONNECTIONS)]
    done = sum(await asyncio.gather(*asking))
    return (cpu_seconds(pid) - before) / done * 1e6


async def compare(turns: int, seconds: float) -> None:
    kinds = {"500 bytes": bench_case(), "Stripe's cases": pack_cases()}
    ways = {"known": False, "new": True}
    loads = {f"{kind}, {way}": Load(kinds[kind], ways[way]) for kind in kinds for way in ways}
    taken: dict[str, list[float]] = {name: [] for name in loads}
    callers = itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/corrector"
        words = [f"{BIN}/corrigible", "corrector", "--upstream", "http://127.0.0.1:9", "--pack", "stripe"]
        process = subprocess.Popen([*words, "--listen", f"unix:{path}"], stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not os.path.exists(path) and time.monotonic() < deadline:
                await asyncio.sleep(0.05)
            for load in loads.values():
                await measure(process.pid, path, load, callers, 1)
            for _ in range(turns):
                for name, load in loads.items():
                    taken[name].append(await measure(process.pid, path, load, callers, seconds))
        finally:
            process.terminate()
            process.wait(15)
    medians = {name: statistics.median(each) for name, each in taken.items()}
    print(f"{'':>21} {'questions':>10} {'CPU us':>8} {'refusals/s of one core':>24}")
    for name, each in medians.items():
        print(f"{name:>21} {len(loads[name].questions):>10} {each:>8.1f} {1e6 / each:>24.0f}")
    bounds = {"500 bytes": 5000.0, "Stripe's cases": 2000.0}
    goals = [
        Goal(f"{name}: refusals/s of one core", 1e6 / each, bounds[name.partition(",")[0]])
        for name, each in medians.items()
    ]
    record("corrector", {"cpu_us": medians}, goals)


def main() -> None:
    args = arguments(__doc__)
    asyncio.run(compare(args.turns, args.seconds))


if __name__ == "__main__":
    main()
