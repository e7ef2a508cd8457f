"""Bodies under another media type: only where the texts stay the same."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.schema_repair.body_form import FORM, MEDIA_TYPE, repair_body
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Request


@pytest.mark.parametrize(
    ("value", "is_edit"),
    [("a", True), (["a", "b"], True), ({"a": 1}, False), ([{"a": 1}], False), ([1], False), (None, False)],
)
def test_a_multipart_body_is_urlencoded_only_if_it_holds_texts(value: Any, is_edit: bool) -> None:
    violation = SchemaViolation("/headers/content-type", MEDIA_TYPE, {"enum": [FORM]}, "multipart/form-data")
    request = Request("POST", "/x", headers={"content-type": "multipart/form-data"}, body={"meta": value}, form=True)
    (suggestion,) = repair_body(violation, request, "g").suggestions
    assert ("patch" in suggestion) is is_edit
