"""Scores of plans by sets of queries: without a model, and beside it with one."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence

from corrigible.adapters.mapping.evaluation import Averages, Call, Query, SequenceScore, read_queries, score_sequences
from corrigible.adapters.mapping.operation import CanonicalOperation
from corrigible.adapters.mapping.plan_text import Search
from corrigible.adapters.mapping.sqlite_index import SqliteIndex
from corrigible.adapters.mapping.store import Hit, OperationIndex

from . import embedding_option, model_option
from .plan import mappings_for
from .planner import Plan, candidates, first_question, lexical_plan, model_plan

_WIDER = 200
"""Hits among which the operations that a query itself offers are looked for."""


def run(args: argparse.Namespace) -> int:
    """Score plans, and print one row for each method."""
    model = model_option.model(args)
    mappings = mappings_for(args)
    queries = read_queries(args.queries)[: args.limit]
    index = SqliteIndex(args.index, embedding_option.embedder(args))
    try:
        if args.dry_run and queries:
            search = _search(index, queries[0])
            listed = candidates(queries[0].utterance, search)
            model_option.print_question(first_question(queries[0].utterance, listed, args.style))
            return 0
        rows = [("lexical", _scored(queries, index, lexical_plan))]
        if model is not None:
            asked = model

            def planned(utterance: str, search: Search) -> Plan:
                return model_plan(utterance, search, asked, args.style, mappings)

            rows.append((f"{model.name}, {args.style}", _scored(queries, index, planned)))
    finally:
        index.close()
        if model is not None:
            model.close()
    _print(rows, as_json=args.json)
    if model is not None:
        print(model.told(), file=sys.stderr)
    return 0


def _scored(queries: Sequence[Query], index: OperationIndex, planned: Callable[[str, Search], Plan]) -> SequenceScore:
    return score_sequences(
        ([_call(one) for one in planned(query.utterance, _search(index, query)).calls], query.calls)
        for query in queries
    )


def _call(one: CanonicalOperation) -> Call:
    return one.api, one.name


def _search(index: OperationIndex, query: Query) -> Search:
    """Search the whole index, or the operations that a query offers."""
    if not query.candidates:
        return lambda text, limit: index.search(text, limit)
    offered = set(query.candidates)

    def among(text: str, limit: int) -> list[Hit]:
        hits = [
            hit
            for api in sorted({api for api, _ in offered})
            for hit in index.search(text, _WIDER, api=api)
            if _call(hit.operation) in offered
        ]
        return sorted(hits, key=lambda hit: -hit.score)[:limit]

    return among


def _print(rows: Sequence[tuple[str, SequenceScore]], *, as_json: bool) -> None:
    if as_json:
        for name, score in rows:
            shares = {"sets": _shares(score.sets), "order": _shares(score.order)}
            print(json.dumps({"method": name, "queries": score.examples, **shares}))
        return
    print(f"{rows[0][1].examples} queries with known calls")
    print(f"{'':50} {'as sets':^20} {'in order':^20}")
    print(f"{'':50}  prec. recall     F1   prec. recall     F1")
    for name, score in rows:
        print(f"{name:50} {_shown(score.sets)} {_shown(score.order)}")


def _shares(found: Averages | None) -> dict[str, float] | None:
    return None if found is None else {"precision": found.precision, "recall": found.recall, "f1": found.f1}


def _shown(found: Averages | None) -> str:
    if found is None:
        return f"{'-':>6} {'-':>6} {'-':>6}"
    return f"{found.precision:6.4f} {found.recall:6.4f} {found.f1:6.4f}"
