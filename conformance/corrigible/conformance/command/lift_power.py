"""`conformance lift power`: how many tasks a comparison needs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from corrigible.conformance.model.usage_error import UsageError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "power",
        help="compute how many tasks a comparison needs",
        description="Compute how many tasks are needed to show a difference between two arms; with --tasks, also which"
        " difference that many tasks can show. Repeats of a task do not count. McNemar's test, one pair per task.",
    )
    parser.add_argument(
        "--difference",
        type=float,
        action="append",
        metavar="SHARE",
        help="difference of the success rates; default: 0.1 0.15 0.2 0.3; repeatable",
    )
    parser.add_argument(
        "--discordance",
        type=float,
        action="append",
        metavar="SHARE",
        help="share of tasks that succeed in one arm only; default: 0.3 0.4; repeatable",
    )
    parser.add_argument("--tasks", type=int, metavar="N", help="also compute what this number of tasks can show")
    parser.add_argument("--alpha", type=float, default=0.05, help="level of significance; default: %(default)s")
    parser.add_argument(
        "--power", type=float, default=0.8, help="probability that the difference is found; default: %(default)s"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print, and return the exit status."""
    from corrigible.conformance.lift.stats.power import detectable, power_of, tasks_needed

    shares: list[float] = args.discordance or [0.3, 0.4]
    gains: list[float] = args.difference or [0.1, 0.15, 0.2, 0.3]
    lines = [f"two-sided alpha {args.alpha:g}, power {args.power:g}, one pair per task"]
    try:
        for share in shares:
            for gain in gains:
                needed = tasks_needed(gain, share, alpha=args.alpha, power=args.power)
                line = f"  {gain:+.0%} where {share:.0%} of tasks differ: {needed} tasks"
                if args.tasks:
                    line += f"; {args.tasks} show it with {power_of(args.tasks, gain, share, alpha=args.alpha):.0%}"
                lines.append(line)
            if args.tasks:
                least = detectable(args.tasks, share, alpha=args.alpha, power=args.power)
                label = f"{least:+.0%}" if least is not None else "no difference"
                lines.append(f"  {args.tasks} tasks, where {share:.0%} differ, show {label} or more")
    except ValueError as problem:
        raise UsageError(str(problem)) from None
    print("\n".join(lines))
    return 0
