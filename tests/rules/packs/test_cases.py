"""Every case of every built-in pack holds, and no rule is without one that it matches and one that it does not."""

from __future__ import annotations

import pytest

from corrigible.proxy.pack_tools.lint import run_cases
from corrigible.rules.pack.load import built_in

FEWEST = {"acme": 70, "github": 400, "http": 25, "kubernetes": 400, "recipe": 30, "stripe": 350}
"""Fewer would mean that cases were lost."""


@pytest.mark.parametrize("name", sorted(built_in()))
def test_every_case_holds(name: str) -> None:
    result = run_cases(name)
    assert [str(one) for one in result.problems] == []
    assert [(one.case.rule, one.case.text.name, one.failures) for one in result.cases if one.failures] == []
    assert result.passed == len(result.cases) > FEWEST.get(name, 0)
