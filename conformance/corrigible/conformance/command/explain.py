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


def _requirement(item: Requirement, checks: Sequence[Check]) -> Iterator[str]:
    yield f"{item.id}  {item.title}"
    yield f"{item.keyword}, level {item.level}; {_names(item.roles, ROLES)}; {_names(item.profiles, PROFILES)}"
    yield ""
    yield fill(item.text, 100)
    yield ""
    yield fill(f"Why: {item.why}", 100)
    yield ""
    related_checks = [check for check in checks if item.id in check.requirements]
    yield "Checked by:" if related_checks else "No check holds it."
    yield from (f"  {check.id}  {check.title}" for check in related_checks)
    yield f"Read: {item.anchor}" + (f"; clauses {', '.join(item.clauses)} of the contract" if item.clauses else "")


def _check(check: Check) -> Iterator[str]:
    yield f"{check.id}  {check.title}"
    yield f"{_names(check.roles, ROLES)}; {_names(check.profiles, PROFILES)}"
    if docstring := inspect.getdoc(check.run):
        yield ""
        yield docstring
    yield ""
    yield "Holds:"
    for id in check.requirements:
        requirement = book().get(id)
        yield (
            f"  {id}  {requirement.keyword} {requirement.level}  {requirement.title}  ({requirement.anchor})"
            if requirement
            else f"  {id}"
        )


def _names(names: frozenset[str], known_ids: Sequence[str]) -> str:
    if names == frozenset(known_ids):
        return f"every {'role' if known_ids is ROLES else 'profile'}"
    return ", ".join(name for name in known_ids if name in names)
