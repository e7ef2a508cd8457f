"""Notes in a list of messages are no errors where one of the list is; a heading above a sentence is none of it."""

from __future__ import annotations

from typing import Any

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.formats.members import without_notes
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

REQUEST = Request("POST", "/trees", body={"depth": 99, "rate": 2})


def places(body: Any) -> list[str]:
    return [one.pointer for one in GenericFormat().read(Exchange(REQUEST, 400, {}, b""), body)]


@rows("name", ["severity", "level", "logLevel", "log_level", "message_type", "kind"])
@rows("note", ["TRACE", "info", "Warning", "hint"])
def test_a_note_beside_an_error_is_left_out(name: str, note: str) -> None:
    noted = {name: note, "field": "depth", "message": "depth is only used for large trees"}
    error = {name: "ERROR", "field": "rate", "message": "rate must be between 0 and 1"}
    assert places({"messages": [noted, error, noted]}) == ["/body/rate"]


def test_notes_alone_are_all_that_is_told() -> None:
    noted = {"severity": "WARN", "field": "depth", "message": "depth must be below 10"}
    assert places({"messages": [noted]}) == ["/body/depth"]
    assert without_notes([noted, "text"]) == [noted, "text"]


def test_a_value_of_another_member_grades_nothing() -> None:
    items = [{"field": "info", "message": "info is required"}, {"field": "rate", "message": "rate is bad"}]
    assert without_notes(items) is items


def test_a_place_before_a_colon_is_no_heading() -> None:
    (error,) = GenericFormat().read(Exchange(REQUEST, 400, {}, b""), {"msg": "rate:\nmust be below 1"})
    assert error.message.startswith("rate:")
