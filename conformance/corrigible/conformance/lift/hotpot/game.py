"""HotpotQA's questions, what an actor can do with one, and how its answers are judged.

Questions are in the distractor form (Yang et al. 2018), actions those of ReAct (Yao et al. 2023), answers compared as
HotpotQA's own evaluation does (hotpot_evaluate_v1.py). A question: `_id`, `question`, `answer`, `context` (pairs of a
title and its sentences), `supporting_facts` (pairs of a title and the number of a sentence); `type` and `level` are
not used.
"""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from corrigible.conformance.model.outcome import UsageError, usable
from corrigible.conformance.model.yaml_file import checked

_ARTICLES: Final = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION: Final = frozenset(string.punctuation)
_CLOSED: Final = frozenset({"yes", "no", "noanswer"})
"""Answers that share no credit with any other."""


def normalised(text: str) -> str:
    """Return an answer in lower case, without punctuation, articles and blanks that say nothing."""
    plain = "".join(character for character in text.lower() if character not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def is_exact(answer: str, gold: str) -> bool:
    """Whether two answers are the same after normalisation."""
    return normalised(answer) == normalised(gold)


def f1(answer: str, gold: str) -> float:
    """Return the harmonic mean of precision and recall over words."""
    said, wanted = normalised(answer), normalised(gold)
    if said != wanted and (said in _CLOSED or wanted in _CLOSED):
        return 0.0
    said_words, wanted_words = said.split(), wanted.split()
    same = sum((Counter(said_words) & Counter(wanted_words)).values())
    if not same:
        return 0.0
    precision, recall = same / len(said_words), same / len(wanted_words)
    return 2 * precision * recall / (precision + recall)


OWN: Final = Path(__file__).parent / "questions.json"
"""Forty questions of our own in this form."""


class Paragraph(NamedTuple):
    """One paragraph that an actor may look into."""

    title: str
    sentences: tuple[str, ...]


class Question(BaseModel):
    """A question, its answer, and the paragraphs, of which only some support the answer."""

    model_config = ConfigDict(frozen=True, extra="ignore", validate_by_name=True)

    id: str = Field(alias="_id", min_length=1)
    text: str = Field(alias="question", min_length=1)
    answer: str = Field(min_length=1)
    paragraphs: tuple[Paragraph, ...] = Field(alias="context", min_length=1)
    supporting: tuple[tuple[str, int], ...] = Field(alias="supporting_facts", default=())


class DataFile(BaseModel):
    """A file of questions, and the SHA-256 of its bytes."""

    model_config = ConfigDict(frozen=True)

    questions: tuple[Question, ...] = Field(min_length=1)
    sha256: str


def read(path: Path) -> DataFile:
    """Read a file. Raises UsageError that names the file, the question and the member."""
    with usable(path):
        content = path.read_bytes()
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{path}: no JSON: {problem}") from None
    data = checked(DataFile, {"questions": document, "sha256": hashlib.sha256(content).hexdigest()}, path)
    if twice := [name for name, count in Counter(one.id for one in data.questions).items() if count > 1]:
        raise UsageError(f"{path}: _id {twice[0]} stands there twice")
    return data


Verb = Literal["Search", "Lookup", "Finish"]
_ACTION: Final = re.compile(r"Action(?:[ \t]*\d+)?[ \t]*:[ \t]*(Search|Lookup|Finish)[ \t]*\[", re.IGNORECASE)
_VERBS: Final[dict[str, Verb]] = {"search": "Search", "lookup": "Lookup", "finish": "Finish"}
_SIMILAR: Final = 5
UNREADABLE: Final = "No action could be read. Write one line: Action: Search[title], Lookup[words] or Finish[answer]."


@dataclass(frozen=True, slots=True)
class Action:
    """What an actor does in one step."""

    verb: Verb
    argument: str
    end: int
    """Where it ends in the text: what a model writes after it is its own invention."""


def read_action(text: str) -> Action | None:
    """Return the first action of a text, None where there is none. Brackets within the argument are part of it."""
    found = _ACTION.search(text)
    if found is None:
        return None
    line_end = text.find("\n", found.end())
    line = text[found.end() : line_end if line_end >= 0 else len(text)]
    depth = 1
    for at, character in enumerate(line):
        depth += (character == "[") - (character == "]")
        if depth == 0:
            return Action(_VERBS[found[1].lower()], line[:at].strip(), found.end() + at + 1)
    return None


class Wiki:
    """The paragraphs of a question in one trial: which is open, and what was looked up last."""

    def __init__(self, question: Question) -> None:
        self._paragraphs = question.paragraphs
        self._open: Paragraph | None = None
        self._lookup: tuple[str, Iterator[str]] = ("", iter(()))

    def observe(self, action: Action) -> str:
        """Return what a search or a look-up shows."""
        return self._search(action.argument) if action.verb == "Search" else self._look_up(action.argument)

    def _search(self, title: str) -> str:
        wanted = title.casefold()
        self._lookup = ("", iter(()))
        self._open = next((one for one in self._paragraphs if one.title.casefold() == wanted), None)
        if self._open is not None:
            return _joined(self._open.sentences)
        near = sorted(self._paragraphs, key=lambda one: -_likeness(one.title, wanted))[:_SIMILAR]
        return f"Could not find {title}. Similar: {', '.join(one.title for one in near)}."

    def _look_up(self, words: str) -> str:
        if self._open is None:
            return "No paragraph is open: Search first."
        if not words:
            return "Lookup needs words."
        if self._lookup[0] != words.casefold():
            found = [one.strip() for one in self._open.sentences if words.casefold() in one.casefold()]
            numbered = (f"(Result {number} / {len(found)}) {one}" for number, one in enumerate(found, start=1))
            self._lookup = (words.casefold(), numbered)
        return next(self._lookup[1], "No more results.")


def _joined(sentences: tuple[str, ...]) -> str:
    return " ".join(one.strip() for one in sentences)


def _likeness(title: str, wanted: str) -> float:
    return SequenceMatcher(None, title.casefold(), wanted, autojunk=False).ratio()
