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


@pytest.mark.parametrize(("paths", "lookups"), [(("/orders/", "/orders/{id}"), ["/orders/{id}"]), (("/orders/",), [])])
def test_a_pack_from_paths_that_end_with_a_slash_has_no_faults(
    paths: tuple[str, ...], lookups: list[str], tmp_path: Path
) -> None:
    spec, folder = tmp_path / "shop.json", tmp_path / "shop"
    operation = {"get": {"responses": {"200": {"description": "there"}}}}
    description = {
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "7"},
        "paths": dict.fromkeys(paths, operation),
    }
    spec.write_text(json.dumps(description), "utf-8")
    assert main(["pack", "from-spec", str(spec), str(folder)]) == 0
    assert yaml.safe_load((folder / "pack.yaml").read_text("utf-8"))["lookups"] == lookups
    assert main(["pack", "lint", str(folder)]) == 0


def test_no_pack_from_a_description_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.yaml"
    path.write_text("openapi: 3.0.0\npaths: {}\n", "utf-8")
    assert main(["pack", "from-spec", str(path), str(tmp_path / "pack")]) == 2
    assert "no operation is described" in capsys.readouterr().err
    assert not (tmp_path / "pack").exists()


FAULTY = """\
openapi: 3.0.3
info: {title: Shop, version: "7"}
paths:
  /orders:
    post:
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Ordr'}
            example: {$ref: '#/data/not/a/reference'}
      responses:
        200: {description: ok}
        400: {$ref: '#/components/responses/Missing'}
        default: {$ref: 'more.yaml#/responses/None'}
  /items:
    get:
      parameters:
      - {name: n, in: quer, schema: {type: integer}}
      - {name: m, in: query, schema: {type: integr}}
      - {name: o, in: query, schema: {type: integr}}
      responses: {200: {description: ok}}
components:
  schemas:
    Order:
      properties:
        default: {$ref: '#/components/schemas/Size'}
        fine: {$ref: 'more.yaml#/Fine'}
        $ref: {type: string}
        outside: {$ref: '../x.yaml#/A'}
        far: {$ref: 'https://example.com/a.yaml#/A'}
        anchor: {$ref: '#Anchor'}
"""
MORE = "Fine:\n  properties:\n    a: {$ref: '#/Fin'}\n    b: {$ref: 'gone.yaml'}\n"


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_every_reference_that_leads_nowhere_has_its_line(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / f"shop.{kind}"
    (tmp_path / "more.yaml").write_text(MORE, "utf-8")
    spec.write_text(FAULTY if kind == "yaml" else json.dumps(yaml.safe_load(FAULTY), indent=1), "utf-8")
    assert main(["spec", "check", str(spec)]) == 1
    told = capsys.readouterr().err.replace(f"{tmp_path}/", "").splitlines()
    text = spec.read_text("utf-8").splitlines()
    in_order = "/components/schemas/Order/properties"
    wanted = [
        (
            "Ordr",
            "/paths/~1orders/post/requestBody/content/application~1json/schema",
            'leads nowhere; did you mean "Order"?',
        ),
        ("Missing", "/paths/~1orders/post/responses/400", "leads nowhere"),
        ("more.yaml#/responses/None", "/paths/~1orders/post/responses/default", "leads nowhere"),
        ("/Size", f"{in_order}/default", "leads nowhere"),
        ("../x.yaml", f"{in_order}/outside", ": not read: only files in the description's folder or below are"),
        ("https:", f"{in_order}/far", ": not read: only files in the description's folder or below are"),
        ("#Anchor", f"{in_order}/anchor", ": only JSON pointers (#/...) are followed"),
    ]
    for line, (part, pointer, end) in zip(told, wanted, strict=False):
        (number,) = [at for at, one in enumerate(text, 1) if "$ref" in one and part in one]
        assert line.startswith(f"shop.{kind}:{number - (kind == 'json')}: {pointer}: $ref ")
        assert line.endswith(end)
    assert told[7:] == [
        'more.yaml:3: /Fine/properties/a: $ref #/Fin leads nowhere; did you mean "Fine"?',
        "more.yaml:4: /Fine/properties/b: $ref gone.yaml: no such file",
    ]


def test_other_mistakes_beside_references_are_told_with_line_and_pointer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "shop.yaml"
    one_file = [line for line in FAULTY.splitlines() if "more.yaml" not in line]
    spec.write_text("\n".join(one_file), "utf-8")
    assert main(["spec", "check", str(spec)]) == 1
    told = [line.removeprefix(f"{spec}:") for line in capsys.readouterr().err.splitlines()]
    formal = [line for line in told if "$ref" not in line]
    assert [line.partition(": ")[0] for line in formal] == ["17", "18", "19", "18", "19"]
    assert [line.split(": ")[1] for line in formal] == [
        *(f"/paths/~1items/get/parameters/{index}" for index in (0, 1, 2)),
        *(f"/paths/~1items/get/parameters/{index}/schema/type" for index in (1, 2)),
    ]
    assert "Failed validating" not in "".join(told)
