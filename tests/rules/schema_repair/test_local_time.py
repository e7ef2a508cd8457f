"""Times that a description wants without an offset."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.openapi.schema_translator import told_in_prose
from corrigible.rules.schema_repair.schema_violation import Place
from corrigible.rules.schema_repair.values import LOCAL, repair_value

TIME = {"type": "string", "format": "date-time"}


@pytest.mark.parametrize(
    ("prose", "is_told"),
    [
        ("The date the post was published, in the site's timezone.", True),
        ("When the shop opens, in the store's local time zone", True),
        ("Start of the shift in local time", True),
        ("A time without a timezone", True),
        ("The date the post was published, as GMT.", False),
        ("When it was made. The zone is needed.", False),
    ],
)
def test_prose_tells_it(prose: str, is_told: bool) -> None:
    assert (LOCAL in told_in_prose(prose, TIME)) is is_told
    assert LOCAL not in told_in_prose(prose, {"type": "string"})


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("2026/03/01 10:00:00", ["2026-03-01T10:00:00"]),
        ("March 1, 2026 10:00", ["2026-03-01T10:00:00"]),
        ("2026-03-01T10:00:00", []),  # what else it lacks is not known
        ("2026-03-01", []),  # which time of that day?
        ("03/04/2026 10:00", []),  # which of two days?
    ],
)
def test_no_offset_is_made_up(value: str, wanted: list[str]) -> None:
    made = repair_value("format", value, {**TIME, LOCAL: True}, Place("date"))
    assert [(one.value, one.assumption) for one in made] == [(one, "") for one in wanted]


@pytest.mark.parametrize(("value", "schema"), [("2026/03/01 10:00Z", {LOCAL: True}), ("2026/03/01 10:00", {})])
def test_anything_else_is_repaired_as_ever(value: str, schema: Any) -> None:
    made = repair_value("format", value, {**TIME, **schema}, Place("date"))
    assert [one.value for one in made] == ["2026-03-01T10:00:00Z"]
