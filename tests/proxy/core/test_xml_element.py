"""XML bodies: never judged by the description; broken ones and elements that are named are told with their place."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from corrigible.proxy.core.api_profile import RefusalCase
from corrigible.proxy.core.body_form import repair_element
from corrigible.proxy.core.engine import Engine
from corrigible.rules.budget import Budget, Exhausted, within
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Request
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
    ("answer", "headers", "words"),
    [
        ({"errors": {"Qty": ["The field Qty must be between 1 and 10."]}}, {}, "order/qty, at line 4"),
        ({"message": "Value '70' is not valid."}, {}, "order/qty, at line 4"),
        ({"message": "cvc-datatype-valid: the value of element 'o:sku' is not valid."}, {}, "order/sku, at line 3"),
    ],
)
def test_a_complaint_about_an_element_has_its_place(
    engine: Engine, answer: Any, headers: dict[str, str], words: str
) -> None:
    feedback = feedback_about(engine, sent(ORDER), 400, answer, headers)
    assert isinstance(outcome := followed(feedback, sent(ORDER), confirm=True), NeedsInput)
    assert [one.pointer for one in outcome.placeholders] == ["/body"]
    assert feedback is not None
    assert words in feedback["suggestions"][0]["message"]


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


def test_elements_that_are_looked_at_are_counted() -> None:
    request = sent(f"<order>{'<item>a</item>' * 1900}</order>")
    exchange = Exchange(request, 400, {}, b"")
    unread: Any = None
    case = RefusalCase(exchange, unread, None, None, ())

    def computing() -> Generator[object, None, None]:
        yield repair_element(case, Violation(message="Bad: 'item' 'items'"))

    with pytest.raises(Exhausted):
        next(within(Budget(800), computing()))
