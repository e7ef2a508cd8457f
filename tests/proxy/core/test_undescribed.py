"""Without a description, and with one that describes nothing, the answer itself has to tell the place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import Feedback, parse
from corrigible.schema.reader import Next, apply
from tests._support.rows import rows


@pytest.fixture(scope="module")
def engine() -> Engine:
    return build_engine(())


def told(engine: Engine, request: Request, answer: Json, status: int = 400) -> Feedback | None:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    kind = "text/plain" if isinstance(answer, str) else "application/json"
    exchange = Exchange(request, status, {"content-type": kind}, text.encode(), "e", 0.0)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda lookup: LookupAnswer(0))
    return parse(decision.feedback) if isinstance(decision, Annotate) else None


def asked(feedback: Feedback | None) -> list[str]:
    suggestions = feedback.suggestions if feedback is not None else ()
    return [place.pointer for one in suggestions for place in one.placeholders]


SLIP = Request("POST", "/slips", body={"boat": "Ilse"})
WRAPPED = Request("POST", "/slips", body={"slip": {"boat": "Ilse"}})
LISTED = Request("POST", "/slips", body={"boats": [{"draught": 2}]})


@rows(
    ("request_", "answer", "places"),
    [
        (SLIP, "'harbour' is required", ["/body/harbour"]),
        (SLIP, "harbour is missing", ["/body/harbour"]),
        (SLIP, "name is missing", ["/body/name"]),  # a name that texts have for much else
        (SLIP, "Harbour is missing", []),  # what people call it
        (SLIP, "the berth number is missing", []),
        (SLIP, "id is missing", []),
        (WRAPPED, "'harbour' is required", ["/body/slip/harbour"]),
        (LISTED, "boats: 'name' is required", ["/body/boats/0/name"]),
        (Request("GET", "/slips", {"page": "2"}), "'harbour' query parameter is required", ["/query/harbour"]),
    ],
)
def test_a_member_that_a_text_misses_is_asked_for(
    engine: Engine, request_: Request, answer: str, places: list[str]
) -> None:
    assert asked(told(engine, request_, {"message": answer})) == places


@pytest.mark.parametrize(
    "answer", ['Unsupported media type "text/plain" in request.', "Content-Type was not 'application/json'."]
)
def test_json_under_another_name_is_offered_as_json(engine: Engine, answer: str) -> None:
    """The caller confirms it: nothing says that the operation takes JSON."""
    request = Request("POST", "/slips", body={"boat": "Ilse"}, headers={"content-type": "text/plain"})
    feedback = told(engine, request, {"detail": answer}, 415)
    assert feedback is not None
    assert not isinstance(apply(feedback, request), Next)
    following = apply(feedback, request, confirm=True)
    assert isinstance(following, Next)
    assert following.request.headers["content-type"] == "application/json"
    assert following.request.body == {"boat": "Ilse"}


@rows(
    ("sent", "missed", "is_sent"),
    [("harbuor", "harbour", True), ("harbour_name", "harbour", False), ("boat", "harbour", None)],
)
def test_a_name_near_to_the_missing_one_is_offered(
    engine: Engine, sent: str, missed: str, *, is_sent: bool | None
) -> None:
    """A slip of the fingers is mended, another word has to be confirmed."""
    request = Request("POST", "/slips", body={sent: "Kiel", "draught": 2})
    feedback = told(engine, request, {"message": f"'{missed}' is required"})
    assert feedback is not None
    following = apply(feedback, request), apply(feedback, request, confirm=True)
    mended = [isinstance(one, Next) and one.request.body == {missed: "Kiel", "draught": 2} for one in following]
    assert mended == [is_sent is True, is_sent is not None]


@rows(
    ("request_", "status", "places"),
    [
        (Request("GET", "/slips/7"), 404, ["/path"]),
        (Request("DELETE", "/slips/7"), 410, ["/path"]),
        (Request("GET", "/slips/7"), 400, []),
        (Request("GET", "/slips", {"boat": "Ilse"}), 404, []),  # the boat may be what is not there
        (Request("POST", "/slips", body={"boat": "Ilse"}), 404, []),
        (Request("GET", "/slips"), 404, []),  # of a collection the path is as likely as the method
        (Request("PUT", "/slips", body={"boat": "Ilse"}), 405, []),  # without `Allow` nothing says what follows
    ],
)
def test_a_status_tells_the_place(engine: Engine, request_: Request, status: int, places: list[str]) -> None:
    assert asked(told(engine, request_, {"message": "No"}, status)) == places


@rows(
    ("body", "answer"),
    [
        ({"tags": "red"}, "tags must be a list"),  # an element may have to be an object
        ({"state": True}, "state must be a string"),  # it may have to be any word
    ],
)
def test_what_nothing_declares_is_made_no_other_kind_of_value_unasked(
    engine: Engine, body: dict[str, Json], answer: str
) -> None:
    request = Request("POST", "/slips", body=body)
    feedback = told(engine, request, {"errors": [{"field": next(iter(body)), "message": answer}]})
    assert feedback is not None
    assert not isinstance(apply(feedback, request), Next)
    assert isinstance(apply(feedback, request, confirm=True), Next)


def test_what_is_there_already_needs_no_description(engine: Engine) -> None:
    feedback = told(engine, SLIP, {"message": "A slip with boat 'Ilse' already exists"}, 409)
    assert asked(feedback) == ["/body/boat"]


def test_a_description_without_operations_says_as_much_as_none(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {}}), "utf-8")
    empty = build_engine((), path)
    for request, answer, status in (
        (SLIP, "'harbour' is required", 400),
        (SLIP, "the harbour is closed", 409),
        (Request("POST", "/slips/7/open"), "the slip is not ready", 400),
        (Request("GET", "/slips/7"), "no such slip", 404),
    ):
        one, other = (told(which, request, {"message": answer}, status) for which in (engine, empty))
        assert one == other, answer
