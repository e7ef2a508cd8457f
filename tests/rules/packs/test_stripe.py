"""The Stripe pack as a whole: its cases hold, and its tables agree with each other and with Stripe's description."""

from __future__ import annotations

import re

import pytest

from corrigible.adapters.apis.stripe.adapter import ADAPTER, description
from corrigible.rules.language.rule import TERMINAL
from corrigible.rules.pack.load import Pack
from tests._support.built_in_packs import pack_of
from tests._support.rule_entries import says


@pytest.fixture(scope="module")
def pack() -> Pack:
    return pack_of("stripe")


def test_rules_listen_for_operations_that_exist(pack: Pack) -> None:
    known = {*ADAPTER.operations.names, *OLDER}
    unknown = {name for rule in pack.rules for name in rule.match.operations} - known
    assert unknown == set()


OLDER = {"PostPayoutsPayoutReverse", "PostTaxIds"}
"""Operations of other versions of the API than the one described."""


@pytest.mark.parametrize("table", ["needs", "creations", "updatable", "enums"])
def test_tables_name_operations_that_exist(pack: Pack, table: str) -> None:
    assert set(pack.tables[table]) <= set(ADAPTER.operations.names)


def test_repeatable_operations_exist(pack: Pack) -> None:
    assert set(pack.tables["repeatable"]) <= set(ADAPTER.operations.names)


def test_what_an_operation_needs_is_among_what_it_takes(pack: Pack) -> None:
    assert description().facts(next(iter(pack.tables["needs"])))
    for operation, need in pack.tables["needs"].items():
        if said := description().facts(operation):
            names = {*need.get("required", ()), *need.get("one_of", ()), *(n for g in need.get("given", ()) for n in g)}
            assert names <= set(said["properties"]), operation


def test_declines_have_an_advice_and_a_next_step(pack: Pack) -> None:
    advices = {"confirm_card_data", "do_not_try_again", "try_again_later", "another_payment_method"}
    assert len(pack.tables["declines"]) > 30
    for code, known in pack.tables["declines"].items():
        assert known["advice"] in advices, code
        assert known["next"].endswith("."), code
        assert known["advice"] == "do_not_try_again" or not known.get("quiet"), code


def test_minimum_amounts_are_positive_and_keyed_by_iso_codes(pack: Pack) -> None:
    for currency, amount in pack.tables["minimum_amounts"].items():
        assert re.fullmatch("[a-z]{3}", currency)
        assert isinstance(amount, int)
        assert amount > 0
    assert pack.tables["minimum_amounts"]["dkk"] == 250


def test_collections_are_those_of_the_description(pack: Pack) -> None:
    first = {key.partition(" ")[2].split("/")[2] for key in ADAPTER.operations.templates}
    assert set(pack.tables["collections"]) == first


def test_looked_up_kinds_are_on_the_list_of_allowed_reads(pack: Pack) -> None:
    allowed = {re.sub(r"\{\w+\}$", "{}", path) for path in pack.text.lookups}
    assert {f"{kind['path']}{{}}" for kind in pack.tables["id_kinds"]} <= allowed
    assert set(pack.tables["lists"].values()) <= allowed
    assert {made["path"] for made in pack.tables["creations"].values()} <= allowed


def test_the_same_thing_has_two_names_of_one_kind(pack: Pack) -> None:
    prefixes, same = pack.tables["id_prefixes"], pack.tables["same_things"]
    assert "customer" not in {*same, *same.values()}
    for one, other in same.items():
        assert other in {*prefixes, "plan"}, one
    assert all(same.get(other, one) == one for one, other in same.items())


def test_what_is_left_out_or_moved_is_flagged(pack: Pack) -> None:
    """A parameter that is dropped by itself changes what was asked for."""
    entries = [entry for rule in pack.rules if rule.id.startswith("stripe.parameter-unknown") for entry in rule.entries]
    dropping = [say for entry in entries for say in says(entry) if say.message.startswith("Leave ")]
    assert len(dropping) >= 6
    assert [say.message for say in dropping if not say.changes_intent] == []


def test_declined_payments_are_never_repaired(pack: Pack) -> None:
    (rule,) = [rule for rule in pack.rules if rule.id == "stripe.card-declined"]
    suggestions = [say for entry in rule.entries for say in says(entry)]
    assert suggestions
    assert [say.message for say in suggestions if say.base_action not in TERMINAL and not say.placeholders] == []


def test_no_text_of_ours_repeats_what_the_api_said(pack: Pack) -> None:
    assert len(pack.rules) > 50
    for rule in pack.rules:
        suggestions = [say for entry in rule.entries for say in says(entry)]
        assert suggestions, rule.id
        for say in suggestions:
            assert "{" not in say.message, rule.id
            assert say.message.endswith("."), rule.id
        assert rule.diagnosis.endswith("."), rule.id
