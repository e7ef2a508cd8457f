"""Where episodes are played: the servers of a domain that they share, and those that one has for itself.

Knows: worlds, who may play beside whom. Does not know: plans, the store, how an episode is played.
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace

from corrigible.conformance.lift.arms.apply import Feedback
from corrigible.conformance.lift.environment.environment import Environment, RunningEnvironment, start
from corrigible.conformance.lift.environment.http_client import Unreachable
from corrigible.conformance.lift.environment.process_reaper import ProcessReaper
from corrigible.conformance.lift.episode.play import Job, NotObserved, first_answer


class EnvironmentPool:
    """The site that the episodes of a domain share, started when it is first needed, and again where it died.

    Where episodes may be `slow`, none waits for its turn: it gets servers of its own instead, which takes seconds.
    """

    def __init__(self, environment: Environment, domain: str, jobs: Iterable[Job], *, slow: bool = False) -> None:
        self._domain, self._environment, self._reaper = domain, environment, ProcessReaper()
        self._slow = slow
        self._fresh = _Fresh(self._environment, self._reaper, sum(self._is_fresh(job.task.id) for job in jobs))
        self._turn = threading.Lock()
        """Taken before `_lock` by whoever takes both."""
        self._lock = threading.RLock()
        self._stack = ExitStack()
        self._site: RunningEnvironment | None = None
        self._pool: dict[str, Feedback] | None = None

    def site(self) -> RunningEnvironment:
        """Return the site. Raises UsageError where it cannot be started."""
        with self._lock:
            if self._site is not None and self._site.ended() is not None:
                self._close_shared()
            if self._site is None:
                self._site = self._stack.enter_context(start(self._environment, self._reaper))
            return self._site

    @contextmanager
    def environment_for(self, task: str) -> Iterator[RunningEnvironment]:
        """Hand out the site where a task is to be played. Raises UsageError where it cannot be started."""
        if self._is_fresh(task):
            with self._fresh.site() as site:
                yield site
        else:
            with self._turn if self._environment.is_in_turn(task) else nullcontext():
                yield self.site()

    def _is_fresh(self, task: str) -> bool:
        return self._environment.is_fresh(task) or (self._slow and self._environment.is_in_turn(task))

    def close(self) -> None:
        self._fresh.close()
        self._close_shared()
        self._reaper.close()

    def _close_shared(self) -> None:
        with self._lock:
            self._site = None
            self._stack.close()
            self._stack = ExitStack()

    def pool_for(self, job: Job) -> tuple[Feedback, ...]:
        """Return the feedback of every other task of the domain, in the order of the file."""
        if self._pool is None:
            with self._turn, self._lock:
                if self._pool is None:  # still: another may have made it meanwhile
                    self._pool = self._made_pool(job)
        return tuple(found for name, found in self._pool.items() if name != job.task.id)

    def _made_pool(self, job: Job) -> dict[str, Feedback]:
        pool: dict[str, Feedback] = {}
        for task in job.file.tasks:
            if self._environment.is_fresh(task.id):
                continue
            digest = hashlib.sha256(f"the pool: {self._domain}/{task.id}".encode()).hexdigest()
            with suppress(NotObserved, Unreachable):
                found = first_answer(replace(job, key=digest, task=task), self.site())
                if found is not None:
                    pool[task.id] = found
        return pool


class _Fresh:
    """Sites that one episode has for itself. One is started ahead, while others play, as long as one will be wanted."""

    def __init__(self, environment: Environment, reaper: ProcessReaper, wanted: int) -> None:
        self._environment, self._reaper, self._wanted = environment, reaper, wanted
        self._lock = threading.Lock()
        self._starter = ThreadPoolExecutor(2, "fresh") if wanted else None
        self._ahead: deque[Future[tuple[ExitStack, RunningEnvironment]]] = deque()

    @contextmanager
    def site(self) -> Iterator[RunningEnvironment]:
        """Hand out a site that nobody has touched. Raises UsageError where it cannot be started."""
        assert self._starter is not None
        with self._lock:
            for _ in range(min(self._wanted, 2) - len(self._ahead)):
                self._ahead.append(self._starter.submit(self._started))
            self._wanted -= 1
            mine = self._ahead.popleft()
        stack, site = mine.result()
        try:
            yield site
        finally:
            try:
                self._starter.submit(stack.close)
            except RuntimeError:  # the run was stopped meanwhile
                stack.close()

    def close(self) -> None:
        if self._starter is not None:
            with self._lock:
                for one in self._ahead:
                    one.add_done_callback(_closed)
                self._ahead.clear()
            self._starter.shutdown(wait=True, cancel_futures=False)

    def _started(self) -> tuple[ExitStack, RunningEnvironment]:
        stack = ExitStack()
        return stack, stack.enter_context(start(self._environment, self._reaper))


def _closed(started: Future[tuple[ExitStack, RunningEnvironment]]) -> None:
    if not started.cancelled() and started.exception() is None:
        started.result()[0].close()
