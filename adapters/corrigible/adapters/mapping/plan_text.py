"""What a model is asked: for sequences of calls, and about mappings. Texts only; nothing here asks.

The ways to ask are those of "API Mapping using Self Reflection in Large Language Models" (appendix A.1); the words are
ours. Names and descriptions of operations come from strangers: each is data on a line of its own, and answers name
operations by number, so that nothing but a listed operation can be chosen.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from corrigible.schema.exchange import Json

from .mapping import Equivalence, OperationMapping
from .operation import CanonicalOperation
from .store import Hit

STYLES: Final = ("few-shot", "chain-of-thought", "react", "reflection")
_LONGEST_LINE: Final = 200
_MOST_NAMES: Final = 12

_TEXTS: Final[Mapping[str, str]] = tomllib.loads(files(__package__).joinpath("plan_text.toml").read_text("utf-8"))
"""What models are told."""

_CALLS: Final[Json] = {"type": "array", "items": {"type": "integer"}}
_TEXT: Final[Json] = {"type": "string"}
_JUDGED: Final[Json] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"candidate": {"type": "integer"}, "reasoning": _TEXT},
        "required": ["candidate", "reasoning"],
        "additionalProperties": False,
    },
}


def answer_schema(*names: str) -> dict[str, Json]:
    """Return the JSON Schema of an answer with these members, all of them required."""
    known = {"calls": _CALLS, "mappings": _JUDGED, "action": {"type": "string", "enum": ["search", "finish"]}}
    properties = {name: known.get(name, _TEXT) for name in names}
    return {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: the words, and the form of the answer."""

    system: str
    text: str
    schema: Mapping[str, Json]


def sequence_question(utterance: str, candidates: Sequence[CanonicalOperation], *, thinks: bool) -> Asked:
    """Ask for a sequence, by examples; `thinks`: with the reasoning first."""
    text = f"{_TEXTS['examples']}\nNow\n{_listed(candidates)}\nUser: {_line(utterance, 2_000)}"
    names = ("thought", "calls") if thinks else ("calls",)
    return Asked(_TEXTS["sequence"] + (f" {_TEXTS['think']}" if thinks else ""), text, answer_schema(*names))


def react_question(utterance: str, candidates: Sequence[CanonicalOperation]) -> Asked:
    """Ask for the first step."""
    text = f"{_listed(candidates)}\nUser: {_line(utterance, 2_000)}"
    return Asked(f"{_TEXTS['sequence']} {_TEXTS['react']}", text, answer_schema("thought", "action", "query", "calls"))


def observation(candidates: Sequence[CanonicalOperation], first: int) -> str:
    """Return what a search of a step found: numbers go on."""
    return "Observation\n" + _listed(candidates, first) if candidates else "Observation: nothing more was found."


def reflection(answer: str, candidates: Sequence[CanonicalOperation], mappings: Sequence[OperationMapping]) -> str:
    """Return what a model is told to look at its sequence again: mappings between the candidates included."""
    numbers = {(one.api, one.key): at for at, one in enumerate(candidates, 1)}
    lines = []
    for one in mappings:
        source = numbers.get((one.source.api, f"{one.source.method} {one.source.path}"))
        target = numbers.get((one.target.api, f"{one.target.method} {one.target.path}"))
        if source is not None and target is not None and one.equivalence is not Equivalence.RELATED:
            lines.append(f"Operation {target} can stand in for {source} ({one.equivalence}).")
    told = "It is known of these operations:\n" + "\n".join(lines) + "\n" if lines else ""
    return _TEXTS["reflection"].format(answer=answer, mappings=told)


def mapping_question(source: CanonicalOperation, candidates: Sequence[CanonicalOperation]) -> Asked:
    """Ask which candidates do the same."""
    listed = "\n".join(f"{at}. {_described(one)}" for at, one in enumerate(candidates, 1))
    text = f"{_TEXTS['mapping-examples']}\nNow\nWanted: {_described(source)}\n{listed}"
    return Asked(_TEXTS["mapping"], text, answer_schema("mappings"))


def mapping_reflection(answer: str) -> tuple[str, dict[str, Json]]:
    """Return what a model is told to criticise its mappings, and the form of the answer."""
    return _TEXTS["mapping-reflection"].format(answer=answer), answer_schema("criticism", "mappings")


