"""Hands out the episodes of a plan and plays them for external agents.

Knows: resolved plans, environment pools, the log. Does not know: HTTP, how an episode is played or scored.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from corrigible.conformance.lift.arms.arm import Arm
from corrigible.conformance.lift.episode.job import Job
from corrigible.conformance.lift.episode.play import play
from corrigible.conformance.lift.log.record import Episode
from corrigible.conformance.lift.log.store import Store
from corrigible.conformance.lift.run.environment_pool import EnvironmentPool
from corrigible.conformance.lift.run.manifest import manifest
from corrigible.conformance.lift.run.resolve import ResolvedPlan
from corrigible.conformance.model.usage_error import UsageError

from .external_agent import ExternalAgent, ExternalEpisode

_GRACE: Final = 3600.0


@dataclass(slots=True)
class _Served:
    """An episode that was handed out."""

    job: Job
    episode: ExternalEpisode
    thread: threading.Thread | None = None
    record: Episode | None = None


def allocation(jobs: Sequence[Job], seed: int) -> list[Job]:
    """Return the order in which episodes are handed out: random and balanced.

    In every round each (task, seed) comes once, and arms come equally often. After as many rounds as there are arms,
    each (task, seed) was under each arm. So an agent that stops early has seen arms equally often, give or take one.
    """
    rng = random.Random(seed)
    blocks: dict[tuple[str, str, int], dict[Arm, Job]] = {}
    for job in jobs:
        blocks.setdefault((job.domain, job.task.id, job.seed), {})[job.arm] = job
    arms = sorted({job.arm for job in jobs})
    rng.shuffle(arms)
    keys = sorted(blocks)
    rng.shuffle(keys)
    order: list[Job] = []
    for turn in range(len(arms)):
        round_ = [(key, arms[(index + turn) % len(arms)]) for index, key in enumerate(keys)]
        rng.shuffle(round_)
        order += [blocks[key][arm] for key, arm in round_ if arm in blocks[key]]
    return order


class EpisodeService:
    """Hands out episodes and takes calls for them. Usable from several threads.

    `pools` are environments that the caller started and closes, by domain; others are started here and closed.
    """

    def __init__(
        self,
        resolved: ResolvedPlan,
        store: Store,
        agent: ExternalAgent,
        report: Callable[[str], None],
        pools: Mapping[str, EnvironmentPool] | None = None,
    ) -> None:
        self._resolved, self._store, self._agent, self._report = resolved, store, agent, report
        before = store.log.episodes if store.log is not None else ()
        completed_keys = {episode.key for episode in before if episode.outcome != "error"}
        self.total = len(resolved.jobs)
        self._left = deque(
            job for job in allocation(resolved.jobs, resolved.plan.seeds[0]) if job.key not in completed_keys
        )
        self._served: dict[str, _Served] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._own_pools = {
            domain: EnvironmentPool(
                resolved.environments[domain], domain, [job for job in self._left if job.domain == domain], slow=True
            )
            for domain in resolved.files
            if domain not in (pools or {})
        }
        self._pools = {**(pools or {}), **self._own_pools}
        store.add(
            manifest(resolved.plan, resolved.files, resolved.agents, time.time(), resolved.skipped, resolved.audit)
        )

    def open(self) -> tuple[str, ExternalEpisode] | None:
        """Start the next episode. None: all are handed out. Raises UsageError if none can be set up."""
        for _ in range(3):
            with self._lock:
                if not self._left:
                    return None
                job = self._left.popleft()
                name = secrets.token_urlsafe(16)  # nobody can guess it, and it tells neither arm nor task
                episode = ExternalEpisode(self._agent, job.attempts, job.timeout)
                served = self._served[name] = _Served(job, episode)
            served.thread = threading.Thread(target=self._play, args=(served,), name=f"episode {name}", daemon=True)
            served.thread.start()
            if episode.wait_for_briefing() is not None:
                return name, episode
            episode.over.wait()
        raise UsageError(served.record.why if served.record is not None else "no episode can be set up")

    def episode(self, name: str) -> ExternalEpisode | None:
        """Return an episode that was handed out."""
        with self._lock:
            served = self._served.get(name)
        return served.episode if served is not None else None

    def is_grpc(self, name: str) -> bool:
        return self._resolved.environments[self._served[name].job.domain].grpc

    def is_form(self, name: str) -> bool:
        return self._served[name].job.file.form

    def status(self) -> dict[str, int]:
        """Return how many episodes there are, are left, run and ended."""
        with self._lock:
            running = sum(not served.episode.over.is_set() for served in self._served.values())
            left = len(self._left)
        return {"episodes": self.total, "left": left, "running": running, "ended": self.total - left - running}

    def close(self) -> None:
        """Stop all servers. Episodes that still run count as never played."""
        with self._lock:
            self._closed = True
        for pool in self._own_pools.values():
            pool.close()

    def _play(self, served: _Served) -> None:
        job = replace(served.job, agent=served.episode, timeout=served.job.timeout + _GRACE)
        pool = self._pools[job.domain]
        try:
            if job.arm is Arm.SHUFFLED:
                job = replace(job, pool=pool.feedback_of_others(job))
            with pool.environment_for(job.task.id) as running:
                served.record = play(job, running)
            with self._lock:
                if self._closed:  # it ended with its servers, and the store may be closed as well
                    return
                self._store.add(served.record)
            if served.record.outcome == "error":
                self._report(f"an episode broke and will be handed out by another run: {served.record.why}")
        except UsageError as problem:
            self._report(str(problem))
        finally:
            served.episode.ended()
            self._report("{ended} of {episodes} episodes ended, {running} running, {left} left".format(**self.status()))
