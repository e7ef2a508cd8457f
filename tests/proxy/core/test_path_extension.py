"""APIs whose paths end with the form of the answer: `/orders/{id}.json`, `/orders.{format}`."""

from __future__ import annotations

import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from tests._support.farm import asked, feedback_of, post
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Shop, version: "1"}
paths:
  /admin/orders.json:
    get: {responses: &any {default: {description: any}}}
    post: {requestBody: &json {content: {application/json: {schema: {type: object}}}}, responses: *any}
  /admin/orders/{order_id}.json:
    parameters: [{name: order_id, in: path, required: true, schema: {type: string}}]
    get: {responses: *any}
    delete: {responses: *any}
  /boards.{format}:
    parameters: [&format {name: format, in: path, required: true, schema: {type: string, enum: [json, xml]}}]
    get: {responses: *any}
    post: {requestBody: *json, responses: *any}
  /feed:
    get: {parameters: [{name: output, in: query, schema: {type: string, enum: [rss, atom]}}], responses: *any}
  /boards/{board_id}/columns.{format}:
    parameters: [{name: board_id, in: path, required: true, schema: {type: string}}, *format]
    post: {requestBody: *json, responses: *any}
"""
ORDERS = {"orders": [{"id": 7, "name": "#1007"}, {"id": 8, "name": "#1008"}]}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    file = tmp_path_factory.mktemp("spec") / "shop.yaml"
    file.write_text(DESCRIPTION, "utf-8")
    return build_engine([], file)


@rows(
    ("request_", "status", "path"),
    [
        (Request("GET", "/admin/order.json"), 404, "/admin/orders.json"),
        (Request("GET", "/admin/orders/7"), 404, "/admin/orders/7.json"),
        (Request("GET", "/board.xml"), 404, "/boards.xml"),
        (Request("GET", "/boards"), 404, "/boards.json"),
        (post("/boards/b-1/column.json", {}), 404, "/boards/b-1/columns.json"),
        (post("/boards/b-1/columns", {}), 400, "/boards/b-1/columns.json"),
    ],
)
def test_a_path_without_its_extension_or_in_the_singular(
    engine: Engine, request_: Request, status: int, path: str
) -> None:
    feedback, _ = feedback_of(engine, request_, status, "" if status != 404 else "Not Found")
    assert feedback["suggestions"][0]["patch"][-1] == {"op": "replace", "path": "/path", "value": path}


@pytest.mark.parametrize(("path", "message"), [("/board.json", ""), ("/admin", "")])
def test_another_path_is_not_offered_where_something_else_was_wrong(engine: Engine, path: str, message: str) -> None:
    assert feedback_of(engine, post(path, {"name": "b"}), 422, message)[0] == {}


def test_a_form_of_the_answer_that_there_is_not(engine: Engine) -> None:
    feedback, _ = feedback_of(engine, Request("GET", "/boards.yaml"), 406, "Not Acceptable")
    assert asked(feedback) == [("/path", {"enum": ["/boards.json", "/boards.xml"]})]
    feedback, _ = feedback_of(engine, Request("GET", "/feed", {"output": "html"}), 406, "Not Acceptable")
    assert asked(feedback) == [("/query/output", {"type": "string", "enum": ["rss", "atom"]})]
    assert feedback_of(engine, Request("GET", "/boards.json"), 406, "Not Acceptable")[0] == {}
