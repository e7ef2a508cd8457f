"""The 4+1 taxonomy of errors in multi-hop reasoning, in the paper's own names and definitions (section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ERROR_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "RETRIEVAL_FOCUS": "the wrong paragraph or sentence was taken at first",
        "BRIDGE_FAILURE": "the right place was found, but not the entity in it that leads to the next step",
        "HALLUCINATION": "a fact or detail that is not in the paragraphs",
        "INFERENCE_ERROR": "the information was found, but the conclusion or calculation from it is wrong",
        "FORMATTING_MISMATCH": "the conclusion is right, but not written in the form that is asked for",
    }
)
