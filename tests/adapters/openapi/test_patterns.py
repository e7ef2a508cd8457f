"""Patterns as JavaScript writes them."""

from __future__ import annotations

from corrigible.adapters.openapi.schema_translator import checkable
from tests._support.rows import rows


@rows(
    ("pattern", "written"),
    [
        (r"^[a-zA-Z][\w-.]+$", r"^[a-zA-Z][\w\-.]+$"),
        (r"^[\d-x]+$", r"^[\d\-x]+$"),
        (r"^[\w-]+$", r"^[\w-]+$"),
        (r"^\d-\d$", r"^\d-\d$"),
        (r"\p{Foo}", None),
        (r"[\w-.", None),
    ],
)
def test_a_hyphen_behind_a_class_is_a_hyphen(pattern: str, written: str | None) -> None:
    assert checkable(pattern) == written
