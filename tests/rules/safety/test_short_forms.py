"""Short forms of names: beginnings of three letters and more, and the common ones that are no beginnings."""

from __future__ import annotations

from corrigible.rules.safety.nearness import abbreviates
from tests._support.rows import rows


@rows(
    ("short", "name", "is_short"),
    [
        ("lat", "latitude", True),
        ("lng", "longitude", True),
        ("desc", "description", True),
        ("qty", "Quantity", True),
        ("tel", "phone_number", True),
        ("acct", "account", True),
        ("addr", "address", True),
        ("amt", "amount", True),
        ("cfg", "configuration", True),
        ("dst", "destination", True),
        ("fname", "first_name", True),
        ("img", "image", True),
        ("mgr", "manager", True),
        ("msg", "message", True),
        ("passwd", "password", True),
        ("pwd", "password", True),
        ("pkg", "package", True),
        ("q", "query", True),
        ("src", "source", True),
        ("txt", "text", True),
        ("usr", "username", True),
        ("usr", "users", False),
        ("la", "latitude", False),
        ("latitude", "lat", False),
        ("order", "orders", False),
        ("lng", "length", False),
        ("file", "file_id", False),
        ("file", "fileName", False),
    ],
)
def test_short_forms(short: str, name: str, *, is_short: bool) -> None:
    assert abbreviates(short, name) is is_short
