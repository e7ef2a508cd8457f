"""What only the server writes, sent where the member in the other number is required: offered, never sent unasked."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.schema_repair.read_only_twin import from_twin
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Json, Request

PORT = {"type": "integer", "readOnly": True}


def missing(name: str, schema: Any, **declared: Any) -> SchemaViolation:
    around = {"type": "object", "properties": {name: schema, **declared}}
    return SchemaViolation(f"/body/{name}", "required", schema, siblings=(name, *declared), parent_schema=around)


def moved(violation: SchemaViolation, body: Json) -> Any:
    suggestion = from_twin(violation, Request("POST", "/services", body=body))
    if suggestion is None:
        return None
    assert suggestion["safety"]["requires_confirmation"] is True
    last = suggestion["patch"][-1]
    return last.get(
        "value", body[last["from"].rpartition("/")[2]] if isinstance(body, dict) and "from" in last else None
    )


@pytest.mark.parametrize(
    ("schema", "value"),
    [({}, [22]), ({"type": "array"}, [22]), ({"type": "array", "items": {"type": "integer"}}, [22])],
)
def test_one_is_sent_in_the_list_of_several(schema: Any, value: Any) -> None:
    assert moved(missing("ports", schema, port=PORT), {"port": 22}) == value


def test_the_only_one_of_several_is_sent_alone() -> None:
    assert moved(missing("port", {"type": "integer"}, ports={"readOnly": True}), {"ports": [22]}) == 22


@pytest.mark.parametrize(
    ("violation", "body"),
    [
        (missing("ports", {}, port={"type": "integer"}), {"port": 22}),  # the caller writes both
        (missing("ports", {"type": "string"}, port=PORT), {"port": 22}),  # no list is taken
        (missing("ports", {"type": "array", "items": {"type": "string"}}, port=PORT), {"port": 22}),
        (missing("port", {}, ports={"readOnly": True}), {"ports": [22, 23]}),  # which of them is not known
        (missing("hosts", {}, port=PORT), {"port": 22}),
        (missing("ports", {}, port=PORT), [22]),
    ],
)
def test_nothing_is_offered(violation: SchemaViolation, body: Json) -> None:
    assert moved(violation, body) is None
