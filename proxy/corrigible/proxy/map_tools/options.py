"""The options that the verbs of `corrigible map` share: what is compared, what people said, vectors, and models.

`--model` and what belongs to it say which model is asked, what that may cost, and what it did cost.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from corrigible.adapters.mapping.annotation import Consensus, OperationPair, consensus, read_annotations
from corrigible.adapters.mapping.plan_text import Asked
from corrigible.adapters.mapping.store import KEY, Embedder, EndpointEmbedder, SqliteIndex, WordLlamaEmbedder
from corrigible.model.conversation import ModelMessage, Question, Reply, Sampling, Usage, UserMessage
from corrigible.model.provider_client import (
    PROVIDERS,
    Provider,
    ProviderClient,
    RateLimiter,
    UnusableProvider,
    endpoint,
)
from corrigible.rules.errors import CorrigibleError, did_you_mean
from corrigible.schema.exchange import Json

_MOST_TOKENS = 4_096
"""Of one answer."""


def add_model(parser: argparse.ArgumentParser, option: str, what: str) -> None:
    group = parser.add_argument_group("models", "keys come from the environment; they are neither printed nor written")
    group.add_argument(option, dest="model", default="", metavar="PROVIDER:MODEL", help=what)
    group.add_argument(
        "--model-url", default="", metavar="URL", help="of the provider's API, as http://127.0.0.1:11434/v1"
    )
    group.add_argument("--key-env", default="", metavar="NAME", help="environment variable of the key")
    group.add_argument("--rate", type=float, metavar="N", help="requests per minute")
    group.add_argument(
        "--price", metavar="INPUT,OUTPUT", help="of a million tokens, in your currency: the cost is printed at the end"
    )
    group.add_argument("--dry-run", action="store_true", help="print the first questions, and ask none")


@dataclass
class Model:
    """A model that is asked, and what that took so far."""

    name: str
    """For people: what answers on this machine may be a fake, and is told as being there."""
    model: str
    provider: Provider
    client: ProviderClient
    price: tuple[float, float] | None = None
    usage: Usage = field(default_factory=Usage)
    untold: int = 0
    """Answers whose tokens the server does not tell: none are estimated."""
    failed: int = 0

    def ask(
        self, question: Asked, turns: Sequence[tuple[Reply, str]] = (), schema: Mapping[str, Json] | None = None
    ) -> Reply:
        """Ask, after some answers and what was said to them. Raises ProviderError."""
        entries: list[UserMessage | ModelMessage] = [UserMessage(question.text)]
        for reply, said in turns:
            entries += [ModelMessage(reply), UserMessage(said)]
        asked = Question(question.system, tuple(entries), schema=question.schema if schema is None else schema)
        answer = self.client.ask(self.provider.encode(asked, Sampling(self.model, _MOST_TOKENS)))
        reply = self.provider.decode(answer.document)
        if reply.usage is None:
            self.untold += 1
        else:
            self.usage += reply.usage
        self.usage += Usage(calls=answer.calls)
        return reply

    def close(self) -> None:
        self.client.close()

    def told(self) -> str:
        """Return one line about what was spent."""
        used = self.usage
        parts = [f"{self.name}: {used.calls} requests, {used.input} tokens in, {used.output} out"]
        if self.untold:
            parts.append(f"{self.untold} answers did not tell their tokens")
        if self.failed:
            parts.append(f"{self.failed} answers failed or could not be read")
        if self.price is not None:
            cost = (used.input * self.price[0] + used.output * self.price[1]) / 1e6
            parts.append(f"cost {cost:.4f}")
        return "; ".join(parts)


def model(args: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> Model | None:
    """Return the model that the options name, None for none. Raises CorrigibleError."""
    if not args.model:
        if args.dry_run or args.model_url or args.price:
            raise CorrigibleError("--dry-run, --model-url and --price belong to a model: PROVIDER:MODEL")
        return None
    kind, _, name = str(args.model).partition(":")
    if kind not in PROVIDERS or not name:
        hint = did_you_mean(kind, PROVIDERS) if kind not in PROVIDERS else ""
        raise CorrigibleError(f"{args.model}: expected PROVIDER:MODEL, with {', '.join(PROVIDERS)}{hint}")
    provider = PROVIDERS[kind]
    if args.dry_run:
        environ = {**environ, provider.key_env: "unused"}
    try:
        where = endpoint(provider, base_url=args.model_url, key_env=args.key_env, local=False, environ=environ)
    except UnusableProvider as problem:
        raise CorrigibleError(str(problem).replace("--base-url", "--model-url")) from None
    shown = f"{args.model} (on this machine)" if where.loopback else args.model
    client = ProviderClient(where, RateLimiter(args.rate), random.Random(0))
    return Model(shown, name, provider, client, _price(args.price))


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[tuple[SqliteIndex, Model | None]]:
    """Yield the index and the model that the options name. At the end what the model took is printed."""
    chosen = model(args)
    index = SqliteIndex(args.index, embedder(args))
    with closing(index), closing(chosen) if chosen is not None else nullcontext():
        yield index, chosen
    if chosen is not None and not args.dry_run:
        print(chosen.told(), file=sys.stderr)


def _price(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        incoming, outgoing = map(float, text.split(","))
    except ValueError:
        raise CorrigibleError(f"--price {text}: expected INPUT,OUTPUT, as 3,15") from None
    return incoming, outgoing


def print_question(question: Asked, tell: Callable[[str], None] = print) -> None:
    """Print a question as it would be asked."""
    tell(f"--- system\n{question.system}\n--- user\n{question.text}\n--- schema\n{json.dumps(question.schema)}")


_CHOICES: Final = "none, wordllama, endpoint:MODEL"


def add_embedding(parser: argparse.ArgumentParser) -> None:
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


def add_index(parser: argparse.ArgumentParser, content: str = "as `corrigible map index` wrote it") -> None:
    parser.add_argument("--index", required=True, type=Path, metavar="FILE", help=content)


def add_annotations(parser: argparse.ArgumentParser, effect: str) -> None:
    parser.add_argument(
        "--annotations",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help=f"people's judgements, as `corrigible map annotate` wrote them: {effect}",
    )


def agreed(args: argparse.Namespace) -> dict[OperationPair, Consensus]:
    """Return what most people said of each pair. Raises CorrigibleError for a file that cannot be read."""
    return consensus(one for file in args.annotations for one in read_annotations(file))
