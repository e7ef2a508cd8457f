"""`corrigible proxy --engine envoy`: Envoy and its correctors, from their start to their end.

Knows: the two, the recorder, signals. Does not know: options, what is corrected.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final

from corrigible.proxy.access_log.entry import Verdict
from corrigible.proxy.access_log.statistics import REQUEST_BUCKETS, Group, Recorder, Times
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import RequestHead, ResponseHead
from corrigible.proxy.runtime.fork_server import keep_what_exists, most_connections, raise_limit

from . import CannotStart
from .bootstrap import WATCHED, bootstrap
from .corrector_process import Job
from .correctors import Correctors, addresses_in
from .gateway import Gateway
from .log_line import STATS, entry_of, fields_of, passed_class, passed_of
from .process import ADMIN, PRESSURE, EnvoyProcess, PrivateFolder, configure

_ACTIVE: Final = "http.callers.downstream_rq_active"
_CONNECTIONS: Final = "http.callers.downstream_cx_active"
_BETWEEN_LOOKS: Final = 0.5
"""Seconds between two looks at how many connections there are."""
_NOTEWORTHY: Final = 0.5
"""From this part of the connections on idle ones are closed earlier."""
_WARNING_INTERVAL: Final = 10.0
_PAUSE: Final = 0.2
"""Seconds between a look at Envoy's counters and its use: what it logs comes a moment later."""
_BETWEEN_COUNTS: Final = 2.0
"""Seconds: to look through Envoy's counters takes it, and this process, a millisecond."""
_WATCHED_FOR: Final = 660.0
"""Seconds after the last correction for which successes are watched: loops are forgotten earlier."""

Started = Callable[[asyncio.AbstractEventLoop, Correctors], None]


@dataclass(frozen=True, slots=True)
class EnvoyEngine:
    """What runs."""

    gateway: Gateway
    """Without correctors and admin socket, which get their addresses here."""
    job: Job
    correctors: int
    threads: int
    corrector: HttpCorrector | None = None
    """Says why an answer is not read; None for a gRPC API."""
    label: str = ""
    """What the log and the metrics call the API."""
    unmatched: Callable[[str], None] | None = None
    """Is told the target of each refused request that names no operation."""


def run(engine: EnvoyEngine, recorder: Recorder, line: Callable[[str], str], started: Started) -> int:
    """Serve until SIGTERM or SIGINT: 0. An address that is taken, or the end of Envoy, is 1.

    Call it while the process has one thread.
    """
    raise_limit()  # which Envoy inherits
    with closing(PrivateFolder()) as folder:
        addresses = addresses_in(folder.path, engine.correctors)
        gateway = replace(
            engine.gateway,
            correctors=addresses,
            admin=str(folder.path / ADMIN),
            connections=2 * most_connections(),  # idle ones make room before: a burst is not refused
            pressure=str(folder.path / PRESSURE),
        )
        configure(bootstrap(gateway), folder.path)  # what is done before the fork takes memory once
        keep_what_exists()
        with closing(Correctors(engine.job, folder.path, addresses, recorder.say)) as correctors:
            status, problem = asyncio.run(_Run(engine, recorder, folder, correctors).until_signalled(line, started))
    if problem is not None:
        print(f"corrigible proxy: {problem}", file=sys.stderr, flush=True)
    recorder.close()
    return status


