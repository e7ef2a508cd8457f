"""Questions in HotpotQA's distractor form (Yang et al. 2018), read from a JSON file.

A question: `_id`, `question`, `answer`, `context` (pairs of a title and its sentences), `supporting_facts` (pairs of a
title and the number of a sentence); `type` and `level` are not used.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from corrigible.conformance.model.usage_error import UsageError

OWN: Final = Path(__file__).parent / "questions.json"
"""Forty questions of our own in this form."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str = Field(alias="_id", min_length=1)
    question: str = Field(min_length=1)
    answer: str = Field(min_length=1)
    context: list[tuple[str, list[str]]] = Field(min_length=1)
    supporting_facts: list[tuple[str, int]] = []


_DOCUMENTS: Final = TypeAdapter(list[_Document])


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph that an actor may look into."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its answer, and the paragraphs, of which only some support the answer."""

    id: str
    text: str
    answer: str
    paragraphs: tuple[Paragraph, ...]
    supporting: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of questions, and the SHA-256 of its bytes."""

    questions: tuple[Question, ...]
    sha256: str


def read(path: Path) -> DataFile:
    """Read a file. Raises UsageError that names the file, the question and the member."""
    try:
        content = path.read_bytes()
        document: Any = json.loads(content)
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{path}: no JSON: {problem}") from None
    try:
        documents = _DOCUMENTS.validate_python(document)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        number, *member = first["loc"] or ("",)
        where = f"question {number}, {'.'.join(map(str, member))}" if member else "the whole"
        raise UsageError(f"{path}: {where}: {first['msg']} (wanted: HotpotQA's distractor form, a list)") from None
    if not documents:
        raise UsageError(f"{path}: it has no question")
    if twice := [name for name, count in Counter(one.id for one in documents).items() if count > 1]:
        raise UsageError(f"{path}: _id {twice[0]} stands there twice")
    return DataFile(tuple(map(_question, documents)), hashlib.sha256(content).hexdigest())


def _question(document: _Document) -> Question:
    paragraphs = tuple(Paragraph(title, tuple(sentences)) for title, sentences in document.context)
    return Question(document.id, document.question, document.answer, paragraphs, tuple(document.supporting_facts))
