"""What look-ups say of a value that refers to something, and what the constraints of a database say of one."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.schema.exchange import Exchange, Json, Request
from tests._support.farm import READS, Api, asked, farm, feedback_of, post


def edited(feedback: dict[str, Any]) -> dict[str, Json]:
    """Return what edits write that have to be confirmed, by place."""
    asks = [one for one in feedback["suggestions"] if one["safety"].get("requires_confirmation")]
    return {op["path"]: op["value"] for one in asks for op in one["patch"] if op["op"] == "replace"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return farm(tmp_path_factory.mktemp("spec"))


@pytest.mark.parametrize(
    ("body", "error", "place", "offered"),
    [
        ({"name": "x", "work_pool_name": "qq"}, "work_pool_name", "/body/work_pool_name", ["default", "night"]),
        ({"name": "x", "flow_id": "f-9"}, "flow_id", "/body/flow_id", ["f-1", "f-2"]),
    ],
)
def test_what_a_member_refers_to(engine: Engine, body: Json, error: str, place: str, offered: list[str]) -> None:
    api = Api(READS)
    refusal = orjson.dumps({"errors": [{"field": error, "message": "does not exist"}]})
    exchange = Exchange(post("/api/work_pools", body), 422, {}, refusal, "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), api.fetch)
    assert isinstance(decision, Annotate)
    assert asked(decision.feedback) == [(place, {"enum": offered})]


@pytest.mark.parametrize(
    ("sent", "message", "meant"),
    [
        ("nigt", "does not exist", "night"),
        ("nigt", "Invalid work pool name specified", "night"),
        ("Night", "this is not a valid value", "night"),
        ("nigt", "nigt isn't one of your work pools", "night"),
        ("nihgt", "Pool name is invalid", "night"),
    ],
)
def test_the_only_near_name_of_a_listing_is_offered(engine: Engine, sent: str, message: str, meant: str) -> None:
    body = {"name": "x", "work_pool_name": sent}
    refusal = orjson.dumps({"errors": [{"field": "work_pool_name", "message": message}]})
    exchange = Exchange(post("/api/variables", body), 422, {}, refusal, "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), Api(READS).fetch)
    assert isinstance(decision, Annotate)
    (suggestion,) = decision.feedback["suggestions"]
    assert suggestion["patch"][-1] == {"op": "replace", "path": "/body/work_pool_name", "value": meant}
    assert suggestion["safety"]["requires_confirmation"] is True


@pytest.mark.parametrize(
    ("sent", "message", "schema"),
    [
        ("gpu", "Invalid work pool name specified", {"not": {"const": "gpu"}, "examples": ["default", "night"]}),
        ("night", "Invalid work pool name specified", None),
        ("gpu", "work_pool_name must be at least 5 characters long", None),
    ],
)
def test_a_value_that_a_listing_does_not_have_is_only_refused(
    engine: Engine, sent: str, message: str, schema: Json
) -> None:
    """What is there, or breaks a limit that is told, is not said to be absent."""
    refusal = orjson.dumps({"errors": [{"field": "work_pool_name", "message": message}]})
    exchange = Exchange(post("/api/variables", {"work_pool_name": sent}), 422, {}, refusal, "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), Api(READS).fetch)
    found = asked(decision.feedback) if isinstance(decision, Annotate) else []
    assert found == [("/body/work_pool_name", schema)] if schema else "examples" not in str(found)


@pytest.mark.parametrize(("sent", "offered"), [(9, [1, 2]), ("9", [1, 2])])
def test_what_is_offered_is_of_the_type_that_the_listing_has(engine: Engine, sent: Json, offered: list[Json]) -> None:
    api = Api({"/api/flows": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]})
    refusal = orjson.dumps({"errors": [{"field": "flow", "message": "not found"}]})
    exchange = Exchange(post("/api/flows/f-1/runs", {"flow": sent}), 422, {}, refusal, "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), api.fetch)
    assert isinstance(decision, Annotate)
    assert asked(decision.feedback) == [("/body/flow", {"enum": offered})]


@pytest.mark.parametrize("status", [409, 500])
def test_a_foreign_key_is_about_the_only_member_that_refers_to_something(engine: Engine, status: int) -> None:
    body = {"title": "etl", "flow_id": "f-9", "size": 3}
    message = "SequelizeForeignKeyConstraintError: FOREIGN KEY constraint failed"
    feedback, looked = feedback_of(engine, post("/api/variables", body), status, message)
    assert looked[-1] == "/api/flows"
    assert asked(feedback) == [("/body/flow_id", {"enum": ["f-1", "f-2"]})]


def test_of_two_members_the_one_is_asked_for_whose_resource_is_not_there(engine: Engine) -> None:
    message = "FOREIGN KEY constraint failed"
    body = {"work_pool_name": "nihgt", "flow_id": "f-2"}
    feedback, _ = feedback_of(engine, post("/api/variables", body), 500, message)
    assert edited(feedback) == {"/body/work_pool_name": "night"}
    both_are_there = {"work_pool_name": "night", "flow_id": "f-2"}
    assert feedback_of(engine, post("/api/variables", both_are_there), 500, message)[0] == {}
    nothing_is_known = {"owner_id": "o-1", "flow_id": "f-2"}
    assert asked(feedback_of(engine, post("/api/variables", nothing_is_known), 500, message)[0]) == [
        ("/body/owner_id", {"not": {"const": "o-1"}})
    ]


@pytest.mark.parametrize(
    "message",
    [
        'update or delete on table "flows" violates foreign key constraint "runs_flow_id_fkey" on table "runs"',
        "Cannot delete or update a parent row: a foreign key constraint fails (`farm`.`runs`)",
        "FOREIGN KEY constraint failed",
    ],
)
def test_what_others_refer_to_is_not_deleted(engine: Engine, message: str) -> None:
    feedback, looked = feedback_of(engine, Request("DELETE", "/api/flows/f-1"), 500, message)
    assert feedback["recovery"] == "terminal" and looked == []
    assert feedback["suggestions"][0]["action"] == "NO_RECOVERY_AVAILABLE"


@pytest.mark.parametrize(
    "status",
    [
        400,
        409,
    ],
)
def test_a_unique_column_is_asked_for(engine: Engine, status: int) -> None:
    message = 'duplicate key value violates unique constraint "pools_size_key"'
    feedback, _ = feedback_of(engine, post("/api/work_pools", {"name": "new", "size": 1}), status, message)
    assert asked(feedback)[0] == ("/body/size", {"not": {"const": 1}})


def test_a_column_that_may_not_be_null_is_asked_for(engine: Engine) -> None:
    message = "NOT NULL constraint failed: pools.size"
    feedback = feedback_of(engine, post("/api/work_pools", {"name": "new"}), 500, message)[0]
    assert asked(feedback) == [("/body/size", {"type": "integer"})]


@pytest.mark.parametrize(
    "message",
    [
        "Flow not found",
        "no flow etlx",
        "flow etlx not found",
        "Flow with id etlx was not found.",
        "The flow etlx does not exist",
    ],
)
def test_what_a_member_refers_to_is_told_in_words(engine: Engine, message: str) -> None:
    request = post("/api/work_pools", {"name": "day", "size": 1, "flow_id": "etlx"})
    feedback, looked = feedback_of(engine, request, 404, message)
    assert looked[-1] == "/api/flows"
    assert asked(feedback) == [("/body/flow_id", {"enum": ["f-1", "f-2"]})]


def test_what_the_path_refers_to_is_no_member(engine: Engine) -> None:
    request = post("/api/flows/f-9/runs", {"flow_id": "f-1"})
    feedback, _ = feedback_of(engine, request, 404, "Flow not found")
    assert [place for place, _ in asked(feedback)] == ["/path"]


@pytest.mark.parametrize("message", ["Not Found", "404 Not Found", "Resource not found"])
def test_where_the_path_names_nothing_it_is_a_reference_that_is_not_there(engine: Engine, message: str) -> None:
    wanted = {"flow": {"label": "x", "work_pool_name": "defualt"}}
    feedback, looked = feedback_of(engine, post("/api/flows", wanted), 404, message)
    assert looked[-1] == "/api/work_pools"
    assert edited(feedback) == {"/body/flow/work_pool_name": "default"}
    feedback, _ = feedback_of(engine, post("/api/flows", {"work_pool_names": ["night", "nihgt"]}), 404, message)
    assert edited(feedback) == {"/body/work_pool_names/1": "night"}


def test_what_a_listing_does_not_deny_is_not_asked_for(engine: Engine) -> None:
    for body in ({"work_pool_name": "night"}, {"secret_id": "s"}, {"label": "x"}):
        feedback, _ = feedback_of(engine, post("/api/nowhere", body), 404, "Not Found")
        assert "/body" not in str(feedback)
    assert feedback_of(engine, post("/api/flows", {"work_pool_name": "night", "a": 1}), 404, "Not Found")[0] == {}
