"""A base path that only the words of a description name."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests._support.by_description import engine_of
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Invoices, version: '1'}
paths:
  /invoices:
    get: {}
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Invoice'}}}}}
  /invoices/{number}:
    parameters: [{name: number, in: path, required: true, schema: {type: integer}}]
    get: {}
  /{anything}:
    parameters: [{name: anything, in: path, required: true, schema: {type: string}}]
    post: {}
components:
  schemas:
    Invoice:
      type: object
      additionalProperties: false
      required: [customer]
      properties: {customer: {type: string}, total: {type: integer}}
"""


@rows(
    ("text", "base"),
    [
        ("HTTP API that gives you full access. All API routes are prefixed with `/v1/`.", "/v1"),
        ("All paths are relative to /rest/api/2.0.", "/rest/api/2.0"),
        ("All requests start with '/api'", "/api"),
        ("All of our endpoints begin with /gateway/v2, over TLS.", "/gateway/v2"),
        ("Admin routes are prefixed with /admin.", ""),
        ("All routes but those of health are prefixed with /v1.", ""),
        ("All requests need a key. Search has the prefix /search.", ""),
        ("All routes are prefixed with /invoices.", ""),
        ("See /v1/docs", ""),
    ],
)
def test_a_description_may_tell_it_in_words(tmp_path: Path, text: str, base: str) -> None:
    document = yaml.safe_load(DESCRIPTION)
    document["info"]["description"] = text
    engine = engine_of(tmp_path, yaml.safe_dump(document))
    assert engine.profiles[0].description is not None
    assert engine.profiles[0].description.operations.base_paths == sorted({"", base})