class _Run:
    """One run of the engine."""

    def __init__(self, engine: EnvoyEngine, recorder: Recorder, folder: PrivateFolder, correctors: Correctors) -> None:
        self._engine, self._recorder, self._correctors = engine, recorder, correctors
        self._kept, self._folder = folder, folder.path
        self._most = most_connections()
        self._passed: dict[str, Times] = {}
        """The successes that Envoy had counted when it was asked last, by class of status."""
        self._broken: Counter[str] = Counter()
        """Exchanges among them that broke off: they are logged besides."""
        self._last_corrected = 0.0
        """When an answer was corrected."""

    async def until_signalled(self, line: Callable[[str], str], started: Started) -> tuple[int, str | None]:
        """Serve. Return the exit status, and what went wrong."""
        loop, stop, force = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, lambda: (force if stop.is_set() else stop).set())
        gateway = self._engine.gateway
        at = f"{gateway.host}:{gateway.port}"
        self._keeping = asyncio.create_task(self._kept.stay_kept())
        try:
            await self._correctors.start()  # before Envoy: whoever finds its port open gets corrections
            envoy = await EnvoyProcess.start(self._folder, self._logged, threads=self._engine.threads)
        except (CannotStart, OSError) as problem:
            return 1, f"cannot listen on {at}: {problem}"
        try:
            started(loop, self._correctors)
            scheme = "https" if gateway.identity is not None else "http"
            host = f"[{gateway.host}]" if ":" in gateway.host else gateway.host
            address = f"{host}:{await envoy.port()}"
            ready = line(address if gateway.is_grpc else f"{scheme}://{address}")
            print(ready, file=sys.stderr if gateway.is_grpc else sys.stdout, flush=True)
            return await self._serve(envoy, stop, force)
        finally:
            await envoy.stop()

    async def _serve(self, envoy: EnvoyProcess, stop: asyncio.Event, force: asyncio.Event) -> tuple[int, str | None]:
        counting = [asyncio.create_task(self._count(envoy)), asyncio.create_task(self._make_room(envoy))]
        self._recorder.refresh = lambda: self._refresh(envoy)
        ended, stopping = asyncio.create_task(envoy.wait()), asyncio.create_task(stop.wait())
        await asyncio.wait((ended, stopping), return_when=asyncio.FIRST_COMPLETED)
        for task in counting:
            task.cancel()
        self._recorder.refresh = None
        stopping.cancel()
        if ended.done():
            return 1, envoy.ending()
        self._recorder.is_draining = True
        if not await envoy.drain(_ACTIVE, _CONNECTIONS, force):
            self._recorder.is_cutting = True
            self._recorder.say("unfinished exchanges were cut off")
        passed = await self._asked(envoy)
        await envoy.stop()  # the last lines of its log come before its end
        self._count_successes(passed)
        return 0, None

    def _logged(self, line: bytes) -> None:
        """Record an exchange that Envoy tells of."""
        try:
            fields = fields_of(line)
            is_grpc = self._engine.gateway.is_grpc
            entry = entry_of(fields, is_grpc=is_grpc, api=self._engine.label)
            broken = passed_class(fields, entry, is_grpc=is_grpc)
            if "entry" not in fields and entry.reason is None and entry.verdict is Verdict.UNCHANGED:
                entry = replace(entry, reason=self._reason(fields))
        except (ValueError, KeyError, TypeError):
            return
        if broken is not None:
            self._broken[broken] += 1
        if entry.outcome == "annotated":
            self._last_corrected = asyncio.get_running_loop().time()
        unmatched = self._engine.unmatched
        if unmatched is not None and "entry" in fields and not entry.operation:
            with contextlib.suppress(Exception):  # a hint for people, nothing more
                unmatched(entry.path)
        self._recorder.write(entry)

    def _reason(self, fields: dict[str, Any]) -> str | None:
        """Return why no corrector was asked."""
        corrector = self._engine.corrector
        if corrector is None:
            return "mode is none"
        names = {"type": "content-type", "length": "content-length"}
        response = [(name, str(fields[key])) for key, name in names.items() if key in fields]
        request = [("prefer", str(fields["prefer"]))] if "prefer" in fields else []
        head = RequestHead(str(fields.get("method")), str(fields.get("target") or fields.get("path")), request)
        return corrector.reason_not_read(head, ResponseHead(int(fields["status"]), response)) or None

    async def _count(self, envoy: EnvoyProcess) -> None:
        """Count successes, which nobody but Envoy sees, and end the watching of them when it is of no use any more."""
        loop = asyncio.get_running_loop()
        while True:
            await self._refresh(envoy)
            await asyncio.sleep(_BETWEEN_COUNTS)
            if self._last_corrected and loop.time() - self._last_corrected > _WATCHED_FOR:
                self._last_corrected = 0.0
                with contextlib.suppress(OSError):
                    await envoy.set_runtime(WATCHED, "0")

    async def _make_room(self, envoy: EnvoyProcess) -> None:
        """Have idle connections closed the earlier, the more there are."""
        loop, told, warned = asyncio.get_running_loop(), 0.0, float("-inf")
        while True:
            await asyncio.sleep(_BETWEEN_LOOKS)
            try:
                count = await envoy.counter(_CONNECTIONS)
            except (OSError, ValueError, KeyError):
                continue
            pressure = round(count / self._most, 2)
            pressure = pressure if pressure > _NOTEWORTHY else 0.0
            if pressure != told:
                envoy.press(pressure)
                told = pressure
            if pressure and loop.time() - warned > _WARNING_INTERVAL:
                warned = loop.time()
                self._recorder.say(f"connections run short ({count} of {self._most} are open): idle ones are closed")

    async def _refresh(self, envoy: EnvoyProcess) -> None:
        passed = await self._asked(envoy)
        await asyncio.sleep(_PAUSE)  # until the log has told of the others
        self._count_successes(passed)

    async def _asked(self, envoy: EnvoyProcess) -> dict[str, Times]:
        if self._engine.gateway.logs_all:  # then each is recorded
            return {}
        try:
            return passed_of(await envoy.page(f"^{STATS}"))
        except (OSError, ValueError):
            return {}

    def _count_successes(self, passed: dict[str, Times]) -> None:
        """Count what Envoy has counted since it was asked last."""
        for name, now in passed.items():
            before = self._passed.get(name) or Times.of(REQUEST_BUCKETS)
            is_older = now.count < before.count or sum(now.classes) < sum(before.classes)
            if is_older or not now.count:
                continue
            broken = min(self._broken[name], now.count - before.count)
            self._broken[name] -= broken
            times = self._recorder.statistics.times(Group(self._engine.label, "", name, Verdict.SUCCESS))
            times.count += now.count - before.count - broken
            # Envoy brings durations up to date every few seconds.
            times.seconds += now.seconds - before.seconds
            times.classes = [a + b - c for a, b, c in zip(times.classes, now.classes, before.classes, strict=True)]
            self._passed[name] = now
