"""A seal is valid for one text, one call, one question and a minute, and is used once."""

from __future__ import annotations

import pytest

from corrigible.adapters.base import Call
from corrigible.proxy.core import relayed_feedback as relay_seal
from corrigible.proxy.core.relayed_feedback import Relay
from tests._support.rows import rows

KEY = b"k" * 32
CALL: Call = ("CREATE", "", "v1", "pods", "t", "p", "")
OTHER: Call = (*CALL[:-1], "status")
SEAL = Relay(KEY).seal("text", CALL, "u-1", 1000.9)


def test_what_a_seal_looks_like() -> None:
    version, time, uid, mac = SEAL.split(" ")
    assert (version, time, uid, len(mac)) == ("v1", "1000", "u-1", 43)
    assert set(mac) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert Relay(KEY).seal("text", CALL, "u-1", 1000.0) == SEAL
    assert mac == "cY7s3LLSrlUBEV2nIOSPIGK8QZlrhNoUpa607Jh2kug", "fronts of other versions make the same"


@rows(
    ("text", "seals", "calls", "now", "valid"),
    [
        ("text", [SEAL], [CALL], 1000.0, True),
        ("text", ["", "v1 x y z", SEAL], [OTHER, CALL], 1000.0, True),
        ("text", [SEAL], [CALL], 1060.0, True),
        ("text", [SEAL], [CALL], 940.0, True),
        ("text", [SEAL], [CALL], 1060.5, False),
        ("text", [SEAL], [CALL], 939.5, False),
        ("text ", [SEAL], [CALL], 1000.0, False),
        ("text\ud800", [SEAL], [CALL], 1000.0, False),
        ("text", [SEAL], [OTHER], 1000.0, False),
        ("text", [SEAL], [], 1000.0, False),
        ("text", [], [CALL], 1000.0, False),
        ("text", [SEAL.replace("u-1", "u-2")], [CALL], 1000.0, False),
        ("text", [SEAL.replace("1000", "1001")], [CALL], 1000.0, False),
        ("text", [SEAL.replace("v1", "v2")], [CALL], 1000.0, False),
        ("text", [f"{SEAL} "], [CALL], 1000.0, False),
        ("text", [SEAL.replace("1000", f"{1000:013}")], [CALL], 1000.0, False),
        ("text", [SEAL.replace("1000", "-1000")], [CALL], 1000.0, False),
        ("text", [SEAL.replace("1000", "\u0661\u0660\u0660\u0660")], [CALL], 1000.0, False),
        ("text", [f"{SEAL[:-1]}\ud800"], [CALL], 1000.0, False),
    ],
)
def test_whether_a_seal_is_valid(text: str, seals: list[str], calls: list[Call], now: float, valid: bool) -> None:
    assert Relay(KEY).valid_seal(text, seals, calls, now) == (SEAL if valid else None)


def test_another_key_vouches_for_nothing() -> None:
    assert Relay(b"o" * 32).valid_seal("text", [SEAL], [CALL], 1000.0) is None


def test_a_time_of_as_many_digits_as_there_may_be_is_read() -> None:
    late = Relay(KEY).seal("text", CALL, "u-1", 999_999_999_999.0)
    assert Relay(KEY).valid_seal("text", [late], [CALL], 999_999_999_999.0) == late
    later = Relay(KEY).seal("text", CALL, "u-1", 1_000_000_000_000.0)
    assert Relay(KEY).valid_seal("text", [later], [CALL], 1_000_000_000_000.0) is None


def test_memory_is_bounded_and_forgets_what_is_too_old_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay_seal, "_MOST_SEEN", 2)
    relay = Relay(KEY)
    assert [relay.is_first_use(seal, 0.0) for seal in ("a", "b", "b", "c")] == [True, True, False, False]
    assert relay.is_first_use("c", 120.0) is False
    assert relay.is_first_use("c", 120.5) is True
    assert relay.is_first_use("a", 121.0) is True, "too old: it would be refused for its time"


def test_what_is_older_is_forgotten_first() -> None:
    relay = Relay(KEY)
    assert [relay.is_first_use(seal, now) for seal, now in (("a", 0.0), ("b", 100.0), ("a", 130.0), ("b", 130.0))] == [
        True,
        True,
        True,
        False,
    ]
