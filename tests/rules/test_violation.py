"""A complaint as expressions see it."""

from __future__ import annotations

from typing import Any

from corrigible.rules.violation import Violation

NAMES: dict[str, Any] = {name: f"our {name}" for name in ("code", "message", "pointer", "constraint", "type", "param")}


def test_the_seven_names_are_always_there_and_native_members_never_take_their_place() -> None:
    native = {**dict.fromkeys(NAMES, "theirs"), "decline_code": "generic"}
    assert Violation(**NAMES, native=native).scope() == {**NAMES, "stated": {}, "decline_code": "generic"}
    assert Violation().scope() == {**dict.fromkeys(NAMES, ""), "stated": {}}
