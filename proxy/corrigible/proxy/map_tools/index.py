"""`corrigible map index` reads descriptions of APIs into an index of operations; `corrigible map search` finds them."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from corrigible.adapters.mapping.operation import ApiDocument
from corrigible.adapters.mapping.spec_file import read_spec
from corrigible.adapters.mapping.store import (
    LEXICAL,
    PREFIX,
    Embedder,
    Hit,
    MilvusVectors,
    SqliteIndex,
    VectorStore,
    write_sqlite,
)
from corrigible.rules.errors import CorrigibleError

from . import options


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _add_index(verbs)
    _add_search(verbs)


def _add_index(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "index",
        help="read descriptions of APIs into an index of operations",
        description="Read descriptions of APIs (OpenAPI 3, Swagger 2.0, protobuf, ToolBench's JSON) into one index of "
        "operations. `corrigible map search` and `corrigible map build` read it.",
    )
    parser.add_argument(
        "specs",
        nargs="+",
        metavar="[NAME=]SPEC",
        help="a file or a folder, and a name for the API; default: its title and version",
    )
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="the index, written anew")
    options.add_embedding(parser)
    parser.add_argument(
        "--vectors",
        default="",
        metavar="milvus:ADDRESS",
        help="keep the vectors in Milvus: a file of Milvus Lite, or the URL of a server (extra `milvus`)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    embedder = options.embedder(args)
    vectors = _vectors(args.vectors, embedder)
    began = time.perf_counter()
    documents = list(_once(document for spec in args.specs for document in read_specs(spec)))
    count = write_sqlite(args.out, documents, embedder, vectors)
    method = embedder.name if embedder is not None else "words only, no model"
    for document in documents[:20]:
        cut = sum(1 for one in document.operations if one.left_out)
        note = f" ({cut} with fields beyond the bounds of reading)" if cut else ""
        print(f"{document.name}: {len(document.operations)} operations{note}")
    if len(documents) > 20:
        print(f"... and {len(documents) - 20} more APIs")
    listed = sum(len(one.operations) for one in documents)
    twice = f"; {listed - count} that were there already are left out" if listed > count else ""
    print(f"{args.out}: {count} operations, {method}, {time.perf_counter() - began:.1f} s{twice}")
    return 0


def _vectors(address: str, embedder: Embedder | None) -> VectorStore | None:
    if not address:
        return None
    if not address.startswith(PREFIX):
        raise CorrigibleError(f"--vectors {address}: expected {PREFIX}FILE or {PREFIX}URL")
    if embedder is None:
        raise CorrigibleError("--vectors: --embedding says what makes them")
    return MilvusVectors(address.removeprefix(PREFIX), anew=True)


def read_specs(spec: str) -> list[ApiDocument]:
    """Return the APIs of one `[NAME=]SPEC`. Raises CorrigibleError where it cannot be read."""
    name, sign, file = spec.partition("=")
    if not sign or Path(spec).exists():
        name, file = "", spec
    if not Path(file).exists():
        raise CorrigibleError(f"{file}: no such file or folder")
    return read_spec(Path(file), name.strip())


def _once(documents: Iterable[ApiDocument]) -> Iterator[ApiDocument]:
    """Yield documents whose names differ. Raises CorrigibleError; of ToolBench one tool may be in several files."""
    seen: set[str] = set()
    for document in documents:
        if document.name in seen and document.operations and document.version:
            raise CorrigibleError(f"two APIs are called {document.name!r}: name one of them, NAME=SPEC")
        seen.add(document.name)
        yield document


def _add_search(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    options.add_embedding(parser)
    parser.set_defaults(run=search)


def search(args: argparse.Namespace) -> int:
    if args.limit < 1:
        raise CorrigibleError(f"--limit {args.limit}: at least 1")
    embedder = options.embedder(args)
    if args.by == "vectors" and embedder is None:
        raise CorrigibleError("--by vectors: --embedding says what makes them")
    with closing(SqliteIndex(args.index, embedder)) as index:
        names = [one.name for one in index.apis()]
        if args.api and args.api not in names:
            raise CorrigibleError(f"--api {args.api}: not in this index; there are {', '.join(names[:20])}")
        hits = index.search(args.text, args.limit, method=LEXICAL if args.by == "words" else "", api=args.api)
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
