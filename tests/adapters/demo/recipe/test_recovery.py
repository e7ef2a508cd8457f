"""The recipe API with feedback, task by task: a reader without a model recovers, and the baselines leak nothing."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import httpx
import pytest
import yaml

from corrigible.adapters.demo.recipe.tasks import Task, task, tasks
from corrigible.adapters.sandbox.server import Running
from corrigible.proxy.demo.recipe_service import app
from corrigible.schema import NeedsInput, Next, Terminal, apply, find
from corrigible.schema.exchange import Json, Request
from tests._support.repaired import agrees
from tests._support.rows import rows

ATTEMPTS = 5
MODES = ("traditional", "traditional_verbose", "reflective")
EVERY_TASK = rows("task", tasks(), ids=lambda task: task.id)
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w]|\.\d)")


def _post(path: str, body: Json, *, mode: str | None = None, **headers: str) -> httpx.Response:
    async def post() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client:
            return await client.post(path, json=body, params={"mode": mode} if mode else None, headers=headers)

    return asyncio.run(post())


def _rounds(task: Task) -> Iterator[tuple[Json, Json]]:
    """Yield (body sent, answer) until the API accepts or says that there is no way out."""
    request = Request("POST", task.path, body=task.request)
    for _ in range(ATTEMPTS):
        answer = _post(task.path, request.body, mode="reflective").json()
        yield request.body, answer
        if answer["success"]:
            return
        following = apply(find(answer) or {}, request, confirm=agrees)
        if isinstance(following, Terminal):
            return
        assert isinstance(following, Next), following
        request = following.request


@EVERY_TASK
def test_a_reader_without_a_model_recovers(task: Task) -> None:
    *_, (body, answer) = _rounds(task)
    if task.ends == "accepted":
        assert answer["success"] is True
        goals = task.request.keys() - {"ingredients", "substitute"}
        assert {name: body[name] for name in goals} == {name: task.request[name] for name in goals}
        assert len(body.get("ingredients", ())) == len(task.request.get("ingredients", ()))
    else:
        request = Request("POST", task.path, body=body)
        following = apply(answer["recovery_feedback"], request, confirm=agrees)
        assert isinstance(following, Terminal)
        assert following.action == "NO_RECOVERY_AVAILABLE"
        assert following.parameters["reason_code"] == "ONLY_MADE_OF_GLUTEN"


@pytest.mark.parametrize(
    ("id", "sent", "ingredients"),
    [
        (
            "adv_ctx_003",
            2,
            [
                {"name": "lasagne sheets", "amount": 12},
                {"name": "tomato sauce", "amount": 3, "unit": "cups"},
                {"name": "nutritional yeast", "amount": 1.5, "unit": "cups"},
                {"name": "basil leaves", "amount": 10},
            ],
        ),
        (
            "adv_cascade_001",
            3,
            [
                {
                    "name": "gluten-free flour",
                    "brand": "Bob's Red Mill Certified Gluten Free 1-to-1 Baking Flour",
                    "amount": 1,
                    "unit": "cup",
                },
                {
                    "name": "rolled oats",
                    "brand": "Bob's Red Mill Certified Gluten-Free Oats",
                    "amount": 1.5,
                    "unit": "cups",
                },
                {"name": "brown sugar", "amount": 0.75, "unit": "cup"},
            ],
        ),
        (
            "adv_combo_001",
            2,
            [
                {
                    "name": "gluten-free flour",
                    "brand": "Bob's Red Mill Certified Gluten Free 1-to-1 Baking Flour",
                    "amount": 2,
                    "unit": "cups",
                },
                {"name": "crème fraîche", "amount": 1, "unit": "cup"},
                {"name": "eggs", "amount": 3},
                {"name": "parsley", "amount": 0.5, "unit": "cup"},
            ],
        ),
        (
            "adv_scale_001",
            2,
            [
                {"name": "flour", "amount": 3.25, "unit": "cups"},
                {"name": "water", "amount": 1.3, "unit": "cup"},
                {"name": "olive oil", "amount": 3.25, "unit": "tablespoons"},
            ],
        ),
        (
            "adv_scale_003",
            2,
            [{"name": "eggs", "amount": 11}, {"name": "parmesan", "amount": 2.0625, "unit": "cups"}],
        ),
    ],
)
def test_the_dish_is_the_right_one(id: str, sent: int, ingredients: Json) -> None:
    rounds = list(_rounds(task(id)))
    assert len(rounds) == sent
    assert rounds[-1][1]["data"]["ingredients"] == ingredients


@EVERY_TASK
def test_the_first_refusal_is_the_one_that_was_meant(task: Task) -> None:
    _, answer = next(_rounds(task))
    assert [error["code"] for error in answer["validation_errors"]] == task.refused_with
    assert len(answer["recovery_feedback"]["suggestions"]) == len(task.refused_with)


@pytest.mark.parametrize("id", ["adv_ctx_003", "adv_scale_001"])
def test_an_edit_meant_for_another_place_changes_nothing(id: str) -> None:
    """These two went wrong in the paper: replacements were added, amounts landed on other ingredients."""
    found = task(id)
    feedback = _post(found.path, found.request, mode="reflective").json()["recovery_feedback"]
    moved = {**found.request, "ingredients": [{"name": "salt", "amount": 1}, *found.request["ingredients"]]}
    before = json.dumps(moved)
    assert isinstance(apply(feedback, Request("POST", found.path, body=moved), confirm=agrees), NeedsInput)
    assert json.dumps(moved) == before


@EVERY_TASK
def test_the_mode_never_changes_what_is_accepted(task: Task) -> None:
    rounds = list(_rounds(task))
    assert rounds
    for body, told in rounds:
        answers = {mode: _post(task.path, body, mode=mode) for mode in MODES}
        assert {answer.status_code for answer in answers.values()} == {200}
        assert {answer.json()["success"] for answer in answers.values()} == {told["success"]}
        if told["success"]:
            assert len({answer.content for answer in answers.values()}) == 1
            continue
        traditional, verbose, reflective = (answers[mode].json() for mode in MODES)
        assert traditional == {"success": False, "error": "recipe validation failed", "validation_errors": []}
        assert {**traditional, "validation_errors": told["validation_errors"]} == verbose
        assert verbose == {name: value for name, value in reflective.items() if name != "recovery_feedback"}


def test_the_default_is_verbose_and_prefer_is_heard() -> None:
    found = task("adv_ctx_001")
    default = _post(found.path, found.request)
    assert set(default.json()) == {"success", "error", "validation_errors"}
    assert default.json()["validation_errors"] != []
    asked = _post(found.path, found.request, Prefer="recovery-feedback=reflective")
    assert "recovery_feedback" in asked.json()
    assert asked.headers["preference-applied"] == "recovery-feedback=reflective"


def _scalars(value: Json) -> Iterator[str | int | float]:
    match value:
        case bool() | None:
            return
        case dict():
            for inner in value.values():
                yield from _scalars(inner)
        case list():
            for inner in value:
                yield from _scalars(inner)
        case _:
            yield value


def _occurs(value: str | float, text: str) -> bool:
    if isinstance(value, str):
        return value.casefold() in text.casefold()
    return value in {float(number) for number in NUMBER.findall(text)}


def _fixes(task: Task) -> set[str | int | float]:
    """Every value that some suggestion on the way gives and the caller did not send."""
    values: set[str | int | float] = set()
    for body, answer in _rounds(task):
        sent = {str(value) for value in _scalars(body)}
        for suggestion in answer.get("recovery_feedback", {}).get("suggestions", ()):
            if suggestion["action"] == "NO_RECOVERY_AVAILABLE":
                continue
            given = [*_scalars(suggestion["parameters"]), *(op["value"] for op in suggestion["patch"] if "value" in op)]
            values |= {value for value in given if isinstance(value, str | int | float) and str(value) not in sent}
    return values


@pytest.mark.parametrize(("value", "text", "found"), [(3.25, "is 3.25 cups", True), (3.25, "is 13.25", False)])
def test_the_leak_check_can_find_a_leak(value: float, text: str, found: bool) -> None:
    assert _occurs(value, text) is found
    assert _occurs("Crème", "a crème fraîche") is True


@EVERY_TASK
def test_the_baselines_carry_no_fix(task: Task) -> None:
    fixes = _fixes(task)
    assert bool(fixes) is (task.ends == "accepted")
    for body, answer in _rounds(task):
        if answer["success"]:
            break
        for mode in ("traditional", "traditional_verbose"):
            said = _post(task.path, body, mode=mode).text
            assert [value for value in fixes if _occurs(value, said)] == []


def _known_fixes() -> set[str | int | float]:
    """Every fix the pack knows, and paraphrases a capable solver would still recognise."""
    tables = files("corrigible.rules").joinpath("packs", "recipe", "tables")
    values: set[str | int | float] = {
        "bob's red mill",
        "king arthur",
        "1.625",
        "1.583",
        "1.375",
        "11 eggs",
        "sourdough starter",
    }
    for name, key in (("brands", "product"), ("replacements", "use"), ("alternatives", "use")):
        for row in yaml.safe_load(tables.joinpath(f"{name}.yaml").read_text(encoding="utf-8"))[name]:
            values |= {row[key]} if key == "product" else {use["name"] for use in row[key]}
    return values


@EVERY_TASK
def test_what_a_solver_sees_of_a_task_carries_no_fix(task: Task) -> None:
    told = json.dumps(task.shown(), ensure_ascii=False)
    prose = " ".join((task.name, task.description, task.success_criterion))
    assert [value for value in _fixes(task) if _occurs(value, told)] == []
    assert [value for value in _known_fixes() if _occurs(value, prose)] == []
    assert task.shown().keys() == {"name", "description", "success_criterion", "method", "path", "body"}


def test_the_tasks_are_those_of_the_paper() -> None:
    by_id: dict[str, Any] = {found.id: found for found in tasks()}
    assert list(by_id) == [
        *(f"adv_ctx_00{number}" for number in range(1, 7)),
        "adv_cascade_001",
        "adv_combo_001",
        *(f"adv_scale_00{number}" for number in range(1, 4)),
        "adv_impossible_001",
    ]
    counted = [found.id for found in tasks() if found.in_paper_figures]
    assert len(counted) == 10
    assert set(by_id) - set(counted) == {"adv_ctx_006", "adv_impossible_001"}
    ratios = [
        round(by_id[id].request["target_servings"] / by_id[id].request["original_servings"], 3)
        for id in ("adv_scale_001", "adv_scale_002", "adv_scale_003")
    ]
    assert ratios == [1.625, 1.583, 1.375]
    assert by_id["adv_combo_001"].difficulty == 10.0


def test_the_sandbox_serves_it(recipe_server: Running) -> None:
    found = task("adv_ctx_002")
    answer = httpx.post(f"{recipe_server.url}{found.path}?mode=reflective", json=found.request, timeout=60)
    assert answer.json() == _post(found.path, found.request, mode="reflective").json()
