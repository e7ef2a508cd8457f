"""`corrigible map index`: descriptions of APIs into an index of operations."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from corrigible.adapters.mapping.source.api_document import ApiDocument
from corrigible.adapters.mapping.source.spec_file import read_spec
from corrigible.adapters.mapping.store.milvus import PREFIX, MilvusVectors
from corrigible.adapters.mapping.store.seam import Embedder, VectorStore
from corrigible.adapters.mapping.store.sqlite_index import write_sqlite
from corrigible.rules.errors import CorrigibleError

from . import embedding_option


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    embedding_option.add(parser)
    parser.add_argument(
        "--vectors",
        default="",
        metavar="milvus:ADDRESS",
        help="keep the vectors in Milvus: a file of Milvus Lite, or the URL of a server (extra `milvus`)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    embedder = embedding_option.embedder(args)
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
