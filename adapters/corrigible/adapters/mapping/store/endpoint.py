"""Vectors of any server that speaks OpenAI's `POST /embeddings`: OpenAI, Ollama, vLLM, LM Studio."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import httpx

from corrigible.schema.exchange import Json

from .seam import StoreError, unit

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
