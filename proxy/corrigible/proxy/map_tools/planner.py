"""Sequences of calls for an utterance: without a model, or as a model answers in one of four styles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corrigible.adapters.mapping import plan_text as prompt
from corrigible.adapters.mapping.mapping import OperationMapping
from corrigible.adapters.mapping.operation import CanonicalOperation
from corrigible.adapters.mapping.plan_text import (
    MOST,
    Asked,
    Search,
    UnreadableAnswer,
    chosen,
    clauses,
    propose,
    read_answer,
)
from corrigible.model.conversation import Reply
from corrigible.model.provider_client import ProviderError

from .model_option import Model

_CANDIDATES = 20
"""Operations that a model is shown."""
_STEPS = 5
"""Of ReAct."""
_FOUND = 5
"""Operations that one search of a step adds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be called, in order, and how that was found."""

    calls: tuple[CanonicalOperation, ...]
    method: str
    """`lexical`, or the model and the style."""
    dropped: int = 0
    """Calls of the model that are no operation of the list."""
    note: str = ""
    """Why a model's answer is missing, or what it thinks."""


def lexical_plan(utterance: str, search: Search) -> Plan:
    return Plan(tuple(hit.operation for hit in propose(utterance, search)), "lexical")


def candidates(utterance: str, search: Search) -> list[CanonicalOperation]:
    """Return what a model may choose from: the best for the whole utterance, and for each of its wishes."""
    hits = [*search(utterance, _CANDIDATES // 2)]
    for clause in clauses(utterance)[:MOST]:
        hits += search(clause, 3)
    found = {(hit.operation.api, hit.operation.key): hit.operation for hit in hits}
    return list(found.values())[:_CANDIDATES]


def first_question(utterance: str, listed: Sequence[CanonicalOperation], style: str) -> Asked:
    """Return what a model is asked first in a style."""
    if style == "react":
        return prompt.react_question(utterance, listed)
    return prompt.sequence_question(utterance, listed, thinks=style == "chain-of-thought")


def model_plan(
    utterance: str, search: Search, model: Model, style: str, mappings: Sequence[OperationMapping] = ()
) -> Plan:
    """Ask a model. Where it fails the plan is empty and says why: no other method takes its place unsaid."""
    listed = candidates(utterance, search)
    method = f"{model.name}, {style}"
    if not listed:
        return Plan((), method, note="nothing was found to choose from")
    try:
        if style == "react":
            return _react(utterance, listed, search, model, method)
        question = first_question(utterance, listed, style)
        reply = model.ask(question)
        document = read_answer(reply.text)
        numbers, dropped = chosen(document, len(listed))
        if style == "reflection":
            said = prompt.reflection(reply.text, listed, mappings)
            document = read_answer(
                model.ask(question, [(reply, said)], prompt.answer_schema("criticism", "calls")).text
            )
            numbers, dropped = chosen(document, len(listed))
    except (ProviderError, UnreadableAnswer) as problem:
        model.failed += 1
        return Plan((), method, note=str(problem))
    note = str(document.get("criticism") or document.get("thought") or "")
    return Plan(tuple(listed[at] for at in dict.fromkeys(numbers)), method, dropped, note)


def _react(utterance: str, listed: list[CanonicalOperation], search: Search, model: Model, method: str) -> Plan:
    """Let the model search until it finishes; after the last step its calls count as they are."""
    question, turns = first_question(utterance, listed, "react"), list[tuple[Reply, str]]()
    for step in range(_STEPS):
        reply = model.ask(question, turns)
        document = read_answer(reply.text)
        if document.get("action") != "search" or step == _STEPS - 1:
            numbers, dropped = chosen(document, len(listed))
            calls = tuple(listed[at] for at in dict.fromkeys(numbers))
            return Plan(calls, method, dropped, str(document.get("thought") or ""))
        known = {(one.api, one.key) for one in listed}
        hits = search(str(document.get("query") or ""), _FOUND)
        more = [hit.operation for hit in hits if (hit.operation.api, hit.operation.key) not in known]
        turns.append((reply, prompt.observation(more, len(listed) + 1)))
        listed += more
    raise AssertionError("the last step returns")
