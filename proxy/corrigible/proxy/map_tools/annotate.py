"""`corrigible map annotate`: people judge proposed mappings on a page of this machine."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from corrigible.adapters.mapping.annotation import Proposal, proposals_of, read_proposals
from corrigible.adapters.mapping.map_file import read_map
from corrigible.adapters.mapping.store.sqlite_index import SqliteIndex
from corrigible.rules.errors import CorrigibleError

from .annotation_desk import AnnotationDesk
from .annotation_server import AnnotationServer
from .build import read_utterances
from .proposer import described, proposals_for


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "annotate",
        help="judge proposed mappings on a local page",
        description="Serve a page on 127.0.0.1 where people accept, correct or reject proposed mappings, by keyboard. "
        "Each judgement is added to a file as a line of JSON, and is on the disk before the page goes on.",
    )
    parser.add_argument("--map", type=Path, metavar="FILE", action="append", default=[], help="a map: its mappings")
    parser.add_argument(
        "--proposals",
        type=Path,
        metavar="FILE",
        action="append",
        default=[],
        help="mappings to judge with the utterances that they were found by, a JSON object a line",
    )
    parser.add_argument(
        "--index",
        type=Path,
        metavar="FILE",
        help="as `corrigible map index` wrote it: its descriptions are shown; without --map and --proposals its "
        "operations are mapped, and the nearest candidates stand beside",
    )
    parser.add_argument(
        "--utterances",
        type=Path,
        metavar="FILE",
        help="with --index: utterances of users, one a line, or ToolBench's queries: the operations found are judged",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        default=Path("annotations.jsonl"),
        help="where annotations are added; default: %(default)s",
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: a free one")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT. Exit status: 0 stopped, 1 cannot listen or write, 2 a file is wrong."""
    proposals = _proposals(args)
    if not proposals:
        raise CorrigibleError(
            "corrigible map annotate: nothing to judge: --map, --proposals or --index with some mappings is required"
        )
    try:
        desk = AnnotationDesk(proposals, args.out, _now)
    except OSError as problem:
        return _fail(f"{args.out}: {(problem.strerror or str(problem)).lower()}")
    try:
        server = AnnotationServer(desk, args.port)
    except (OSError, OverflowError) as problem:
        desk.close()
        return _fail(f"cannot listen on port {args.port}: {str(problem).lower()}")
    print(f"corrigible map annotate: {server.url} ({len(desk.proposals)} proposals, to {args.out})", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
        desk.close()
    return 0


def _proposals(args: argparse.Namespace) -> list[Proposal]:
    proposals: list[Proposal] = []
    for file in args.map:
        proposals += proposals_of(read_map(file))
    for file in args.proposals:
        proposals += read_proposals(file)
    if args.utterances and (args.index is None or proposals):
        raise CorrigibleError("--utterances belongs to --index without --map and --proposals")
    if args.index is None:
        return proposals
    utterances = read_utterances(args.utterances) if args.utterances else []
    if args.utterances and not utterances:
        raise CorrigibleError(f"{args.utterances}: no utterance")
    index = SqliteIndex(args.index)
    try:
        if proposals:
            return list(described(proposals, index))
        names = [one.name for one in index.apis()]
        return proposals_for(index, names, names, utterances)
    finally:
        index.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _fail(problem: str) -> int:
    print(f"corrigible map annotate: {problem}", file=sys.stderr)
    return 1
