"""The run: every episode of a plan that the log does not have yet, by a few workers, until all is done or stopped.

Knows: plans, sites, the store. Does not know: how an episode is played or judged, what agents are, reports.
"""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from corrigible.conformance.lift.agents.protocol import Agent
from corrigible.conformance.lift.agents.registry import agents as catalogue
from corrigible.conformance.lift.arms.arm import WRONG_ON_PURPOSE, Arm
from corrigible.conformance.lift.environment.environment import Environment, description_of, environments
from corrigible.conformance.lift.episode.play import Job, play
from corrigible.conformance.lift.log.record import FAITHFUL, Episode
from corrigible.conformance.lift.log.store import Store
from corrigible.conformance.lift.plan import Plan, Prices
from corrigible.conformance.lift.tasks.task import TASKS, TaskFile, read_tasks
from corrigible.conformance.model.usage_error import UsageError, did_you_mean
from corrigible.schema.exchange import Json

from .environment_pool import EnvironmentPool
from .manifest import key_of, manifest

_TOO_MANY: Final = 5


@dataclass(frozen=True, slots=True)
class ResolvedPlan:
    """A plan with its names looked up."""

    plan: Plan
    files: Mapping[str, TaskFile]
    agents: Sequence[Agent]
    environments: Mapping[str, Environment]
    jobs: Sequence[Job]
    skipped: Mapping[str, str]
    """Domains that cannot be started here, and why."""
    audit: str = ""
    """The digest of the audit's certificate."""


@dataclass(slots=True)
class RunProgress:
    """What a run has come to so far."""

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


Told = Callable[[RunProgress, Episode | None], None]


def task_files(folder: Path = TASKS) -> dict[str, TaskFile]:
    """Read the task files of a folder, by domain. Raises TaskError."""
    return {path.stem: read_tasks(path) for path in sorted(folder.glob("*.yaml"))}


def resolve_plan(plan: Plan, folder: Path = TASKS, agents: Sequence[Agent] = ()) -> ResolvedPlan:
    """Look up all that a plan names. Raises UsageError for what is not there, TaskError for broken task files.

    `agents`, where given, stand for those of the plan.
    """
    files, known = task_files(folder), environments()
    for domain in plan.domains:
        if domain not in files:
            raise UsageError(f"no domain {domain!r}{did_you_mean(domain, files)} (there are {', '.join(files)})")
        if domain not in known:
            raise UsageError(f"nothing says how {domain} is started")
        if why := known[domain].lacks():
            raise UsageError(f"{domain} cannot be started here: {why}")
    wanted = {domain: files[domain] for domain in plan.domains or files}
    skipped = {d: known[d].lacks() if d in known else "nothing says how it is started" for d in wanted}
    skipped = {domain: why for domain, why in skipped.items() if why}
    chosen = {domain: _chosen(plan, domain, file) for domain, file in wanted.items() if domain not in skipped}
    chosen = {domain: file for domain, file in chosen.items() if file.tasks}
    if not chosen:
        raise UsageError(f"no task is called {' or '.join(plan.tasks)} (`conformance lift tasks` lists them)")
    agents = agents or catalogue(plan.agents, plan.rate)
    jobs = [job for domain in chosen for job in _jobs(plan, domain, chosen[domain], files[domain], known, agents)]
    return ResolvedPlan(plan, chosen, agents, known, jobs, skipped)


def _chosen(plan: Plan, domain: str, file: TaskFile) -> TaskFile:
    names = {task.id: (task.id, f"{domain}/{task.id}") for task in file.tasks}
    tasks = tuple(t for t in file.tasks if any(fnmatchcase(n, p) for n in names[t.id] for p in plan.tasks))
    return file.model_copy(update={"tasks": tasks})


def _jobs(
    plan: Plan,
    domain: str,
    chosen: TaskFile,
    whole: TaskFile,
    known: Mapping[str, Environment],
    agents: Sequence[Agent],
) -> Iterator[Job]:
    pool = hashlib.sha256(whole.model_dump_json().encode()).hexdigest()
    for seed in plan.seeds:
        for task in chosen.tasks:
            for arm in dict.fromkeys(plan.arms):
                for agent in agents:
                    yield Job(
                        key=key_of(domain, chosen, task, known[domain], arm.value, agent, seed, plan, pool),
                        domain=domain,
                        file=whole,
                        task=task,
                        arm=arm,
                        agent=agent,
                        seed=seed,
                        attempts=plan.attempts,
                        timeout=plan.timeout,
                        longest_wait=plan.wait_for(agent.kind),
                        strategy=str(agent.identity.get("strategy", "")),
                        description=description_of(known[domain].description),
                    )


def run(planned: ResolvedPlan, store: Store, told: Told = lambda totals, episode: None) -> RunProgress:
    """Play what is missing. Returns what the whole log comes to, as far as this plan goes."""
    began = time.monotonic()
    totals = RunProgress(planned=len(planned.jobs))
    wanted = {job.key: job for job in planned.jobs}
    for episode in store.log.episodes if store.log is not None else ():
        if episode.key in wanted and episode.outcome != "error":
            del wanted[episode.key]
            totals.before += 1
            totals.add(episode, cost_of(episode, planned))
    record = manifest(planned.plan, planned.files, planned.agents, time.time(), planned.skipped, planned.audit)
    before = store.log.manifests[-1] if store.log is not None else None
    if before is None or before.model_copy(update={"at": 0.0}) != record.model_copy(update={"at": 0.0}):
        store.add(record)
    told(totals, None)
    if wanted:
        _WorkerPool(planned, store, list(wanted.values()), totals, told).work()
    totals.seconds = time.monotonic() - began
    return totals


