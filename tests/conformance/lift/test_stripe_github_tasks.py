"""Tasks on servers that nobody here wrote: each is refused, repeating solves none, and what the feedback says does."""

from __future__ import annotations

from pathlib import Path

import pytest

from .live import played, unexpected


@pytest.mark.nightly
@pytest.mark.parametrize("domain", ["stripe", "github"])
def test_the_feedback_is_enough_and_nothing_else_is(domain: str, tmp_path: Path) -> None:
    assert unexpected(played(domain, tmp_path)) == []
