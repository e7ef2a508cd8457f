"""The servers that episodes run against: those that a domain's episodes share, and those that one has for itself.

Knows: environments, which tasks may run side by side. Does not know: plans, the log, how an episode is played.
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
from corrigible.conformance.lift.episode.job import Job
from corrigible.conformance.lift.episode.play import NotObserved, first_feedback


class EnvironmentPool:
    """The running environments of one domain. The shared one starts on first need, and again if it died.

    `slow` episodes (an agent from outside may think for minutes) never wait: they get servers of their own instead.
    """

    def __init__(self, environment: Environment, domain: str, jobs: Iterable[Job], *, slow: bool = False) -> None:
        self._domain, self._environment, self._slow = domain, environment, slow
        self._fresh = _FreshEnvironments(environment, sum(self._is_fresh(job.task.id) for job in jobs))
        self._turn = threading.Lock()
        """Taken before `_lock` where both are taken."""
        self._lock = threading.RLock()
        self._stack = ExitStack()
        self._shared: RunningEnvironment | None = None
        self._feedback: dict[str, Feedback] | None = None

    def shared(self) -> RunningEnvironment:
        """Return the shared environment. Raises UsageError where it does not start."""
        with self._lock:
            if self._shared is not None and self._shared.ended() is not None:
                self._close_shared()
            if self._shared is None:
                self._shared = self._stack.enter_context(start(self._environment))
            return self._shared

    @contextmanager
    def environment_for(self, task: str) -> Iterator[RunningEnvironment]:
        """Lend the environment for a task. Raises UsageError where it does not start."""
        if self._is_fresh(task):
            with self._fresh.take() as running:
                yield running
        else:
            with self._turn if self._environment.is_in_turn(task) else nullcontext():
                yield self.shared()

    def _is_fresh(self, task: str) -> bool:
        return self._environment.is_fresh(task) or (self._slow and self._environment.is_in_turn(task))

    def close(self) -> None:
        self._fresh.close()
        self._close_shared()

    def _close_shared(self) -> None:
        with self._lock:
            self._shared = None
            self._stack.close()
            self._stack = ExitStack()

    def feedback_of_others(self, job: Job) -> tuple[Feedback, ...]:
        """Return the feedback of every other task of the domain, in the order of the file."""
        if self._feedback is None:
            with self._turn, self._lock:
                if self._feedback is None:  # another thread may have made it meanwhile
                    self._feedback = self._all_feedback(job)
        return tuple(feedback for name, feedback in self._feedback.items() if name != job.task.id)

    def _all_feedback(self, job: Job) -> dict[str, Feedback]:
        by_task: dict[str, Feedback] = {}
        for task in job.file.tasks:
            if self._environment.is_fresh(task.id):
                continue
            digest = hashlib.sha256(f"the pool: {self._domain}/{task.id}".encode()).hexdigest()
            with suppress(NotObserved, Unreachable):
                feedback = first_feedback(replace(job, key=digest, task=task), self.shared())
                if feedback is not None:
                    by_task[task.id] = feedback
        return by_task


class _FreshEnvironments:
    """Environments for one episode each. Up to two are started ahead while others play."""

    def __init__(self, environment: Environment, size: int) -> None:
        self._environment, self._wanted = environment, size
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(2, "fresh") if size else None
        self._ahead: deque[Future[tuple[ExitStack, RunningEnvironment]]] = deque()

    @contextmanager
    def take(self) -> Iterator[RunningEnvironment]:
        """Lend an unused environment. Raises UsageError where it does not start."""
        assert self._executor is not None
        with self._lock:
            for _ in range(min(self._wanted, 2) - len(self._ahead)):
                self._ahead.append(self._executor.submit(self._start))
            self._wanted -= 1
            future = self._ahead.popleft()
        stack, running = future.result()
        try:
            yield running
        finally:
            try:
                self._executor.submit(stack.close)
            except RuntimeError:  # the run was stopped meanwhile
                stack.close()

    def close(self) -> None:
        if self._executor is not None:
            with self._lock:
                for started in self._ahead:
                    started.add_done_callback(_close)
                self._ahead.clear()
            self._executor.shutdown(wait=True, cancel_futures=False)

    def _start(self) -> tuple[ExitStack, RunningEnvironment]:
        stack = ExitStack()
        return stack, stack.enter_context(start(self._environment))


def _close(started: Future[tuple[ExitStack, RunningEnvironment]]) -> None:
    if not started.cancelled() and started.exception() is None:
        started.result()[0].close()
