"""`conformance check`: judge a subject, and say so in every form that is asked for."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from corrigible.conformance.checks import CHECKS
from corrigible.conformance.model.usage_error import UsageError, did_you_mean
from corrigible.conformance.report import terminal
from corrigible.conformance.report.growing import Growing
from corrigible.conformance.report.progress import progress
from corrigible.conformance.report.write import RENDER, wanted, write
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.config import KnownFailing
from corrigible.conformance.suite.fixture import running_subject
from corrigible.conformance.suite.known_failing import known_failing, refuse_unmatched
from corrigible.conformance.suite.pattern import matches
from corrigible.conformance.suite.record import Entry
from corrigible.conformance.suite.runner import Chosen, Rules, choose
from corrigible.conformance.suite.runner import run as run_checks

from . import run_target as aim

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "check",
        help="judge a proxy, an API, a reader or a rule pack",
        description="Judge a subject by the numbered requirements of SPEC.md. What fails is printed, with the clause, "
        "the difference and a line that shows it again. Exit status: 0 conforms, 1 does not, 2 could not tell.",
    )
    aim.add(parser)
    parser.add_argument(
        "--known-failing",
        metavar="@FILE|PATTERN=REASON",
        action="append",
        default=[],
        help="checks that must fail for now; one that passes, and a pattern that matches nothing, fail the run",
    )
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        action="append",
        default=[],
        help="checks by path, such as transparency/*, or by requirement",
    )
    parser.add_argument("--strict", action="store_true", help="what SHOULD hold must")
    parser.add_argument(
        "--report", metavar="KIND=FILE,...", action="append", default=[], help=f"{', '.join(RENDER)}; may be repeated"
    )
    parser.add_argument("--badge", metavar="FILE", help="an endpoint document for shields.io")
    parser.add_argument(
        "--patience",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="in which one check must end; default: %(default)g",
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        default=900.0,
        help="in which the run must end: checks that were not put by then could not run; default: %(default)g",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Judge, report, and return the exit status."""
    return check(args, CHECKS)


def check(args: argparse.Namespace, checks: Sequence[Check]) -> int:
    """Judge by these checks."""
    reports = wanted(args.report)
    if args.badge:
        reports += wanted([f"badge={args.badge}"])
    at = aim.read(args)
    clauses = at.clauses()
    everything = choose(at.specs, checks, clauses)
    known = [*at.config.known_failing, *(one for argument in args.known_failing for one in known_failing(argument))]
    chosen = only(args.only, everything)
    refuse_unmatched(_of_this_run(known, at.config.known_failing, args.only), _named(chosen))
    if not chosen:
        who = ", ".join(f"{spec.role} {spec.profile}" for spec in at.specs)
        raise UsageError(f"the suite has no check for {who} up to {at.level}")
    for spec in at.specs:
        if not any(spec is one for one, _ in everything):
            print(f"{spec.profile}: the suite has no check for the role {spec.role} up to {at.level}", file=sys.stderr)
    rules = Rules(clauses, tuple(known), strict=args.strict, patience=args.patience, limit=args.time_limit)
    head = at.head(chosen, strict=args.strict)
    with Growing(reports, head) as growing, progress(len(chosen)) as heard:

        def ended(entry: Entry) -> None:
            growing.add(entry)
            heard(entry)

        record = run_checks(head, chosen, rules, stage=running_subject, heard=ended)
        growing.add(record.foot)
    sys.stdout.write(terminal.render(record, coloured=coloured()))
    write(record, [one for one in reports if one.kind != "json"])
    return record.foot.verdict.status


def only(patterns: Sequence[str], chosen: Sequence[Chosen]) -> list[Chosen]:
    """Return what patterns choose. Raises UsageError for one that chooses nothing."""
    if not patterns:
        return list(chosen)
    for pattern in patterns:
        if not any(matches(pattern, one, spec.column) for spec, one in chosen):
            near = did_you_mean(pattern, [one.id for _, one in chosen])
            raise UsageError(f"--only {pattern}: no check of this role, profile and level{near}")
    return [pair for pair in chosen if any(matches(p, pair[1], pair[0].column) for p in patterns)]


def _of_this_run(
    known: Sequence[KnownFailing], of_config: Sequence[KnownFailing], patterns: Sequence[str]
) -> Sequence[KnownFailing]:
    """A run of a part is no judge of the whole list in the config."""
    return [entry for entry in known if not (patterns and entry in of_config)]


def _named(chosen: Sequence[Chosen]) -> list[tuple[str, Check]]:
    return [(spec.column, one) for spec, one in chosen]


def coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
