"""Times that a description wants without an offset."""

from __future__ import annotations

import pytest

from corrigible.adapters.openapi.schema_translator import told_in_prose
from corrigible.rules.schema_repair.schema_violation import Place
from corrigible.rules.schema_repair.values import LOCAL, repair_value
from tests._support.rows import rows

TIME = {"type": "string", "format": "date-time"}


@rows(
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


@pytest.mark.parametrize("value", ["2026/03/01 10:00:00", "March 1, 2026 10:00", "2026-03-01", "2026/03/01 10:00Z"])
def test_no_offset_is_made_up(value: str) -> None:
    assert repair_value("format", value, {**TIME, LOCAL: True}, Place("date")) == []


def test_without_such_a_sentence_it_is_repaired_as_ever() -> None:
    made = repair_value("format", "2026/03/01 10:00", TIME, Place("date"))
    assert [one.value for one in made] == ["2026-03-01T10:00:00Z"]
