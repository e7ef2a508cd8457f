"""What every store of operations does, and what turns a text into a vector.

Vectors of WordLlama: static embeddings of words (256 numbers, 16 MB) that come inside the package `wordllama`.
Nothing is fetched: its loader is told where the files of the package are, and is not allowed to download.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import httpx

from corrigible.rules.errors import CorrigibleError
from corrigible.schema.exchange import Json
from corrigible.schema.extra import install_line

from .mapping import ApiOfMap
from .operation import CanonicalOperation, joined, name_words

LEXICAL = "lexical (BM25)"
"""The method that needs no model."""


class StoreError(CorrigibleError):
    """An index cannot be read or written; the message names the file."""


class Embedder(Protocol):
    """Turns texts into vectors of one length."""

    @property
    def name(self) -> str:
        """Return what results name as their method; an index is searched with the embedder that made it."""
        ...

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector of length 1 for each text. Raises StoreError where that fails."""
        ...


@dataclass(frozen=True, slots=True)
class Hit:
    """An operation that was found. Scores of different methods cannot be compared."""

    operation: CanonicalOperation
    score: float
    method: str
    """What found it: `lexical (BM25)`, or the name of an embedder."""


class OperationIndex(Protocol):
    """Operations of many APIs, found by words."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Return how it can be searched, the best first."""
        ...

    def apis(self) -> list[ApiOfMap]: ...

    def operations(self, api: str = "") -> Iterator[CanonicalOperation]:
        """Yield all operations, or those of one API, in the order in which they were added."""
        ...

    def search(self, text: str, limit: int, *, method: str = "", api: str = "") -> list[Hit]:
        """Return the best operations for a text, the best first; ties in the order of adding."""
        ...

    def close(self) -> None: ...


class VectorStore(Protocol):
    """The vectors of an index."""

    @property
    def address(self) -> str:
        """Return what the index keeps of where they are: empty where they are in its own file."""
        ...

    def write(self, rows: Sequence[tuple[int, str, Sequence[float]]]) -> None:
        """Add the vectors of some operations: number, API, vector."""
        ...

    def nearest(self, vector: Sequence[float], limit: int, api: str) -> list[tuple[int, float]]:
        """Return numbers and cosines, the nearest first; `api` empty for all."""
        ...


def indexed_text(operation: CanonicalOperation) -> str:
    """Return what embedders read of an operation: the name in words, the sentences, the names of arguments."""
    names = " ".join(dict.fromkeys(one.name for one in operation.arguments[:40]))
    said = f"{operation.summary} {operation.description}".strip()
    tool = " ".join(operation.tags)
    return f"{joined(name_words(operation.name))}. {said} {tool} {names}".strip()[:2_000]


def unit(vector: Sequence[float]) -> list[float]:
    """Return a vector of length 1; of nothing but zeros, itself."""
    length = math.sqrt(sum(one * one for one in vector))
    return [one / length for one in vector] if length else list(vector)


KEY: Final = "EMBEDDING_API_KEY"
"""The environment variable of the key."""
_BATCH: Final = 100
_SECONDS: Final = 120.0


