"""The recipe pack: its cases are what the service really says, and every fix in its tables satisfies the validator."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import pytest

from corrigible.adapters.demo.recipe.adapter import PATHS
from corrigible.adapters.demo.recipe.knowledge import knowledge
from corrigible.adapters.demo.recipe.service import answer, encoded
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.pack.cases import Case, load_cases
from corrigible.rules.pack.load import rule_files
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from tests._support.built_in_packs import pack_of
from tests._support.repaired import agrees
from tests._support.rows import rows

PACK = pack_of("recipe")
TABLES: Mapping[str, Any] = PACK.tables
KNOWN = knowledge()
ENGINE = build_engine(["recipe"])
CASES = [case for file in rule_files(PACK.path) for case in load_cases(file)]
DIETS = [[], *([diet] for diet in sorted(KNOWN.diets)), ["celiac_safe", "dairy_free"], sorted(KNOWN.diets)]
DISHES: list[dict[str, str]] = [
    {},
    {"target_cuisine": "french"},
    {"target_cuisine": "italian"},
    {"recipe_type": "sourdough bread"},
    {"recipe_type": "meringue", "target_cuisine": "french"},
]
DEAD_ENDS = {"vital wheat gluten", "wheat gluten", "seitan"}


def _ask(path: str, body: Json) -> tuple[int, Json]:
    said = answer("POST", path, {}, json.dumps(body).encode())
    return said.status, orjson.loads(encoded(said))


def _feedback(request: Request, status: int, said: Json) -> dict[str, Json]:
    exchange = Exchange(request, status, {"content-type": "application/json"}, orjson.dumps(said), id="x")
    decision = run_with_lookups_sync(ENGINE.decide(exchange), lambda path: pytest.fail(f"look-up {path}"))
    assert isinstance(decision, Annotate), (request.body, said, decision)
    return dict(decision.feedback)


def _recover(path: str, body: Json) -> tuple[Json, Terminal | NeedsInput | None]:
    """Return the last body, and how it ended: None means accepted."""
    request = Request("POST", path, body=body)
    for _ in range(5):
        status, said = _ask(path, request.body)
        if said["success"]:
            return request.body, None
        feedback = _feedback(request, status, said)
        for suggestion in feedback["suggestions"]:
            problems = PACK.vocabulary.actions[suggestion["action"]].problems(suggestion["parameters"])
            assert problems == []
        following = apply(feedback, request, confirm=agrees)
        if not isinstance(following, Next):
            return request.body, following
        request = following.request
    raise AssertionError(f"still refused: {request.body}")


def test_it_registers_the_actions_of_the_paper() -> None:
    assert set(PACK.text.actions) | {"MODIFY_PARAMS"} == {
        "ADD_INGREDIENT",
        "CLARIFY_MEASUREMENT",
        "REPLACE_INCOMPATIBLE_INGREDIENT",
        "MODIFY_PARAMS",
        "USE_SPECIFIC_BRAND",
        "FIX_SCALING_PRECISION",
    }
    assert {action.base_action for action in PACK.text.actions.values()} == {"MODIFY_PARAMS"}


@rows("case", CASES, ids=lambda case: f"{case.rule}: {case.text.name}")
def test_a_case_holds_what_the_service_says(case: Case) -> None:
    asked = case.text.request
    assert _ask(asked.path, asked.body) == (case.text.response.status, case.text.response.body)


def _names() -> Iterator[str]:
    for kind in KNOWN.kinds.values():
        yield from kind.names


@pytest.mark.parametrize("dish", DISHES, ids=str)
def test_every_refused_ingredient_has_a_fix_that_is_accepted(dish: dict[str, str]) -> None:
    """Every ingredient the validator knows, in every dish, under every combination of dietary requirements."""
    refused = 0
    for name, diets in itertools.product(sorted(_names()), DIETS):
        line = {"name": f"organic {name.title()}, 1st choice", "amount": 1}
        body = {**dish, "dietary_requirements": diets, "ingredients": [{"name": "water", "amount": 1}, line]}
        last, ended = _recover(PATHS["convertRecipe"], body)
        refused += last != body or ended is not None
        if ended is not None:
            assert name in DEAD_ENDS
            assert isinstance(ended, Terminal) and ended.action == "NO_RECOVERY_AVAILABLE"
        assert {key: value for key, value in last.items() if key != "ingredients"} == {
            key: value for key, value in body.items() if key != "ingredients"
        }
        assert last["ingredients"][0] == {"name": "water", "amount": 1}
    assert refused > 150


@pytest.mark.parametrize("dish", DISHES, ids=str)
def test_every_substitution_has_a_substitute_that_is_accepted(dish: dict[str, str]) -> None:
    excluded = [name for name in sorted(_names()) if KNOWN.conflict(name, ["vegan", "celiac_safe"])]
    assert len(excluded) > 30
    for name in excluded:
        for given in ({}, {"substitute": {"name": name, "brand": "Own", "amount": 2}}):
            body = {**dish, "dietary_requirements": ["vegan", "celiac_safe"], "ingredient": {"name": name, "amount": 1}}
            last, ended = _recover(PATHS["substituteIngredient"], {**body, **given})
            assert (ended is not None) is (name in DEAD_ENDS)
            assert last["ingredient"] == {"name": name, "amount": 1}


def test_every_brand_is_one_the_validator_accepts() -> None:
    products = {stage.kind: stage.products for stage in KNOWN.certification}
    for row in TABLES["brands"]["brands"]:
        assert {KNOWN.kind_of(name) for name in row["names"]} <= set(products)
        assert {row["product"] in products[str(KNOWN.kind_of(name))] for name in row["names"]} == {True}
    assert {KNOWN.kind_of(name) for row in TABLES["brands"]["brands"] for name in row["names"]} == set(products)


@rows("row", [*TABLES["replacements"]["replacements"], *TABLES["alternatives"]["alternatives"]], ids=str)
def test_every_entry_suits_what_it_says(row: dict[str, Any]) -> None:
    cuisines = [row["cuisine"]] if "cuisine" in row else sorted(KNOWN.cuisines) if "dish" not in row else [None]
    for use in row["use"]:
        assert KNOWN.conflict(use["name"], use["suits"]) is None
        for cuisine in cuisines:
            assert KNOWN.incompatibility(use["name"], cuisine=cuisine, recipe_type=row.get("dish")) is None
    assert bool(row["use"]) is ("reason" not in row)
    assert not row["use"] or any(set(use["suits"]) == set(KNOWN.diets) for use in row["use"])


def test_choices_and_measurements_are_those_of_the_validator() -> None:
    assert set(TABLES["choices"]["target_cuisine"]) == KNOWN.cuisines
    assert set(TABLES["choices"]["dietary_requirements"]) == set(KNOWN.diets)
    rows = TABLES["measurements"]["measurements"]
    assert {row["forms"][0] for row in rows} | set(TABLES["measurements"]["ask"]) == KNOWN.vague_units
    assert all(KNOWN.is_vague_unit(form) for row in rows for form in row["forms"])
    assert not any(KNOWN.is_vague_unit(size["unit"]) for row in rows for size in (row, *row["of"]))


@rows("row", TABLES["measurements"]["measurements"], ids=lambda row: str(row["forms"][0]))
def test_every_vague_measurement_becomes_one_that_is_accepted(row: dict[str, Any]) -> None:
    unit = row["forms"][0]
    lines = [
        {"name": "flour", "amount": f"a {unit}"},
        {"name": "walnuts", "amount": 3, "unit": row["forms"][1]},
        {"name": f"{unit} of sugar", "amount": 1},
    ]
    last, ended = _recover(PATHS["convertRecipe"], {"ingredients": lines})
    assert ended is None
    size = row["of"][0] if row["of"] else row
    assert last["ingredients"] == [
        {"name": "flour", "amount": row["amount"], "unit": row["unit"]},
        {"name": "walnuts", "amount": 3 * size["amount"], "unit": size["unit"]},
        {"name": "sugar", "amount": row["amount"], "unit": row["unit"]},
    ]


def test_what_only_the_caller_knows_is_asked() -> None:
    for amount in ("some", "2 or 3", "a good handful", "½ cup"):
        _, ended = _recover(PATHS["convertRecipe"], {"ingredients": [{"name": "salt", "amount": amount}]})
        assert isinstance(ended, NeedsInput)
        assert [placeholder.pointer for placeholder in ended.placeholders] == [
            "/body/ingredients/0/amount",
            "/body/ingredients/0/unit",
        ]


def test_every_scaled_amount_the_pack_works_out_is_accepted() -> None:
    dice = random.Random(20261121)
    for _ in range(300):
        original, target = dice.randint(1, 24), dice.randint(1, 60) / dice.choice((1, 2, 4))
        if original == target:
            continue
        whole, part = dice.randint(1, 9), dice.randint(2, 9)
        amounts = [
            dice.randint(1, 5000),
            dice.randint(1, 9999) / 10 ** dice.randint(1, 4),
            f"{dice.randint(1, 99) / 10}",
            f"{whole}/{part}",
            f"{whole} 1/{part}",
        ]
        lines = [{"name": f"ingredient {number}", "amount": amount} for number, amount in enumerate(amounts)]
        body = {"original_servings": original, "target_servings": target, "ingredients": lines}
        last, ended = _recover(PATHS["convertRecipe"], body)
        assert ended is None
        assert [(line["name"], line["amount"]) for line in last["ingredients"]] == [
            (line["name"], line["amount"]) for line in lines
        ]
