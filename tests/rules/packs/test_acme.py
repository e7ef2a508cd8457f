"""The Acme pack: its cases hold, every refusal of the service has a rule, and no advice goes round the policy."""

from __future__ import annotations

from importlib.resources import files

import pytest
import yaml

from corrigible.adapters.demo.acme.adapter import OPERATIONS
from corrigible.rules.pack.load import Pack
from tests._support.built_in_packs import pack_of
from tests._support.rule_entries import says


@pytest.fixture(scope="module")
def pack() -> Pack:
    return pack_of("acme")


def test_every_refusal_of_the_service_has_a_rule_or_is_for_others(pack: Pack) -> None:
    text = files("corrigible.adapters.demo.acme").joinpath("openapi.yaml").read_text(encoding="utf-8")
    said = set(yaml.safe_load(text)["components"]["schemas"]["Code"]["enum"])
    known = {code for rule in pack.rules for code in rule.match.codes}
    assert known - said == set()
    assert said - known == DESCRIBED | WITHOUT


DESCRIBED = {"method_not_allowed", "parameter_invalid", "parameter_missing", "parameter_unknown", "path_unknown"}
"""The description tells what to do about them."""

WITHOUT = {
    "approval_decided",  # a supervisor's call
    "approval_not_found",
    "body_too_large",
    "body_unreadable",
    "dispute_not_found",
    "processor_unavailable",
    "refund_not_found",
}


def test_rules_listen_for_operations_that_exist(pack: Pack) -> None:
    named = {name for rule in pack.rules for name in rule.match.operations}
    assert named <= set(OPERATIONS.names)
    assert set(pack.tables["roles"]) <= set(OPERATIONS.names)


def test_what_a_person_decides_is_never_advised(pack: Pack) -> None:
    """No suggestion grants an approval, gives in to a dispute, takes another role's key or calls a reason another."""
    suggestions = [(rule.id, say) for rule in pack.rules for entry in rule.entries for say in says(entry)]
    assert len(suggestions) > 10
    for rule, say in suggestions:
        assert say.steps == (), rule
        assert "reason" not in say.parameters or rule == "acme.reason-unknown"
        assert "authorization" not in say.message.lower() or say.action == "ESCALATE"
        if say.action == "ESCALATE" and rule != "acme.credentials-refused" and say.parameters:
            assert "role" in say.parameters, rule


def test_whatever_changes_an_amount_says_so(pack: Pack) -> None:
    changing = [
        (rule.id, say.changes_intent)
        for rule in pack.rules
        for entry in rule.entries
        for say in says(entry)
        if {"amount", "currency"} & set(say.parameters) and say.action == "MODIFY_PARAMS"
    ]
    assert len(changing) >= 7
    assert {rule for rule, changes_intent in changing if not changes_intent} == {"acme.amount-in-major-units"}