class EndpointEmbedder:
    """One model of one server."""

    def __init__(self, base_url: str, model: str, key: str = "") -> None:
        """`base_url`: `http://127.0.0.1:11434/v1`. Raises StoreError where a key would leave unencrypted."""
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise StoreError(f"{base_url}: a base URL starts with http:// or https:// and holds no credentials")
        loopback = _is_loopback(parts.hostname)
        if key and parts.scheme == "http" and not loopback:
            raise StoreError(f"{base_url}: the key would be sent unencrypted")
        self._url, self._model = f"{base_url.rstrip('/')}/embeddings", model
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._loopback = loopback

    @property
    def name(self) -> str:
        """The model; what answers on this machine is told as being there, since it may be a fake."""
        return f"{self._model} at an endpoint{' on this machine' if self._loopback else ''}"

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        return [vector for at in range(0, len(texts), _BATCH) for vector in self._batch(texts[at : at + _BATCH])]

    def _batch(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            # A proxy of the environment variables is for remote hosts.
            with httpx.Client(timeout=_SECONDS, trust_env=not self._loopback, headers=self._headers) as client:
                answer = client.post(self._url, json={"model": self._model, "input": list(texts)})
            answer.raise_for_status()
            document = answer.json()
        except httpx.HTTPStatusError as problem:
            raise StoreError(f"{self._url} answers {problem.response.status_code}") from None
        except (httpx.HTTPError, ValueError) as problem:
            raise StoreError(f"{self._url}: {type(problem).__name__}: no usable answer") from None
        try:
            return [unit(vector) for vector in _vectors(document, len(texts))]
        except (KeyError, TypeError, ValueError):
            raise StoreError(f"{self._url}: its answer does not hold {len(texts)} vectors under data") from None


def _vectors(document: Mapping[str, Json], count: int) -> list[list[float]]:
    rows = sorted(document["data"], key=lambda one: int(one["index"]))
    vectors = [[float(number) for number in one["embedding"]] for one in rows]
    if len(vectors) != count or len({len(one) for one in vectors}) != 1:
        raise ValueError("not one vector for each text")
    return vectors


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


NAME: Final = "wordllama l2_supercat_256"


class WordLlamaEmbedder:
    """The model that ships with the package."""

    def __init__(self) -> None:
        """Raises StoreError where the package is missing."""
        try:
            import wordllama
        except ImportError:
            raise StoreError(f"the embedding wordllama needs its package: {install_line('map')}") from None
        # Without `cache_dir` it looks for its tokenizer in a folder that the package does not have, and would fetch it.
        folder = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    @property
    def name(self) -> str:
        return NAME

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        return [unit(vector) for vector in self._model.embed(list(texts)).tolist()]


PREFIX: Final = "milvus:"
TOKEN: Final = "MILVUS_TOKEN"
"""The environment variable with the credentials of a server."""
_COLLECTION: Final = "corrigible_operations"
_TALKATIVE: Final = ("faiss", "faiss.loader", "milvus_lite", "milvus_lite.server_manager", "grpc._server", "pymilvus")
"""Loggers that tell on the terminal what is no problem; problems come as exceptions."""
_MOST: Final = 16_384
"""Rows of one answer, as Milvus limits them."""


class MilvusVectors:
    """One collection."""

    def __init__(self, address: str, *, anew: bool = False) -> None:
        """`anew`: drop what the collection holds. Raises StoreError where there is no server, or no package."""
        for name in _TALKATIVE:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            from pymilvus import MilvusClient
        except ImportError:
            raise StoreError(f"{PREFIX}{address} needs a package: {install_line('milvus')}") from None
        if "://" not in address:
            address = str(Path(address).resolve())
        self.address = f"{PREFIX}{address}"
        try:
            self._client: Any = MilvusClient(uri=address, token=os.environ.get(TOKEN, ""))
            if anew and self._client.has_collection(_COLLECTION):
                self._client.drop_collection(_COLLECTION)
            elif self._client.has_collection(_COLLECTION):
                self._client.load_collection(_COLLECTION)
        except Exception as problem:  # of its own kinds, and of grpc and of its embedded server
            raise StoreError(f"{self.address}: cannot be opened: {problem}") from None

    def write(self, rows: Sequence[tuple[int, str, Sequence[float]]]) -> None:
        if not rows:
            return
        if not self._client.has_collection(_COLLECTION):
            self._client.create_collection(
                _COLLECTION, dimension=len(rows[0][2]), metric_type="COSINE", consistency_level="Strong"
            )
        self._client.insert(_COLLECTION, [{"id": number, "vector": list(v), "api": api} for number, api, v in rows])

    def nearest(self, vector: Sequence[float], limit: int, api: str) -> list[tuple[int, float]]:
        wanted = {"filter": f"api == {json.dumps(api, ensure_ascii=False)}"} if api else {}  # Lite knows no parameters
        try:
            (hits,) = self._client.search(_COLLECTION, [list(vector)], limit=min(limit, _MOST), **wanted)
        except Exception as problem:
            raise StoreError(f"{self.address}: cannot be searched: {problem}") from None
        found = ((int(hit["id"]), round(float(hit["distance"]), 6)) for hit in hits)
        return sorted(found, key=lambda one: (-one[1], one[0]))
