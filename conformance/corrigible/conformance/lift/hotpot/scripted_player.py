"""Scripts that know the right answers, and act so that every figure of the report has something to count.

They show that loop, evaluator, memory and figures work. They say nothing of language models.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Final, Literal

from corrigible.schema.exchange import Json

from .answer import is_exact
from .player import Said, View
from .record import Tokens

_VERSION: Final = 1
_WRONG: Final = "none of these"


def _always(view: View) -> bool:
    return True


def _never(view: View) -> bool:
    return False


def _words_help(view: View) -> bool:
    return any(one.form == "free" for one in view.memory)


def _types_help(view: View) -> bool:
    return any(one.form == "structured" for one in view.memory)


def _third(view: View) -> bool:
    return view.number >= 3


def _mixed(view: View) -> bool:
    of_one: tuple[Callable[[View], bool], ...] = (_always, _never, _words_help, _types_help, _third)
    return of_one[zlib.crc32(view.question.id.encode()) % len(of_one)](view)


SCRIPTS: Final[Mapping[str, tuple[str, Callable[[View], bool]]]] = {
    "always": ("right in the first trial", _always),
    "never": ("never right: a death loop where reflections are structured", _never),
    "words-help": ("right after a reflection in free text", _words_help),
    "types-help": ("right after a structured reflection", _types_help),
    "third": ("right in the third trial, whatever was reflected", _third),
    "mixed": ("one of the others, by the question", _mixed),
}


class ScriptedPlayer:
    """Opens what supports the answer, looks into it, then answers, right or wrong as its script says."""

    kind: Literal["scripted"] = "scripted"

    def __init__(self, script: str) -> None:
        self._script, self._is_right = script, SCRIPTS[script][1]

    @property
    def name(self) -> str:
        return f"script {self._script}"

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"script": self._script, "version": _VERSION}

    def act(self, view: View) -> Said:
        titles = list(dict.fromkeys(title for title, _ in view.question.supporting))
        at = len(view.steps)
        if at < len(titles):
            return _said(f"Thought: this one may say it.\nAction: Search[{titles[at]}]")
        answer = view.question.answer if self._is_right(view) else _WRONG
        return _said(f"Thought: that is enough.\nAction: Finish[{answer}]")

    def reflect(self, view: View, form: Literal["free", "structured", "lifted"]) -> Said:
        if form != "structured":
            return _said("The answer was wrong; another one is needed.")
        # One type where nothing will help, so that it repeats; others in turn.
        kinds = ("FORMATTING_MISMATCH",) if self._script != "third" else ("RETRIEVAL_FOCUS", "BRIDGE_FAILURE")
        document = {
            "error_type": kinds[(view.number - 1) % len(kinds)],
            "first_error_in_step": len(view.steps),
            "correction_rule": "Write the answer in another form.",
        }
        return _said(json.dumps(document))

    def judge(self, question: str, gold: str, answer: str) -> Said:
        return _said(json.dumps({"equivalent": is_exact(answer, gold)}))


def _said(text: str) -> Said:
    """Return a text with a bill of its words, so that sums can be checked; no tokenizer counts so."""
    return Said(text, Tokens(input=0, output=len(text.split())))
