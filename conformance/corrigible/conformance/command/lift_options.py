"""The options that `conformance lift run` and `lift serve` share, and the leak audit before they start."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, get_args

from corrigible.conformance.audit.audit import audit, document, gather
from corrigible.conformance.audit.subject import command
from corrigible.conformance.lift.agents.protocol import Agent
from corrigible.conformance.lift.plan import Plan, Start, digest_of
from corrigible.conformance.lift.run.resolve import ResolvedPlan, resolve_plan
from corrigible.conformance.lift.tasks.task import TASKS, TaskError
from corrigible.conformance.model.usage_error import UsageError

from .audit import report

ENGINES: Final = ("envoy", "mitmproxy")
CERTIFICATE: Final = "certificate.json"
"""Written beside the log: what the audit compared."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the shared options."""
    parser.add_argument("plan", nargs="?", type=Path, metavar="PLAN.yaml", help="plan of the run")
    parser.add_argument(
        "--out", type=Path, default=Path("lift"), metavar="DIR", help="folder of the log; default: lift"
    )
    parser.add_argument(
        "--domain",
        action="append",
        default=[],
        metavar="NAME",
        help="API to play; default: all whose servers can start here; repeatable",
    )
    parser.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only tasks with this id, or domain/id; repeatable",
    )
    parser.add_argument(
        "--seed",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="seed of one repetition of every task; default: 0; repeatable",
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
    try:
        planned = resolve_plan(plan, folder, agents)
    except TaskError as problem:
        raise UsageError(str(problem)) from None
    if not args.skip_audit:
        planned = _audited(planned, folder, args.out)
    for domain, reason in planned.skipped.items():
        print(f"skipped {domain}: {reason}", file=sys.stderr)
    return planned


def _audited(planned: ResolvedPlan, folder: Path, out: Path) -> ResolvedPlan:
    """Write the certificate that no text but the feedback gives a fix away. Raises UsageError for a leak."""
    packs = sorted(name for name in planned.files if planned.environments[name].has_pack)
    leak_audit = audit(gather(packs, [folder / f"{name}.yaml" for name in planned.files], [], command()))
    if leak_audit.leaks:
        print("\n".join(report(leak_audit)), file=sys.stderr)
        raise UsageError("an agent could have a fix without the feedback: correct the texts, or use --skip-audit")
    certificate = document(leak_audit, suite=version("corrigible"), date=datetime.now(UTC).date().isoformat())
    try:
        out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(certificate, indent=2, ensure_ascii=False) + "\n"
        (out / CERTIFICATE).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"{out}: {problem.strerror}") from None
    # By what it says, not by the day on which it was said: the same run on another day is the same run.
    return replace(planned, audit=digest_of({name: value for name, value in certificate.items() if name != "date"}))
