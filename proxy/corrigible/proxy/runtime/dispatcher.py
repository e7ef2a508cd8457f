"""Where and when a refusal is corrected: here in a moment, in a worker, or not at all. Traffic comes first.

Knows: how large a task is, whose it is, how long the event loop was busy with others. Does not know: what it is about.

Small tasks are done on the loop, but only for a part of its time: what does not fit waits for the next round, the
callers in turn. Large ones go to workers. There is a bound for each caller and one for all; beyond it the native answer
passes.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.loop.detector import SharedLoops
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import record

from .lookup_runner import Fetch, LookupBudget
from .worker import Overloaded, WorkerLate, WorkerLost, Workers

T = TypeVar("T")
Correction = Generator[Lookup, LookupAnswer, T]

LARGE: Final = 8 << 10
"""Bytes of a request and its answer from which on they are not read on the loop."""
OF_ONE: Final = 64
"""Refusals of one caller that are under way at the same time, look-ups and waiting included."""
OF_ALL: Final = 512
LARGE_OF_ONE: Final = 4
LARGE_OF_ALL: Final = 32

LOOPS_STATE: Final = "loops"
LOOPS_RESTORE: Final = "restore loops"
"""What workers know the memory of loops by."""

_SLOW: Final = 0.004
"""Seconds of the loop's time for one step, from which on the next tasks of its kind go to workers."""
_FORGOTTEN: Final = 30.0
_GRACE: Final = 3
"""A multiple of the time limit: beyond it, the look-ups' own time limit has failed."""
_KINDS: Final = 1024
_PARTS, _NAME = 12, 40
_LATE: Final = "the look-ups took too long"
_SHARE: Final = 0.25
"""Of the loop's time, for corrections, while there is other work."""
_LEAST: Final = 0.002
_MOST: Final = 0.02
"""Seconds of one round."""


@record
class Task(Generic[T]):
    """One refusal to correct."""

    name: str
    """What a worker knows it by."""
    here: Callable[..., Correction[T]]
    """The same, for small ones."""
    accepted: Callable[[T], T]
    """Takes over what a worker made of it."""
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    size: int
    """Bytes that have to be read."""
    caller: str
    """Whose it is; empty where nobody can tell."""
    kind: str = ""
    """What takes about as long each time; empty where nobody can tell."""


class Unanswered(NamedTuple):
    """Why a refusal passes as it came, for the log."""

    reason: str | None
    """Whatever is not our fault, or was decided."""
    error: str | None


@dataclass(frozen=True, slots=True)
class Attempt(Generic[T]):
    """What came of one task, for the log."""

    outcome: T | None
    """None where it came to nothing."""
    why: Unanswered
    """Why it came to nothing."""
    lookups: int
    seconds: float


def unanswered(problem: Exception) -> Unanswered:
    """Return what is said of a correction that raised this."""
    match problem:
        case Overloaded():
            return Unanswered(str(problem), None)
        case WorkerLate():
            return Unanswered(str(problem), str(problem))
        case WorkerLost():
            return Unanswered(None, str(problem))
        case TimeoutError():
            return Unanswered(_LATE, _LATE)
        case _:  # the law: an error of ours means that the native answer passes
            return Unanswered(None, f"{type(problem).__name__}: {problem}")


def kind_of(method: str, path: str, status: int) -> str:
    """Return what refusals of one kind have in common: all but the parts of the path that name one thing."""
    parts = path.split("/", _PARTS)[: _PARTS + 1]
    shape = "/".join("*" if len(part) > _NAME or any(map(str.isdigit, part)) else part for part in parts)
    return f"{method} {status} {shape}"


