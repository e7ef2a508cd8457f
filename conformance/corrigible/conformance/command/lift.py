"""`conformance lift`: how much the feedback helps an agent. `run` and `serve`, and the options that others share.

`conformance lift tasks` and `audit-scorers`: the tasks of each API, and how their endings are scored.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corrigible.conformance.command import Subparsers, lift, lift_results, several, subcommand
from corrigible.conformance.command.lift_options import add_agents, add_shared, extra, local_plan, plans, resolve, split
from corrigible.conformance.command.lift_results import claims_of
from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.environment import environments
from corrigible.conformance.lift.log import opened
from corrigible.conformance.lift.plan import Plan, made, read_plan
from corrigible.conformance.lift.resolved_plan import resolve_plan, task_files
from corrigible.conformance.lift.run import RunProgress, progress, run
from corrigible.conformance.lift.serve import EpisodeService, ExternalAgent, Server
from corrigible.conformance.lift.task import ENDINGS, TASKS, TaskFile, read_endings
from corrigible.conformance.model.outcome import UsageError, did_you_mean, usable
from corrigible.schema.exchange import Json

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
    files = _task_files(args)
    all_environments = environments()
    total = 0
    for domain, file in files.items():
        lacks = (
            all_environments[domain].why_unavailable()
            if domain in all_environments
            else "nothing says how it is started"
        )
        print(f"{domain}: {len(file.tasks)} tasks{f' (cannot be started here: {lacks})' if lacks else ''}")
        for task in file.tasks:
            print(f"  {task.id:<44} {task.needs:<10} {task.origin}")
            if args.prompts:
                print(f"    {task.prompt}")
        total += len(file.tasks)
    print(f"{total} tasks")
    return 0


def _task_files(args: argparse.Namespace) -> dict[str, TaskFile]:
    """Return the task files of the domains that the options name, of all by default."""
    files = task_files(args.task_files)
    for domain in args.domain:
        if domain not in files:
            raise UsageError(f"no domain {domain!r}{did_you_mean(domain, files)} (there are {', '.join(files)})")
    return {domain: files[domain] for domain in args.domain or files}


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
    files = _task_files(args)
    folder = args.task_files / ENDINGS.name
    chosen = {
        domain: [case for case in cases(file, read_endings(file, folder)) if _wanted(case.task.id, args.task)]
        for domain, file in files.items()
    }
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


def dry_run(plan: Plan, args: argparse.Namespace) -> int:
    """Measure, print, write what was measured where a file is named, and return the exit status."""
    with extra():
        from corrigible.conformance.lift.token_price import MEASURED, Probe, measure, rendered
    if not any(agent.model for agent in plan.agents):
        raise UsageError("--dry-run: no model plays, so nothing is paid for: name one with --model PROVIDER:NAME")
    # Neither keys nor servers of models are needed: nothing is asked.
    resolved = resolve_plan(plan, args.task_files or TASKS, [Probe()])
    for domain, reason in resolved.skipped.items():
        print(f"skipped {domain}: {reason}", file=sys.stderr)
    with progress(len(resolved.jobs)) as on_progress:
        measured = measure(resolved, on_progress)
    print("\n".join(rendered(plan, measured)))
    path: Path | None = args.tokens
    if path is not None:
        with usable(path):
            lines = (MEASURED.dump_json([one])[1:-1].decode() for one in measured)
            path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    return 0


ARMS: Final = (Arm.TRADITIONAL, Arm.VERBOSE, Arm.REFLECTIVE, Arm.PATCHES)
"""The default."""


def add_serve(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "serve",
        serve,
        "measure an agent of your own",
        "Hand out episodes over HTTP: POST /episodes answers a prompt and a base URL; the agent calls the"
        " API there, POSTs /episodes/ID/finish, and is scored by the end state. Arms are assigned at random, balanced,"
        " and hidden from the agent. Run it again with the same --out to continue.",
    )
    add_shared(parser)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on 127.0.0.1; default: a free one")
    parser.add_argument("--agent", default="external", metavar="NAME", help="the agent's name in the log")
    several(parser, "--arm", metavar="NAME,...", help=f"arms to assign; default: {', '.join(ARMS)}")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="maximum time of an episode; default: 600")


def serve(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if not 0 <= args.port < 1 << 16:
        raise UsageError(f"--port {args.port}: no port")
    agent = ExternalAgent(args.agent)
    resolved = resolve(_serve_plan(args), args, (agent,))
    with opened(args.out) as store:
        service = EpisodeService(resolved, store, agent, lambda line: print(line, file=sys.stderr, flush=True))
        try:
            with _listening(service, args.port) as server:
                print(f"listening on {server.url}: {service.status()['left']} of {service.total} episodes to play")
                print(f"  curl -sX POST {server.url}/episodes")
                print(f"when they are played: conformance lift report {args.out}", flush=True)
                server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            service.close()
    return 0


def _listening(service: EpisodeService, port: int) -> Server:
    try:
        return Server(service, port)
    except OSError as problem:
        raise UsageError(f"--port {port}: cannot listen there: {problem}") from None


def _serve_plan(args: argparse.Namespace) -> Plan:
    document: dict[str, Json] = {"arms": [arm.value for arm in ARMS], "timeout": 600.0}
    if args.plan is not None:
        document = read_plan(args.plan).model_dump(mode="json")
    document |= _chosen(args) | {
        name: value for name in ("start", "attempts", "timeout") if (value := getattr(args, name)) is not None
    }
    return made({**document, "agents": [args.agent]}, args.plan or "options")


def add(subparsers: Subparsers) -> None:
    """Add the command and its subcommands."""
    parser = subparsers.add_parser(
        "lift",
        help="measure how much the feedback helps an agent",
        description="Play episodes (task, arm, agent, seed) against real servers, score them by the end state, and"
        " compare. Scripted agents show that the feedback is sufficient and safe, not how a model uses it.",
    )
    inner = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_run(inner)
    for add_command in (
        *(lift_results.add_compare, lift.add_tasks, lift_results.add_power, lift_results.add_paper),
        *(add_serve, lift_results.add_report, lift_results.add_export, lift_results.add_reproduce),
        lift.add_audit_scorers,
    ):
        add_command(inner)


def _add_run(inner: Subparsers) -> None:
    parser = subcommand(
        inner,
        "run",
        _run,
        "play episodes",
        "Play every episode that the log in DIR lacks; run it again to continue after a stop."
        " Options override the plan file. Exit status: 0 ran, 1 an agent that follows the feedback did harm,"
        " 2 could not run, or not to the end.",
    )
    add_shared(parser)
    several(parser, "--arm", metavar="NAME,...", help=f"arms to play: {', '.join(Arm)}")
    several(parser, "--agent", "--agents", metavar="NAME,...", help="scripted agents; `scripted`: all of them")
    parser.add_argument("--concurrency", type=int, metavar="N", help="number of simultaneous episodes; default: 2")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="maximum time of an episode; default: 120")
    parser.add_argument(
        "--cost-cap", type=float, metavar="AMOUNT", help="stop at this cost; needs a price table in the plan"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="ask no model: say what the plan takes in tokens, by arm and in all, from prompts of the real servers",
    )
    parser.add_argument("--tokens", type=Path, metavar="FILE", help="with --dry-run: write the tokens of every task")
    parser.add_argument("--quiet", action="store_true", help="print no summary")
    add_agents(parser)


def _run(args: argparse.Namespace) -> int:
    if args.dry_run:
        local = [local_plan(args, "http://127.0.0.1:1/v1")] if args.local_model is not None else []
        return dry_run(_plan(args, local), args)
    if args.tokens is not None:
        raise UsageError("--tokens belongs to --dry-run")
    with _local_model(args) as local:
        return _played(args, local)


@contextmanager
def _local_model(args: argparse.Namespace) -> Iterator[list[dict[str, Json]]]:
    """Start the model that the options name, and yield the agent that plays with it; nothing without one."""
    if args.local_model is None:
        yield []
        return
    from corrigible.conformance.lift.agents.xllamacpp_server import served

    with served(args.local_model) as base_url:
        yield [local_plan(args, base_url)]


def _played(args: argparse.Namespace, local: list[dict[str, Json]]) -> int:
    resolved = resolve(_plan(args, local), args)
    with opened(args.out) as store:
        for warning in store.log.warnings if store.log is not None else ():
            print(warning, file=sys.stderr)
        with progress(len(resolved.jobs)) as on_progress:
            totals = run(resolved, store, on_progress)
    if not args.quiet:
        print("\n".join(_summary(totals, args.out)))
        print("\n".join(claims_of(args.out)))
    return _status(totals, scripted=all(agent.kind == "scripted" for agent in resolved.agents))


def _plan(args: argparse.Namespace, local: Sequence[dict[str, Json]] = ()) -> Plan:
    document: dict[str, Json] = read_plan(args.plan).model_dump(mode="json") if args.plan is not None else {}
    document |= _chosen(args)
    if agents := [*({"name": name} for name in split(args.agent)), *plans(args), *local]:
        document["agents"] = agents
    options = ("engine", "start", "attempts", "concurrency", "timeout", "cost_cap", "rate")
    document |= {name: getattr(args, name) for name in options if getattr(args, name) is not None}
    return made(document, args.plan or "options")


def _chosen(args: argparse.Namespace) -> dict[str, Json]:
    """Return what the options choose of a plan."""
    names = {"domains": args.domain, "tasks": args.task, "arms": args.arm}
    chosen: dict[str, Json] = {name: split(value) for name, value in names.items()}
    return {name: value for name, value in {**chosen, "seeds": args.seed}.items() if value}


def _status(totals: RunProgress, *, scripted: bool) -> int:
    if totals.feedback_harms:
        return 1
    observed = totals.outcomes["success"] + totals.outcomes["failure"]
    return 2 if totals.stopped or not observed or (scripted and totals.errors) else 0


def _summary(totals: RunProgress, out: Path) -> list[str]:
    pace = f" ({totals.done / totals.seconds:.1f} a second)" if totals.done and totals.seconds else ""
    lines = [
        f"{totals.planned} episodes: {totals.before} were in the log,"
        f" {totals.done} played in {totals.seconds:.0f} s{pace}",
        ", ".join(f"{totals.outcomes[name]} {name}" for name in ("success", "failure", "error")),
    ]
    if totals.tokens:
        lines.append(f"{totals.tokens} tokens" + (f", cost {totals.cost:.2f}" if totals.cost else ""))
    for episode in totals.errors[:10]:
        lines.append(f"ERROR {episode.domain}/{episode.task} {episode.arm} {episode.agent}: {episode.why}")
    for episode in totals.feedback_harms[:10]:
        lines.append(f"HARM  {episode.domain}/{episode.task} {episode.arm} {episode.agent}: {'; '.join(episode.harm)}")
    if totals.stopped:
        lines.append(
            f"{totals.stopped}: {totals.planned - totals.before - totals.done} episodes are not played;"
            f" run it again with --out {out} to go on"
        )
    return lines
