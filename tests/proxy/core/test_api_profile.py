"""Which operation a request belongs to, and what is told of how an answer was read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.api_profile import Explanation, MatchedOperation, match_operation, match_with
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request
from tests._support.rows import rows

WritePack = Callable[..., Path]
MANIFEST = "operation: [{header: x-target, after: '.'}]\noperations: {'GET /orders/{id}': readOrder}\n"


@rows(
    ("request_", "operation"),
    [
        (Request("GET", "/orders/7"), "readOrder"),
        (Request("GET", "/orders/7", headers={"x-target": "Shop.Cancel"}), "Cancel"),
        (Request("GET", "/orders/7", headers={"x-target": "two words"}), "readOrder"),
        (Request("GET", "/x", headers={"x-target": "Shop.Cancel"}), "Cancel"),
        (Request("GET", "/x"), ""),
        (Request("/shop.Orders/Read", ""), "shop.Orders/Read"),
    ],
)
def test_a_request_names_its_operation_else_its_path_does(
    write_pack: WritePack, request_: Request, operation: str
) -> None:
    (profile,) = load_profiles([write_pack(manifest=MANIFEST)])
    assert match_with(profile, request_).operation == operation


def test_the_first_profile_that_knows_an_operation_has_it(write_pack: WritePack) -> None:
    profiles = [*load_profiles(["http"]), *load_profiles([write_pack(manifest=MANIFEST)])]
    assert match_operation(profiles, Request("GET", "/orders/7")) == match_with(
        profiles[1], Request("GET", "/orders/7")
    )
    assert match_operation(profiles, Request("GET", "/x")) == MatchedOperation(profiles[0], "", {})
    assert match_operation([], Request("GET", "/x")) is None


def test_four_parts_of_an_error_are_told_also_where_they_are_empty(write_pack: WritePack) -> None:
    (profile,) = load_profiles([write_pack()])
    explanation = Explanation()
    match = MatchedOperation(profile, "", {})
    explanation.read(match, {"error": "x" * 500}, [Violation(type="card", native={"hint": "h"})], is_json=False)
    assert explanation.reading == [
        "operation: unknown (pack apex)",
        'answer, as it is read: {"error":"' + "x" * 490 + "...",
        "errors[0], as rules see it under `error`:",
        '  hint: "h"',
        '  code: ""',
        '  message: ""',
        '  pointer: ""',
        '  type: "card"',
        '  param: ""',
    ]
    explanation.read(match._replace(operation="readOrder"), {}, [], is_json=True)
    assert explanation.reading[-2:] == [
        "operation: readOrder (pack apex)",
        "errors: none were found in the answer",
    ]
