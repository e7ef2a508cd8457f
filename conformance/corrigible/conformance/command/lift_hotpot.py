"""`conformance lift hotpot`: HotpotQA with reflection between trials, free or by a taxonomy of errors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, get_args

from corrigible.conformance.command import Subparsers, lift_options, several
from corrigible.conformance.command.lift_options import split
from corrigible.conformance.lift.hotpot.game import OWN, read
from corrigible.conformance.lift.hotpot.trial import SCRIPTS, Player, Rules, Sample, ScriptedPlayer, Strategy
from corrigible.conformance.lift.plan import AgentPlan
from corrigible.conformance.model.outcome import UsageError, did_you_mean, usable
from corrigible.conformance.model.yaml_file import checked

_STRATEGIES: Final = get_args(Strategy)
_DEFAULT_STRATEGIES: Final = ("free", "structured")
_EVALUATORS: Final = ("exact", "f1", "judge")


def add(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "hotpot",
        help="play HotpotQA with reflection, free or structured, between trials",
        description="Play questions of HotpotQA's distractor setting: an actor (Search, Lookup, Finish), an evaluator,"
        " and a reflector that writes free text, or an error type and a correction rule; then compare strategies as the"
        " paper on structure snowballing does. Continues the log in DIR. Exit status: 0 ran, 2 could not run, or not to"
        " the end.",
    )
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="questions, in HotpotQA's distractor JSON; default: forty of our own"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions")
    scripts = "; ".join(f"{name}: {what}" for name, (what, _) in SCRIPTS.items())
    several(
        parser, "--agent", metavar="NAME,...", help=f"scripts that know the answers, to try the harness ({scripts})"
    )
    several(
        parser,
        "--strategy",
        metavar="NAME,...",
        help=f"reflection between trials: {', '.join(_STRATEGIES)}; default: {','.join(_DEFAULT_STRATEGIES)}",
    )
    parser.add_argument(
        "--evaluator",
        choices=_EVALUATORS,
        default="exact",
        help="what is right: exact match, a least F1, or what the same model judges equivalent; default: exact",
    )
    parser.add_argument("--f1", type=float, default=0.8, metavar="SHARE", help="least F1 of that; default: 0.8")
    parser.add_argument("--trials", type=int, default=5, metavar="N", help="trials at most; default: 5")
    parser.add_argument("--steps", type=int, default=7, metavar="N", help="steps of a trial at most; default: 7")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--out", type=Path, default=Path("hotpot"), metavar="DIR", help="default: hotpot")
    lift_options.add_models(parser)
    parser.set_defaults(run=run, first_request=None, vocabulary=False)


def run(args: argparse.Namespace) -> int:
    """Play, print the report, and return the exit status."""
    from corrigible.conformance.lift.hotpot import trial
    from corrigible.conformance.lift.hotpot.report import render
    from corrigible.conformance.lift.hotpot.trial import run as play_all

    limits = {"evaluator": args.evaluator, "f1_threshold": args.f1, "trials": args.trials, "steps": args.steps}
    rules, strategies = checked(Rules, limits, "options"), _strategies(args)
    data = read(args.data or OWN)
    if args.limit is not None and args.limit < 1:
        raise UsageError(f"--limit {args.limit}: at least 1")
    questions = data.questions[: args.limit]
    with _players(args) as players:
        done = play_all(
            data,
            questions,
            players,
            strategies,
            rules,
            seed=args.seed,
            folder=args.out,
            on_sample=_error_line,
        )
    text = render(done.manifest, done.samples)
    with usable(args.out / trial.REPORT):
        (args.out / trial.REPORT).write_text(text, encoding="utf-8")
    print(text, end="")
    whole = len(questions) * len(players) * len(strategies)
    missing = whole - sum(one.outcome != "error" for one in done.samples)
    if missing:
        print(f"{missing} of {whole} were not played to an end; the same command goes on with them", file=sys.stderr)
    return 2 if missing else 0


def _error_line(sample: Sample) -> None:
    if sample.outcome == "error":
        print(f"ERROR {sample.question} {sample.agent} {sample.strategy}: {sample.why}", file=sys.stderr)


def _strategies(args: argparse.Namespace) -> tuple[Strategy, ...]:
    known: dict[str, Strategy] = {name: name for name in _STRATEGIES}
    names = dict.fromkeys(split(args.strategy) or _DEFAULT_STRATEGIES)
    return tuple(known[_known("strategy", name, known)] for name in names)


def _known(kind: str, name: str, names: Collection[str]) -> str:
    if name not in names:
        raise UsageError(f"no {kind} {name!r}{did_you_mean(name, names)} (there are {', '.join(names)})")
    return name


@contextmanager
def _players(args: argparse.Namespace) -> Iterator[list[Player]]:
    """Yield what plays, and end it afterwards. Raises UsageError where nothing does."""
    with ExitStack() as stack:
        players: list[Player] = []
        names = dict.fromkeys(split(args.agent))
        players.extend(ScriptedPlayer(_known("agent", name, SCRIPTS)) for name in names)
        players.extend(_models(args, stack))
        if not players:
            raise UsageError("nothing plays: --model PROVIDER:NAME, --local-model NAME, or --agent NAME for a script")
        if len({one.name for one in players}) < len(players):
            raise UsageError("two agents have one name: --set name=NAME for one of them, in a run of its own")
        yield players


def _models(args: argparse.Namespace, stack: ExitStack) -> Iterator[Player]:
    from corrigible.conformance.lift.agents.model import build
    from corrigible.conformance.lift.hotpot.trial import ModelPlayer

    plain = argparse.Namespace(**{**vars(args), "strategy": []})  # here a strategy is no part of the agent
    plans = lift_options.plans(plain)
    if args.local_model is not None:
        from corrigible.conformance.lift.agents.xllamacpp_server import served

        plans.append(lift_options.local_plan(plain, stack.enter_context(served(args.local_model))))
    for plan in plans:
        agent = build(AgentPlan.model_validate(plan), args.rate)
        player = ModelPlayer(agent, args.seed)
        stack.callback(player.close)
        yield player
