"""`--drift`: some of what passes is judged by the API's description, in a process of its own. No traffic waits for it.

Knows: exchanges, workers, which exchanges are taken. Does not know: how they are judged, what an answer becomes.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from corrigible.proxy.http.messages import HttpExchange
from corrigible.proxy.http.request_reader import read_request
from corrigible.proxy.runtime.dispatcher import kind_of
from corrigible.proxy.runtime.fork_server import ForkServer
from corrigible.proxy.runtime.worker import MEMORY, Workers
from corrigible.schema.content_encoding import decoded
from corrigible.schema.printable import printable

from .entry import redact_target
from .statistics import OTHER, Drifted, Named, Recorder, count

if TYPE_CHECKING:
    from corrigible.adapters.drift import Drift, Judged, OpenApiJudge

CALL: Final = "call"
"""What the worker knows calls of gRPC by."""
LARGEST: Final = 256 << 10
"""Bytes of a body that is judged."""
_WAITING: Final = 32
"""Exchanges that wait for the judge: further ones are dropped."""
_SECONDS: Final = 30.0
"""For one exchange; the first one has the description read."""
_MOST_LOST: Final = 3
"""Exchanges, one after the other, that the judge broke off at: then it is given up."""
_KINDS: Final = 1024
_MOST: Final = 500
"""Operations, and what is found of each: more are counted together."""
_DECODED: Final = 4 << 20
_NO_BODY: Final = frozenset({204, 205, 304})


class CopiedBody:
    """Keeps a copy of a body that passes through it, as long as it is short enough."""

    def __init__(self) -> None:
        self.body: bytearray | None = bytearray()

    def __call__(self, data: bytes) -> bytes:
        if self.body is not None:
            self.body += data
            if len(self.body) > LARGEST:
                self.body = None
        return data


class HttpJudging:
    """Judges exchanges by the descriptions of one API. It works in the worker, where descriptions are read."""

    def __init__(self, files: Sequence[Path], base: str) -> None:
        self._files, self._base = files, base
        self._stamps: Sequence[int] = ()
        self._judges: Sequence[OpenApiJudge] = ()

    def __call__(self, native: HttpExchange) -> Judged:
        from corrigible.adapters.drift import Drift, Judged, OpenApiJudge

        stamps = [one.stat().st_mtime_ns for one in self._files]
        if stamps != self._stamps:
            self._judges = [OpenApiJudge(one, self._base) for one in self._files]
            self._stamps = stamps
        head, answer = native.request, native.response
        request_body = decoded(head.headers, native.request_body, _DECODED)
        request = read_request(head.method, head.target, head.headers, request_body)
        is_bodiless = head.method == "HEAD" or answer.status in _NO_BODY
        body = None if is_bodiless else decoded(answer.headers, native.response_body, _DECODED)
        media = next((value for name, value in answer.headers if name.lower() == "content-type"), "")
        for judge in self._judges:
            judged = judge.judged(request, answer.status, media.partition(";")[0].strip().lower(), body)
            if judged is not None:
                return judged
        is_success = 200 <= answer.status < 300 and head.method not in ("HEAD", "OPTIONS")
        said = Drift("undocumented_operation", "call", "", "The operation is not described, and the API has it")
        return Judged(redact_target(kind_of(head.method, head.path, answer.status)), [said] if is_success else [])


class DriftWatch:
    """Takes samples of what passes, has them judged one after the other, and counts what is found."""

    def __init__(self, judging: Mapping[str, Callable[[Any], Judged]], one_in: int, recorder: Recorder) -> None:
        """Fork the worker: call it while the process has one thread. `judging` has a judge for each API's task."""
        self._workers = Workers(ForkServer(judging, memory=MEMORY, nicer=10), most=MEMORY)
        self._judged_tasks, self._one_in, self._recorder = frozenset(judging), one_in, recorder
        self._seen: Counter[str] = Counter()
        self._waiting: deque[tuple[str, str, Any]] = deque()
        self._working: asyncio.Task[None] | None = None
        self._lost = 0
        self._judged: Counter[tuple[str, str]] = Counter()
        self._found: dict[tuple[str, str], Counter[Drift]] = defaultdict(Counter)
        """By API and operation."""

    def wants(self, task: str, method: str, path: str, status: int) -> bool:
        """Whether an exchange is to be judged: of each kind the first, then one in so many."""
        if task not in self._judged_tasks or self._lost >= _MOST_LOST:
            return False
        kind = f"{task} {kind_of(method, path, status)}"
        kind = kind if kind in self._seen or len(self._seen) < _KINDS else OTHER
        self._seen[kind] += 1
        return (self._seen[kind] - 1) % self._one_in == 0

    def offer(self, task: str, api: str, native: Any) -> None:
        """Take an exchange; one of None is too large. Nothing is waited for."""
        if native is None or len(self._waiting) >= _WAITING:
            self._recorder.statistics.judged[Named(api, "dropped")] += 1
            return
        self._waiting.append((task, api, native))
        if self._working is None or self._working.done():
            self._working = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        statistics = self._recorder.statistics
        while self._waiting:
            task, api, native = self._waiting.popleft()
            work: tuple[str, tuple[Any, ...], Mapping[str, Any]] = (task, (native,), {})
            try:
                judged: Judged = await self._workers.run(work, _nothing, seconds=_SECONDS, wait=_SECONDS)
            except Exception as problem:  # of the judge: traffic has passed already
                self._lost += 1
                statistics.judged[Named(api, "failed")] += 1
                if self._lost == _MOST_LOST:
                    self._recorder.say(f"--drift: no exchange is judged any more: {printable(str(problem))[:200]}")
                    self._waiting.clear()
            else:
                self._lost = 0
                self._count(api, judged)

    def _count(self, api: str, judged: Judged) -> None:
        statistics = self._recorder.statistics
        statistics.judged[Named(api, "judged")] += 1
        operation = printable(judged.operation)
        place = (api, operation)
        if place not in self._judged and len(self._judged) >= _MOST:
            place = (api, OTHER)
        self._judged[place] += 1
        for drift in judged.drifts:
            count(statistics.drift, Drifted(api, operation, drift.kind), Drifted(api, OTHER, drift.kind))
            if drift in self._found[place] or len(self._found[place]) < _MOST:
                self._found[place][drift] += 1

    async def finish(self) -> None:
        """Wait for what is being judged, for a while."""
        if self._working is not None:
            await asyncio.wait([self._working], timeout=_SECONDS / 3)

    def close(self) -> None:
        """End the worker."""
        self._workers.close()

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Return what was found, by operation, for the report."""
        return [
            {
                "operation": f"{api}: {operation}" if api else operation,
                "judged": self._judged[api, operation],
                "complaints": [{**one._asdict(), "calls": calls} for one, calls in found.most_common()],
            }
            for (api, operation), found in sorted(self._found.items(), key=lambda item: -item[1].total())
            if found
        ]


async def _nothing(_: Any) -> None:
    """Answer a worker that asks: a judge never does."""
