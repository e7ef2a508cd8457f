"""Where a request breaks the description of its API, as a judge is told."""

from __future__ import annotations

from collections.abc import Callable

from corrigible.conformance.model.yaml_file import path_pattern
from corrigible.conformance.reference import api
from corrigible.conformance.validators.openapi import Description
from corrigible.schema import Request
from tests._support.rows import rows

from .good_feedback import BODY


def description_cases() -> list[tuple[str, Request, set[tuple[str, str]]]]:
    fine = {**BODY, "currency": "eur", "note": "short"}
    make: Callable[..., Request] = lambda **more: Request("POST", "/v1/orders", body={**fine, **more})  # noqa: E731
    return [
        ("what is right", make(), set()),
        ("an enum", make(currency="chf"), {("/body/currency", "enum")}),
        (
            "a missing member",
            Request("POST", "/v1/orders", body={k: fine[k] for k in fine if k != "customer"}),
            {("/body/customer", "required")},
        ),
        (
            "an unknown one in an element",
            make(lines=[{"sku": "a", "quantity": 1, "x": 1}]),
            {("/body/lines/0/x", "additionalProperties")},
        ),
        ("a format", make(deliver_on="1.2.2026"), {("/body/deliver_on", "format")}),
        ("a query as text", Request("GET", "/v1/orders", {"limit": "10"}), set()),
        (
            "a query over its limit",
            Request("GET", "/problem/v1/orders", {"limit": "101"}),
            {("/query/limit", "maximum")},
        ),
        ("a query that is no number", Request("GET", "/v1/orders", {"limit": "ten"}), {("/query/limit", "type")}),
        ("a header", Request("GET", "/v1/orders", headers={"shop-region": "asia"}), {("/headers/shop-region", "enum")}),
        ("no body", Request("POST", "/v1/refunds"), {("/body", "required")}),
    ]


@rows(("name", "request_", "expected"), description_cases(), ids=lambda one: one if isinstance(one, str) else "")
def test_the_description_says_where_a_request_breaks_it(
    name: str, request_: Request, expected: set[tuple[str, str]]
) -> None:
    breaches = api.DESCRIPTION.breaches_of(request_)
    assert breaches is not None
    assert {(breach.pointer, breach.keyword) for breach in breaches} == expected


def test_what_the_description_does_not_list_it_does_not_judge() -> None:
    assert api.DESCRIPTION.breaches_of(Request("GET", "/v2/orders")) is None
    assert api.DESCRIPTION.methods("/v1/orders") == ["GET", "POST"]
    assert Description({"paths": {}}).route("GET", "/") is None


@rows(
    ("template", "path", "groups"),
    [
        ("/a/{b}", "/a/1", ("1",)),
        ("/a/{b}/c", "/a/1/d", None),
        ("/a.b/{c}", "/axb/1", None),
        ("/{a}:{b}", "/1:2", ("1", "2")),
        ("/a/{b", "/a/{b", ()),
        ("/ä/{ö}", "/ä/ü", ("ü",)),
        # Backtracking would try each way to divide the segment among the braces.
        ("/" + "{a}" * 12 + "!", "/" + "x" * 20_000, None),
        ("/" + "{a}-" * 12 + "!", "/" + "x-" * 10_000, None),
        ("{" * 5000, "/a", None),
    ],
)
def test_templates_are_matched_in_linear_time(template: str, path: str, groups: tuple[str, ...] | None) -> None:
    match = path_pattern(template).fullmatch(path)
    assert (match.groups() if match else None) == groups
