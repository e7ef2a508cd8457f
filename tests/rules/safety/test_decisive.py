from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corrigible.rules.safety.decisive import (
    calls_what_decides,
    is_decisive,
    is_decisive_guess,
    is_for_the_caller,
    words,
)
from corrigible.schema.exchange import Request
from tests._support.built_in_packs import pack_of
from tests._support.one_rule import consider
from tests._support.rows import rows

WritePack = Callable[..., Path]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("defaultBranch_name", ("default", "branch", "name")),
        ("X-Owner.ID", ("x", "owner", "id")),
        ("", ()),
    ],
)
def test_words(name: str, said: tuple[str, ...]) -> None:
    assert words(name) == said


@rows(
    ("method", "path", "name", "decisive"),
    [
        ("POST", "/v1/charges", "currency", True),
        ("POST", "/v1/things", "customerEmail", True),
        ("PATCH", "/repos/o/r", "private", True),
        ("PATCH", "/repos/o/r", "description", False),
        ("POST", "/v1/things", "color", False),
        ("POST", "/v1/transfers", "destination_id", True),
        ("POST", "/v1/transfers", "to", True),
        ("POST", "/v1/mails", "to", False),
        ("POST", "/v1/things", "account_type", False),
        ("POST", "/v1/things", "restartPolicy", False),
        ("POST", "/v1/things", "accessPolicy", True),
        ("POST", "/v1/things", "policy", True),
        ("GET", "/v1/things", "currency", False),
        ("DELETE", "/v1/things/7", "color", True),
        ("POST", "/v1/things/7/purge", "color", True),
        ("/shop.v1.Carts/RemoveItem", "", "color", True),
        ("/shop.v1.Carts/AddItem", "", "color", False),
        ("POST", "/purge/of/things", "color", False),
        ("POST", "/v1/remove-items", "color", True),
        ("POST", "/twirp/shop.v1.Carts/RemoveItem", "color", True),
        ("POST", "/v1/things", "payout", True),
        ("POST", "/v1/things", "", False),
        *(("POST", "/v1/things", name, True) for name in ("merchant", "deny", "propagation", "sharing", "purge")),
        *(("POST", "/v1/things", f"payment_{last}", False) for last in ("type", "metadata", "url", "count")),
        *((method, "/v1/things", "currency", False) for method in ("HEAD", "OPTIONS")),
        ("PATCH", "/v1/things", "currency", True),
        ("POST", "/v1/transfers", "color", False),
        ("POST", "/v1/topups", "bank", True),
        ("POST", "/v1/pay", "ids", True),
        ("POST", "/v1/remove_items", "color", True),
        ("POST", "/v1/keys/revoke", "color", True),
        ("POST", "/v1/instances/terminate", "color", True),
        ("POST", "/v1/purge/7x", "color", True),
        ("POST", "/DeleteService/AddItem", "color", False),
        ("POST", "/twirp/DeleteService/AddItem", "color", False),
        ("POST", "/v1/delete-service/AddItem", "color", True),
    ],
)
def test_what_decides(method: str, path: str, name: str, decisive: bool) -> None:
    assert is_decisive(name, Request(method, path)) is decisive


@pytest.mark.parametrize(
    ("method", "value", "guess"),
    [("DELETE", "/v1/things/8", True), ("DELETE", "/v1/things/7", False), ("POST", "/v1/things/8", False)],
)
def test_another_path_for_what_deletes_is_a_guess(method: str, value: str, guess: bool) -> None:
    patch = [{"op": "replace", "path": "/path", "value": value}]
    assert is_decisive_guess(patch, Request(method, "/v1/things/7")) is guess


@rows(
    ("method", "path", "other", "decides"),
    [
        ("POST", "/orders/7/refnd", "/orders/7/refund", True),
        ("POST", "/orders/7/publis", "/orders/7/publish", True),
        ("POST", "/orders/7/delet", "/orders/7/delete", True),
        ("POST", "/payment", "/payments", False),  # it was one already
        ("POST", "/order", "/orders", False),
        ("GET", "/refnds", "/refunds", False),
    ],
)
def test_a_near_path_decides_where_it_moves_money_or_gives_a_right(
    method: str, path: str, other: str, decides: bool
) -> None:
    assert calls_what_decides(Request(method, path), Request(method, other)) is decides


BODY = {"currency": "usd", "roles": ["a"], "amount": 5, "user_id": "u", "color": "red", "effect": "ALLOW"}


