"""`conformance list` and `conformance explain`: the checks, the requirements, and what each of them asks."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator, Sequence
from textwrap import fill

from corrigible.conformance.checks import CHECKS, Run
from corrigible.conformance.command import Subparsers, subcommand
from corrigible.conformance.model.outcome import PROFILES, ROLES, CouldNotTell, UsageError, did_you_mean
from corrigible.conformance.suite.record import Clause
from corrigible.conformance.suite.requirement import book, named, traceability
from corrigible.conformance.suite.subject import Check


def add(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "list",
        run,
        "list the checks, or the requirements with their checks",
        "List the checks. With --traceability: the requirements and the checks of each; exit status 1 if a "
        "MUST has no check.",
    )
    parser.add_argument("--traceability", action="store_true", help="list the requirements and the checks of each")
    parser.add_argument("--role", help="only checks for this role")
    parser.add_argument("--profile", help="only checks of this profile")


def run(args: argparse.Namespace) -> int:
    if args.traceability:
        traced = traceability(CHECKS)
        for row in traced.rows:
            item = row.requirement
            print(f"{item.id}  {item.level} {item.weight:6}  {', '.join(row.checks) or '(no check)'}")
        for check, stranger in traced.unknown_ids:
            print(f"{check} names {stranger}, which is no requirement", file=sys.stderr)
        for item in traced.unchecked:
            print(f"{item.id} is a MUST that no check holds", file=sys.stderr)
        return 1 if traced.unchecked or traced.unknown_ids else 0
    chosen = [
        check
        for check in CHECKS
        if (args.role is None or args.role in check.roles) and (args.profile is None or args.profile in check.profiles)
    ]
    sys.stdout.write(_as_text(chosen))
    return 0


def _level(check: Check) -> str:
    requirements = [requirement for requirement in map(book().get, check.requirements) if requirement is not None]
    level = min((requirement.level for requirement in requirements), default="L?")
    return f"{level} {'MUST' if any(requirement.must for requirement in requirements) else 'SHOULD'}"


def _as_text(checks: Sequence[Check]) -> str:
    width = max((len(check.id) for check in checks), default=0)
    lines = [f"{check.id:{width}}  {_level(check):9}  {check.title}" for check in checks]
    return "\n".join([*lines, f"{len(checks)} checks"]) + "\n"


def add_explain(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "explain",
        run_explain,
        "explain a requirement or a check",
        "Print a requirement, its reason and its checks; or what a check does.",
    )
    parser.add_argument(
        "id", metavar="ID", help="a requirement such as SRF-TRN-03, or a check such as transparency/status-kept"
    )


def run_explain(args: argparse.Namespace) -> int:
    print(explanation(args.id, CHECKS))
    return 0


def explanation(id: str, checks: Sequence[Check]) -> str:
    """Return what is to be said. Raises UsageError where nothing is called so."""
    wanted_id = id.rpartition(":")[2]
    if (requirement := book().get(wanted_id)) is not None:
        return "\n".join(_requirement(requirement, checks))
    check = next((check for check in checks if check.id == wanted_id), None)
    if check is not None:
        return "\n".join(_check(check))
    known_ids = [*(requirement.id for requirement in book().requirements), *(check.id for check in checks)]
    raise UsageError(
        f'no requirement or check is called "{id}"{did_you_mean(wanted_id, known_ids)}; `conformance list` has them all'
    )


def _requirement(item: Clause, checks: Sequence[Check]) -> Iterator[str]:
    yield f"{item.id}  {item.title}"
    yield f"{item.weight}, level {item.level}; {named(item.roles, ROLES)}; {named(item.profiles, PROFILES)}"
    yield ""
    yield fill(item.text, 100)
    yield ""
    yield fill(f"Why: {item.why}", 100)
    yield ""
    related_checks = [check for check in checks if item.id in check.requirements]
    yield "Checked by:" if related_checks else "No check holds it."
    yield from (f"  {check.id}  {check.title}" for check in related_checks)
    yield f"Read: {item.where}" + (f"; clauses {', '.join(item.numbers)} of the contract" if item.numbers else "")


def _check(check: Check) -> Iterator[str]:
    yield f"{check.id}  {check.title}"
    yield f"{named(sorted(check.roles), ROLES)}; {named(sorted(check.profiles), PROFILES)}"
    if docstring := _docstring(check):
        yield ""
        yield docstring
    yield ""
    yield "Holds:"
    for id in check.requirements:
        requirement = book().get(id)
        yield (
            f"  {id}  {requirement.weight} {requirement.level}  {requirement.title}  ({requirement.where})"
            if requirement
            else f"  {id}"
        )


def _docstring(check: Check) -> str | None:
    """Return what the function of a check says of itself, where the packages that it needs are there."""
    try:
        return inspect.getdoc(check.run.ask() if isinstance(check.run, Run) else check.run)
    except CouldNotTell:
        return None
