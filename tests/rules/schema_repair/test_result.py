"""A repair is handed on as what a rule gives."""

from __future__ import annotations

import pytest

from corrigible.rules.safety.loss import LookupResult
from corrigible.rules.schema_repair.suggestion import Repair, result_of


@pytest.mark.parametrize("seen", [(), (LookupResult("/v1/orders", []),)])
def test_a_repair_says_what_a_rule_says(seen: tuple[LookupResult, ...]) -> None:
    suggestion = {"action": "ESCALATE", "message": "m"}
    repair = Repair((suggestion,), "recovery_guidance", "The name is taken.", "TAKEN", "terminal")
    result = result_of(repair, "the state of the API", seen)
    author = result.rule
    assert (author.id, author.diagnosis, author.code) == ("the state of the API", "The name is taken.", "TAKEN")
    assert author.verbose_code == "TAKEN"
    assert (result.suggestions, result.type, result.recovery) == ((suggestion,), "recovery_guidance", "terminal")
    assert (result.used_live_state, result.lookup_results, result.retry) == (bool(seen), seen, None)
