"""Operations of an OpenAPI description."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corrigible.adapters.specification import operations_of
from corrigible.rules.failure import AuthoringError

YAML = """\
openapi: 3.1.0
servers: [{url: "https://api.test/v2/"}, {url: "/v2"}, {url: "https://{region}.test/v3"}]
paths:
  /things/{id}:
    parameters: []
    get: {operationId: GetThing}
    delete: {}
    x-extra: {operationId: Nothing}
  /things: {post: {operationId: CreateThing}}
"""


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_operations_with_and_without_the_servers_path(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"openapi{suffix}"
    path.write_text(YAML if suffix == ".yaml" else json.dumps(DOCUMENT), "utf-8")
    found = operations_of(path)
    assert found.find("GET", "/things/1") == ("GetThing", {"id": "1"})
    assert found.find("GET", "/v2/things/1") == ("GetThing", {"id": "1"})
    assert found.find("DELETE", "/v2/things/1") == ("DELETE /things/{id}", {"id": "1"})
    assert found.find("POST", "/things") == ("CreateThing", {})
    assert found.find("GET", "/v3/things/1") is None


DOCUMENT = {
    "servers": [{"url": "https://api.test/v2"}],
    "paths": {
        "/things/{id}": {"get": {"operationId": "GetThing"}, "delete": {}},
        "/things": {"post": {"operationId": "CreateThing"}},
    },
}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "a: 1\n", '1: not an OpenAPI description: "paths" is missing'),
        ("a.yaml", "- 1\n", '1: not an OpenAPI description: "paths" is missing'),
        ("a.yaml", "a: 1\na: 2\n", '2: key "a" stands twice'),
        ("a.json", "{\n]", "2: not JSON: unexpected character"),
        ("a.json", "[]", '1: not an OpenAPI description: "paths" is missing'),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(AuthoringError) as caught:
        operations_of(path)
    assert str(caught.value).startswith(f"{path}:{said}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match=r"a\.json:1: cannot be read: No such file or directory$"):
        operations_of(tmp_path / "a.json")
    with pytest.raises(AuthoringError, match=r"a\.yaml:1: no such file$"):
        operations_of(tmp_path / "a.yaml")
