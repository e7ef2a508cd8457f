"""`conformance check`, and what goes on from its record: replay, report, diff."""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from corrigible.conformance.checks import CHECKS
from corrigible.conformance.checks.consumer import asking
from corrigible.conformance.command import Subparsers, run_target, several, subcommand
from corrigible.conformance.model.outcome import PROFILES, UsageError, did_you_mean
from corrigible.conformance.model.vector import Group, consumer
from corrigible.conformance.report import terminal
from corrigible.conformance.report.terminal import compare, progress, render_comparison, visible
from corrigible.conformance.report.write import RENDER, Growing, wanted, write
from corrigible.conformance.suite.config import KnownFailing, known_failing, matches, refuse_unmatched
from corrigible.conformance.suite.fixture import running_subject
from corrigible.conformance.suite.record import Entry, read
from corrigible.conformance.suite.record import read as read_record
from corrigible.conformance.suite.runner import Chosen, Rules, choose
from corrigible.conformance.suite.runner import run as run_checks
from corrigible.conformance.suite.subject import Check
from corrigible.schema.extra import require

require("conformance check", "conformance")  # some checks import the rest of it when they run


def add(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "check",
        run,
        "check a proxy, an API, a reader or a rule pack",
        "Check a subject against the numbered requirements of SPEC.md. Prints each failure with its "
        "requirement, the difference and a command that reproduces it. A level is given only if each of its MUSTs was "
        "run and passed. Exit status: 0 nothing failed and each MUST was run, 1 a check failed, 2 a MUST was not run.",
    )
    run_target.add(parser)
    several(
        parser,
        "--known-failing",
        metavar="@FILE|PATTERN=REASON",
        help="checks that are expected to fail; the run fails if one of them passes or a pattern matches nothing",
    )
    several(
        parser,
        "--only",
        metavar="PATTERN",
        help="run only these checks: a path such as transparency/*, or a requirement; may be repeated",
    )
    parser.add_argument("--strict", action="store_true", help="treat SHOULD requirements as MUST")
    several(parser, "--report", metavar="KIND=FILE,...", help=f"reports to write: {', '.join(RENDER)}; may be repeated")
    parser.add_argument("--badge", metavar="FILE", help="write an endpoint document for shields.io")
    parser.add_argument(
        "--check-timeout",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="time of one check; one that takes longer is ended and runs again after the others, with 240 seconds, so "
        "no verdict depends on it; default: %(default)g",
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        default=900.0,
        help="maximum time of the run; later checks are reported as not run; default: %(default)g",
    )
    parser.add_argument(
        "--shuffle", metavar="SEED", type=int, help="run the checks in another order: no verdict depends on it"
    )


def run(args: argparse.Namespace) -> int:
    """Run the checks, write the reports, and return the exit status."""
    return check(args, CHECKS)


def check(args: argparse.Namespace, checks: Sequence[Check]) -> int:
    """Run these checks."""
    reports = wanted(args.report)
    if args.badge:
        reports += wanted([f"badge={args.badge}"])
    target = run_target.read(args)
    clauses = target.clauses()
    everything = choose(target.specs, checks, clauses)
    announced_failures = [
        *target.config.known_failing,
        *(report for argument in args.known_failing for report in known_failing(argument)),
    ]
    chosen = only(args.only, everything)
    refuse_unmatched(_of_this_run(announced_failures, target.config.known_failing, args.only), _named(chosen))
    if not chosen:
        who = ", ".join(f"{spec.role} {spec.profile}" for spec in target.specs)
        raise UsageError(f"the suite has no check for {who} up to {target.level}")
    for spec in target.specs:
        if not any(spec is report for report, _ in everything):
            print(
                f"{spec.profile}: the suite has no check for the role {spec.role} up to {target.level}", file=sys.stderr
            )
    rules = Rules(
        clauses, tuple(announced_failures), strict=args.strict, check_timeout=args.check_timeout, limit=args.time_limit
    )
    head = target.head(chosen, everything, strict=args.strict)
    if args.shuffle is not None:
        random.Random(args.shuffle).shuffle(chosen)
    with Growing(reports, head) as growing, progress(len(chosen)) as report_progress:

        def finished(entry: Entry) -> None:
            growing.add(entry)
            report_progress(entry)

        record = run_checks(head, chosen, rules, stage=running_subject, listener=finished)
        growing.add(record.foot)
    sys.stdout.write(terminal.render(record, coloured=coloured()))
    write(record, [report for report in reports if report.kind != "json"])
    return record.foot.verdict.status


