"""`corrigible map evaluate`: how right mappings and sequences are, beside baselines that use one sign alone."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from corrigible.adapters.mapping import evaluation
from corrigible.adapters.mapping.likeness import Profile
from corrigible.adapters.mapping.map_index import read_map
from corrigible.adapters.mapping.mapping import OperationMapping
from corrigible.adapters.mapping.operation import CanonicalOperation
from corrigible.adapters.mapping.plan_text import Search
from corrigible.adapters.mapping.store import Embedder, Hit, SqliteIndex, indexed_text
from corrigible.rules.errors import CorrigibleError

from . import options
from .build import build_map
from .plan import Plan, add_style, candidates, first_question, lexical_plan, mappings_for, model_plan

_WIDER = 200
"""Hits among which the operations that a query itself offers are looked for."""


def run_queries(args: argparse.Namespace) -> int:
    """Score plans, and print one row for each method."""
    mappings = mappings_for(args)
    queries = evaluation.read_queries(args.queries)[: args.limit]
    with options.opened(args) as (index, model):
        if args.dry_run and queries:
            search = _search(index, queries[0])
            listed = candidates(queries[0].utterance, search)
            options.print_question(first_question(queries[0].utterance, listed, args.style))
            return 0
        rows = [("lexical", _scored(queries, index, lexical_plan))]
        if model is not None:
            asked = model

            def planned(utterance: str, search: Search) -> Plan:
                return model_plan(utterance, search, asked, args.style, mappings)

            rows.append((f"{model.name}, {args.style}", _scored(queries, index, planned)))
    _print_plans(rows, as_json=args.json)
    return 0


def _scored(
    queries: Sequence[evaluation.Query], index: SqliteIndex, planned: Callable[[str, Search], Plan]
) -> evaluation.SequenceScore:
    return evaluation.score_sequences(
        ([_call(one) for one in planned(query.utterance, _search(index, query)).calls], query.calls)
        for query in queries
    )


def _call(one: CanonicalOperation) -> evaluation.Call:
    return one.api, one.name


def _search(index: SqliteIndex, query: evaluation.Query) -> Search:
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


def _print_plans(rows: Sequence[tuple[str, evaluation.SequenceScore]], *, as_json: bool) -> None:
    if as_json:
        for name, score in rows:
            shares = {"sets": _shares(score.sets), "order": _shares(score.order)}
            print(json.dumps({"method": name, "queries": score.examples, **shares}))
        return
    print(f"{rows[0][1].examples} queries with known calls")
    print(f"{'':50} {'as sets':^20} {'in order':^20}")
    print(f"{'':50}  prec. recall     F1   prec. recall     F1")
    for name, score in rows:
        print(f"{name:50} {_shown_averages(score.sets)} {_shown_averages(score.order)}")


def _shares(found: evaluation.Averages | None) -> dict[str, float] | None:
    return None if found is None else {"precision": found.precision, "recall": found.recall, "f1": found.f1}


def _shown_averages(found: evaluation.Averages | None) -> str:
    if found is None:
        return f"{'-':>6} {'-':>6} {'-':>6}"
    return f"{found.precision:6.4f} {found.recall:6.4f} {found.f1:6.4f}"


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "evaluate",
        help="score mappings by ground truth, and plans by the calls that are right",
        description="Score mappings by ground truth (tests/mapping/README.md has its form), beside what similar names "
        "alone and similar descriptions alone map, each at the threshold that suits it best on these very judgements; "
        "or score plans of calls by sets of queries, as sets and in order, always beside the plans without a model.",
    )
    options.add_index(parser, "with the APIs that are judged")
    parser.add_argument("--truth", nargs="+", type=Path, default=[], metavar="FILE", help="judged mappings")
    options.add_annotations(parser, "the pairs that they judged are scored")
    parser.add_argument("--json", action="store_true", help="print one JSON object per method and line")
    parser.add_argument(
        "--queries",
        type=Path,
        metavar="FILE",
        help='score plans instead, by ToolBench\'s queries or lines of {"utterance": ..., "calls": [["api", "name"]]}',
    )
    parser.add_argument("--limit", type=int, metavar="N", help="the first N queries only")
    add_style(parser)
    options.add_embedding(parser)
    options.add_model(parser, "--model", "score the plans of this model, too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.queries is not None:
        if args.truth or args.annotations:
            raise CorrigibleError("--truth and --annotations score mappings, --queries plans: one of them")
        return run_queries(args)
    if not args.truth and not args.annotations:
        raise CorrigibleError("nothing to score by: --truth FILE..., --annotations FILE... or --queries FILE")
    if args.model:
        raise CorrigibleError("--model belongs to --queries; for mappings there is `corrigible map build --refine`")
    truths = [evaluation.read_truth(file) for file in args.truth]
    truths += evaluation.annotated_truths(options.agreed(args))
    if not truths:
        raise CorrigibleError("nothing to score by: nobody judged anything, or of each pair as many say yes as no")
    embedder = options.embedder(args)
    with closing(SqliteIndex(args.index)) as index:
        known = [one.name for one in index.apis()]
        apis = sorted({api for truth in truths for api in (truth.source_api, truth.target_api)})
        if missing := [api for api in apis if api not in known]:
            raise CorrigibleError(f"{args.index}: lacks {', '.join(missing)}")
        operations = {api: list(index.operations(api)) for api in apis}
        mappings = list(read_map(args.map).mappings) if args.map else _built(index, truths)
    rows = [("this map", evaluation.score(mappings, truths))]
    rows += [(f"{one.name}, from {one.threshold:g}", one.score) for one in _baselines(operations, truths, embedder)]
    if args.json:
        for name, found in rows:
            print(json.dumps(_document(name, found)))
        return 0
    judged = sum(len(truth.operations) for truth in truths)
    print(f"{judged} judged operations, {rows[0][1].operations.wanted} right targets")
    print(f"{'':42} {'targets':^27} {'fields':^20}")
    print(f"{'':42} proposed  prec.  recall   F1   prec.  recall")
    for name, found in rows:
        whole, fields = found.operations, found.fields
        print(
            f"{name:42} {whole.proposed:8} {_shown(whole.precision)} {_shown(whole.recall)} {_shown(whole.f1)} "
            f"{_shown(fields.precision)} {_shown(fields.recall)}"
        )
    own = rows[0][1]
    print(
        f"this map: {own.classes_right} of {own.operations.right} right targets have the judged class; "
        f"{own.related.right} of {own.related.proposed} proposed as related are; {own.unjudged} pairs of fields "
        "were judged by nobody"
    )
    return 0


def _built(index: SqliteIndex, truths: Sequence[evaluation.Truth]) -> list[OperationMapping]:
    pairs = sorted({(truth.source_api, truth.target_api) for truth in truths})
    return [one for source, target in pairs for one in build_map(index, [source], [target]).mappings]


def _baselines(
    operations: Mapping[str, Sequence[CanonicalOperation]],
    truths: Sequence[evaluation.Truth],
    embedder: Embedder | None,
) -> Iterator[evaluation.Baseline]:
    profiles = [Profile(one) for listed in operations.values() for one in listed]
    yield evaluation.baseline("names alone", evaluation.by_names(profiles), operations, truths)
    yield evaluation.baseline("descriptions alone (words)", evaluation.by_descriptions(profiles), operations, truths)
    if embedder is not None:
        made = embedder.vectors([indexed_text(one.operation) for one in profiles])
        vectors = {one.key: vector for one, vector in zip(profiles, made, strict=True)}
        yield evaluation.baseline(
            f"descriptions alone ({embedder.name})", evaluation.by_vectors(vectors), operations, truths
        )


def _shown(share: float | None) -> str:
    return "     -" if share is None else f"{share:6.3f}"


def _document(name: str, found: evaluation.MappingScore) -> dict[str, object]:
    shares = {"targets": found.operations, "related": found.related, "fields": found.fields}
    counts = {
        key: {
            **{"right": one.right, "proposed": one.proposed, "wanted": one.wanted},
            **{"precision": one.precision, "recall": one.recall, "f1": one.f1},
        }
        for key, one in shares.items()
    }
    return {"method": name, **counts, "fields_unjudged": found.unjudged, "classes_right": found.classes_right}
