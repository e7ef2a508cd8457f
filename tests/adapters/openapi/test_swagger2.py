"""Swagger 2.0: the same requests break the same places as with the API's OpenAPI 3.0 description."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from corrigible.adapters.openapi.description import Description
from corrigible.adapters.openapi.load import load
from corrigible.adapters.openapi.source_files import SourceFiles
from corrigible.schema.exchange import Json, Request
from tests._support.rows import rows

SWAGGER = """
swagger: "2.0"
info: {title: Pets, version: "1"}
host: pets.test
basePath: /v2
schemes: [https, http]
consumes: [application/json]
parameters:
  Limit: {name: limit, in: query, type: integer, maximum: 100}
  Pet: {name: pet, in: body, required: true, schema: {$ref: '#/definitions/Pet'}}
paths:
  /pets:
    parameters: [{$ref: '#/parameters/Limit'}]
    get:
      operationId: listPets
      parameters:
        - {name: tags, in: query, type: array, items: {type: string, enum: [a, b]}, collectionFormat: pipes}
        - {name: ids, in: query, type: array, items: {type: integer}, collectionFormat: multi}
        - {name: names, in: query, type: array, items: {type: string, maxLength: 3}}
        - {name: tabs, in: query, type: array, items: {type: integer}, collectionFormat: tsv}
    post:
      operationId: addPet
      parameters: [{$ref: '#/parameters/Pet'}]
      responses:
        "422": {description: no, schema: {properties: {code: {type: string, enum: [bad_name, bad_age]}}}}
  /pets/{id}:
    parameters:
      - {name: id, in: path, required: true, type: integer}
    put:
      operationId: putPet
      consumes: [application/vnd.pet+json]
      parameters: [{name: pet, in: body, schema: {$ref: '#/definitions/Pet'}}]
  /pets/{id}/photo:
    post:
      operationId: addPhoto
      consumes: [multipart/form-data]
      parameters:
        - {name: id, in: path, required: true, type: integer}
        - {name: title, in: formData, type: string, required: true, maxLength: 5}
        - {name: file, in: formData, type: file}
  /search:
    post:
      operationId: search
      consumes: [application/x-www-form-urlencoded]
      parameters:
        - {name: text, in: formData, type: string, required: true}
        - {name: most, in: formData, type: integer}
definitions:
  Pet:
    type: object
    required: [name, kind]
    discriminator: kind
    properties:
      name: {type: string, x-nullable: false}
      kind: {type: string, enum: [cat, dog]}
      age: {type: integer, minimum: 0, exclusiveMinimum: true}
      owner: {type: string, x-nullable: true}
      type: {type: string}
      id: {type: integer, readOnly: true}
    additionalProperties: false
"""
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def described(tmp_path: Path) -> Description:
    path = tmp_path / "swagger.yaml"
    path.write_text(SWAGGER, "utf-8")
    return load(path, cache=tmp_path / "cache")


def pet(**members: Json) -> dict[str, Json]:
    return {"name": "Tom", "kind": "cat", **members}


@rows(
    ("request_", "expected"),
    [
        (Request("POST", "/v2/pets", body=pet()), []),
        (Request("POST", "/pets", body=pet(owner=None, age=1, type="x")), []),
        (Request("POST", "/v2/pets", body={"name": "Tom"}), [("/body/kind", "required")]),
        (Request("POST", "/v2/pets", body=pet(kind="cats")), [("/body/kind", "enum")]),
        (Request("POST", "/v2/pets", body=pet(age=0)), [("/body/age", "exclusiveMinimum")]),
        (Request("POST", "/v2/pets", body=pet(agee=3)), [("/body/agee", "additionalProperties")]),
        (Request("POST", "/v2/pets", body=pet(name=None)), [("/body/name", "type")]),
        (Request("POST", "/v2/pets"), [("/body", "required")]),
        (Request("GET", "/v2/pets", query={"limit": "101"}), [("/query/limit", "maximum")]),
        (Request("GET", "/v2/pets", query={"tags": "a|b"}), []),
        (Request("GET", "/v2/pets", query={"tags": "a|c"}), [("/query/tags", "items")]),
        (Request("GET", "/v2/pets", query={"ids": ["1", "x"]}), [("/query/ids/1", "type")]),
        (Request("GET", "/v2/pets", query={"names": "abc,ab"}), []),
        (Request("GET", "/v2/pets", query={"tabs": "no number"}), []),
        (Request("PUT", "/v2/pets/7", body=pet(kind=1)), [("/body/kind", "enum"), ("/body/kind", "type")]),
        (Request("PUT", "/v2/pets/seven", body=pet()), [("/path", "type")]),
        (Request("POST", "/v2/search", body={"text": "a", "most": "1"}, headers={"content-type": FORM}, form=True), []),
        (
            Request("POST", "/v2/search", body={"most": "many"}, headers={"content-type": FORM}, form=True),
            [("/body/most", "type"), ("/body/text", "required")],
        ),
    ],
)
def test_what_a_request_breaks(described: Description, request_: Request, expected: list[tuple[str, str]]) -> None:
    match = described.operations.find(request_.method, request_.path)
    assert match is not None
    violations = described.schema_violations(request_, match[0])
    assert sorted((one.pointer, one.keyword) for one in violations) == expected


def test_media_types_and_codes(described: Description) -> None:
    media = {name: list((described._stored.operation(name) or {}).get("body", {}).get("media", {})) for name in BODIES}
    assert media == BODIES
    assert described.refusals("addPet") == {"422": ("bad_age", "bad_name")}
    assert described.converted == "Swagger 2.0"


BODIES = {
    "addPet": ["application/json"],
    "putPet": ["application/vnd.pet+json"],
    "addPhoto": ["multipart/form-data"],
    "search": [FORM],
}


def test_it_is_checked_as_swagger(tmp_path: Path) -> None:
    document: dict[str, Any] = yaml.safe_load(SWAGGER)
    document["paths"]["/search"]["post"]["parameters"][0]["in"] = "somewhere"
    path = tmp_path / "swagger.yaml"
    path.write_text(yaml.safe_dump(document), "utf-8")
    problems = load(path, cache=tmp_path / "cache", check=True).problems
    assert problems
    assert all("Swagger" not in one and "openapi" not in one.lower() for one in problems)


@pytest.mark.parametrize(("own", "produced"), [("", ("text/csv",)), ("produces: [text/xml, text/plain]", None)])
def test_what_an_operation_produces(tmp_path: Path, own: str, produced: tuple[str, ...] | None) -> None:
    path = tmp_path / "swagger.yaml"
    path.write_text(
        'swagger: "2.0"\ninfo: {title: P, version: "1"}\nproduces: [text/csv]\npaths:\n  /a:\n    get:\n'
        f"      operationId: a\n      {own}\n      responses: {{'200': {{description: ok, schema: {{}}}}}}\n"
    )
    assert load(path, cache=tmp_path).produced("a") == (produced or ("text/xml", "text/plain"))


def test_the_names_of_keys_stay(tmp_path: Path) -> None:
    document: dict[str, Any] = yaml.safe_load(SWAGGER)
    key = {"type": "apiKey", "in": "header", "name": "Shop-Pass"}
    document["securityDefinitions"] = {"key": key, "login": {"type": "basic"}}
    path = tmp_path / "swagger.yaml"
    path.write_text(yaml.safe_dump(document), "utf-8")
    converted: Any = SourceFiles(path).document
    assert converted["components"] == {"securitySchemes": {"key": key}}
