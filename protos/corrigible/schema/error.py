"""The errors of the contract, by who caused them, and the hint that ends a message about an unknown word.

* ContractError
  - FeedbackError      the writer's feedback breaks the contract: fix the rule or the code that made it
  - ReaderError        what arrived is no feedback that can be read safely: treat the native error as it is
  - VocabularyError    an action is unknown, registered twice, or its parameters do not fit

A suggestion that cannot be applied to a request is none of these. It is a `NeedsInput`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


class ContractError(ValueError):
    """Base of every error of the contract."""


class FeedbackError(ContractError):
    """Feedback that must not be sent. `problems` names every violated clause."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class ReaderError(ContractError):
    """Feedback that cannot be read. The message says where."""


class VocabularyError(ContractError):
    """An invalid vocabulary entry, or parameters that violate one."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "x"?` for the nearest known word, or nothing where none is near."""
    from difflib import get_close_matches  # only where something is wrong

    by_plain = {_plain(name): name for name in known}
    near = get_close_matches(_plain(word), list(by_plain), n=1, cutoff=0.6)
    return f'; did you mean "{by_plain[near[0]]}"?' if near else ""


def _plain(word: str) -> str:
    """Return a word without what people leave out: case, and noughts before a number."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", word.lower())
