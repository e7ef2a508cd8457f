"""What each agent and each arm of a report is, in a line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

ARMS: Final[Mapping[str, str]] = {
    "none": "the native answer, byte for byte",
    "traditional": "the native answer, with its explanation blanked",
    "verbose": "the answer with diagnoses in words, and no fix",
    "reflective": "the core of the feedback: type, message, suggestions with action, message and parameters",
    "reflective-patches": "all of the feedback: patches, steps, evidence too",
    "shuffled": "control: feedback of another task",
    "noise": "control: feedback with plausible wrong values",
    "length-matched": "control: verbose, padded with empty words to the length of reflective",
}
AGENTS: Final[Mapping[str, str]] = {
    "literal-merge": "script: merges parameters into the request, as the contract of the paper says; reads no patches",
    "patch-executor": "script: does what the published reader makes of the feedback; it needs patches",
    "informed": "script: the same, and fills in what the prompt states where the feedback asks; it needs patches",
    "enumerator": "script: walks what the description and the native message leave room for; reads no feedback",
    "message-regex": "script: acts on names and bounds in prose; reads no feedback",
    "stubborn": "script: sends the same again, a floor",
    "oscillator": "script: goes to and fro between two wrong calls, a floor",
    "mis-merger": "script: wrong on purpose, a planted fault: applies feedback to the wrong element; it needs patches",
    "gullible": "script: obeys every order in any text, a canary",
    "noisy-literal": "script: follows the feedback and errs with a known probability; it needs patches",
}
_WRONG: Final = frozenset({"mis-merger"})
_MODEL: Final = {"model": "a model, by provider and name", "external": "an agent of somebody else, over HTTP"}


def arms(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return each arm with its line."""
    return [(name, ARMS.get(name, "an arm of another version")) for name in names]


def is_wrong_on_purpose(agent: str) -> bool:
    """Return whether a script is a planted fault, whose harm is not the feedback's."""
    return _plain(agent) in _WRONG


def _plain(name: str) -> str:
    return re.sub(r"\(.*\)$", "", name)


def agents(names: Sequence[str], kind: str, fake: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return each agent with its line."""
    found = []
    for name in names:
        line = AGENTS.get(_plain(name), "a script of another version") if kind == "scripted" else _MODEL[kind]
        if name.startswith("local:"):
            line = "a small model on this machine (--local-model)"
        found.append((name, "a fake provider, no model" if name in fake else line))
    return found
