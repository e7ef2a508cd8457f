"""What a parameter names, by its description."""

from __future__ import annotations

from typing import Any

import orjson

from corrigible.adapters.openapi.compiler import thing_named
from corrigible.adapters.openapi.load import load
from tests._support.rows import rows


@rows(
    ("description", "thing"),
    [
        ("Name of the key", "key"),
        ("The name of the encryption key to use.", "key"),
        ("ID of pet", "pet"),
        ("the unique identifier of an Order that is open", "order"),
        ("Name of the key (without blanks)", "key"),
        ("The key", ""),
        ("Whether the name of the key is shown", ""),
        ("Name or ID of the key", ""),
        ("Name of", ""),
        ("Name of the " + "a" * 300, ""),
        ("", ""),
        (None, ""),
        (["Name of the key"], ""),
    ],
)
def test_the_noun_of_what_is_named(description: Any, thing: str) -> None:
    assert thing_named(description) == thing


def test_only_variables_of_the_path_name_things(tmp_path: Any) -> None:
    text = {"schema": {"type": "string"}, "required": True}
    listed = [{"name": "name", "in": "path", "description": "Name of the key", **text}]
    listed += [{"name": "zone", "in": "path", "description": "Where", **text}]
    listed += [{"name": "lock", "in": "query", "description": "Name of the lock", **text}]
    operation = {"operationId": "open", "parameters": listed, "responses": {}}
    document = {
        "openapi": "3.0.3",
        "info": {"title": "x", "version": "1"},
        "paths": {"/{zone}/{name}": {"get": operation}},
    }
    (tmp_path / "x.json").write_bytes(orjson.dumps(document))
    description = load(tmp_path / "x.json", cache=tmp_path)
    assert description.things_named("open") == {"name": "key"}
    assert description.things_named("close") == {}
