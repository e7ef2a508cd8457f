"""The error of every command for an argument that it cannot use."""

from __future__ import annotations

from collections.abc import Sequence

from corrigible.rules.errors import CorrigibleError, suggest_spelling


class UsageError(CorrigibleError):
    """An argument is wrong. The message is the one line that the user sees."""


def one_of(option: str, word: str, choices: Sequence[str]) -> str:
    """Return the word. Raises UsageError, with the nearest choice, if it is none of them."""
    if word not in choices:
        raise UsageError(f"{option} {word}: expected {', '.join(choices)}{suggest_spelling(word, choices)}")
    return word