@rows(
    ("op", "guess"),
    [
        ({"op": "move", "from": "/body/colour", "path": "/body/currency"}, True),
        ({"op": "move", "from": "/body/colour", "path": "/body/tint"}, False),
        ({"op": "move", "from": "/body/userId", "path": "/body/user_id"}, False),
        ({"op": "replace", "path": "/body/currency", "value": "eur"}, True),
        ({"op": "add", "path": "/body/currency", "value": "eur"}, True),
        ({"op": "replace", "path": "/body/currency", "value": "USD"}, False),
        ({"op": "replace", "path": "/body/color", "value": "blue"}, False),
        ({"op": "replace", "path": "/body/amount", "value": 7}, False),  # computed: numbers are not near
        ({"op": "replace", "path": "/body/amount", "value": "7"}, False),
        ({"op": "replace", "path": "/body/currency", "value": 7}, False),
        ({"op": "add", "path": "/body/price", "value": "low"}, False),
        ({"op": "remove", "path": "/body/currency"}, False),
        ({"op": "test", "path": "/body/currency", "value": "eur"}, False),
        ({"op": "replace", "path": "/body/roles", "value": ["b"]}, True),
        ({"op": "replace", "path": "/body/roles", "value": ["a"]}, False),
        ({"op": "replace", "path": "/body/roles", "value": "b"}, False),
        ({"op": "replace", "path": "/body/currency", "value": ["usd"]}, False),
        ({"op": "replace", "path": "/body/roles/0", "value": "b"}, True),
        ({"op": "replace", "path": "/path", "value": "/v1/currencies"}, False),
        # A name that a secret has, and a word that decides whatever its member is called.
        ({"op": "move", "from": "/body/passwrd", "path": "/body/password"}, True),
        ({"op": "move", "from": "/body/tokn", "path": "/body/token"}, True),
        ({"op": "replace", "path": "/body/color", "value": "delete"}, True),
        ({"op": "replace", "path": "/body/color", "value": "public-read"}, True),
        ({"op": "replace", "path": "/body/effect", "value": "EFFECT_ALLOW"}, False),
    ],
)
def test_what_a_patch_guesses(op: dict[str, object], guess: bool) -> None:
    harmless = {"op": "replace", "path": "/body/color", "value": "blue"}
    request = Request("POST", "/v1/things", body=BODY)
    assert is_decisive_guess([op], request) is guess
    assert is_decisive_guess([harmless, op], request) is guess
    assert is_decisive_guess([op], Request("GET", "/v1/things", body=BODY)) is False


@rows(
    ("pointer", "value", "is_asked"),
    [
        ("/headers/Accept", "application/json", False),
        ("/headers/X-Accept-Version", "2", False),
        ("/headers/X-Accept-Terms", "yes", True),  # no form of an answer, but somebody's consent
        ("/body/agree_to_terms", True, True),
        ("/body/terms", "text/plain", False),
        ("/body/color", "red", False),
        ("/body/color", "admin", True),
        ("/body/things", [{"color": "red"}, {"color": "public"}], True),
        ("/body/force", True, True),
        ("/body/dry_run", False, True),
        ("/body/currency", "usd", True),
        ("/body/recipient", "ann", True),
    ],
)
def test_what_is_missing_and_for_the_caller_to_say(pointer: str, value: object, is_asked: bool) -> None:
    assert is_for_the_caller(pointer, value, Request("POST", "/v1/things"), is_only=False) is is_asked


def test_the_only_value_of_a_choice_is_none_but_still_a_consent() -> None:
    order = Request("POST", "/v1/orders")
    assert is_for_the_caller("/body/tier", "gold", order, is_only=False)
    assert not is_for_the_caller("/body/tier", "gold", order, is_only=True)
    assert is_for_the_caller("/body/quantity", 1, order, is_only=False)
    assert not is_for_the_caller("/body/quantity", 1, Request("POST", "/v1/things"), is_only=False)
    assert is_for_the_caller("/body/agree_to_terms", True, order, is_only=True)
    assert is_for_the_caller("/query/agree_to_terms", True, Request("GET", "/v1/orders"), is_only=True)
    assert not is_for_the_caller("/query/currency", "usd", Request("GET", "/v1/orders"), is_only=False)


def test_what_else_decides_is_no_guess_for_who_reads() -> None:
    assert is_decisive("tint", Request("POST", "/v1/things"), ("tint",))
    assert not is_decisive("tint", Request("GET", "/v1/things"), ("tint",))


RULE = """
match: {status: 400}
let: {near: "nearest(string(request.body.thing), ['tint', 'wood'])"}
suggest:
  - action: MODIFY_PARAMS
    message: m
    patch: [{op: replace, path: /body/thing, value: "near[0]"}]
"""


@pytest.mark.parametrize(("manifest", "asked"), [("decisive: [thing]\n", True), ("", False)])
def test_a_pack_says_what_else_decides(write_pack: WritePack, manifest: str, asked: bool) -> None:
    spoken, _ = consider(write_pack(manifest=manifest, x=RULE), Request("POST", "/v1/x", body={"thing": "tent"}))
    assert spoken is not None
    assert spoken.suggestions[0]["safety"].get("requires_confirmation", False) is asked


def test_only_a_rule_that_asks_what_is_near_guesses() -> None:
    rules = {rule.id: rule for rule in pack_of("stripe").rules}
    assert rules["stripe.invalid-enum"].may_guess
    assert not rules["stripe.refund-exceeds-remaining"].may_guess
