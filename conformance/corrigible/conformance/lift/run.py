"""The run: a few workers play every episode of a plan that the log lacks, until all are played or the run is stopped.

A domain's episodes share servers, but for those that have some for themselves.
Knows: resolved plans, which tasks may run side by side. Does not know: how an episode is played or scored, reports.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Final

from corrigible.conformance.lift.arms import WRONG_ON_PURPOSE, Arm, Feedback
from corrigible.conformance.lift.environment import Environment, RunningEnvironment, Unreachable, start
from corrigible.conformance.lift.episode import Job, NotObserved, first_feedback, play
from corrigible.conformance.lift.log import FAITHFUL, Episode, Store
from corrigible.conformance.lift.plan import Prices
from corrigible.conformance.lift.resolved_plan import ResolvedPlan, manifest
from corrigible.conformance.report.terminal import bar
from corrigible.schema.exchange import Json


class EnvironmentPool:
    """The running environments of one domain. The shared one starts on first need, and again if it died.

    `slow` episodes (an agent from outside may think for minutes) never wait: they get servers of their own instead.
    """

    def __init__(self, environment: Environment, domain: str, *, slow: bool = False) -> None:
        self._domain, self._environment, self._slow = domain, environment, slow
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
                self.close()
            if self._shared is None:
                self._shared = self._stack.enter_context(start(self._environment))
            return self._shared

    @contextmanager
    def environment_for(self, task: str) -> Iterator[RunningEnvironment]:
        """Lend the environment for a task. Raises UsageError where it does not start."""
        if self._is_fresh(task):
            with start(self._environment) as running:
                yield running
        else:
            with self._turn if self._environment.is_in_turn(task) else nullcontext():
                yield self.shared()

    def play(self, job: Job) -> Episode:
        """Play an episode in its environment. Raises UsageError where that does not start."""
        if job.arm is Arm.SHUFFLED:
            job = replace(job, pool=self.feedback_of_others(job))
        with self.environment_for(job.task.id) as running:
            return play(job, running)

    def _is_fresh(self, task: str) -> bool:
        return self._environment.is_fresh(task) or (self._slow and self._environment.is_in_turn(task))

    def close(self) -> None:
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


_MOST_ERRORS: Final = 5
"""Errors in a row after which an agent is given up."""


@dataclass(slots=True)
class RunProgress:
    """How far a run is, and with what results."""

    planned: int = 0
    before: int = 0
    """Episodes that the log had already."""
    done: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    cost: float = 0.0
    feedback_harms: list[Episode] = field(default_factory=list)
    errors: list[Episode] = field(default_factory=list)
    stopped: str = ""
    """Why it ended early."""
    seconds: float = 0.0

    def add(self, episode: Episode, cost: float) -> None:
        self.outcomes[episode.outcome] += 1
        if episode.spent is not None:
            self.tokens += episode.spent.input + episode.spent.output
        self.cost += cost
        if feedback_caused_harm(episode):
            self.feedback_harms.append(episode)
        if episode.outcome == "error":
            self.errors.append(episode)


OnProgress = Callable[[RunProgress, Episode | None], None]


def run(
    resolved: ResolvedPlan,
    store: Store,
    on_progress: OnProgress = lambda progress, episode: None,
    pools: Mapping[str, EnvironmentPool] | None = None,
) -> RunProgress:
    """Play the missing episodes. Return the figures of all episodes of this plan that the log then has.

    `pools` are environments that the caller started and closes, by domain; others are started here and closed.
    """
    began = time.monotonic()
    progress = RunProgress(planned=len(resolved.jobs))
    missing = {job.key: job for job in resolved.jobs}
    for episode in store.log.episodes if store.log is not None else ():
        if episode.key in missing and episode.outcome != "error":
            del missing[episode.key]
            progress.before += 1
            progress.add(episode, cost_of(episode, resolved))
    record = manifest(resolved, time.time())
    before = store.log.manifests[-1] if store.log is not None else None
    if before is None or before.model_copy(update={"at": 0.0}) != record.model_copy(update={"at": 0.0}):
        store.add(record)
    on_progress(progress, None)
    if missing:
        _WorkerPool(resolved, store, list(missing.values()), progress, on_progress, pools or {}).work()
    progress.seconds = time.monotonic() - began
    return progress


class _WorkerPool:
    """The workers and their queues. Each worker keeps to a domain without another worker while there is one."""

    def __init__(
        self,
        resolved: ResolvedPlan,
        store: Store,
        jobs: Sequence[Job],
        progress: RunProgress,
        on_progress: OnProgress,
        pools: Mapping[str, EnvironmentPool],
    ) -> None:
        self._resolved, self._store, self._progress, self._on_progress = resolved, store, progress, on_progress
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failed: list[BaseException] = []
        self._errors_in_a_row: Counter[str] = Counter()
        """By agent."""
        rng = random.Random(resolved.plan.seeds[0])
        self._queues: dict[str, deque[Job]] = {}
        for domain in resolved.files:
            own_jobs = sorted((job for job in jobs if job.domain == domain), key=lambda job: job.key)
            rng.shuffle(own_jobs)
            if own_jobs:
                self._queues[domain] = deque(own_jobs)
        self._workers_at: Counter[str] = Counter()
        self._own_pools = {
            domain: EnvironmentPool(resolved.environments[domain], domain)
            for domain in self._queues
            if domain not in pools
        }
        self._pools = {**pools, **self._own_pools}

    def work(self) -> None:
        count = min(self._resolved.plan.concurrency, sum(map(len, self._queues.values())))
        threads = [threading.Thread(target=self._worker, name=f"worker {n}", daemon=True) for n in range(count)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        except KeyboardInterrupt:
            self._end("stopped by Ctrl-C")
            for thread in threads:
                thread.join(10.0)
        finally:
            self._stop.set()
            for pool in self._own_pools.values():
                pool.close()
        if self._failed:
            raise self._failed[0]

    def _end(self, reason: str) -> None:
        if not self._stop.is_set():  # only the first reason counts
            self._add_reason(reason)
        self._stop.set()

    def _add_reason(self, reason: str) -> None:
        self._progress.stopped = "; ".join(filter(None, (self._progress.stopped, reason)))

    def _worker(self) -> None:
        domain = ""
        try:
            while not self._stop.is_set() and (job := self._take(domain)) is not None:
                left, domain = domain, job.domain
                if left != domain:
                    self._close_unused(left)
                episode = self._pools[job.domain].play(job)
                if self._stop.is_set() and episode.outcome == "error":
                    break  # an error that our own stop caused
                self._store.add(episode)
                with self._lock:
                    self._progress.done += 1
                    self._progress.add(episode, cost_of(episode, self._resolved))
                    self._count_errors(episode)
                    self._on_progress(self._progress, episode)
                    cap = self._resolved.plan.cost_cap
                    if cap is not None and self._progress.cost >= cap:
                        self._end(f"the cost cap is reached: {self._progress.cost:.2f} of {cap:.2f}")
        except BaseException as problem:
            self._failed.append(problem)
            self._stop.set()
        finally:
            with self._lock:
                self._workers_at[domain] -= 1
            self._close_unused(domain)

    def _count_errors(self, episode: Episode) -> None:
        """Give up an agent that makes nothing but errors, such as one with a wrong key. The next run tries it again."""
        if episode.outcome != "error":
            self._errors_in_a_row[episode.agent] = 0
            return
        self._errors_in_a_row[episode.agent] += 1
        if self._errors_in_a_row[episode.agent] == _MOST_ERRORS:
            for name, queue in self._queues.items():
                self._queues[name] = deque(job for job in queue if job.agent.name != episode.agent)
            self._add_reason(f"gave up on {episode.agent}, {_MOST_ERRORS} episodes in a row broke")

    def _take(self, domain: str) -> Job | None:
        """Return the next job for a worker and note its domain; None if none is left."""
        with self._lock:
            if domain and self._queues[domain]:
                return self._queues[domain].popleft()
            waiting = [name for name, queue in self._queues.items() if queue]
            if not waiting:
                return None
            alone = [name for name in waiting if not self._workers_at[name]]
            chosen = max(alone or waiting, key=lambda name: len(self._queues[name]))
            self._workers_at.subtract([domain])
            self._workers_at.update([chosen])
            return self._queues[chosen].popleft()

    def _close_unused(self, domain: str) -> None:
        """Stop the servers of a domain that has neither workers nor jobs."""
        with self._lock:
            unused = domain in self._own_pools and not self._queues[domain] and self._workers_at[domain] <= 0
        if unused:
            self._own_pools[domain].close()


def feedback_caused_harm(episode: Episode) -> bool:
    """Return whether harm was done by following feedback that was not wrong on purpose."""
    return bool(episode.harm) and episode.agent in FAITHFUL and episode.arm not in WRONG_ON_PURPOSE


def cost_of(episode: Episode, resolved: ResolvedPlan) -> float:
    """Return what an episode cost by the plan's price table; 0 without one."""
    if episode.spent is None or resolved.plan.prices is None:
        return 0.0
    agent = next((agent for agent in resolved.agents if agent.name == episode.agent), None)
    model: Json = agent.identity.get("model") if agent is not None else None
    return priced(episode, resolved.plan.prices, str(model))


def priced(episode: Episode, prices: Prices, model: str) -> float:
    """Return what an episode cost."""
    usage, price = episode.spent, prices.models.get(model)
    if usage is None or price is None:
        return 0.0
    cached = price.cached if price.cached is not None else price.input
    return ((usage.input - usage.cached) * price.input + usage.cached * cached + usage.output * price.output) / 1e6


@contextmanager
def progress(total: int) -> Iterator[OnProgress]:
    """Yield a function to call after every episode."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield lambda state, episode: None
        return
    with bar(total, "starting servers") as update:
        yield lambda state, episode: update(state.before + state.done, _line(state, episode))


def _line(state: RunProgress, episode: Episode | None) -> str:
    counts = [f"{state.outcomes[name]} {name}" for name in ("success", "failure", "error") if state.outcomes[name]]
    if state.tokens:
        counts.append(f"{state.tokens} tokens")
    if state.cost:
        counts.append(f"cost {state.cost:.2f}")
    if state.feedback_harms:
        counts.append(f"{len(state.feedback_harms)} HARM")
    now = f"  {episode.domain}/{episode.task}" if episode is not None else ""
    return ", ".join(counts) + now
