from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA, LCSseq

from corrigible.rules.safety.nearness import (
    common_length,
    distance,
    is_plural,
    is_same,
    is_slip,
    last_word,
    letters,
    nearest,
    slips,
)
from tests._support.counted import counted
from tests._support.rows import rows

INTERVALS = ["day", "week", "month", "year"]


@rows(
    ("text", "candidates", "near"),
    [
        ("ammount", ["amount", "account", "currency"], ["amount"]),
        ("PAID", ["paid", "unpaid"], ["paid"]),
        ("requested-by-customer", ["requested_by_customer", "duplicate"], ["requested_by_customer"]),
        ("zzz", ["amount", "currency"], []),
        ("", ["amount"], []),
        ("x", [], []),
        ("dup", ["duplicate", "fraudulent"], ["duplicate"]),
        ("id", ["ids", 7, None], ["ids"]),
        ("aaab", ["aaac", "aaac", *(f"aaa{one}" for one in "defgh")], ["aaac", "aaad", "aaae", "aaaf", "aaag"]),
        ("mnth", INTERVALS, ["month"]),
        ("Monthly", INTERVALS, ["month"]),
        ("weeks", INTERVALS, ["week"]),
        ("goods", ["good", "service"], ["good"]),
        ("usx", ["usd", "eur", "gbp"], ["usd"]),
        ("UserID", ["user_id", "user_ids"], ["user_id"]),
        ("paymnt_method", ["payment_method", "payment_methods"], ["payment_method"]),
        ("metadata.nam", ["metadata.name", "metadata.namespace"], ["metadata.name"]),
        ("weekley", ["weekly", "week"], ["weekly"]),
        ("customer_request", ["duplicate", "fraudulent", "requested_by_customer"], ["requested_by_customer"]),
        ("requested by customer", ["duplicate", "requested_by_customer"], ["requested_by_customer"]),
        ("payment_method_typs", ["payment_method", "payment_method_types"], ["payment_method_types"]),
        ("capturemethod", ["capture_method", "currency"], ["capture_method"]),
        ("approve", ["APPROVE", "COMMENT"], ["APPROVE"]),
        ("label", ["labels", "label_color"], ["labels"]),
        ("creaed", ["created", "create_pending"], ["created"]),
        ("abcdefgh", ["abxdefyh"], ["abxdefyh"]),
        ("a-b", ["a.b", "a_b"], ["a_b"]),
        ("customer_request", ["requested_by_customer", "customer_requirement"], ["customer_requirement"]),
        ("creted", ["created", "creted_on"], ["created"]),
        ("abcd", ["abxyd", "xycd"], ["abxyd"]),
        ("big_red_dog", ["dog_red_bigger", "big_red_dogs"], ["big_red_dogs"]),
        ("a1_b2", ["a1_b3", "a2_b2", "a_b"], ["a_b"]),
        ("ab", ["x" * 300, "abc"], ["abc"]),
        ("x" * 256, ["x" * 256], ["x" * 256]),
        ("abcdef", ["abczdyexf", "zbcxyf"], ["abczdyexf"]),  # as many slips, and half of the letters
    ],
)
def test_nearest(text: str, candidates: list[Any], near: list[str]) -> None:
    assert nearest(text, candidates) == near


@rows(
    ("text", "candidates", "near"),
    [
        ("TIMESTAMP", ["AMOUNT_ASC", "TIMESTAMP_ASC", "TIMESTAMP_DESC"], ["TIMESTAMP_ASC", "TIMESTAMP_DESC"]),
        ("create", ["created", "create_pending", "updated"], ["created", "create_pending"]),
        ("usx", ["usd", "eur", "ugx", "uyu"], ["usd", "ugx"]),
        ("aur", ["aud", "eur"], ["aud", "eur"]),
        ("descr", ["descriptor", "description", "date"], ["descriptor", "description"]),
        ("user_id", ["userId", "user-id"], ["userId", "user-id"]),
        ("privte", ["private", "privet"], ["private", "privet"]),
        ("abcdefgh", ["abxdefyh", "xbcdefyh"], ["abxdefyh", "xbcdefyh"]),
        ("abcdef", ["abcxyf", "xbcdey"], ["abcxyf", "xbcdey"]),
        ("ab", ["abc", "xb"], ["abc", "xb"]),
        ("archive", ["archives", "archived", "active"], ["archives", "archived"]),
        ("follow", ["follower", "following", "none"], ["follower", "following"]),
        ("merge", ["merged", "merging"], ["merged", "merging"]),
        ("Fail", ["FAILS", "FAILED"], ["FAILS", "FAILED"]),
        (
            "customer_request",
            ["requested_by_customer", "customers_that_requested_refunds"],
            ["requested_by_customer", "customers_that_requested_refunds"],
        ),
    ],
)
def test_as_near_is_not_alone(text: str, candidates: list[str], near: list[str]) -> None:
    assert sorted(nearest(text, candidates)) == sorted(near)


