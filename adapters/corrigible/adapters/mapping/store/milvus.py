"""Vectors in Milvus: a file of Milvus Lite (`index.db`), or a server (`http://127.0.0.1:19530`)."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from corrigible.schema.extra import install_line

from .seam import StoreError

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
