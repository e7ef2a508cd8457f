"""Tasks on servers without a pack: what the description alone is enough for, and that nobody else solves them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .live import played, unpromised


@pytest.mark.nightly
@pytest.mark.parametrize("domain", ["kinto", "better-auth"])
def test_the_feedback_is_enough_where_a_task_says_so_and_does_no_harm(domain: str, tmp_path: Path) -> None:
    assert unpromised(played(domain, tmp_path)) == []
