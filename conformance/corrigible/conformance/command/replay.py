"""`conformance replay`: run one check again and print its full trace."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corrigible.conformance.checks import CHECKS
from corrigible.conformance.checks.consumer.vectors import asking
from corrigible.conformance.model.profile import PROFILES
from corrigible.conformance.model.usage_error import UsageError, did_you_mean
from corrigible.conformance.model.vector import Group, consumer
from corrigible.conformance.report import terminal
from corrigible.conformance.report.plain import visible
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.fixture import running_subject
from corrigible.conformance.suite.record import Entry
from corrigible.conformance.suite.record import read as read_record
from corrigible.conformance.suite.runner import Rules, choose
from corrigible.conformance.suite.runner import run as run_checks

from . import run_target
from .check import coloured

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "replay",
        help="run one check again and print its full trace",
        description="Run one check again and print everything sent and received. Takes the options of `check`; "
        "--record takes the seed from the record of an earlier run.",
    )
    parser.add_argument(
        "case", metavar="CASE", help="a check, PROFILE:CHECK as a failure names it, or a reader's vector"
    )
    run_target.add(parser)
    parser.add_argument("--record", metavar="FILE", type=Path, help="the record of an earlier run (--report json=FILE)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Replay, and return the exit status of the check."""
    return replay(args, CHECKS)


def replay(args: argparse.Namespace, checks: Sequence[Check]) -> int:
    """Run one of these checks again."""
    if args.record is not None:
        record_read = read_record(args.record)
        args.seed = record_read.head.seed if args.seed is None else args.seed
        args.level = args.level or record_read.head.level
    column, _, name = args.case.rpartition(":")
    matching = _named(name, checks)
    if column in PROFILES and not args.profile:
        args.profile = column
    target = run_target.read(args)
    clauses = target.clauses()
    chosen = [pair for pair in choose(target.specs, matching, clauses) if column in ("", pair[0].column)]
    if not chosen:
        who = ", ".join(f"{spec.role} {spec.profile}" for spec in target.specs)
        raise UsageError(f"{name} is no check for {who} up to {target.level}")
    record = run_checks(
        target.head(chosen, choose(target.specs, checks, clauses)),
        chosen,
        Rules(clauses, traced=True),
        stage=running_subject,
    )
    for entry in record.entries:
        sys.stdout.write(trace(entry))
    sys.stdout.write(terminal.render(record, coloured=coloured()))
    return record.foot.verdict.status


def _named(name: str, checks: Sequence[Check]) -> list[Check]:
    """Return the check of a name, or one that asks a reader this vector and no other."""
    if matching := [check for check in checks if check.id == name]:
        return matching
    vectors = {vector.id: vector for group in consumer() for vector in group.vectors}
    if name in vectors:
        return [asking(Group(name, vectors[name].description, (vectors[name],)))]
    near = did_you_mean(name, [*(check.id for check in checks), *vectors])
    raise UsageError(f'no check or vector is called "{name}"{near}; `conformance list` has all checks')


def trace(entry: Entry) -> str:
    """Return everything that went over the wire, in order."""
    parts = [f"== {entry.name}  {entry.title}"]
    for number, turn in enumerate(entry.trace, 1):
        parts.append(f"-- {number}. {turn.who}\n{visible(turn.text)}")
    if not entry.trace:
        parts.append("-- nothing went over a wire of the suite's own")
    return "\n\n".join(parts) + "\n\n"
