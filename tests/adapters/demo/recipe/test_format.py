"""The dialect of the recipe API, and where its fields point."""

from __future__ import annotations

from corrigible.adapters.demo.recipe.adapter import ADAPTER, RECIPE, pointer
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request
from tests._support.rows import rows

EXCHANGE = Exchange(Request("POST", "/api/recipe/convert"), 200, {}, b"")


@rows(
    ("field", "place"),
    [
        ("ingredients[2]", "/body/ingredients/2"),
        ("ingredients[12].alternative", "/body/ingredients/12/alternative"),
        ("target_cuisine", "/body/target_cuisine"),
        ("dietary_requirements[0]", "/body/dietary_requirements/0"),
        ("query.validation", "/query/validation"),
        ("path", "/path"),
        ("method", "/method"),
        ("", "/body"),
        ("a/b~c", "/body/a~1b~0c"),
    ],
)
def test_a_field_becomes_a_pointer(field: str, place: str) -> None:
    assert pointer(field) == place


def test_every_error_becomes_a_violation() -> None:
    first = {"code": "VAGUE_MEASUREMENT", "message": "m", "field": "ingredients[1]", "more": 1}
    body = {"success": False, "validation_errors": [first, {"code": "OTHER"}]}
    assert RECIPE.read(EXCHANGE, body) == (
        Violation("VAGUE_MEASUREMENT", "m", "/body/ingredients/1", param="ingredients[1]", native=first),
        Violation("OTHER", native={"code": "OTHER"}),
    )


@rows(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"success": True, "data": {}},
        {"success": True, "validation_errors": [{"code": "X"}]},
        {"success": 0, "validation_errors": [{"code": "X"}]},
        {"success": False},
        {"success": False, "validation_errors": "none"},
        {"success": False, "validation_errors": ["text", {"code": 7}, None]},
        {"success": False, "validation_errors": []},
    ],
)
def test_what_is_no_refusal_of_this_api_is_left_alone(body: Json) -> None:
    assert tuple(RECIPE.read(EXCHANGE, body)) == ()


def test_the_adapter_says_where_successes_may_be_refusals() -> None:
    assert ADAPTER.refuses_with_success == {"convertRecipe", "substituteIngredient"}
    assert ADAPTER.native_mode is True
    assert ADAPTER.operations.find("POST", "/api/recipe/convert") == ("convertRecipe", {})
