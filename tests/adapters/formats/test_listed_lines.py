"""Complaints that a text lists one a line, each behind a name."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.text_shapes import listed_complaints
from corrigible.schema.exchange import Request

BODY = {"inputData": {"itm": "lamp", "size": {"width": "4"}}, "note": "x", "other": {"count": 9}}


def places(message: str, body: Any = BODY, *, form: bool = False) -> list[tuple[str, str]]:
    found = listed_complaints(message, Request("POST", "/orders", body=body, form=form))
    return [(one.pointer, one.text) for one in found]


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("Invalid input data:\n- item: is required", [("/body/inputData/item", "is required")]),
        (
            "Invalid input data: \n- item: is required\n- size.width: expected number, received string",
            [
                ("/body/inputData/item", "is required"),
                ("/body/inputData/size/width", "expected number, received string"),
            ],
        ),
        # The heading names nothing that was sent: the place is the only one of that name.
        ("Validation failed. Errors:\n\n* count: too big\n\nGiven: {}", [("/body/other/count", "too big")]),
        ("Validation failed. Errors:\n- item: is required", []),
        ("Invalid note:\n- item: is required", []),  # a text has no members
        ("Invalid input data: item is required", []),
        ("Invalid input data:\n- item is required", []),
        ("- item: is required", []),
    ],
)
def test_each_complaint_is_at_its_place(message: str, wanted: list[tuple[str, str]]) -> None:
    assert places(message) == wanted


def test_a_form_and_a_list_have_no_objects() -> None:
    message = "Invalid input data:\n- item: is required"
    assert not places(message, form=True)
    assert not places(message, [BODY])
