"""`corrigible map plan`: the calls, in order, that fulfil an utterance."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from corrigible.adapters.mapping.map_file import read_map
from corrigible.adapters.mapping.mapping import OperationMapping
from corrigible.adapters.mapping.plan.prompt import STYLES
from corrigible.adapters.mapping.store.sqlite_index import SqliteIndex
from corrigible.rules.errors import CorrigibleError

from . import embedding_option, input_option, model_option
from .planner import Plan, candidates, first_question, lexical_plan, model_plan


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "plan",
        help="propose the calls that fulfil an utterance",
        description="Propose a sequence of calls for an utterance. Without a model: the best operation for each wish "
        "in it. With one: as the model answers, chosen from what was found. Exit status 1: none.",
    )
    parser.add_argument("utterance", metavar="TEXT", help="the utterance of a user")
    input_option.add_index(parser)
    add_style(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per plan and line")
    embedding_option.add(parser)
    model_option.add(parser, "--model", "ask this model, too")
    parser.set_defaults(run=run)


def add_style(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--style", choices=STYLES, default="few-shot", help="how a model is asked (default: few-shot)")
    parser.add_argument(
        "--map", type=Path, metavar="FILE", help="mappings: those to score, or to reflect with (--style reflection)"
    )


def run(args: argparse.Namespace) -> int:
    model = model_option.model(args)
    mappings = mappings_for(args)
    index = SqliteIndex(args.index, embedding_option.embedder(args))
    try:
        if args.dry_run:
            listed = candidates(args.utterance, index.search)
            model_option.print_question(first_question(args.utterance, listed, args.style))
            return 0
        plans = [lexical_plan(args.utterance, index.search)]
        if model is not None:
            plans.insert(0, model_plan(args.utterance, index.search, model, args.style, mappings))
    finally:
        index.close()
        if model is not None:
            model.close()
    for plan in plans:
        _print(plan, as_json=args.json)
    if model is not None:
        print(model.told(), file=sys.stderr)
    return 0 if plans[0].calls else 1


def mappings_for(args: argparse.Namespace) -> Sequence[OperationMapping]:
    """Return the mappings to reflect with. Raises CorrigibleError where no model would see them."""
    if args.map is None:
        return ()
    if not args.model or args.style != "reflection":
        raise CorrigibleError("--map belongs to a model with --style reflection")
    return read_map(args.map).mappings


def _print(plan: Plan, *, as_json: bool) -> None:
    if as_json:
        calls = [{"api": one.api, "method": one.method, "path": one.path, "name": one.name} for one in plan.calls]
        print(json.dumps({"method": plan.method, "calls": calls, "dropped": plan.dropped, "note": plan.note}))
        return
    print(f"{plan.method}:")
    for at, one in enumerate(plan.calls, 1):
        print(f"{at:3}. {one.api}  {one.key}{f'  {one.summary}' if one.summary else ''}")
    if not plan.calls:
        print(f"     nothing{f': {plan.note}' if plan.note else ''}")
    if plan.dropped:
        print(f"     {plan.dropped} calls that are not in the list were dropped")
