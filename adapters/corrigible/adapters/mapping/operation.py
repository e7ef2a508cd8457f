"""Operations of any API in one form, whatever describes them: OpenAPI, descriptors, ToolBench's JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .mapping import ApiOfMap, FileModel


class Field(FileModel):
    """One argument or result of an operation."""

    pointer: str
    """Where it stands: `/path/name`, `/query/name`, `/header/name`, `/body/a/b`, and of results `/result/a/b`.

    `*` stands for any item of a list, or any key of a map: `/body/items/*/price`; of a list as body: `/body/*/id`.
    """
    type: str = ""
    """JSON Schema's word, or empty: string, integer, number, boolean, object, array."""
    format: str = ""
    description: str = ""
    required: bool = False
    """Whether a call needs it, where what holds it is sent."""
    enum: tuple[str, ...] = ()
    """The allowed values as text, in the order of the description."""

    @property
    def name(self) -> str:
        """The last name of the pointer: of an item, that of its list."""
        return next((part for part in reversed(self.pointer.split("/")) if part != "*"), "")


class CanonicalOperation(FileModel):
    """One operation of one API."""

    api: str
    """The name of the API with its version, unique in an index: `kubernetes 1.20`."""
    name: str
    """`operationId` of OpenAPI, `package.Service/Method` of gRPC; where there is none, method and path."""
    method: str
    """In upper case; of gRPC `POST`, as on the wire."""
    path: str
    """The template, `/v1/charges/{charge}`; of gRPC `/package.Service/Method`."""
    summary: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    arguments: tuple[Field, ...] = ()
    results: tuple[Field, ...] = ()
    """Of the first documented success."""
    schemas: tuple[str, ...] = ()
    """Names of the schemas that it takes or returns: operations of one API that share some are neighbours."""
    left_out: int = 0
    """Places whose fields are not listed: below recursive schemas, and beyond the bounds of reading."""

    @property
    def key(self) -> str:
        """Method and path: what names an operation among those of its API."""
        return f"{self.method} {self.path}"


_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_VERSION: Final = re.compile(r"v\d+(?:(?:alpha|beta|p)\d+)*")
_STOP: Final = frozenset(
    {
        *("a", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "do", "does", "for"),
        *("from", "has", "have", "if", "in", "into", "is", "it", "its", "may", "must", "not", "of", "on"),
        *(
            "only",
            "or",
            "so",
            "such",
            "than",
            "that",
            "the",
            "their",
            "them",
            "then",
            "there",
            "these",
            "this",
            "those",
        ),
        *("to", "via", "was", "were", "when", "where", "which", "who", "will", "with", "would", "you", "your"),
    }
)
LONGEST: Final = 4000
"""Characters of a text that are read."""


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return a word without the common endings of English: plural, -ed, -ing. Both of a pair need the same result."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return _without_e(word[:-1])
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if len(root) > 3 and root != word and any(vowel in root for vowel in "aeiouy"):
            return root[:-1] if len(root) > 4 and root[-1] == root[-2] and root[-1] not in "sl" else _without_e(root)
    return _without_e(word)


def _without_e(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("e") and word[-2] not in "aeou" else word


@lru_cache(maxsize=1 << 16)
def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a name such as `listPullRequests` or `pull_number`, with endings removed."""
    return tuple(stem(part.lower()) for part in _PART.findall(name[:LONGEST]))


def text_words(text: str) -> list[str]:
    """Return the words of a sentence that say something."""
    return [stem(low) for part in _PART.findall(text[:LONGEST]) if (low := part.lower()) not in _STOP and len(low) > 1]


def is_version(segment: str) -> bool:
    """Whether a segment of a path, or a part of a package's name, is a version: `v1`, `v1beta1`."""
    return _VERSION.fullmatch(segment.lower()) is not None


def joined(words: Iterable[str]) -> str:
    return " ".join(words)


@dataclass(frozen=True, slots=True)
class ApiDocument:
    """The operations of one API."""

    name: str
    title: str
    version: str
    origin: str
    """Empty where the description does not say it."""
    base: str
    """The path before every path; operations do not have it."""
    operations: tuple[CanonicalOperation, ...]

    @property
    def api(self) -> ApiOfMap:
        return ApiOfMap(name=self.name, title=self.title, version=self.version, origin=self.origin, base=self.base)
