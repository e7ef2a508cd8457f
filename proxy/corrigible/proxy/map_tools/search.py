"""`corrigible map search`: operations of an index for some words."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from corrigible.adapters.mapping.store.seam import LEXICAL, Hit
from corrigible.adapters.mapping.store.sqlite_index import SqliteIndex
from corrigible.rules.errors import CorrigibleError

from . import embedding_option


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "search",
        help="find operations by words",
        description="Find operations of an index by words, or by vectors if the index has some. Exit status 1: none.",
    )
    parser.add_argument("text", metavar="TEXT", help="the wish, in words")
    parser.add_argument(
        "--index", required=True, type=Path, metavar="FILE", help="as `corrigible map index --out` wrote it"
    )
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="operations at most (default: 10)")
    parser.add_argument("--api", default="", metavar="NAME", help="of this API only")
    parser.add_argument("--by", choices=("words", "vectors"), help="default: vectors where --embedding names some")
    parser.add_argument("--json", action="store_true", help="print one JSON object per operation and line")
    embedding_option.add(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.limit < 1:
        raise CorrigibleError(f"--limit {args.limit}: at least 1")
    embedder = embedding_option.embedder(args)
    if args.by == "vectors" and embedder is None:
        raise CorrigibleError("--by vectors: --embedding says what makes them")
    index = SqliteIndex(args.index, embedder)
    try:
        names = [one.name for one in index.apis()]
        if args.api and args.api not in names:
            raise CorrigibleError(f"--api {args.api}: not in this index; there are {', '.join(names[:20])}")
        hits = index.search(args.text, args.limit, method=LEXICAL if args.by == "words" else "", api=args.api)
    finally:
        index.close()
    for hit in hits:
        print(json.dumps(_document(hit), ensure_ascii=False) if args.json else _line(hit))
    if not args.json:
        print(f"{len(hits)} operations by {hits[0].method}" if hits else "no operation has any of these words")
    return 0 if hits else 1


def _line(hit: Hit) -> str:
    one = hit.operation
    said = (one.summary or one.description).partition(". ")[0][:80]
    return f"{hit.score:8.3f}  {one.api}  {one.key}{f'  {said}' if said else ''}"


def _document(hit: Hit) -> dict[str, object]:
    one = hit.operation
    return {
        **{"api": one.api, "method": one.method, "path": one.path, "name": one.name, "summary": one.summary},
        **{"score": hit.score, "by": hit.method},
    }
