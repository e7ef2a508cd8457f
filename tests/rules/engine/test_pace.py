"""How soon, and how, a request may be repeated."""

from __future__ import annotations

from typing import Any

from corrigible.rules.engine.suggestion_builder import is_wait, slower
from tests._support.rows import rows


@rows(
    ("seconds", "holds"),
    [
        (0, True),
        (1.5, True),
        (10**9, True),
        (10**9 + 1, False),
        (-1, False),
        (-0.5, False),
        (True, False),
        ("5", False),
        (None, False),
    ],
)
def test_what_is_a_wait(seconds: Any, holds: bool) -> None:
    assert is_wait(seconds) is holds


@rows(
    ("one", "other", "both"),
    [
        (None, {"same_request": True}, {"same_request": True}),
        (
            {"same_request": True, "after_seconds": 1},
            {"same_request": True, "after_seconds": 5},
            {"same_request": True, "after_seconds": 5},
        ),
        (
            {"same_request": True, "after_seconds": 5, "idempotency_key": "reuse"},
            {"same_request": False, "idempotency_key": "new"},
            {"same_request": False, "after_seconds": 5, "idempotency_key": "new"},
        ),
        (
            {"same_request": True, "after_seconds": 1, "idempotency_key": "new"},
            {"same_request": True, "after_seconds": 2},
            {"same_request": True, "after_seconds": 2, "idempotency_key": "new"},
        ),
        (
            {"same_request": True, "idempotency_key": "reuse"},
            {"same_request": True, "idempotency_key": "reuse"},
            {"same_request": True, "idempotency_key": "reuse"},
        ),
        ({"same_request": True}, {"after_seconds": 0.5}, {"same_request": False, "after_seconds": 0.5}),
        ({"after_seconds": 0.5}, {"same_request": True}, {"same_request": False, "after_seconds": 0.5}),
        (
            {"same_request": True, "after_seconds": 3, "max_attempts": 1},
            {"same_request": True, "after_seconds": 3, "max_attempts": 2},
            {"same_request": True, "after_seconds": 3, "max_attempts": 1},
        ),
    ],
)
def test_of_two_paces_the_more_careful(one: Any, other: Any, both: Any) -> None:
    assert slower(one, other) == both
