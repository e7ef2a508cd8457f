"""What is only near: taken where it is alone, a choice where it is not, and asked about where much hangs on it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.rules.safety.spelling import Spelling
from corrigible.rules.schema_repair.schema_violation import Place
from corrigible.rules.schema_repair.values import repair_value
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.repaired import follow, post, said
from tests._support.rows import rows

ORDERS = ["AMOUNT_ASC", "AMOUNT_DESC", "TIMESTAMP_ASC", "TIMESTAMP_DESC"]


def chosen(field: str, value: Json, allowed: list[str]) -> list[Json]:
    """Return the values of a closed choice."""
    request = post({field: value})
    repaired = said(f"/body/{field}", "enum", {"enum": allowed}, request)
    assert {one["group"]["relation"] for one in repaired.suggestions} == {"one_of"}
    assert repaired.type == "intent_disambiguation"
    return [one["patch"][-1]["value"] for one in repaired.suggestions]


def test_what_goes_on_from_a_value_in_two_ways_is_a_choice() -> None:
    assert chosen("order", "TIMESTAMP", ORDERS) == ["TIMESTAMP_ASC", "TIMESTAMP_DESC"]


def test_two_at_the_same_distance_are_a_choice() -> None:
    assert chosen("unit", "usx", ["usd", "eur", "ugx"]) == ["usd", "ugx"]


def test_a_value_that_the_text_ends_with_is_as_near_as_a_slip() -> None:
    assert chosen("state", "isactive", ["active", "inactive"]) == ["inactive", "active"]


def test_more_than_can_be_read_are_asked_with_all_that_is_allowed() -> None:
    allowed = [f"aaa{one}" for one in "bcdefgh"]
    repaired = said("/body/kind", "enum", {"enum": allowed}, post({"kind": "aaax"}))
    (asked,) = repaired.suggestions
    assert asked["placeholders"][0]["schema"]["enum"] == allowed


@rows(
    ("field", "value", "allowed"),
    [
        ("currency", "usx", ["usd", "eur"]),
        ("coin", "USDT", ["USD", "EUR"]),  # a code with a letter more is another one
        ("protocol", "https", ["http", "tcp"]),
        ("shade", "dark", ["darkgreen", "red"]),  # one of two words
        ("visibility", "privat", ["private", "public"]),
        ("defaultRole", "admn", ["admin", "viewer"]),
        ("token_scope", "writ", ["write", "read"]),
        ("propagationPolicy", "Backgroud", ["Background", "Foreground"]),
    ],
)
def test_one_near_value_is_confirmed_where_much_hangs_on_it(field: str, value: str, allowed: list[str]) -> None:
    request = post({field: value})
    repaired = said(f"/body/{field}", "enum", {"enum": allowed}, request)
    assert repaired.suggestions[0]["safety"]["requires_confirmation"] is True
    outcome = follow(repaired, request)
    assert isinstance(outcome, NeedsInput)
    assert outcome.confirm


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("currency", "USD", ["usd", "eur"]),
        ("colour", "grene", ["green", "red"]),
        ("kind", "maps", ["map", "list"]),
        ("payment_method_types", "crad", ["card", "cash"]),
        ("refund_reason", "duplicat", ["duplicate", "fraudulent"]),
    ],
)
def test_another_spelling_and_what_decides_nothing_are_taken(field: str, value: str, allowed: list[str]) -> None:
    request = post({field: value})
    outcome = follow(said(f"/body/{field}", "enum", {"enum": allowed}, request), request)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {field: allowed[0]}


def test_who_only_reads_decides_nothing() -> None:
    request = Request("GET", "/quotes", query={"currency": "usx"})
    outcome = follow(said("/query/currency", "enum", {"enum": ["usd", "eur"]}, request), request)
    assert isinstance(outcome, Next)


def test_who_deletes_is_asked_about_every_guess() -> None:
    request = Request("DELETE", "/things", query={"colour": "gren"})
    outcome = follow(said("/query/colour", "enum", {"enum": ["green", "red"]}, request), request)
    assert isinstance(outcome, NeedsInput)


@rows(
    ("sent", "known", "taken"),
    [
        ("ammount", "amount", False),
        ("Amount", "amount", True),
        ("ownerid", "owner_id", True),
        ("onwer", "owner", False),
        ("titel", "title", True),
        ("is_privte", "is_private", False),
    ],
)
def test_a_value_is_confirmed_under_a_name_that_is_near_and_decides(sent: str, known: str, taken: bool) -> None:
    request = post({sent: 5})
    for pointer, keyword in ((f"/body/{sent}", "additionalProperties"), (f"/body/{known}", "required")):
        outcome = follow(said(pointer, keyword, {"type": "integer"}, request, (known, "note")), request)
        assert isinstance(outcome, Next if taken else NeedsInput), keyword
        if isinstance(outcome, Next):
            assert outcome.request.body == {known: 5}


def test_a_name_between_two_is_a_choice() -> None:
    repaired = said("/body/descr", "additionalProperties", {}, post({"descr": "d"}), ("description", "descriptor"))
    assert [one["group"]["relation"] for one in repaired.suggestions] == ["one_of", "one_of"]


@pytest.mark.parametrize(
    ("method", "path", "other"), [("DELETE", "/userz/7", "/users/7"), ("POST", "/item/delet", "/item/delete")]
)
def test_what_deletes_is_confirmed_before_its_path_is_guessed(method: str, path: str, other: str) -> None:
    request = Request(method, path)
    repaired = said("/path", "path", {"enum": [other]}, request, value=path)
    assert repaired.suggestions[0]["safety"]["requires_confirmation"] is True


def test_of_two_paths_as_near_neither_is_taken() -> None:
    request = Request("GET", "/v1/ordres")
    repaired = said("/path", "path", {"enum": ["/v1/orders", "/v1/ordses"]}, request, value="/v1/ordres")
    assert [one["group"]["relation"] for one in repaired.suggestions] == ["one_of", "one_of"]


def test_a_misspelt_service_with_one_method_is_no_choice_of_one() -> None:
    request = Request("/shop.v1.Storr/Get", "", body={})
    repaired = said("/method", "method", {"enum": ["/shop.v1.Store/Get"]}, request, value="/shop.v1.Storr/Get")
    (one,) = repaired.suggestions
    assert "group" not in one
    assert one["safety"]["changes_intent"] is True


@rows(
    ("name", "value", "schema", "asks"),
    [
        ("private", "yes", {"type": "boolean"}, True),
        ("is_admin", 1, {"type": "boolean"}, True),
        ("capture", 0, {"type": "boolean"}, True),
        ("dry_run", "off", {"type": "boolean"}, True),
        ("private", "true", {"type": "boolean"}, False),
        ("notify", "yes", {"type": "boolean"}, False),
        ("to_account", "ACC_1234", {"type": "string", "pattern": "^acc_[0-9]{4}$"}, True),
        ("to_account", " acc_1234 ", {"type": "string", "pattern": "^acc_[0-9]{4}$"}, False),
        ("slug", "ABC", {"type": "string", "pattern": "^[a-z]+$"}, False),
    ],
)
def test_what_a_word_means_is_asked_where_much_hangs_on_it(
    name: str, value: Json, schema: dict[str, Json], asks: bool
) -> None:
    request = Request("POST", "/things", body={name: value})
    keyword = "pattern" if "pattern" in schema else "type"
    repaired = said(f"/body/{name}", keyword, schema, request)
    (only,) = repaired.suggestions
    assert only["safety"].get("requires_confirmation", False) is asks
    assert isinstance(follow(repaired, request), NeedsInput if asks else Next)


WORDS = st.lists(st.text("abcxyz01", min_size=1, max_size=4), min_size=1, max_size=3).map("_".join)


@given(st.lists(WORDS, min_size=1, max_size=4, unique=True), st.sampled_from("+#!~*@$<"), st.data())
def test_another_sign_is_never_taken_for_one_of_a_list(allowed: list[str], sign: str, data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(allowed))
    at = data.draw(st.integers(0, len(word)))
    sent = word[:at] + sign + word[at:]
    for text in (sent, f"-{word}", f"{word}-"):
        assert repair_value("enum", text, {"enum": allowed}, Place(name="v")) == []
        assert repair_value("enum", word, {"enum": [text]}, Place(name="v")) == []


@rows(
    ("sent", "allowed", "taken"),
    [
        ("x86-64", ["x86", "x86_64"], "x86_64"),
        ("2024 01", ["2024-01", "2024-10"], "2024-01"),
        ("us_east1", ["us-east-1", "us-east-2"], "us-east-1"),
        ("GPT4", ["gpt-4", "gpt-4o"], "gpt-4"),
        ("text-plain", ["text/plain", "text/html"], "text/plain"),
        ("'DESC',", ["asc", "desc"], "desc"),
        ("kind-a", ["KIND_A", "KIND_B"], "KIND_A"),
        ("a", ["KIND_A", "KIND_B"], "KIND_A"),
        ("uncertainty", ["Uncertainty sampling", "Sequential sampling"], "Uncertainty sampling"),
        ("html", ["html_processor", "json_processor"], "html_processor"),
        ("c++", ["C", "C++"], "C++"),
        ("1|2", ["1,2", "2,1"], "1,2"),
    ],
)
def test_what_only_separates_words_is_put_right(sent: str, allowed: list[str], taken: str) -> None:
    assert repair_value("enum", sent, {"enum": allowed}, Place(name="v")) == [Spelling(taken)]


@rows(
    ("sent", "allowed"),
    [("1.1", ["11"]), ("1-1", ["11"]), ("v1.0", ["v10"]), ("10.0", ["100"]), ("1.0", ["1-0"]), ("node1", ["node2"])],
)
def test_other_numbers_are_other_values(sent: str, allowed: list[str]) -> None:
    assert repair_value("enum", sent, {"enum": allowed}, Place(name="v")) == []


def test_who_only_reads_confirms_another_word_that_is_no_slip() -> None:
    request = Request("GET", "/things", query={"expand": "metadata", "sort": "colour"})
    (suggestion,) = said("/query/expand", "enum", {"enum": ["mandate", "customer"]}, request).suggestions
    assert "placeholders" in suggestion or suggestion["safety"]["requires_confirmation"] is True
    (slip,) = said("/query/sort", "enum", {"enum": ["color", "size"]}, request).suggestions
    assert "requires_confirmation" not in slip["safety"]