class _WorkerPool:
    """Where workers take jobs from. Each keeps to a domain that nobody else is at, as long as there is one."""

    def __init__(
        self, planned: ResolvedPlan, store: Store, jobs: Sequence[Job], totals: RunProgress, told: Told
    ) -> None:
        self._planned, self._store, self._totals, self._told = planned, store, totals, told
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failed: list[BaseException] = []
        self._broken: Counter[str] = Counter()
        """Episodes that broke since the last one that did not, by agent."""
        rng = random.Random(planned.plan.seeds[0])
        self._queues: dict[str, deque[Job]] = {}
        for domain in planned.files:
            mine = sorted((job for job in jobs if job.domain == domain), key=lambda job: job.key)
            rng.shuffle(mine)
            if mine:
                self._queues[domain] = deque(mine)
        self._at: Counter[str] = Counter()
        self._pools = {
            domain: EnvironmentPool(planned.environments[domain], domain, queue)
            for domain, queue in self._queues.items()
        }

    def work(self) -> None:
        count = min(self._planned.plan.concurrency, sum(map(len, self._queues.values())))
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
            for running in self._pools.values():
                running.close()
        if self._failed:
            raise self._failed[0]

    def _end(self, why: str) -> None:
        if not self._stop.is_set():  # the first reason is the one
            self._cut_short(why)
        self._stop.set()

    def _cut_short(self, why: str) -> None:
        self._totals.stopped = "; ".join(filter(None, (self._totals.stopped, why)))

    def _worker(self) -> None:
        domain = ""
        try:
            while not self._stop.is_set() and (job := self._take(domain)) is not None:
                left, domain = domain, job.domain
                if left != domain:
                    self._tidied(left)
                episode = self._play(job)
                if self._stop.is_set() and episode.outcome == "error":
                    break  # it broke because we stopped
                self._store.add(episode)
                with self._lock:
                    self._totals.done += 1
                    self._totals.add(episode, cost_of(episode, self._planned))
                    self._count_broken(episode)
                    self._told(self._totals, episode)
                    cap = self._planned.plan.cost_cap
                    if cap is not None and self._totals.cost >= cap:
                        self._end(f"the cost cap is reached: {self._totals.cost:.2f} of {cap:.2f}")
        except BaseException as problem:
            self._failed.append(problem)
            self._stop.set()
        finally:
            with self._lock:
                self._at[domain] -= 1
            self._tidied(domain)

    def _count_broken(self, episode: Episode) -> None:
        """Give an agent up that only breaks: a wrong key, a model that is not there. The next run asks it again."""
        if episode.outcome != "error":
            self._broken[episode.agent] = 0
            return
        self._broken[episode.agent] += 1
        if self._broken[episode.agent] == _TOO_MANY:
            for name, queue in self._queues.items():
                self._queues[name] = deque(job for job in queue if job.agent.name != episode.agent)
            self._cut_short(f"gave up on {episode.agent}, {_TOO_MANY} episodes in a row broke")

    def _take(self, domain: str) -> Job | None:
        """Return the next job for a worker, who is at its domain from then on; None where all are taken."""
        with self._lock:
            if domain and self._queues[domain]:
                return self._queues[domain].popleft()
            open_ones = [name for name, queue in self._queues.items() if queue]
            if not open_ones:
                return None
            alone = [name for name in open_ones if not self._at[name]]
            chosen = max(alone or open_ones, key=lambda name: len(self._queues[name]))
            self._at.subtract([domain])
            self._at.update([chosen])
            return self._queues[chosen].popleft()

    def _tidied(self, domain: str) -> None:
        """Stop the servers of a domain that nobody is at and nothing is left of."""
        with self._lock:
            left = bool(domain) and not self._queues[domain] and self._at[domain] <= 0
        if left:
            self._pools[domain].close()

    def _play(self, job: Job) -> Episode:
        shared = self._pools[job.domain]
        if job.arm is Arm.SHUFFLED:
            job = replace(job, pool=shared.feedback_of_others(job))
        with shared.environment_for(job.task.id) as running:
            return play(job, running)


def feedback_caused_harm(episode: Episode) -> bool:
    """Whether harm was done by doing what the feedback of the contract said."""
    return bool(episode.harm) and episode.agent in FAITHFUL and episode.arm not in WRONG_ON_PURPOSE


def cost_of(episode: Episode, planned: ResolvedPlan) -> float:
    """Return what an episode cost by the plan's price table; 0 without one."""
    if episode.spent is None or planned.plan.prices is None:
        return 0.0
    agent = next((one for one in planned.agents if one.name == episode.agent), None)
    model: Json = agent.identity.get("model") if agent is not None else None
    return priced(episode, planned.plan.prices, str(model))


def priced(episode: Episode, prices: Prices, model: str) -> float:
    """Return what an episode cost."""
    spent, price = episode.spent, prices.models.get(model)
    if spent is None or price is None:
        return 0.0
    cached = price.cached if price.cached is not None else price.input
    return ((spent.input - spent.cached) * price.input + spent.cached * cached + spent.output * price.output) / 1e6
