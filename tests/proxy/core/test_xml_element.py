"""XML bodies: never judged by the description; broken ones are told with their place."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Orders, version: '1'}
paths:
  /orders/{id}:
    put:
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      requestBody:
        required: true
        content:
          application/xml: {schema: {$ref: '#/components/schemas/Order'}}
          application/json: {schema: {$ref: '#/components/schemas/Order'}}
components:
  schemas:
    Order:
      type: object
      required: [note]
      properties: {sku: {type: string}, qty: {type: integer, maximum: 10}, note: {type: string}}
"""
ORDER = """<?xml version="1.0"?>
<o:order xmlns:o="urn:orders">
  <o:sku>AB</o:sku>
  <qty unit="1">70</qty>
  <item><name>left</name></item>
  <item><name>right</name></item>
</o:order>"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("orders"), DESCRIPTION)


def sent(body: str) -> Request:
    return Request("PUT", "/orders/7", headers={"content-type": "application/xml; charset=utf-8"}, body=body)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (ORDER.replace("</qty>", "</qt>"), "line 4, column 21"),
        ('{"sku": "AB"}', "line 1, column 1"),
        (ORDER + "<x/>", "line 7, column 11"),
    ],
)
def test_xml_that_is_not_well_formed_is_told_with_its_place(engine: Engine, body: str, place: str) -> None:
    feedback = feedback_about(engine, sent(body), 400, {"message": "Bad Request"})
    assert isinstance(followed(feedback, sent(body)), NeedsInput)
    assert feedback is not None
    assert place in feedback["message"]
