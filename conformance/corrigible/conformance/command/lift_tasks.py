"""`conformance lift tasks` and `audit-scorers`: the tasks of each API, and how their endings are scored."""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corrigible.conformance.command import Subparsers, several, subcommand
from corrigible.conformance.lift.ending import ENDINGS, read_endings
from corrigible.conformance.lift.environment import environments
from corrigible.conformance.lift.resolved_plan import task_files
from corrigible.conformance.lift.task import TASKS, Task, TaskError
from corrigible.conformance.model.outcome import UsageError, did_you_mean

if TYPE_CHECKING:
    from corrigible.conformance.lift.scorer_audit import Finding


def add_tasks(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "tasks",
        run_tasks,
        "list the tasks, and check their files",
        "Read every task file, and list its tasks. Exit status: 0 fine, 2 a file is wrong.",
    )
    parser.add_argument("domain", nargs="*", metavar="DOMAIN", help="only tasks of these APIs; default: all")
    parser.add_argument("--task-files", type=Path, default=TASKS, metavar="FOLDER", help="default: the suite's own")
    parser.add_argument("--prompts", action="store_true", help="print the prompts, too")


def run_tasks(args: argparse.Namespace) -> int:
    try:
        files = task_files(args.task_files)
    except TaskError as problem:
        raise UsageError(str(problem)) from None
    all_environments = environments()
    for domain in args.domain:
        if domain not in files:
            raise UsageError(f"no domain {domain!r} (there are {', '.join(files)})")
    total = 0
    for domain in args.domain or files:
        file = files[domain]
        lacks = (
            all_environments[domain].why_unavailable()
            if domain in all_environments
            else "nothing says how it is started"
        )
        print(f"{domain}: {len(file.tasks)} tasks{f' (cannot be started here: {lacks})' if lacks else ''}")
        for task in file.tasks:
            print(_line(task))
            if args.prompts:
                print(f"    {task.prompt}")
        total += len(file.tasks)
    print(f"{total} tasks")
    return 0


def _line(task: Task) -> str:
    return f"  {task.id:<44} {task.needs:<10} {task.origin}"


_AT_ONCE: Final = 2
"""APIs: the servers of one start while another's tasks are played."""


def add_audit_scorers(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "audit-scorers",
        run_audit_scorers,
        "play right and wrong endings of every task, and check how they are scored",
        "Each task has endings that its scorer must accept (other wording, other legal values, another"
        " order) and endings that it must refuse, and an impossible one has ways around that must lead nowhere. Play"
        " them all against the real servers, from the refusal on. Exit status: 0 all are scored as they must be, 1 one"
        " is not, 2 a file is wrong or a server does not start.",
    )
    parser.add_argument("domain", nargs="*", metavar="DOMAIN", help="only tasks of these APIs; default: all that start")
    several(parser, "--task", metavar="PATTERN", help="only tasks with this id")
    parser.add_argument("--task-files", type=Path, default=TASKS, metavar="FOLDER", help="default: the suite's own")


def run_audit_scorers(args: argparse.Namespace) -> int:
    """Play, print, and return the exit status."""
    from corrigible.conformance.lift.scorer_audit import audit, cases

    known = environments()
    try:
        files = task_files(args.task_files)
        for domain in args.domain:
            if domain not in files:
                raise UsageError(f"no domain {domain!r}{did_you_mean(domain, files)} (there are {', '.join(files)})")
        folder = args.task_files / ENDINGS.name
        chosen = {
            domain: [case for case in cases(file, read_endings(file, folder)) if _wanted(case.task.id, args.task)]
            for domain, file in files.items()
            if not args.domain or domain in args.domain
        }
    except TaskError as problem:
        raise UsageError(str(problem)) from None
    playable: list[str] = []
    for domain, inside in chosen.items():
        if domain not in known or (lacks := known[domain].why_unavailable()):
            print(f"skipped {domain}: {lacks if domain in known else 'nothing says how it is started'}")
        elif inside:
            playable.append(domain)

    def played(domain: str) -> tuple[list[Finding], float]:
        began = time.monotonic()
        return audit(chosen[domain], files[domain], known[domain]), time.monotonic() - began

    total = failed = 0
    with ThreadPoolExecutor(_AT_ONCE) as executor:
        for domain, (findings, seconds) in zip(playable, executor.map(played, playable), strict=True):
            inside = chosen[domain]
            for finding in findings:
                print(f"WRONG  {finding}")
            tasks = len({case.task.id for case in inside})
            print(
                f"{domain}: {len(inside)} endings of {tasks} tasks, {len(findings)} scored wrongly, {seconds:.0f} s",
                flush=True,
            )
            total, failed = total + len(inside), failed + len(findings)
    if not total:
        raise UsageError("no ending was played")
    print(f"{total} endings, {failed} scored wrongly")
    return 1 if failed else 0


def _wanted(name: str, patterns: list[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
