"""Errors about a JSON patch, at the operation that they are about."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.place_in_patch import is_patch, place_in_patch
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request
from tests._support.rows import rows

MEDIA = "application/json-patch+json"
SET = {"op": "set", "path": "/name", "value": "x"}
BARE = {"op": "replace", "path": "name", "value": "x"}
LACKS = {"op": "replace", "path": "/name"}
DISK = {"op": "replace", "path": "/min_disk", "value": "4"}
SIZE = {"op": "add", "path": "/size", "value": {"width": "4", "unit": "mm"}}
GONE = {"op": "remove", "path": "/name"}


def patch(*operations: Any, method: str = "PATCH", media: str = MEDIA) -> Request:
    return Request(method, "/images/1", headers={"content-type": media}, body=[*operations])


def placed(error: Violation, *operations: Any) -> tuple[str, str, Any] | None:
    found = place_in_patch(error, patch(*operations))
    return None if found is None else (found.pointer, found.constraint, found.stated)


@rows(
    ("message", "operations", "wanted"),
    [
        ("Invalid operation: `set`. Use one of add, remove.", [SET], ("/body/0/op", "", {})),
        ("Invalid operation: `set`.", [GONE, SET], ("/body/1/op", "", {})),
        ("Invalid operation: `set`.", [SET, SET], None),
        ('Pointer `name` does not start with "/".', [BARE], ("/body/0/path", "format", {"format": "json-pointer"})),
        ("Path 'name' is not allowed.", [BARE], ("/body/0/path", "", {})),
        ("Path 'x' is not allowed.", [SET], ("/body/0/value", "", {})),
        ('Operation "replace" requires a member named "value".', [LACKS], ("/body/0/value", "required", {})),
        ('Operation "replace" requires a member named "value".', [GONE, LACKS], ("/body/1/value", "required", {})),
        ('Operation "replace" requires a member named "value".', [LACKS, LACKS], None),
        ("Missing 'value'", [GONE], None),
        ("'path' is required", [{"op": "remove"}], ("/body/0/path", "required", {})),
        ("Property nmae does not exist.", [{**SET, "path": "/nmae"}], ("/body/0/path", "", {})),
        ("Property width does not exist.", [{**SET, "path": "/size/width"}], ("/body/0/path", "", {})),
        ("Unknown field: 'nmae'", [{**SET, "path": "/nmae"}, SET], ("/body/0/path", "", {})),
        ("Property other does not exist.", [SET], None),
        ("You are not authorized.", [SET], None),
    ],
)
def test_a_sentence(message: str, operations: list[Any], wanted: Any) -> None:
    assert placed(Violation(message=message), *operations) == wanted


@pytest.mark.parametrize(
    ("pointer", "constraint", "operations", "wanted"),
    [
        ("/body/min_disk", "type", [SET, DISK], ("/body/1/value", "type", {"type": "integer"})),
        ("/body/size/width", "type", [SIZE], ("/body/0/value/width", "type", {"type": "integer"})),
        ("/body/size/depth", "type", [SIZE], None),
        ("/body/name", "type", [GONE], None),
        ("/body/min_disk", "type", [DISK, DISK], None),
        ("/body/min_disk", "additionalProperties", [DISK], ("/body/0/path", "", {})),
        ("/body/0/value", "type", [DISK], None),
    ],
)
def test_a_member_of_the_resource(pointer: str, constraint: str, operations: list[Any], wanted: Any) -> None:
    error = Violation(pointer=pointer, constraint=constraint, stated={"type": "integer"})
    assert placed(error, *operations) == wanted


def test_what_the_answer_lists_is_not_what_was_sent() -> None:
    error = Violation(message="Use 'add' for 'x'.", stated={"enum": ["add"]})
    assert placed(error, {"op": "add", "path": "/x"}, {"op": "test", "path": "x"}) == (
        "/body/1/path",
        "",
        {"enum": ["add"]},
    )


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (patch(SET), True),
        (patch(SET, method="POST"), True),
        (patch(SET, method="POST", media="application/json"), False),
        (patch({**SET, "name": "x"}), False),
        (patch({"path": "/name"}), False),
        (patch(), False),
        (Request("PATCH", "/x", body={"op": "set"}), False),
    ],
)
def test_what_a_patch_is(request_: Request, wanted: bool) -> None:
    assert is_patch(request_) is wanted
