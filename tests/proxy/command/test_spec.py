"""`corrigible spec check` and `corrigible pack from-spec`: what is printed and written, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from corrigible.proxy.cli import main

DESCRIPTION = """
openapi: 3.0.3
info: {title: Shop, version: "7"}
servers: [{url: /api}]
paths:
  /orders:
    get: {operationId: listOrders, responses: {"200": {description: all}}}
    post:
      operationId: createOrder
      parameters: [{name: Idempotency-Key, in: header, schema: {type: string, maxLength: 9}}]
      requestBody: {content: {application/json: {schema: {properties: {api_key: {type: string}}}}}}
      responses:
        "400": {description: no, content: {application/json: {schema: {properties: {code: {enum: [too_many]}}}}}}
  /orders/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get:
      operationId: getOrder
      responses:
        {"200": {description: one}, "401": {description: who}, "404": {description: none}, "503": {description: no}}
"""


ERRORS = """\
400 `too_many`

- POST /orders

```yaml
match: {operation: "createOrder", status: [400], code: "too_many"}
```

Look-ups: `GET /orders`, `GET /orders/{id}`

## 404

- GET /orders/{id}

```yaml
match: {operation: "getOrder", status: [404]}
```

Look-ups: `GET /orders`
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(DESCRIPTION, "utf-8")
    return path


def test_a_description_as_a_table(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "check", str(spec)]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[:2] == ["Shop 7: 3 operations", "Paths as they are described, and below /api."]
    assert any(line.startswith("POST /orders headers Idempotency-Key;") for line in lines)
    assert any("/orders/{id}, /orders 400" in line for line in lines)
    assert "GET /orders/{id} path id /orders 401, 404, 503" in lines
    assert lines[-1] == "3 of 3 parts are judged. Paths and methods are, whatever is described."


def test_a_description_as_json_lines(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "check", "--json", str(spec)]) == 0
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert documents[1] == {
        "operation": "POST /orders",
        "id": "createOrder",
        "judged": [{"in": "headers", "name": "Idempotency-Key"}, {"in": "body", "name": "application/json"}],
        "not_judged": [],
        "lookups": ["/orders/{id}", "/orders"],
        "refusals": {"400": ["too_many"]},
    }


def test_formal_mistakes_are_told(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec.write_text(DESCRIPTION.replace("{description: all}", "{}"), "utf-8")
    assert main(["spec", "check", str(spec)]) == 1
    assert f"{spec}:7:" in capsys.readouterr().err
    copy = spec.rename(spec.with_name("copy.yaml"))
    assert main(["spec", "check", str(copy)]) == 1
    assert f"{copy}:7:" in capsys.readouterr().err


def test_what_is_no_description(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.yaml"
    path.write_text("a: 1\n", "utf-8")
    assert main(["spec", "check", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"{path}:1: not an OpenAPI description")


def test_a_pack_from_a_description(spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "shop"
    assert main(["pack", "from-spec", str(spec), str(folder), "--author", "A: b"]) == 0
    output = capsys.readouterr()
    assert str(folder / "pack.yaml") in output.out.splitlines()
    last = output.err.splitlines()[-1]
    assert last == f"next, 4: corrigible proxy --upstream URL --pack {folder} --spec {spec}"
    text = (folder / "pack.yaml").read_text("utf-8")
    assert yaml.safe_load(text) == {
        "name": "shop",
        "title": "Shop",
        "version": "1.0.0",
        "api": {"name": "Shop", "versions": "7"},
        "license": "Apache-2.0",
        "author": "A: b",
        "bases": ["/api"],
        "idempotency_header": "Idempotency-Key",
        "secret_parameters": ["api_key"],
        "lookups": ["/orders", "/orders/{id}"],
        "operations": {"GET /orders": "listOrders", "POST /orders": "createOrder", "GET /orders/{id}": "getOrder"},
    }
    assert '"createOrder"   # too_many' in text
    assert (folder / "errors.md").read_text("utf-8").partition("\n## ")[2] == ERRORS
    assert main(["pack", "lint", str(folder)]) == 0
    assert main(["pack", "test", str(folder)]) == 0
    capsys.readouterr()
    assert main(["pack", "from-spec", str(spec), str(folder)]) == 2
    assert capsys.readouterr().err == f"{folder}: is there already and not empty\n"
    assert (folder / "pack.yaml").read_text("utf-8") == text


def test_no_pack_from_a_description_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.yaml"
    path.write_text("openapi: 3.0.0\npaths: {}\n", "utf-8")
    assert main(["pack", "from-spec", str(path), str(tmp_path / "pack")]) == 2
    assert "no operation is described" in capsys.readouterr().err
    assert not (tmp_path / "pack").exists()
