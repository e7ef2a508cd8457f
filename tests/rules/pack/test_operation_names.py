"""The operation that a request names itself."""

from __future__ import annotations

from typing import Any

from corrigible.rules.language.pack_model import OperationText
from corrigible.rules.pack.cases import OperationNames, compile_operation
from corrigible.schema.exchange import Request
from tests._support.rows import rows


def names(*sources: dict[str, str], **table: str) -> OperationNames:
    return compile_operation([OperationText.model_validate(one) for one in sources], table)


HEADER = {"header": "X-Amz-Target", "after": "."}
BODY = {"body": "/Action"}
QUERY = {"query": "Action"}


@rows(
    ("request_parts", "operation"),
    [
        ({"headers": {"x-amz-target": "DynamoDB_20120810.PutItem"}}, "PutItem"),
        ({"body": {"Action": "CreateUser"}}, "MakeUser"),
        ({"query": {"Action": "ListUsers"}}, "ListUsers"),
        ({"headers": {"x-amz-target": "A.One"}, "body": {"Action": "Two"}}, "One"),
        ({"body": {"Action": ["Two"]}}, ""),
        ({"body": {"Action": "two words"}}, ""),
        ({"body": {"Action": "x" * 200}}, ""),
        ({"body": "text"}, ""),
        ({}, ""),
    ],
)
def test_the_first_source_that_gives_a_name(request_parts: dict[str, Any], operation: str) -> None:
    read = names(HEADER, BODY, QUERY, CreateUser="MakeUser")
    assert read.of(Request("POST", "/", **request_parts)) == operation


def test_of_a_head_only_what_comes_before_the_body_is_known() -> None:
    head = Request("POST", "/", query={"Action": "Get"})
    assert names(QUERY, BODY).of_head(head) == "Get"
    assert names(BODY, QUERY).of_head(head) is None
    assert names(HEADER).of_head(head) == ""