def _listed(candidates: Sequence[CanonicalOperation], first: int = 1) -> str:
    return "Operations:\n" + "\n".join(f"{at}. {_described(one)}" for at, one in enumerate(candidates, first))


def _described(one: CanonicalOperation) -> str:
    arguments = dict.fromkeys(field.name for field in one.arguments if field.pointer.count("/") == 2)
    results = dict.fromkeys(field.name for field in one.results if field.pointer.replace("/*", "").count("/") == 2)
    said = _line(one.summary or one.description, _LONGEST_LINE)
    parts = [f"[{_line(one.api, 80)}] {one.method} {_line(one.path, 200)} ({_line(one.name, 100)})"]
    parts.append(f": {said}" if said else "")
    parts += [
        f" {label}: {', '.join(_line(name, 40) for name in list(names)[:_MOST_NAMES])}"
        for label, names in (("Arguments", arguments), ("Returns", results))
        if names
    ]
    return "".join(parts)


def _line(text: str, longest: int) -> str:
    return " ".join(text.split())[:longest]


_LONGEST_REASONING: Final = 500


class UnreadableAnswer(Exception):
    """An answer is not of the form that was asked for."""


def read_answer(text: str) -> Mapping[str, Json]:
    """Return the JSON object of an answer; a fence around it is none of it. Raises UnreadableAnswer."""
    inner = text.strip()
    if inner.startswith("```"):
        inner = inner.strip("`").removeprefix("json").strip()
    try:
        document = json.loads(inner)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise UnreadableAnswer("no JSON object")
    return document


def chosen(document: Mapping[str, Json], count: int) -> tuple[list[int], int]:
    """Return the numbers of calls that are listed, from 0, and how many are not. Raises UnreadableAnswer."""
    numbers = document.get("calls")
    if not isinstance(numbers, list):
        raise UnreadableAnswer("`calls` is no list")
    listed = [one - 1 for one in numbers if isinstance(one, int) and not isinstance(one, bool) and 1 <= one <= count]
    return listed, len(numbers) - len(listed)


def judged(document: Mapping[str, Json], count: int) -> dict[int, str]:
    """Return the candidates that are taken for the same, from 0, with the reasoning. Raises UnreadableAnswer."""
    mappings = document.get("mappings")
    if not isinstance(mappings, list):
        raise UnreadableAnswer("`mappings` is no list")
    found: dict[int, str] = {}
    for one in mappings:
        number = one.get("candidate") if isinstance(one, Mapping) else None
        if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= count:
            found.setdefault(number - 1, " ".join(str(one.get("reasoning", "")).split())[:_LONGEST_REASONING])
    return found


Search = Callable[[str, int], Sequence[Hit]]

_CLAUSE: Final = re.compile(
    r"(?<=[.!?;])\s+|,?\s+(?:and\s+)?(?:then|afterwards|after that|finally|also|additionally)\b,?\s*|,\s+and\s+"
    r"|\s+and\s+(?=(?:[a-z]+ly\s+)?[a-z]+\s+(?:the|a|an|all|my|its|their|me|it)\b)",
    re.IGNORECASE,
)
"""Where one wish ends and the next one begins."""
_SHORTEST: Final = 2
"""Words of a wish."""
_WEAK: Final = 0.35
"""A wish whose best operation has less than this share of the best one's score is no wish."""
MOST: Final = 12
"""Calls of a sequence."""


def clauses(utterance: str) -> list[str]:
    """Split what is asked into single wishes."""
    parts = (part.strip(" ,.;!?") for part in _CLAUSE.split(utterance[:4_000]))
    return [part for part in parts if len(part.split()) >= _SHORTEST][: 4 * MOST] or [utterance]


def propose(utterance: str, search: Search) -> list[Hit]:
    """Return the best operation for each wish, each once, in the order of the wishes."""
    best = [hits[0] for clause in clauses(utterance) if (hits := search(clause, 1))]
    strongest = max((hit.score for hit in best), default=0.0)
    chosen: dict[tuple[str, str], Hit] = {}
    for hit in best:
        if hit.score >= _WEAK * strongest:
            chosen.setdefault((hit.operation.api, hit.operation.key), hit)
    return list(chosen.values())[:MOST]
