"""`--embedding` of the verbs that make or search an index by vectors."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Final

from corrigible.adapters.mapping.store.endpoint import KEY, EndpointEmbedder
from corrigible.adapters.mapping.store.seam import Embedder
from corrigible.adapters.mapping.store.wordllama import WordLlamaEmbedder
from corrigible.rules.errors import CorrigibleError

_CHOICES: Final = "none, wordllama, endpoint:MODEL"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--embedding",
        default="none",
        metavar="NAME",
        help="source of vectors: none (default: words only), wordllama (a small model that comes as a package, extra "
        "`map`), or endpoint:MODEL of a server that speaks OpenAI's POST /embeddings",
    )
    parser.add_argument(
        "--base-url",
        default="",
        metavar="URL",
        help=f"of that server, as http://127.0.0.1:11434/v1; its key is in {KEY}",
    )


def embedder(args: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> Embedder | None:
    """Return the embedder that the options name; None for none. Raises CorrigibleError."""
    kind, _, model = str(args.embedding).partition(":")
    if kind == "endpoint" and model:
        if not args.base_url:
            raise CorrigibleError(f"--embedding {args.embedding}: where is it? --base-url URL")
        return EndpointEmbedder(args.base_url, model, environ.get(KEY, "").strip())
    if args.base_url:
        raise CorrigibleError("--base-url belongs to --embedding endpoint:MODEL")
    if kind == "wordllama" and not model:
        return WordLlamaEmbedder()
    if args.embedding != "none":
        raise CorrigibleError(f"--embedding {args.embedding}: there are {_CHOICES}")
    return None
