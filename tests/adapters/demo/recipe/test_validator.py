"""The five families of rules: what is refused, with which code, where; and what is accepted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from corrigible.adapters.demo.recipe.knowledge import knowledge
from corrigible.adapters.demo.recipe.request import AnyRequest, ConvertRequest, SubstituteRequest, read
from corrigible.adapters.demo.recipe.service import diagnose
from tests._support.rows import rows

FLOUR = "Bob's Red Mill Certified Gluten Free 1-to-1 Baking Flour"
OATS = "Bob's Red Mill Certified Gluten-Free Oats"


def _convert(*ingredients: dict[str, Any], **members: Any) -> AnyRequest:
    lines = [{"amount": 1, **line} for line in ingredients]
    return read(ConvertRequest, json.dumps({"ingredients": lines, **members}).encode())


def _substitute(**members: Any) -> AnyRequest:
    return read(SubstituteRequest, json.dumps(members).encode())


def _found(request: AnyRequest) -> list[tuple[str, str]]:
    return [(complaint.code, complaint.field) for complaint in diagnose(request)]


@rows(
    ("name", "kind"),
    [
        ("coconut milk", "coconut milk"),
        ("Full-fat COCONUT  milk, canned", "coconut milk"),
        ("milk", "milk"),
        ("peanut butter", "plant butter"),
        ("cream of tartar", "cream of tartar"),
        ("nutritional yeast", "nutritional yeast"),
        ("gluten-free flour", "gluten-free flour"),
        ("butternut squash", None),
        ("eggplant", None),
        (FLOUR, "gluten-free flour"),
        (FLOUR.replace("'", "\u2019"), "gluten-free flour"),
    ],
)
def test_the_longest_name_in_whole_words_decides(name: str, kind: str | None) -> None:
    assert knowledge().kind_of(name) == kind


@pytest.mark.parametrize(
    ("members", "name", "message"),
    [
        (
            {"target_cuisine": "french"},
            "coconut milk",
            "coconut milk is not traditional in French cuisine",
        ),
        (
            {"target_cuisine": "italian"},
            "coconut milk",
            "coconut milk is not traditional in Italian cuisine",
        ),
        (
            {"target_cuisine": "italian"},
            "Vegan cheese",
            "Vegan cheese is not traditional in Italian cuisine",
        ),
        (
            {"recipe_type": "Sourdough bread"},
            "instant yeast",
            "a sourdough is not leavened with instant yeast",
        ),
        (
            {"recipe_type": "meringue"},
            "baking powder",
            "a meringue should not contain a chemical leavener like baking powder",
        ),
    ],
)
def test_an_ingredient_that_does_not_belong(members: dict[str, str], name: str, message: str) -> None:
    (complaint,) = diagnose(_convert({"name": "water"}, {"name": name}, **members))
    assert (complaint.code, complaint.message, complaint.field) == (
        "INCOMPATIBLE_INGREDIENT",
        message,
        "ingredients[1]",
    )


@rows(
    ("members", "name"),
    [
        ({"target_cuisine": "thai"}, "coconut milk"),
        ({"target_cuisine": "french"}, "whole milk"),
        ({"recipe_type": "pizza"}, "instant yeast"),
        ({"recipe_type": "sourdough"}, "wild-yeast starter"),
        ({"recipe_type": "sourdough"}, "nutritional yeast"),
        ({"recipe_type": "meringue"}, "cream of tartar"),
    ],
)
def test_an_ingredient_that_belongs(members: dict[str, str], name: str) -> None:
    assert diagnose(_convert({"name": name}, **members)) == []


def test_celiac_safety_is_checked_in_stages() -> None:
    oats, flour = {"name": "rolled oats"}, {"name": "gluten-free flour"}
    celiac = {"dietary_requirements": ["celiac_safe"]}
    assert _found(_convert(oats, flour, **celiac)) == [("UNSAFE_FOR_CELIAC", "ingredients[1]")]
    flour = {**flour, "brand": FLOUR}
    assert _found(_convert(oats, flour, **celiac)) == [("UNSAFE_FOR_CELIAC", "ingredients[0]")]
    assert _found(_convert({**oats, "brand": OATS}, flour, **celiac)) == []


@rows(
    ("line", "safe"),
    [
        ({"name": "gluten-free flour", "brand": "Some Brand"}, False),
        ({"name": "gluten-free flour", "brand": OATS}, False),
        ({"name": FLOUR, "brand": "Some Brand"}, False),
        ({"name": FLOUR}, True),
        ({"name": "gluten-free flour", "brand": FLOUR.replace("'", "\u2019").upper()}, True),
        ({"name": "almond flour"}, True),
    ],
)
def test_only_a_certified_product_is_safe(line: dict[str, str], safe: bool) -> None:
    found = _found(_convert(line, dietary_requirements=["celiac_safe"]))
    assert found == ([] if safe else [("UNSAFE_FOR_CELIAC", "ingredients[0]")])


def test_gluten_free_alone_needs_no_certificate() -> None:
    assert _found(_convert({"name": "gluten-free flour"}, dietary_requirements=["gluten_free"])) == []


@rows(
    ("line", "vague"),
    [
        ({"amount": "a handful"}, True),
        ({"amount": 1, "unit": "handful"}, True),
        ({"amount": 2, "unit": "Pinches of"}, True),
        ({"amount": "to taste"}, True),
        ({"amount": 1, "name": "a handful of flour"}, True),
        ({"amount": "1 1/2", "unit": "cups"}, False),
        ({"amount": 2, "unit": "handfuls-free"}, False),
        ({"amount": 1, "name": "cream of tartar"}, False),
    ],
)
def test_a_measurement_has_to_measure(line: dict[str, Any], vague: bool) -> None:
    found = _found(_convert({"name": "flour", **line}))
    assert found == ([("VAGUE_MEASUREMENT", "ingredients[0]")] if vague else [])


@rows(
    ("scaled_amount", "accepted"),
    [(3.25, True), ("3.25", True), ("3 1/4", True), ("13/4", True), (3, False), (3.250001, False), (None, False)],
)
def test_a_scaled_amount_is_the_exact_product(scaled_amount: Any, accepted: bool) -> None:
    line = {"name": "flour", "amount": 2, "scaled_amount": scaled_amount}
    found = _found(_convert(line, original_servings=4, target_servings=6.5))
    assert found == ([] if accepted else [("SCALING_PRECISION_REQUIRED", "ingredients[0]")])


@pytest.mark.parametrize(
    ("scaled_amount", "accepted"), [(1.583333333, True), ("19/12", True), (1.583, False), (1.5833333333333333, False)]
)
def test_a_product_that_goes_on_is_written_to_nine_places(scaled_amount: Any, accepted: bool) -> None:
    line = {"name": "water", "amount": 1, "scaled_amount": scaled_amount}
    assert (_found(_convert(line, original_servings=12, target_servings=19)) == []) is accepted


def test_nothing_to_scale_needs_no_scaled_amount() -> None:
    line = {"name": "flour", "amount": 2}
    assert _found(_convert(line, original_servings=4, target_servings=4.0)) == []
    assert _found(_convert(line, original_servings=4)) == []


def test_a_vague_amount_is_reported_once_even_where_it_is_to_be_scaled() -> None:
    lines: list[dict[str, Any]] = [{"name": "flour", "amount": "some"}, {"name": "salt", "amount": 1, "unit": "pinch"}]
    found = _found(_convert(*lines, original_servings=4, target_servings=6))
    assert found == [("VAGUE_MEASUREMENT", "ingredients[0]"), ("VAGUE_MEASUREMENT", "ingredients[1]")]


def test_an_excluded_ingredient_needs_an_alternative() -> None:
    vegan = {"dietary_requirements": ["vegan"]}
    butter = {"name": "butter"}
    (complaint,) = diagnose(_convert(butter, **vegan))
    assert complaint.code == "MISSING_ALTERNATIVE"
    assert complaint.message == "butter does not fit the dietary requirement vegan and no alternative was given"
    assert _found(_convert({**butter, "alternative": {"name": "olive oil"}}, **vegan)) == []
    worse = {**butter, "alternative": {"name": "heavy cream"}}
    assert _found(_convert(worse, **vegan)) == [("MISSING_ALTERNATIVE", "ingredients[0].alternative")]


def test_an_alternative_is_judged_like_any_ingredient() -> None:
    line = {"name": "heavy cream", "alternative": {"name": "coconut milk"}}
    found = _found(_convert(line, target_cuisine="french", dietary_requirements=["dairy_free"]))
    assert found == [("INCOMPATIBLE_INGREDIENT", "ingredients[0].alternative")]


def test_a_substitution_needs_a_substitute_that_belongs() -> None:
    milk = {"name": "milk", "amount": 1}
    french = {"target_cuisine": "french"}
    assert _found(_substitute(ingredient=milk, **french)) == [("MISSING_ALTERNATIVE", "ingredient")]
    assert _found(_substitute(ingredient=milk, substitute={"name": "coconut milk"}, **french)) == [
        ("INCOMPATIBLE_INGREDIENT", "substitute")
    ]
    assert _found(_substitute(ingredient=milk, substitute={"name": "cream"}, **french)) == []
    vague = {"name": "cream", "amount": "a splash"}
    assert _found(_substitute(ingredient=milk, substitute=vague)) == [("VAGUE_MEASUREMENT", "substitute")]


def test_root_causes_come_first() -> None:
    found = _found(
        _convert(
            {"name": "flour", "amount": 2, "scaled_amount": 3},
            {"name": "parsley", "amount": "a handful"},
            {"name": "gluten-free flour", "amount": 1, "scaled_amount": "1 5/8"},
            {"name": "coconut milk", "amount": 1, "scaled_amount": 1.625},
            target_cuisine="french",
            dietary_requirements=["celiac_safe"],
            original_servings=4,
            target_servings=6.5,
        )
    )
    assert found == [
        ("MISSING_ALTERNATIVE", "ingredients[0]"),
        ("INCOMPATIBLE_INGREDIENT", "ingredients[3]"),
        ("UNSAFE_FOR_CELIAC", "ingredients[2]"),
        ("VAGUE_MEASUREMENT", "ingredients[1]"),
        ("SCALING_PRECISION_REQUIRED", "ingredients[0]"),
    ]
