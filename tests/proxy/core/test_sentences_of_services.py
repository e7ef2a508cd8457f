"""What services that check by hand say: who has to act is told, or the value that a sentence is about is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.writer import validate
from tests._support.rows import rows

TOLD = "told"
"""No edit of the request helps, and who has to act is said."""
WAIT = "wait"
SILENT = "silent"


class Said(NamedTuple):
    request: str
    body: Json
    status: int
    message: str
    right: str
    """What is said; else the place that is asked for."""


OF_STATE = (
    Said("DELETE /moorings/{id}", None, 409, "Cannot delete a mooring that still has tenants", TOLD),
    Said("PATCH /invoices/{id}", {"total": 7}, 409, "Cannot edit a settled invoice", TOLD),
    Said("PUT /races/{id}", {"title": "x"}, 400, "Cannot update sailed race", TOLD),
    Said("POST /moorings/{id}/teams", {"crew": ["abe"]}, 400, "Cannot enroll a team at a derelict mooring.", TOLD),
    Said("POST /races/{id}/cancel", None, 400, "Cannot cancel a sailed race", TOLD),
    Said("DELETE /clubs/{club}/members/{id}", None, 400, "Cannot remove the commodore", TOLD),
    Said("POST /members/{id}/deactivate", None, 400, "Cannot deactivate your own account", TOLD),
    Said("PATCH /races/{id}", {"title": "x"}, 400, "Only open race entries can be edited", TOLD),
    Said("POST /races/{id}/score", {"laps": 3}, 400, "Only sailed races can be scored", TOLD),
    Said("POST /races/{id}/notes", {"text": "x"}, 400, "Can only update pending races", TOLD),
    Said("POST /races/{id}/judges", {"text": "x"}, 400, "Only the skipper or the mate can protest", TOLD),
    Said("POST /races/{id}/entries", {"sail": 7}, 400, "This race is not accepting entries", TOLD),
    Said("POST /races/{id}/approve", None, 400, "This race is not awaiting approval", TOLD),
    Said("POST /races/{id}/finish", None, 409, "Not in the start phase", TOLD),
    Said("PUT /moorings/{id}", {"depth": 2}, 409, "Mooring locked", TOLD),
    Said("POST /races/{id}/inspect", {"depth": 2}, 409, "race has no valid certificate", TOLD),
    Said("POST /races/{id}/publish", None, 409, "approval required", TOLD),
    Said("POST /races/{id}/rate", {"stars": 2}, 409, "Member has already rated this race", TOLD),
    Said("POST /billing/report", None, 400, "No current season set.", SILENT),
    Said("POST /prizes/{id}/redeem", None, 400, "Insufficient points", TOLD),
)
OF_VALUES = (
    Said("POST /friends", {"memberId": "m7"}, 400, "Cannot befriend yourself", "/body/memberId"),
    Said("POST /follows", {"memberId": "m7"}, 400, "Cannot follow yourself", "/body/memberId"),
    Said("POST /berths", {"planId": "p7"}, 409, "Cannot assign an inactive plan.", TOLD),
    Said("POST /payouts", {"to": "m9", "amount": 500}, 400, "Insufficient funds", "/body/amount"),
    Said("POST /orders", {"item": "rope", "coils": 9}, 409, "Not enough coils available", "/body/coils"),
    Said("POST /sounds", {"url": "ftp://x.example/a"}, 400, "Only HTTPS sources are supported.", "/body/url"),
    Said("POST /kinds", {"kind": "SELF", "note": "x"}, 400, "Only SLOOP or KETCH kinds are allowed", "/body/kind"),
    Said("POST /slots", {"day": "2020-01-01", "of": "a"}, 400, "Cannot reserve a berth in the past", "/body/day"),
    Said("POST /trips", {"from": "2026-03-01", "to": "2026-03-04"}, 409, "Trip overlaps another one", "/body/from"),
    Said("PATCH /stays/{id}", {"berth_id": "b7"}, 409, "Target berth is occupied", "/body/berth_id"),
    Said("PATCH /trips/{id}", {"status": "open"}, 409, "invalid status transition", "/body/status"),
    Said("POST /keels", {"age": 12}, 422, "You are too young", "/body/age"),
    Said("POST /tags", {"tagIds": [1, 2]}, 422, "One or more IDs do not exist in the database.", "/body/tagIds"),
    Said("POST /crew", {"mateOrEmail": "m7", "boatId": "b1"}, 400, "Mate not found", "/body/mateOrEmail"),
    Said("POST /projects/{projectId}/crew", {"localId": "m7"}, 400, "Mate not found", "/body/localId"),
    Said("PUT /logs/{id}", {"expectedVersion": 3, "t": "x"}, 409, "Version conflict", "/body/expectedVersion"),
    Said("POST /calls", {"sail": "ACME-77", "n": 2}, 422, "ACME-77 isn't a sail of ours yet.", "/body/sail"),
)
OF_WHAT_EXISTS = (
    Said("POST /boats", {"name": "Ada", "length": 9}, 409, "Boat already exists", "/body/name"),
    Said("POST /boats/create", {"name": "Ada", "slug": "ada"}, 400, "Boat already exists", "/body/slug"),
    Said("POST /signup", {"email": "a@b.example", "age": 9}, 409, "That e-mail already has an account", "/body/email"),
    Said("POST /signup", {"email": "a@b.example", "age": 9}, 409, "Member exists", "/body/email"),
    Said("POST /signup", {"email": "a@b.example", "age": 9}, 409, "E-mail in use", "/body/email"),
    Said("PUT /profile", {"handle": "ada", "age": 9}, 409, "handle_taken", "/body/handle"),
    Said("POST /flags", {"name": "b", "hue": 9}, 409, "You already have a flag with this name", "/body/name"),
    Said("POST /letters", {"value": "x"}, 409, "Letter already exists!", "/body/value"),
)
OF_WHAT_IS_TWICE = (
    Said("POST /marks", {"boatId": "b7", "marks": [1, 2]}, 400, "Duplicate keys have been submitted", SILENT),
    Said("POST /loans", {"boatId": "b7", "days": 2}, 409, "Loan exists", SILENT),
)
OF_NOTHING = (
    Said("PATCH /boats/{id}", {}, 400, "No fields to update", "/body"),
    Said("PATCH /boats/{id}", {}, 422, "Must specify at least one field to modify.", "/body"),
    Said("PATCH /crews/{id}", {"name": "x", "data": {}}, 400, "No data to update", "/body/data"),
    Said("POST /imports", [], 400, "load_boats: No boats added", "/body"),
    Said("POST /lists", {"boats": [], "name": "x"}, 422, "Add one or more boats", "/body/boats"),
)
OF_OTHERS = (
    Said("POST /signals", {"code": "x", "n": 1}, 400, "Only numbers can follow a dash", SILENT),
    Said("POST /signals", {"code": "x", "n": 1}, 400, "Not allowed", SILENT),
    Said("POST /signals", {"code": "x", "n": 1}, 400, "Cannot create signal", SILENT),
    Said("POST /cards", {"card": "4111", "n": 1}, 400, "Card expired", "/body/card"),
    Said("PATCH /crews/{id}", {"name": "x", "data": {}}, 400, "Cannot change name to that of a ship", SILENT),
    Said("POST /keels", {"age": 12}, 400, "Failed to save the keel", SILENT),
    Said("POST /keels", {"age": 12}, 400, "Something is missing here", SILENT),
    Said("POST /keels", {"age": 12}, 400, "You have no value for `wood`, it seems", SILENT),
    Said("PATCH /crews/{id}", {"name": "x", "data": {}}, 400, "You have no permission to update", TOLD),
    Said("POST /payouts", {"to": "m9", "amount": 500}, 409, "The bank is busy", WAIT),
    Said("DELETE /scopes/{id}", None, 409, "Cannot delete scope: it is still being used by groups", TOLD),
    Said("DELETE /samples/{id}", None, 409, "Cannot delete a sample that is in progress or done", TOLD),
    Said("PATCH /trips/{id}", {"status": "open"}, 400, "Cannot parse the day", SILENT),
)
ALL = (*OF_STATE, *OF_VALUES, *OF_WHAT_EXISTS, *OF_WHAT_IS_TWICE, *OF_NOTHING, *OF_OTHERS)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    paths: dict[str, Any] = {}
    for said in ALL:
        method, path = said.request.split()
        variables = re.findall(r"\{(\w+)\}", path)
        operation = paths.setdefault(path, {}).setdefault(
            method.lower(),
            {
                "parameters": [
                    {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in variables
                ],
                "responses": {"200": {"description": "done"}},
            },
        )
        if said.body is not None:
            content = operation.setdefault("requestBody", {"content": {"application/json": {"schema": {}}}})["content"]
            content["application/json"]["schema"] = _with(content["application/json"]["schema"], said.body)
    file = tmp_path_factory.mktemp("sentences") / "marina.json"
    file.write_bytes(orjson.dumps({"openapi": "3.0.3", "info": {"title": "Marina", "version": "1"}, "paths": paths}))
    return build_engine((), file)


def _with(schema: dict[str, Any], body: Json) -> dict[str, Any]:
    if isinstance(body, list):
        return {"type": "array", "items": {"type": "object"}}
    members = body if isinstance(body, dict) else {}
    known = {**schema.get("properties", {}), **dict(_members(members))}
    return {"type": "object", "properties": known}


def _members(body: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    kinds = {str: "string", int: "integer", list: "array", dict: "object"}
    for name, value in body.items():
        yield name, {"type": kinds[type(value)], **({"items": {}} if isinstance(value, list) else {})}


@rows("said", OF_VALUES, ids=lambda said: said.message)
def test_nothing_is_sent_by_a_guess(said: Said, engine: Engine) -> None:
    """What a sentence hints at is asked for: no other value is certain."""
    feedback = _feedback(said, engine)
    assert all("patch" not in one or one.get("placeholders") for one in (feedback or {}).get("suggestions", []))


def _followed(said: Said, engine: Engine) -> str:
    feedback = _feedback(said, engine)
    if feedback is None:
        return SILENT
    first = feedback["suggestions"][0]
    if first.get("placeholders"):
        return str(first["placeholders"][0]["pointer"])
    return {"ESCALATE": TOLD, "WAIT_AND_RETRY": WAIT}[first["action"]]


def _feedback(said: Said, engine: Engine) -> dict[str, Any] | None:
    method, template = said.request.split()
    path = re.sub(r"\{(\w+)\}", r"\1-77", template)
    headers = {} if said.body is None else {"content-type": "application/json"}
    exchange = Exchange(
        Request(method, path, {}, headers, said.body),
        said.status,
        {},
        orjson.dumps({"message": said.message}),
        "e",
        1.0,
    )
    decision = run_with_lookups_sync(engine.decide(exchange), lambda _: LookupAnswer(404))
    if not isinstance(decision, Annotate):
        return None
    validate(parse(decision.feedback))
    return dict(decision.feedback)
