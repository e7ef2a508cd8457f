"""What an actor can do: Search, Lookup and Finish of ReAct (Yao et al. 2023), over the paragraphs of one question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from .question import Paragraph, Question

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
