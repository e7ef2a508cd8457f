"""`conformance explain`: explain a requirement or a check."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from corrigible.conformance.checks import CHECKS
from corrigible.conformance.model.profile import PROFILES, ROLES
from corrigible.conformance.model.usage_error import UsageError, did_you_mean
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.requirement import Requirement, book

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "explain",
        help="explain a requirement or a check",
        description="Print a requirement, its reason and its checks; or what a check does.",
    )
    parser.add_argument(
        "id", metavar="ID", help="a requirement such as SRF-TRN-03, or a check such as transparency/status-kept"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print, and return the exit status."""
    print(explanation(args.id, CHECKS))
    return 0


def explanation(id: str, checks: Sequence[Check]) -> str:
    """Return what is to be said. Raises UsageError where nothing is called so."""
    wanted = id.rpartition(":")[2]
    if (requirement := book().get(wanted)) is not None:
        return "\n".join(_requirement(requirement, checks))
    check = next((one for one in checks if one.id == wanted), None)
    if check is not None:
        return "\n".join(_check(check))
    known = [*(one.id for one in book().requirements), *(one.id for one in checks)]
    raise UsageError(
        f'no requirement or check is called "{id}"{did_you_mean(wanted, known)}; `conformance list` has them all'
    )


def _requirement(one: Requirement, checks: Sequence[Check]) -> Iterator[str]:
    yield f"{one.id}  {one.title}"
    yield f"{one.keyword}, level {one.level}; {_names(one.roles, ROLES)}; {_names(one.profiles, PROFILES)}"
    yield ""
    yield fill(one.text, 100)
    yield ""
    yield fill(f"Why: {one.why}", 100)
    yield ""
    mine = [check for check in checks if one.id in check.requirements]
    yield "Checked by:" if mine else "No check holds it."
    yield from (f"  {check.id}  {check.title}" for check in mine)
    yield f"Read: {one.anchor}" + (f"; clauses {', '.join(one.clauses)} of the contract" if one.clauses else "")


def _check(check: Check) -> Iterator[str]:
    yield f"{check.id}  {check.title}"
    yield f"{_names(check.roles, ROLES)}; {_names(check.profiles, PROFILES)}"
    if how := inspect.getdoc(check.run):
        yield ""
        yield how
    yield ""
    yield "Holds:"
    for id in check.requirements:
        one = book().get(id)
        yield f"  {id}  {one.keyword} {one.level}  {one.title}  ({one.anchor})" if one else f"  {id}"


def _names(names: frozenset[str], known: Sequence[str]) -> str:
    if names == frozenset(known):
        return f"every {'role' if known is ROLES else 'profile'}"
    return ", ".join(name for name in known if name in names)
