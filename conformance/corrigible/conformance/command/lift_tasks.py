"""`conformance lift tasks`: the tasks of each API."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from corrigible.conformance.lift.environment.environment import environments
from corrigible.conformance.lift.run.resolve import task_files
from corrigible.conformance.lift.tasks.task import TASKS, Task, TaskError
from corrigible.conformance.model.usage_error import UsageError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "tasks",
        help="list the tasks, and check their files",
        description="Read every task file, and list its tasks. Exit status: 0 fine, 2 a file is wrong.",
    )
    parser.add_argument("domain", nargs="*", metavar="DOMAIN", help="only tasks of these APIs; default: all")
    parser.add_argument("--task-files", type=Path, default=TASKS, metavar="FOLDER", help="default: the suite's own")
    parser.add_argument("--prompts", action="store_true", help="print the prompts, too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print, and return the exit status."""
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
