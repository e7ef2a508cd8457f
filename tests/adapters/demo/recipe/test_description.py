"""openapi.yaml is valid, and describes the service that is there."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from corrigible.adapters.demo.recipe.adapter import OPERATIONS, PATHS
from corrigible.adapters.demo.recipe.knowledge import knowledge
from corrigible.adapters.demo.recipe.request import (
    MALFORMED,
    ConvertRequest,
    Ingredient,
    Line,
    Replacement,
    SubstituteRequest,
)
from corrigible.adapters.demo.recipe.service import (
    INCOMPATIBLE_INGREDIENT,
    MISSING_ALTERNATIVE,
    SCALING_PRECISION_REQUIRED,
    UNSAFE_FOR_CELIAC,
    VAGUE_MEASUREMENT,
    answer,
)
from corrigible.adapters.demo.recipe.tasks import Task, tasks
from tests._support.rows import rows


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    text = files("corrigible.adapters.demo.recipe").joinpath("openapi.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def _schema(description: dict[str, Any], name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": description["components"]})


def test_it_is_a_valid_description(description: dict[str, Any]) -> None:
    validate(description)
    assert description["openapi"] == "3.1.0"


def test_it_has_the_operations_of_the_adapter(description: dict[str, Any]) -> None:
    described = {
        f"{method.upper()} {path}": operation["operationId"]
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }
    assert described == dict(OPERATIONS.templates)
    assert PATHS == {
        "convertRecipe": "/api/recipe/convert",
        "substituteIngredient": "/api/recipe/substitute",
    }


@pytest.mark.parametrize("model", [ConvertRequest, SubstituteRequest, Ingredient, Line, Replacement])
def test_it_has_the_members_of_the_models(description: dict[str, Any], model: Any) -> None:
    schema = description["components"]["schemas"][model.__name__]
    assert set(schema["properties"]) == set(model.model_fields)
    assert set(schema["required"]) == {n for n, field in model.model_fields.items() if field.is_required()}
    assert schema["additionalProperties"] is False


def test_it_lists_the_choices_and_the_codes(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    assert set(schemas["Cuisine"]["enum"]) == knowledge().cuisines
    assert set(schemas["DietaryRequirement"]["enum"]) == set(knowledge().diets)
    assert set(schemas["ValidationError"]["properties"]["code"]["enum"]) == {
        INCOMPATIBLE_INGREDIENT,
        UNSAFE_FOR_CELIAC,
        SCALING_PRECISION_REQUIRED,
        VAGUE_MEASUREMENT,
        MISSING_ALTERNATIVE,
        MALFORMED,
        "REQUEST_TOO_LARGE",
    }


@rows("task", tasks(), ids=lambda task: task.id)
def test_requests_and_answers_fit_it(description: dict[str, Any], task: Task) -> None:
    name = "ConvertRequest" if task.operation == "convertRecipe" else "SubstituteRequest"
    _schema(description, name).validate(task.request)
    refused = answer("POST", task.path, {}, json.dumps(task.request).encode())
    _schema(description, "Refused").validate(refused.body)
    assert not _schema(description, "Accepted").is_valid(refused.body)


def test_it_refuses_what_the_service_refuses(description: dict[str, Any]) -> None:
    wrong = [
        {"ingredients": []},
        {"ingredients": [{"name": "salt"}]},
        {"ingredients": [{"name": "salt", "amount": 0}]},
        {"ingredients": [{"name": "salt", "amount": 1}], "target_servings": 2},
        {"ingredients": [{"name": "salt", "amount": 1}], "target_cuisine": "frnch"},
        {"ingredients": [{"name": "salt", "amount": 1, "nam": "x"}]},
    ]
    assert [_schema(description, "ConvertRequest").is_valid(body) for body in wrong] == [False] * len(wrong)
