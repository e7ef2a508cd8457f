"""Whether what exists is known to be what was asked for."""

from __future__ import annotations

from typing import Any

from corrigible.rules.safety.stored import dropped_values, unmet_values
from corrigible.schema.exchange import Request
from tests._support.rows import rows


def unmet(sent: Any, existing: Any) -> tuple[str, ...]:
    return unmet_values(Request("POST", "/x", body=sent), existing)


@rows(
    ("sent", "existing"),
    [
        ({"a": 1}, {"a": 1, "id": 7, "created": "2020", "public": True}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": "500"}, {"a": 500}),
        ({"cpu": "0.5"}, {"cpu": "500m"}),
        ({"at": "2026-01-01T00:00:00Z"}, {"at": "2026-01-01T00:00:00.000Z"}),
        ({"a": None}, {}),
        ({"a": None}, {"a": ""}),
        ({"a": ""}, {"a": None}),
        ({"a": False, "n": 0}, {"a": False, "n": 0}),
        ({"a": "false"}, {"a": False}),
        ({"ports": [443, 22]}, {"ports": [443, 22]}),
        ({"rules": [{"port": 443}]}, {"rules": [{"port": 443, "note": None}]}),
        ({"pool": {"name": "a"}}, {"pool": {"name": "a", "id": 7}}),
        ({"name": "a", "labels": {"x": "y"}}, {"name": "a", "labels": {"x": "y"}}),
        (None, {"a": 1}),
    ],
)
def test_what_was_asked_for(sent: Any, existing: Any) -> None:
    assert unmet(sent, existing) == ()


@rows(
    ("sent", "existing", "pointers"),
    [
        ({"ports": [443]}, {"ports": [443, 22, 3389]}, ("/body/ports/0",)),
        ({"ports": [443, 443]}, {"ports": [443]}, ("/body/ports/0", "/body/ports/1")),
        ({"ports": [443, 22]}, {"ports": [22, 443]}, ("/body/ports/0", "/body/ports/1")),
        ({"ports": []}, {"ports": [22]}, ("/body/ports",)),
        ({"ports": []}, {}, ("/body/ports",)),
        ({"public": False}, {}, ("/body/public",)),
        ({"public": False}, {"public": None}, ("/body/public",)),
        ({"public": False}, {"public": True}, ("/body/public",)),
        ({"public": False}, {"public": 0}, ("/body/public",)),
        ({"retries": 0}, {}, ("/body/retries",)),
        ({"retries": 0}, {"retries": ""}, ("/body/retries",)),
        ({"note": None}, {"note": "x"}, ("/body/note",)),
        ({"zip": "02134"}, {"zip": 2134}, ("/body/zip",)),
        ({"zip": "02134"}, {"zip": "2134"}, ("/body/zip",)),
        ({"word": "YWJj"}, {"word": "abc"}, ("/body/word",)),
        ({"tags": "a,b"}, {"tags": ["a", "b"]}, ("/body/tags",)),
        ({"tags": ["a"]}, {"tags": "a"}, ("/body/tags/0",)),
        ({"may": {"read": True}, "n": 1}, {"may": {"read": True, "write": True}, "n": 1}, ("/body/may",)),
        ({"rules": [{"port": 443}]}, {"rules": [{"port": 443, "open": True}]}, ("/body/rules/0",)),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ("/body/a/b",)),
        ({"a": {"b": 1, "c": 0}}, {}, ("/body/a/b", "/body/a/c")),
        ([1, 2], [1, 2, 3], ("/body/0", "/body/1")),
        ("text", {"a": 1}, ("/body",)),
        (5, 6, ("/body",)),
    ],
)
def test_something_wider_or_less(sent: Any, existing: Any, pointers: tuple[str, ...]) -> None:
    assert unmet(sent, existing) == pointers


def test_a_dry_run_is_read_leniently() -> None:
    sent = Request("POST", "/x", body={"ports": [443], "public": False})
    answer = {"ports": [22, 443]}
    assert dropped_values(sent, answer) == ()
    assert unmet_values(sent, answer) == ("/body/ports/0", "/body/public")
