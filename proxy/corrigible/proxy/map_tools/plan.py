"""`corrigible map plan`: the calls, in order, that fulfil an utterance."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corrigible.adapters.mapping import plan_text
from corrigible.adapters.mapping.map_index import read_map
from corrigible.adapters.mapping.mapping import OperationMapping
from corrigible.adapters.mapping.operation import CanonicalOperation
from corrigible.model.conversation import Reply
from corrigible.model.provider_client import ProviderError
from corrigible.rules.errors import CorrigibleError

from . import options
from .options import Model

_CANDIDATES = 20
"""Operations that a model is shown."""
_STEPS = 5
"""Of ReAct."""
_FOUND = 5
"""Operations that one search of a step adds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be called, in order, and how that was found."""

    calls: tuple[CanonicalOperation, ...]
    method: str
    """`lexical`, or the model and the style."""
    dropped: int = 0
    """Calls of the model that are no operation of the list."""
    note: str = ""
    """Why a model's answer is missing, or what it thinks."""


def lexical_plan(utterance: str, search: plan_text.Search) -> Plan:
    return Plan(tuple(hit.operation for hit in plan_text.propose(utterance, search)), "lexical")


def candidates(utterance: str, search: plan_text.Search) -> list[CanonicalOperation]:
    """Return what a model may choose from: the best for the whole utterance, and for each of its wishes."""
    hits = [*search(utterance, _CANDIDATES // 2)]
    for clause in plan_text.clauses(utterance)[: plan_text.MOST]:
        hits += search(clause, 3)
    found = {(hit.operation.api, hit.operation.key): hit.operation for hit in hits}
    return list(found.values())[:_CANDIDATES]


def first_question(utterance: str, listed: Sequence[CanonicalOperation], style: str) -> plan_text.Asked:
    """Return what a model is asked first in a style."""
    if style == "react":
        return plan_text.react_question(utterance, listed)
    return plan_text.sequence_question(utterance, listed, thinks=style == "chain-of-thought")


def model_plan(
    utterance: str, search: plan_text.Search, model: Model, style: str, mappings: Sequence[OperationMapping] = ()
) -> Plan:
    """Ask a model. Where it fails the plan is empty and says why: no other method takes its place unsaid."""
    listed = candidates(utterance, search)
    method = f"{model.name}, {style}"
    if not listed:
        return Plan((), method, note="nothing was found to choose from")
    try:
        if style == "react":
            return _react(utterance, listed, search, model, method)
        question = first_question(utterance, listed, style)
        reply = model.ask(question)
        document = plan_text.read_answer(reply.text)
        numbers, dropped = plan_text.chosen(document, len(listed))
        if style == "reflection":
            said = plan_text.reflection(reply.text, listed, mappings)
            document = plan_text.read_answer(
                model.ask(question, [(reply, said)], plan_text.answer_schema("criticism", "calls")).text
            )
            numbers, dropped = plan_text.chosen(document, len(listed))
    except (ProviderError, plan_text.UnreadableAnswer) as problem:
        model.failed += 1
        return Plan((), method, note=str(problem))
    note = str(document.get("criticism") or document.get("thought") or "")
    return Plan(tuple(listed[at] for at in dict.fromkeys(numbers)), method, dropped, note)


def _react(
    utterance: str, listed: list[CanonicalOperation], search: plan_text.Search, model: Model, method: str
) -> Plan:
    """Let the model search until it finishes; after the last step its calls count as they are."""
    question, turns = first_question(utterance, listed, "react"), list[tuple[Reply, str]]()
    for step in range(_STEPS):
        reply = model.ask(question, turns)
        document = plan_text.read_answer(reply.text)
        if document.get("action") != "search" or step == _STEPS - 1:
            numbers, dropped = plan_text.chosen(document, len(listed))
            calls = tuple(listed[at] for at in dict.fromkeys(numbers))
            return Plan(calls, method, dropped, str(document.get("thought") or ""))
        known = {(one.api, one.key) for one in listed}
        hits = search(str(document.get("query") or ""), _FOUND)
        more = [hit.operation for hit in hits if (hit.operation.api, hit.operation.key) not in known]
        turns.append((reply, plan_text.observation(more, len(listed) + 1)))
        listed += more
    raise AssertionError("the last step returns")


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "plan",
        help="propose the calls that fulfil an utterance",
        description="Propose a sequence of calls for an utterance. Without a model: the best operation for each wish "
        "in it. With one: as the model answers, chosen from what was found. Exit status 1: none.",
    )
    parser.add_argument("utterance", metavar="TEXT", help="the utterance of a user")
    options.add_index(parser)
    add_style(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per plan and line")
    options.add_embedding(parser)
    options.add_model(parser, "--model", "ask this model, too")
    parser.set_defaults(run=run)


def add_style(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--style", choices=plan_text.STYLES, default="few-shot", help="how a model is asked (default: few-shot)"
    )
    parser.add_argument(
        "--map", type=Path, metavar="FILE", help="mappings: those to score, or to reflect with (--style reflection)"
    )


def run(args: argparse.Namespace) -> int:
    mappings = mappings_for(args)
    with options.opened(args) as (index, model):
        if args.dry_run:
            listed = candidates(args.utterance, index.search)
            options.print_question(first_question(args.utterance, listed, args.style))
            return 0
        plans = [lexical_plan(args.utterance, index.search)]
        if model is not None:
            plans.insert(0, model_plan(args.utterance, index.search, model, args.style, mappings))
    for plan in plans:
        _print(plan, as_json=args.json)
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