def only(patterns: Sequence[str], chosen: Sequence[Chosen]) -> list[Chosen]:
    """Return the checks that match. Raises UsageError for a pattern that matches none."""
    if not patterns:
        return list(chosen)
    for pattern in patterns:
        if not any(matches(pattern, check, spec.column) for spec, check in chosen):
            near = did_you_mean(pattern, [check.id for _, check in chosen])
            raise UsageError(f"--only {pattern}: no check of this role, profile and level{near}")
    return [pair for pair in chosen if any(matches(p, pair[1], pair[0].column) for p in patterns)]


def _of_this_run(
    listed: Sequence[KnownFailing], of_config: Sequence[KnownFailing], patterns: Sequence[str]
) -> Sequence[KnownFailing]:
    """Leave out the config's list when only some checks run: the rest would not match."""
    return [entry for entry in listed if not (patterns and entry in of_config)]


def _named(chosen: Sequence[Chosen]) -> list[tuple[str, Check]]:
    return [(spec.column, check) for spec, check in chosen]


def coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def add_replay(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "replay",
        run_replay,
        "run one check again and print its full trace",
        "Run one check again and print everything sent and received. Takes the options of `check`; "
        "--record takes the seed from the record of an earlier run.",
    )
    parser.add_argument(
        "case", metavar="CASE", help="a check, PROFILE:CHECK as a failure names it, or a reader's vector"
    )
    run_target.add(parser)
    parser.add_argument("--record", metavar="FILE", type=Path, help="the record of an earlier run (--report json=FILE)")


def run_replay(args: argparse.Namespace) -> int:
    """Replay, and return the exit status of the check."""
    return replay(args, CHECKS)


def replay(args: argparse.Namespace, checks: Sequence[Check]) -> int:
    """Run one of these checks again."""
    if args.record is not None:
        record_read = read_record(args.record)
        args.seed = record_read.head.seed if args.seed is None else args.seed
        args.level = args.level or record_read.head.level
    column, _, name = args.case.rpartition(":")
    matching = _replay_named(name, checks)
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


def _replay_named(name: str, checks: Sequence[Check]) -> list[Check]:
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


def add_report(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "report",
        run_report,
        "write reports of an earlier run from its record",
        "Write reports from a record (`check --report json=FILE`). Without --report: print the terminal's "
        "output. The exit status is that of the run.",
    )
    parser.add_argument("record", metavar="RECORD.json", type=Path)
    several(parser, "--report", metavar="KIND=FILE,...", help=", ".join(RENDER))


def run_report(args: argparse.Namespace) -> int:
    """Write, and return the exit status of the run."""
    reports = wanted(args.report)
    record = read(args.record)
    if reports:
        write(record, reports)
    else:
        sys.stdout.write(terminal.render(record, coloured=coloured()))
    return record.foot.verdict.status


def add_diff(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "diff",
        run_diff,
        "compare two runs",
        "Compare two records. Exit status: 0 no new failure, 1 new failures, 2 a record is unreadable or incomplete.",
    )
    parser.add_argument("before", metavar="A.json", type=Path)
    parser.add_argument("after", metavar="B.json", type=Path)


def run_diff(args: argparse.Namespace) -> int:
    before, after = read(args.before), read(args.after)
    comparison = compare(before, after)
    sys.stdout.write(render_comparison(comparison, before, after))
    return 1 if comparison.worse else 0
