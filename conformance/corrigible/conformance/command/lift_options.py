"""The options that commands of `conformance lift` share: of runs and of models, and the leak audit before a run."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_args

import yaml

from corrigible.conformance.audit.audit import audit, document, gather
from corrigible.conformance.audit.subject import command
from corrigible.conformance.command import several
from corrigible.conformance.command.audit import report
from corrigible.conformance.lift.agents.model import named
from corrigible.conformance.lift.agents.protocol import Agent
from corrigible.conformance.lift.agents.reflection import STRATEGIES
from corrigible.conformance.lift.plan import Plan, Start, digest_of
from corrigible.conformance.lift.resolved_plan import ResolvedPlan, resolve_plan
from corrigible.conformance.lift.task import TASKS
from corrigible.conformance.model.outcome import UsageError, usable
from corrigible.model.provider_client import PROVIDERS
from corrigible.schema.exchange import Json
from corrigible.schema.extra import install_line

ENGINES: Final = ("envoy", "mitmproxy")
CERTIFICATE: Final = "certificate.json"
"""Written beside the log: what the audit compared."""


def add_shared(parser: argparse.ArgumentParser) -> None:
    """Add the shared options."""
    parser.add_argument("plan", nargs="?", type=Path, metavar="PLAN.yaml", help="plan of the run")
    parser.add_argument(
        "--out", type=Path, default=Path("lift"), metavar="DIR", help="folder of the log; default: lift"
    )
    several(
        parser, "--domain", metavar="NAME", help="API to play; default: all whose servers can start here; repeatable"
    )
    several(parser, "--task", metavar="PATTERN", help="only tasks with this id, or domain/id; repeatable")
    several(
        parser, "--seed", type=int, metavar="N", help="seed of one repetition of every task; default: 0; repeatable"
    )
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        help="what carries the traffic; default: what the proxy takes. `lift compare` shows whether two runs agree",
    )
    parser.add_argument(
        "--start",
        choices=get_args(Start),
        help="wish: agents get the wish; refusal: also the task's own call and its refusal, and go on; default: wish",
    )
    parser.add_argument("--attempts", type=int, metavar="N", help="maximum number of calls per episode; default: 5")
    parser.add_argument(
        "--task-files", type=Path, metavar="FOLDER", help="folder of task files; default: the suite's own"
    )
    parser.add_argument("--skip-audit", action="store_true", help="skip the leak audit of tasks and diagnoses")


def resolve(plan: Plan, args: argparse.Namespace, agents: Sequence[Agent] = ()) -> ResolvedPlan:
    """Look up what a plan names, audit its tasks, and print what cannot be started. Raises UsageError."""
    folder: Path = args.task_files or TASKS
    planned = resolve_plan(plan, folder, agents)
    if not args.skip_audit:
        planned = _audited(planned, folder, args.out)
    for domain, reason in planned.skipped.items():
        print(f"skipped {domain}: {reason}", file=sys.stderr)
    return planned


def _audited(planned: ResolvedPlan, folder: Path, out: Path) -> ResolvedPlan:
    """Write the certificate that no text but the feedback gives a fix away. Raises UsageError for a leak."""
    packs = sorted(name for name in planned.files if planned.environments[name].has_pack)
    leak_audit = audit(gather(packs, [folder / f"{name}.yaml" for name in planned.files], command()))
    if leak_audit.leaks:
        print("\n".join(report(leak_audit)), file=sys.stderr)
        raise UsageError("an agent could have a fix without the feedback: correct the texts, or use --skip-audit")
    certificate = document(leak_audit, suite=version("corrigible"), date=datetime.now(UTC).date().isoformat())
    with usable(out):
        out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(certificate, indent=2, ensure_ascii=False) + "\n"
        (out / CERTIFICATE).write_text(text, encoding="utf-8")
    # By what it says, not by the day on which it was said: the same run on another day is the same run.
    return replace(planned, audit=digest_of({name: value for name, value in certificate.items() if name != "date"}))


def add_agents(parser: argparse.ArgumentParser) -> None:
    """Add the options of models that call an API."""
    group = parser.add_argument_group("models", "keys come from the environment; they are neither logged nor recorded")
    several(group, "--model", metavar="PROVIDER:NAME", help=f"PROVIDER: {', '.join(PROVIDERS)}")
    group.add_argument(
        "--base-url", default="", metavar="URL", help="base URL of the provider's API or of a local server"
    )
    group.add_argument("--local", action="store_true", help="a server on this machine is a real model, not a fake")
    group.add_argument(
        "--local-model",
        metavar="NAME",
        help="start a small model on this machine, and play with it: smollm2 (extra `local`); slow, and weak",
    )
    several(
        group,
        "--set",
        metavar="NAME=VALUE",
        help="any other setting: mode=json, temperature=0, max_tokens=8192, extra={reasoning_effort: low}",
    )
    group.add_argument(
        "--rate", type=float, metavar="N", help="requests per minute to one provider, all episodes together"
    )
    several(
        group,
        "--strategy",
        metavar="NAME,...",
        help=f"reflection between calls: {', '.join(STRATEGIES)}; default: none",
    )
    group.add_argument(
        "--first-request",
        choices=("fixed", "agent"),
        help="fixed (default): every episode starts with the task's request",
    )
    group.add_argument(
        "--vocabulary", action="store_true", help="explain the words of feedback in the prompt, the same in every arm"
    )


def plans(args: argparse.Namespace) -> list[dict[str, Json]]:
    """Return the agents that the options name, one for each model and strategy. Raises UsageError."""
    settings = _settings(args)
    strategies = split(args.strategy)
    if not args.model and not args.local_model and (settings or strategies):
        raise UsageError("--strategy, --base-url, --set and the like belong to a --model PROVIDER:NAME")
    return [
        {"name": provider, "model": model, "strategy": strategy, "settings": settings}
        for provider, model in map(named, args.model)
        for strategy in dict.fromkeys(strategies or ["none"])
    ]


@contextmanager
def extra() -> Iterator[None]:
    """Raise UsageError where what is imported within is not installed."""
    try:
        yield
    except ModuleNotFoundError as problem:
        raise UsageError(f"{problem.name} is not installed: {install_line('conformance,lift')}") from None


def split(values: Sequence[str]) -> list[str]:
    """Return the names of an option that takes several, also separated by commas."""
    return [part for value in values for part in value.split(",") if part]


LOCAL: Final[Mapping[str, Json]] = MappingProxyType(
    {"local": True, "mode": "json", "constrained": True, "temperature": 0, "max_tokens": 256, "timeout": 600.0}
)
"""Settings of a model that `--local-model` starts; `--set` changes them."""


def local_plan(args: argparse.Namespace, base_url: str) -> dict[str, Json]:
    """Return the agent that plays with the model at an address of this machine."""
    chosen = {**LOCAL, "name": f"local:{args.local_model}", **_settings(args), "base_url": base_url}
    return {"name": "compatible", "model": args.local_model, "settings": chosen}


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    pairs = dict(_pairs(args.set))
    if args.base_url:
        pairs["base_url"] = args.base_url
    if args.local:
        pairs["local"] = True
    if args.first_request:
        pairs["first_request"] = args.first_request
    if args.vocabulary:
        pairs["vocabulary"] = "words"
    return pairs


def _pairs(options: Sequence[str]) -> list[tuple[str, Any]]:
    pairs = []
    for text in options:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"--set {text}: write NAME=VALUE")
        try:
            pairs.append((name.strip(), yaml.safe_load(value)))
        except yaml.YAMLError as problem:
            raise UsageError(f"--set {text}: {problem}") from None
    return pairs
