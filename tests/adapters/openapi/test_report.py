"""What a description is said to let us judge is what is judged."""

from __future__ import annotations

from pathlib import Path

from corrigible.adapters.openapi.load import load
from corrigible.adapters.openapi.report import report

DESCRIPTION = """
openapi: 3.1.0
info: {title: Things, version: "2"}
servers: [{url: https://a.test/api/v2}, {url: "/{tenant}/x"}]
paths:
  /things/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer}}
    put:
      operationId: putThing
      parameters:
        - {name: matrix, in: path, required: true, style: matrix, schema: {type: string}}
        - {name: all, in: query, schema: {type: boolean}}
        - {name: any, in: query, schema: {}}
        - {name: xml, in: query, content: {text/xml: {schema: {type: string}}}}
        - {name: X-Token, in: header, schema: {type: string}}
        - {name: X-Kind, in: header, schema: {enum: [a]}}
        - {name: X-List, in: header, content: {application/json: {schema: {type: array}}}}
      requestBody:
        content:
          application/json: {schema: {$ref: '#/components/schemas/Thing'}}
          application/merge-patch+json: {schema: {}}
          image/png: {schema: {type: string}}
      responses:
        "422": {description: no, content: {application/json: {schema: {properties: {code: {enum: [x, y]}}}}}}
        default: {description: other}
    delete: {responses: {}}
components: {schemas: {Thing: {type: object, properties: {name: {type: string}}}}}
"""


def test_each_part_of_a_request_and_why_it_is_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(DESCRIPTION, "utf-8")
    description = load(path, cache=tmp_path / "cache")
    put, delete = report(description)
    assert (put.operation, put.name) == ("PUT /things/{id}", "putThing")
    assert (delete.operation, delete.name) == ("DELETE /things/{id}", "DELETE /things/{id}")
    assert [(one.place, one.name, one.reason) for one in put.parts] == [
        ("path", "id", ""),
        ("path", "matrix", "style matrix"),
        ("query", "all", ""),
        ("query", "any", "any value"),
        ("query", "xml", "in a media type that is not read"),
        ("headers", "X-Token", "a credential, or about the body"),
        ("headers", "X-Kind", ""),
        ("headers", "X-List", "JSON"),
        ("body", "application/json", ""),
        ("body", "application/merge-patch+json", "no schema"),
        ("body", "image/png", "media type that is not read"),
    ]
    assert put.refusals == {"422": ("x", "y"), "default": ()}
    assert description.operations.base_paths == ["", "/api/v2"]
