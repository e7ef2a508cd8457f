"""`conformance lift run --dry-run`: what a plan takes in tokens, measured on the real servers without a model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from corrigible.conformance.lift.plan import Plan
from corrigible.conformance.lift.run.progress import progress
from corrigible.conformance.lift.run.resolve import resolve_plan
from corrigible.conformance.lift.tasks.task import TASKS, TaskError
from corrigible.conformance.model.usage_error import UsageError
from corrigible.schema.extra import install_line


def dry_run(plan: Plan, args: argparse.Namespace) -> int:
    """Measure, print, write what was measured where a file is named, and return the exit status."""
    try:
        from corrigible.conformance.lift.run.token_price import MEASURED, rendered
        from corrigible.conformance.lift.run.token_probe import Probe, measure
    except ModuleNotFoundError as problem:
        raise UsageError(f"{problem.name} is not installed: {install_line('conformance,lift')}") from None
    if not any(agent.model for agent in plan.agents):
        raise UsageError("--dry-run: no model plays, so nothing is paid for: name one with --model PROVIDER:NAME")
    try:
        # Neither keys nor servers of models are needed: nothing is asked.
        resolved = resolve_plan(plan, args.task_files or TASKS, [Probe()])
    except TaskError as problem:
        raise UsageError(str(problem)) from None
    for domain, reason in resolved.skipped.items():
        print(f"skipped {domain}: {reason}", file=sys.stderr)
    with progress(len(resolved.jobs)) as on_progress:
        measured = measure(resolved, on_progress)
    print("\n".join(rendered(plan, measured)))
    path: Path | None = args.tokens
    if path is not None:
        try:
            lines = (MEASURED.dump_json([one])[1:-1].decode() for one in measured)
            path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
        except OSError as problem:
            raise UsageError(f"{path}: {problem.strerror}") from None
    return 0
