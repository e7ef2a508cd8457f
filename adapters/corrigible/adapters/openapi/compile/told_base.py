"""The base path that the text of a description tells: in a sentence, or in the addresses of its examples.

Knows: sentences and commands that people write into `info.description`. Does not know: servers, operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from corrigible.adapters.operation import COMMON_BASE
from corrigible.schema.exchange import Json

_SENTENCE: Final = re.compile(
    r"(?i)\ball (?:[\w-]+ ){0,3}?(?:routes?|paths?|endpoints?|urls?|requests?)"
    r"(?: (?:are|is|have|has|must|should|be|use|the|a|common|base|of|our|this|api|here|below|listed|described)){0,6}"
    r" (?:prefixed (?:with|by)|start with|begin with|relative to|prefix)\W{0,4}"
    r"(/[a-z][\w-]{0,30}(?:/[a-z0-9][\w-]{0,30}(?:\.\d{1,3})?){0,2})"
)
_COMMAND: Final = re.compile(r"(?:^|\W)(?:curl|wget|GET|POST|PUT|PATCH|DELETE)\s")
_ADDRESS: Final = re.compile(r"https?://[^\s'\"`<>)\]]{1,300}")
_LONGEST_TEXT: Final = 4000


def told_base(document: Mapping[str, Json]) -> str:
    """Return the path that all paths have before them: "All API routes are prefixed with /v1/", `curl http://a/v1/users`.

    Empty without one, and where paths begin with it already: they are written in full.
    """
    info = document.get("info")
    text = info.get("description") if isinstance(info, Mapping) else None
    paths = document.get("paths")
    if not isinstance(text, str) or not isinstance(paths, Mapping):
        return ""
    text = text[:_LONGEST_TEXT]
    sentence = _SENTENCE.search(text)
    base = sentence[1] if sentence is not None else _base_of_examples(text, paths)
    return "" if any(str(one).startswith(base) for one in paths) else base


def _base_of_examples(text: str, paths: Mapping[str, Json]) -> str:
    """Return what the addresses of all commands have before a path of the description; empty where they differ."""
    bases = set(_bases(text, [str(one) for one in paths if "{" not in str(one)]))
    base = bases.pop() if len(bases) == 1 else ""
    return base if COMMON_BASE.fullmatch(base) else ""


def _bases(text: str, paths: list[str]) -> Iterator[str]:
    for line in text.splitlines():
        for address in _ADDRESS.findall(line) if _COMMAND.search(line) else ():
            called = urlsplit(address).path.rstrip("/")
            described = max((one for one in paths if len(one) > 1 and called.endswith(one)), key=len, default="")
            if described:
                yield called.removesuffix(described)
