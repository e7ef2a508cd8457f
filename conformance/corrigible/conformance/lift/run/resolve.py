"""A plan with its names looked up: task files, agents, environments, and the jobs that follow.

Knows: names, task files. Does not know: how a job is run, the log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from corrigible.conformance.lift.agents.protocol import Agent
from corrigible.conformance.lift.agents.registry import agents as registered_agents
from corrigible.conformance.lift.environment.environment import Environment, description_of, environments
from corrigible.conformance.lift.episode.job import Job
from corrigible.conformance.lift.plan import Plan
from corrigible.conformance.lift.tasks.asked import Asked
from corrigible.conformance.lift.tasks.asked import known as asked_for
from corrigible.conformance.lift.tasks.ending import ENDINGS, read_endings
from corrigible.conformance.lift.tasks.task import TASKS, TaskFile, read_tasks
from corrigible.conformance.model.usage_error import UsageError, did_you_mean

from .manifest import key_of

_NOT_IN_FILE = "no entry in environments.yaml"


@dataclass(frozen=True, slots=True)
class ResolvedPlan:
    """A plan and all that it names."""

    plan: Plan
    files: Mapping[str, TaskFile]
    agents: Sequence[Agent]
    environments: Mapping[str, Environment]
    jobs: Sequence[Job]
    skipped: Mapping[str, str]
    """Domains that cannot be started here, and why."""
    audit: str = ""
    """The digest of the audit's certificate."""


def task_files(folder: Path = TASKS) -> dict[str, TaskFile]:
    """Read the task files of a folder, by domain. Raises TaskError."""
    return {path.stem: read_tasks(path) for path in sorted(folder.glob("*.yaml"))}


def resolve_plan(plan: Plan, folder: Path = TASKS, agents: Sequence[Agent] = ()) -> ResolvedPlan:
    """Look up all names of a plan. Raises UsageError for an unknown name, TaskError for a wrong task file.

    `agents`, if given, replace those of the plan.
    """
    files = task_files(folder)
    known = {name: environment.on(plan.engine) for name, environment in environments().items()}
    for domain in plan.domains:
        if domain not in files:
            raise UsageError(f"no domain {domain!r}{did_you_mean(domain, files)} (there are {', '.join(files)})")
        if why := known[domain].why_unavailable() if domain in known else _NOT_IN_FILE:
            raise UsageError(f"{domain} cannot be started here: {why}")
    lacking = {name: known[name].why_unavailable() if name in known else _NOT_IN_FILE for name in plan.domains or files}
    chosen = {domain: _chosen(plan, domain, files[domain]) for domain, why in lacking.items() if not why}
    chosen = {domain: file for domain, file in chosen.items() if file.tasks}
    if not chosen:
        raise UsageError(f"no task is called {' or '.join(plan.tasks)} (`conformance lift tasks` lists them)")
    agents = agents or registered_agents(plan.agents, plan.rate)
    asked = {domain: _asked(files[domain], folder / ENDINGS.name) for domain in chosen}
    jobs = [
        job
        for domain, file in chosen.items()
        for job in _jobs(plan, file, files[domain], known[domain], agents, asked[domain])
    ]
    skipped = {domain: why for domain, why in lacking.items() if why}
    return ResolvedPlan(plan, chosen, agents, known, jobs, skipped)


def _asked(file: TaskFile, folder: Path) -> Mapping[str, Asked]:
    """Return what each task asks for, by its endings; nothing for files of somebody else that have none."""
    if not (folder / f"{file.domain}.yaml").is_file():
        return {}
    return asked_for(file.tasks, read_endings(file, folder))


def _chosen(plan: Plan, domain: str, file: TaskFile) -> TaskFile:
    def matches(name: str) -> bool:
        return any(fnmatchcase(name, pattern) or fnmatchcase(f"{domain}/{name}", pattern) for pattern in plan.tasks)

    return file.model_copy(update={"tasks": tuple(task for task in file.tasks if matches(task.id))})


def _jobs(
    plan: Plan,
    chosen: TaskFile,
    whole: TaskFile,
    environment: Environment,
    agents: Sequence[Agent],
    asked: Mapping[str, Asked],
) -> Iterator[Job]:
    domain = whole.domain
    pool = hashlib.sha256(whole.model_dump_json().encode()).hexdigest()
    for seed in plan.seeds:
        for task in chosen.tasks:
            for arm in dict.fromkeys(plan.arms):
                for agent in agents:
                    yield Job(
                        key=key_of(
                            domain, chosen, task, environment, arm.value, agent, seed, plan, pool, asked.get(task.id)
                        ),
                        domain=domain,
                        file=whole,
                        task=task,
                        arm=arm,
                        agent=agent,
                        seed=seed,
                        attempts=plan.attempts,
                        timeout=plan.timeout,
                        longest_wait=plan.wait_for(agent.kind),
                        start=plan.start,
                        asked=asked.get(task.id),
                        strategy=str(agent.identity.get("strategy", "")),
                        description=description_of(environment.description),
                    )