@rows(
    ("text", "candidates"),
    [
        ("biweekly", INTERVALS),
        ("bi-monthly", INTERVALS),
        ("half_year", INTERVALS),
        ("2 weeks", INTERVALS),
        ("unmetered", ["metered", "licensed"]),
        ("never", ["forever", "once"]),
        ("no_prorations", ["create_prorations", "none"]),
        ("charge_manually", ["charge_automatically", "send_invoice"]),
        ("min_redemptions", ["max_redemptions"]),
        ("postpaid", ["paid", "unpaid"]),
        ("paid", ["prepaid"]),
        ("nonnegative", ["negative", "positive"]),
        ("food", ["good", "service"]),
        ("_", ["a"]),
        ("", ["a"]),
        ("x", ["", "_"]),
        ("request", ["requested_by_customer"]),
        ("id", ["idempotent"]),
        ("dog_red_b", ["red_big_dog"]),
        ("x" * 257, ["x" * 257]),
    ],
)
def test_what_means_something_else_is_never_near(text: str, candidates: list[str]) -> None:
    assert nearest(text, candidates) == []


@rows(
    ("text", "candidate", "near"),
    [
        ("v1.1", "v1.0", False),
        ("release-1.2", "release-1.3", False),
        ("dev1", "dev2", False),
        ("priority:1", "priority:2", False),
        ("relase-1.2", "release-1.2", True),
        ("apps/v1beta1", "apps/v1", True),
        ("hello2", "hello", True),
    ],
)
def test_another_number_in_the_same_place_is_another_thing(text: str, candidate: str, near: bool) -> None:
    assert nearest(text, [candidate]) == ([candidate] if near else [])


def test_who_compares_with_many_counts_them() -> None:
    assert counted(lambda: nearest("x", [f"a{n}" for n in range(100)]))[1] >= 100


NAMES = st.text("abc_", min_size=1, max_size=7)


@given(NAMES, st.lists(NAMES, max_size=6, unique=True))
def test_what_is_alone_has_nothing_as_near(text: str, candidates: list[str]) -> None:
    near = nearest(text, candidates)
    if len(near) == 1 and near != [text] and (least := distance(text, near[0])) <= 1:
        assert [one for one in candidates if one != near[0] and letters(one) and distance(text, one) <= least] == []


@rows(
    ("one", "other", "slip"),
    [
        ("name", "nmae", True),
        ("ab", "ax", True),
        ("abc", "axy", False),
        ("abcdefgh", "abxdexgh", True),
        ("abcdefgh", "axxdexgh", False),
        ("category", "categories", True),
        ("Item_List", "itemlist", True),
    ],
)
def test_a_slip_is_one_letter_in_four(one: str, other: str, slip: bool) -> None:
    assert is_slip(one, other) is slip
    assert is_slip(other, one) is slip


@rows(
    ("one", "other", "plural"),
    [
        ("tag", "tags", True),
        ("box", "boxes", True),
        ("city", "cities", True),
        ("a", "as", False),
        ("tag", "tagged", False),
        ("tag", "tag", False),
    ],
)
def test_plurals(one: str, other: str, plural: bool) -> None:
    assert is_plural(one, other) is plural
    assert is_plural(other, one) is plural


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [("ab", "abcdef", 4), ("abc", "abcdefgh", 2), ("fgh", "abcdefgh", 2), ("abc", "abd", 1), ("A_b", "ab", 0)],
)
def test_what_goes_on_is_two_slips_away_at_most(one: str, other: str, slips: int) -> None:
    assert distance(one, other) == distance(other, one) == slips
    assert is_same(one, other) is (slips == 0)


@pytest.mark.parametrize(
    ("name", "word"), [("flow_id", "id"), ("flowId", "Id"), ("flow-id", "id"), ("id", "id"), ("FLOW", "FLOW")]
)
def test_the_last_word_of_a_name(name: str, word: str) -> None:
    assert last_word(name) == word


_TEXT = st.text("abc\u00e9", max_size=80)


@given(_TEXT, _TEXT, st.integers(0, 6))
def test_slips_and_common_letters_are_counted_as_another_library_does(one: str, other: str, most: int) -> None:
    far = OSA.distance(one, other)
    assert slips(one, other) == slips(other, one) == far
    assert slips(one, other, most) == far if far <= most else slips(one, other, most) > most
    assert common_length(one, other) == LCSseq.similarity(one, other)
