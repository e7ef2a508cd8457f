"""`conformance lift`: how much the feedback helps an agent."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from corrigible.conformance.lift.agents.model import options as option
from corrigible.conformance.lift.arms.arm import Arm
from corrigible.conformance.lift.log.store import opened
from corrigible.conformance.lift.plan import Plan, made, read_plan
from corrigible.conformance.lift.run.progress import progress
from corrigible.conformance.lift.run.worker_pool import RunProgress, run
from corrigible.conformance.model.usage_error import UsageError
from corrigible.schema.exchange import Json

from . import lift_options
from .dry_run import dry_run

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_OTHERS = ("compare", "tasks", "power", "paper", "hotpot", "serve", "report", "export", "reproduce", "audit_scorers")
"""Subcommands in modules of their own."""


def add(subparsers: Subparsers) -> None:
    """Add the command and its subcommands."""
    parser = subparsers.add_parser(
        "lift",
        help="measure how much the feedback helps an agent",
        description="Play episodes (task, arm, agent, seed) against real servers, score them by the end state, and"
        " compare. Scripted agents show that the feedback is sufficient and safe, not how a model uses it.",
    )
    inner = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_run(inner)
    for name in _OTHERS:
        if find_spec(f"{__package__}.lift_{name}") is not None:
            import_module(f"{__package__}.lift_{name}").add(inner)


def _add_run(inner: Subparsers) -> None:
    parser = inner.add_parser(
        "run",
        help="play episodes",
        description="Play every episode that the log in DIR lacks; run it again to continue after a stop."
        " Options override the plan file. Exit status: 0 ran, 1 an agent that follows the feedback did harm,"
        " 2 could not run, or not to the end.",
    )
    lift_options.add(parser)
    parser.add_argument(
        "--arm", action="append", default=[], metavar="NAME,...", help=f"arms to play: {', '.join(Arm)}"
    )
    parser.add_argument(
        "--agent",
        "--agents",
        action="append",
        default=[],
        metavar="NAME,...",
        help="scripted agents; `scripted`: all of them",
    )
    parser.add_argument("--concurrency", type=int, metavar="N", help="number of simultaneous episodes; default: 2")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="maximum time of an episode; default: 120")
    parser.add_argument(
        "--cost-cap", type=float, metavar="AMOUNT", help="stop at this cost; needs a price table in the plan"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="ask no model: say what the plan takes in tokens, by arm and in all, from prompts of the real servers",
    )
    parser.add_argument("--tokens", type=Path, metavar="FILE", help="with --dry-run: write the tokens of every task")
    parser.add_argument("--quiet", action="store_true", help="print no summary")
    option.add(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    if args.dry_run:
        local = [option.local_plan(args, "http://127.0.0.1:1/v1")] if args.local_model is not None else []
        return dry_run(_plan(args, local), args)
    if args.tokens is not None:
        raise UsageError("--tokens belongs to --dry-run")
    with _local_model(args) as local:
        return _played(args, local)


@contextmanager
def _local_model(args: argparse.Namespace) -> Iterator[list[dict[str, Json]]]:
    """Start the model that the options name, and yield the agent that plays with it; nothing without one."""
    if args.local_model is None:
        yield []
        return
    from corrigible.conformance.lift.agents.model.xllamacpp_server import served

    with served(args.local_model) as base_url:
        yield [option.local_plan(args, base_url)]


def _played(args: argparse.Namespace, local: list[dict[str, Json]]) -> int:
    resolved = lift_options.resolve(_plan(args, local), args)
    with opened(args.out) as store:
        for warning in store.log.warnings if store.log is not None else ():
            print(warning, file=sys.stderr)
        with progress(len(resolved.jobs)) as on_progress:
            totals = run(resolved, store, on_progress)
    if not args.quiet:
        print("\n".join(_summary(totals, args.out)))
        if any(agent.kind == "scripted" for agent in resolved.agents):
            print("Scripted agents show that the payload is sufficient and safe, never what a model makes of it.")
    return _status(totals, scripted=all(agent.kind == "scripted" for agent in resolved.agents))


def _plan(args: argparse.Namespace, local: Sequence[dict[str, Json]] = ()) -> Plan:
    document: dict[str, Json] = read_plan(args.plan).model_dump(mode="json") if args.plan is not None else {}
    names = {"domains": args.domain, "tasks": args.task, "arms": args.arm, "seeds": args.seed}
    document |= {name: _split(value) for name, value in names.items() if value}
    if agents := [*({"name": name} for name in _split(args.agent)), *option.plans(args), *local]:
        document["agents"] = agents
    options = ("engine", "start", "attempts", "concurrency", "timeout", "cost_cap", "rate")
    document |= {name: getattr(args, name) for name in options if getattr(args, name) is not None}
    return made(document, str(args.plan or "options"))


def _split(values: list[Json]) -> list[Json]:
    return [
        part for value in values for part in (value.split(",") if isinstance(value, str) else [value]) if part != ""
    ]


def _status(totals: RunProgress, *, scripted: bool) -> int:
    if totals.feedback_harms:
        return 1
    observed = totals.outcomes["success"] + totals.outcomes["failure"]
    return 2 if totals.stopped or not observed or (scripted and totals.errors) else 0


def _summary(totals: RunProgress, out: Path) -> list[str]:
    pace = f" ({totals.done / totals.seconds:.1f} a second)" if totals.done and totals.seconds else ""
    lines = [
        f"{totals.planned} episodes: {totals.before} were in the log,"
        f" {totals.done} played in {totals.seconds:.0f} s{pace}",
        ", ".join(f"{totals.outcomes[name]} {name}" for name in ("success", "failure", "error")),
    ]
    if totals.tokens:
        lines.append(f"{totals.tokens} tokens" + (f", cost {totals.cost:.2f}" if totals.cost else ""))
    for episode in totals.errors[:10]:
        lines.append(f"ERROR {episode.domain}/{episode.task} {episode.arm} {episode.agent}: {episode.why}")
    for episode in totals.feedback_harms[:10]:
        lines.append(f"HARM  {episode.domain}/{episode.task} {episode.arm} {episode.agent}: {'; '.join(episode.harm)}")
    if totals.stopped:
        lines.append(
            f"{totals.stopped}: {totals.planned - totals.before - totals.done} episodes are not played;"
            f" run it again with --out {out} to go on"
        )
    if totals.done:
        lines.append(f"conformance lift report {out}")
    return lines
