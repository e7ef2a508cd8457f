"""The errors of the contract, by who caused them.

* ContractError
  - FeedbackError      the writer's feedback breaks the contract: fix the rule or the code that made it
  - ReaderError        what arrived is no feedback that can be read safely: treat the native error as it is
  - VocabularyError    an action is unknown, registered twice, or its parameters do not fit

A suggestion that cannot be applied to a request is none of these. It is a `NeedsInput`.
"""

from __future__ import annotations

from collections.abc import Sequence


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