class _SlowKinds:
    """Kinds of tasks that lately took too long for the loop: they are for workers, until they are forgotten."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()

    def note(self, kind: str, seconds: float) -> None:
        """Take how long a step of this kind kept the loop."""
        if kind and seconds > _SLOW:
            self._until[kind] = self._clock() + _FORGOTTEN
            self._until.move_to_end(kind)
            if len(self._until) > _KINDS:
                self._until.popitem(last=False)

    def __contains__(self, kind: str) -> bool:
        until = self._until.get(kind)
        if until is not None and until <= self._clock():
            del self._until[kind]
            until = None
        return until is not None


class _IsSlow(Exception):
    """A task whose turn has come is of a kind that is for workers by now."""


class _Step(NamedTuple):
    run: Callable[[], Any]
    future: asyncio.Future[Any]
    until: float


class Dispatcher:
    """All corrections of one front end go through here."""

    def __init__(
        self,
        workers: Workers | None = None,
        loops: SharedLoops | None = None,
        *,
        largest_here: int | None = LARGE,
        clock: Callable[[], float] = time.monotonic,
        busy: Callable[[], float] = time.thread_time,
    ) -> None:
        """Without workers, what is larger than `largest_here` is left alone; None leaves nothing alone.

        `busy` tells the seconds that this thread has computed: on a machine with other work, a step takes longer.
        """
        self._clock, self._busy = clock, busy
        self._slow = _SlowKinds(clock)
        self._workers = workers
        self._loops = loops
        self._largest_here = largest_here
        self.rejected: Counter[str] = Counter()
        """How many were left alone, by reason."""
        self._small = _Places(OF_ONE, OF_ALL)
        self._large = _Places(LARGE_OF_ONE, LARGE_OF_ALL)
        self._turn = _Turn(clock)

    async def run(self, task: Task[T], fetch: Fetch, limits: Limits) -> T:
        """Return the result of a task. Raises Overloaded and WorkerLost, and what the task raises."""
        large = self._largest_here is not None and task.size > self._largest_here
        try:
            if not large and not self._is_slow(task):
                self._small.take(task.caller)
                try:
                    return await self._here(task, fetch, limits)
                except _IsSlow:
                    pass
                finally:
                    self._small.leave(task.caller)
            if self._workers is None:
                raise Overloaded(f"over {self._largest_here} bytes to read")
            self._large.take(task.caller)
            try:
                return await self._elsewhere(self._workers, task, fetch, limits)
            finally:
                self._large.leave(task.caller)
        except Overloaded as reason:
            self.rejected[str(reason)] += 1
            raise

    async def attempt(self, task: Task[T], fetch: Fetch, limits: Limits) -> Attempt[T]:
        """Run a task. Nothing is raised: whatever goes wrong, the native answer passes."""
        lookups, began = 0, time.perf_counter()
        outcome, why = None, Unanswered(None, None)

        async def counted(lookup: Lookup) -> LookupAnswer:
            nonlocal lookups
            lookups += 1
            return await fetch(lookup)

        try:
            async with asyncio.timeout(_GRACE * limits.seconds_with_lookups):
                outcome = await self.run(task, counted, limits)
        except Exception as problem:
            why = unanswered(problem)
        return Attempt(outcome, why, lookups, time.perf_counter() - began)

    def _is_slow(self, task: Task[Any]) -> bool:
        """Whether a task is for a worker: of a caller whose refusals are counted here none is, or the count is lost."""
        if self._workers is None or task.kind not in self._slow:
            return False
        return self._loops is None or not self._loops.counts_here(task.caller)

    async def _elsewhere(self, workers: Workers, task: Task[T], fetch: Fetch, limits: Limits) -> T:
        budget: LookupBudget | None = None

        def begin() -> None:
            nonlocal budget
            budget = LookupBudget(fetch, limits, self._clock)

        async def answer(lookup: Lookup) -> LookupAnswer:
            assert budget is not None, "the worker asks once it has begun"
            return await budget.answer(lookup)

        if self._loops is not None:
            self._loops.mark_remote(task.caller)
        result: T = await workers.run(
            (task.name, task.arguments, task.named),
            answer,
            seconds=limits.seconds_with_lookups,
            wait=limits.seconds_with_lookups / 2,
            caller=task.caller,
            begin=begin,
        )
        assert budget is not None, "the worker has begun"
        in_time = budget.in_time(result)
        if in_time is not result:
            workers.notify("uncount_refusal", (_id(task),), caller=task.caller)
        return task.accepted(in_time)

    async def _here(self, task: Task[T], fetch: Fetch, limits: Limits) -> T:
        correction = task.here(*task.arguments, **task.named)
        wait = limits.seconds_with_lookups / 2
        budget: LookupBudget | None = None

        def first() -> Any:
            nonlocal budget
            if self._is_slow(task):
                correction.close()
                raise _IsSlow
            budget = LookupBudget(fetch, limits, self._clock)
            return next(correction)

        def timed(step: Callable[[], Any]) -> tuple[bool, Any]:
            if not task.kind:
                return _advance(step)  # to ask for the time is a call of the kernel
            began = self._busy()
            try:
                return _advance(step)
            finally:
                self._slow.note(task.kind, self._busy() - began)

        step: Callable[[], Any] = first
        while True:
            finished, value = await self._turn.take(task.caller, functools.partial(timed, step), wait)
            assert budget is not None, "the first step was taken"
            if finished:
                result: T = budget.in_time(value)
                if result is not value and self._loops is not None:
                    self._loops.uncount_refusal(_id(task))
                return result
            step = functools.partial(correction.send, await budget.answer(value))

    def learn(self, name: str, *arguments: Any) -> None:
        """Have workers know something that was not known when they were prepared."""
        if self._workers is not None:
            self._workers.learn(name, arguments)

    async def reload(self, name: str, *, forget: bool) -> None:
        """Have workers load anew what this process has loaded anew. `forget` ends all loops, which stay otherwise."""
        if forget and self._loops is not None:
            self._loops.clear()
        if self._workers is not None:
            await self._workers.reload(name, LOOPS_STATE, None if forget else LOOPS_RESTORE)

    def unready(self) -> Iterator[str]:
        """Yield why not everything that is large can be corrected: nothing where it can."""
        if self._workers is not None and not self._workers.can_start():
            yield "no worker can be started: large errors pass as they came"

    def mend(self) -> None:
        """Call it now and then: what starts workers is seen to."""
        if self._workers is not None:
            self._workers.mend()

    def close(self) -> None:
        """End the workers."""
        if self._workers is not None:
            self._workers.close()

    def summary(self) -> Iterator[str]:
        """Yield a line for each reason for which refusals were left alone."""
        for reason, count in self.rejected.most_common():
            yield f"{count} refusals were passed on as they came: {reason}"


def _id(task: Task[Any]) -> str:
    return str(task.named.get("id", ""))


def _advance(step: Callable[[], Any]) -> tuple[bool, Any]:
    """Go to the next look-up, or to the end: whether it is the end, and what came of it."""
    try:
        return False, step()
    except StopIteration as stop:
        return True, stop.value


class _Places:
    """How many are under way, in all and of each caller."""

    def __init__(self, of_one: int, of_all: int) -> None:
        self._of_one, self._of_all = of_one, of_all
        self._count = 0
        self._callers: dict[str, int] = {}

    def take(self, caller: str) -> None:
        """Take a place, for `leave` to give back. Raises Overloaded if none is free."""
        if self._count >= self._of_all:
            raise Overloaded("shed: too many refusals at once")
        in_use = self._callers.get(caller, 0)
        if in_use >= self._of_one:
            raise Overloaded("shed: too many refusals of this caller")
        self._count += 1
        self._callers[caller] = in_use + 1

    def leave(self, caller: str) -> None:
        self._count -= 1
        self._callers[caller] -= 1
        if not self._callers[caller]:
            del self._callers[caller]


class _Turn:
    """The loop's time for corrections: a slice of each round, the callers in turn."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._waiting: OrderedDict[str, deque[_Step]] = OrderedDict()
        self._spent = 0.0
        self._slice = _LEAST
        self._last = 0.0
        """When the last round ended."""
        self._armed = False

    async def take(self, caller: str, run: Callable[[], Any], wait: float) -> Any:
        """Run a short step when its turn comes. Raises Overloaded if that takes longer than `wait`."""
        self._arm()
        if not self._waiting and self._spent < self._slice:
            started = self._clock()
            try:
                return run()
            finally:
                self._spent += self._clock() - started
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(_Step(run, future, self._clock() + wait))
        return await future

    def _arm(self) -> None:
        if not self._armed:
            self._armed = True
            asyncio.get_running_loop().call_soon(self._round)

    def _round(self) -> None:
        now = self._clock()
        self._armed = False
        self._slice = min(_MOST, max(_LEAST, _SHARE * (now - self._last)))
        end = now + self._slice
        while self._waiting and now < end:
            caller, steps = next(iter(self._waiting.items()))
            step = steps.popleft()
            if steps:
                self._waiting.move_to_end(caller)
            else:
                del self._waiting[caller]
            if step.future.done():
                continue
            if now > step.until:
                step.future.set_exception(Overloaded("shed: waited too long for its turn"))
            else:
                _settle(step)
                now = self._clock()
        self._last = self._clock()
        self._spent = self._last - end + self._slice
        if self._waiting:
            self._arm()


def _settle(step: _Step) -> None:
    try:
        step.future.set_result(step.run())
    except Exception as problem:
        step.future.set_exception(problem)


__all__ = ["LARGE", "Attempt", "Dispatcher", "Overloaded", "Task", "Unanswered", "WorkerLost", "kind_of", "unanswered"]
