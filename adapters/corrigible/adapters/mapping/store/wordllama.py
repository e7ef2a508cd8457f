"""Vectors of WordLlama: static embeddings of words (256 numbers, 16 MB) that come inside the package `wordllama`.

Nothing is fetched: its loader is told where the files of the package are, and is not allowed to download.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from corrigible.schema.extra import install_line

from .seam import StoreError, unit

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
