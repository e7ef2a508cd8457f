"""`conformance list`: list the checks, or the requirements with their checks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from corrigible.conformance.checks import CHECKS
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.requirement import book, traceability, traceability_table

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "list",
        help="list the checks, or the requirements with their checks",
        description="List the checks. With --traceability: the requirements and the checks of each; exit status 1 if a "
        "MUST has no check.",
    )
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--traceability", action="store_true", help="list the requirements and the checks of each")
    parser.add_argument("--role", help="only checks for this role")
    parser.add_argument("--profile", help="only checks of this profile")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print, and return the exit status."""
    if args.traceability:
        traced = traceability(CHECKS)
        if args.markdown:
            sys.stdout.write(traceability_table(traced))
        else:
            for row in traced.rows:
                item = row.requirement
                print(f"{item.id}  {item.level} {item.keyword:6}  {', '.join(row.checks) or '(no check)'}")
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
    sys.stdout.write(_markdown(chosen) if args.markdown else _as_text(chosen))
    return 0


def _level(check: Check) -> str:
    requirements = [requirement for requirement in map(book().get, check.requirements) if requirement is not None]
    level = min((requirement.level for requirement in requirements), default="L?")
    return f"{level} {'MUST' if any(requirement.must for requirement in requirements) else 'SHOULD'}"


def _as_text(checks: Sequence[Check]) -> str:
    width = max((len(check.id) for check in checks), default=0)
    lines = [f"{check.id:{width}}  {_level(check):9}  {check.title}" for check in checks]
    return "\n".join([*lines, f"{len(checks)} checks"]) + "\n"


def _markdown(checks: Sequence[Check]) -> str:
    lines = ["| check | level | what it asks | requirements | roles | profiles |", "|---|---|---|---|---|---|"]
    for check in checks:
        links = ", ".join(f"[{requirement}](SPEC.md#{requirement.lower()})" for requirement in check.requirements)
        roles, profiles = ", ".join(sorted(check.roles)), ", ".join(sorted(check.profiles))
        lines.append(f"| `{check.id}` | {_level(check)} | {check.title} | {links} | {roles} | {profiles} |")
    return "\n".join(lines) + "\n"
