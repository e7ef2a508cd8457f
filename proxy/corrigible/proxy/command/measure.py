"""`corrigible measure`: how many refused calls a reader without a language model gets right."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from corrigible.adapters.sandbox.error import SandboxError
from corrigible.adapters.sandbox.server import Server
from corrigible.proxy.core.mode import PREFERENCE
from corrigible.proxy.demo.client import Caller
from corrigible.proxy.demo.servers import SANDBOXES, proxy_for
from corrigible.proxy.measure.catalogue import TASKS
from corrigible.proxy.measure.episode import Episode, play
from corrigible.proxy.measure.task import Expectation, Task, TaskError, TaskFile
from corrigible.proxy.measure.verdict import Verdict, judge
from corrigible.schema.exchange import Json

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


@dataclass(frozen=True, slots=True)
class Result:
    """One task, what happened, and what that is worth."""

    api: str
    server: str
    task: Task
    episode: Episode
    verdict: Verdict

    @property
    def name(self) -> str:
        return f"{self.api}/{self.task.name}"

    def document(self) -> dict[str, Json]:
        """Return the record of this result."""
        return {
            "task": self.name,
            "server": self.server,
            "expect": self.task.expect,
            "outcome": self.episode.outcome,
            "detail": self.episode.detail,
            "right": self.verdict.right,
            "why_not": self.verdict.why_not,
            "harm": list(self.verdict.harm),
            "turns": [
                {
                    "step": turn.step,
                    "request": turn.request.document(),
                    "status": turn.answer.status,
                    "answer": None if turn.answer.succeeded else turn.answer.body,
                }
                for turn in self.episode.turns
            ],
        }


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    names = [server.name for servers in SANDBOXES.values() for server in servers]
    parser = subparsers.add_parser(
        "measure",
        help="count the refused calls that a reader without a language model gets right",
        description="Play this project's own tasks against local servers: at most 5 attempts, no language model. "
        "Status 0 without harm, 1 with, 2 where a task or a server is broken.",
    )
    parser.add_argument("--server", action="append", choices=names, help="only this one; may be repeated")
    parser.add_argument("--only", metavar="TEXT", default="", help="only tasks with this in their name")
    parser.add_argument("--direct", action="store_true", help="without the proxy: the floor")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every call and every verdict")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play the tasks and print the table."""
    results: list[Result] = []
    try:
        for api, read in TASKS.items():
            tasks, servers = read(), SANDBOXES[api]
            for server in servers:
                mine = [
                    task
                    for task in tasks.tasks
                    if (task.server or servers[0].name) == server.name and arguments.only in task.name
                ]
                if mine and (arguments.server is None or server.name in arguments.server):
                    print(f"{api}: {len(mine)} tasks on {server.title}", flush=True)
                    results += _play_all(tasks, mine, server, direct=arguments.direct)
    except (SandboxError, TaskError) as error:
        print(f"corrigible measure: {error}", file=sys.stderr)
        return 2
    print("\n".join(table(results)))
    if arguments.json is not None:
        record = {"direct": arguments.direct, "results": [result.document() for result in results]}
        arguments.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if any(result.verdict.harm for result in results):
        return 1
    return 0 if results and all(result.episode.outcome.tells for result in results) else 2


def _play_all(file: TaskFile, tasks: Sequence[Task], server: Server, *, direct: bool) -> Iterator[Result]:
    secrets = [word for value in file.headers.values() for word in value.split()[-1:]]
    with ExitStack() as stack:
        upstream = stack.enter_context(server.start())
        front = upstream if direct else stack.enter_context(proxy_for(upstream.url, file.api).start())
        straight = stack.enter_context(Caller(upstream.url, file.headers))
        for number, task in enumerate(tasks):
            # One key for all of them, but each task is an agent of its own: nothing repeats another one's mistake.
            own = {} if direct else {"prefer": f"{PREFERENCE}=reflective; caller=task-{number}"}
            with Caller(front.url, {**file.headers, **own}) as caller:
                episode = play(task, caller, straight, form=file.form)
            yield Result(file.api, server.name, task, episode, judge(task, episode, secrets))


def table(results: Sequence[Result]) -> Iterator[str]:
    """Yield what is wrong, one line each, then the table, then the summary."""
    for result in results:
        if not result.episode.outcome.tells:
            yield f"BROKEN {result.name}: {result.episode.outcome} {result.episode.detail}".rstrip()
        elif not result.verdict.right:
            harm = "; ".join(result.verdict.harm)
            problem = f"HARM {harm}" if harm else result.verdict.why_not
            yield f"WRONG  {result.name} [{result.task.expect}]: {problem}"
    yield f"{'kind':<10} {'right':>7} {'harm':>5} {'attempts':>9}"
    for expect in Expectation:
        if mine := [result for result in results if result.task.expect is expect]:
            yield _row(expect, mine)
    right, harmful = _count(results)
    low, high = wilson(right, len(results))
    yield (
        f"{right} of {len(results)} right (95 % interval {low:.0%} to {high:.0%}), harm {harmful}, "
        f"{_attempts(results):.1f} attempts on average, no language model"
    )


def _row(name: str, results: Sequence[Result]) -> str:
    right, harmful = _count(results)
    return f"{name:<10} {f'{right}/{len(results)}':>7} {harmful:>5} {_attempts(results):>9.1f}"


def _count(results: Sequence[Result]) -> tuple[int, int]:
    return sum(result.verdict.right for result in results), sum(bool(result.verdict.harm) for result in results)


def _attempts(results: Sequence[Result]) -> float:
    return fmean(len(result.episode.calls) for result in results) if results else 0.0


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a share."""
    if trials == 0:
        return 0.0, 1.0
    z = 1.959964
    share, square = successes / trials, z * z / trials
    centre = (share + square / 2) / (1 + square)
    half = z * ((share * (1 - share) + square / 4) / trials) ** 0.5 / (1 + square)
    return max(0.0, centre - half), min(1.0, centre + half)
