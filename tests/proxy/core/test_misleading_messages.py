"""Sentences that name a member or list values, and say something else than that: nothing is edited because of them.

Each is true of a server whose rules no description has. It may ask; a literal reader would apply an edit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request
from tests._support.rows import rows

TEXT: Any = {"type": "string"}
SCHEMA: Any = {
    "type": "object",
    "properties": {
        **{name: TEXT for name in ("title", "name", "status", "note", "start", "end", "currency", "owner_id")},
        "amount": {"type": "integer"},
        "mode": {"enum": ["fast", "slow"]},
    },
}
BODY: Json = {
    **{"title": "Hello World", "name": "foo", "status": "open", "note": "n", "currency": "EUR", "owner_id": "u1"},
    **{"start": "2024-01-05", "end": "2024-01-02", "amount": 10, "message": "hi", "project": "apollo"},
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    file = tmp_path_factory.mktemp("spec") / "things.json"
    body = {"content": {"application/json": {"schema": SCHEMA}}}
    operation = {"requestBody": body, "responses": {"201": {"description": "made"}}}
    document = {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {"/things": {"post": operation}}}
    file.write_bytes(orjson.dumps(document))
    return build_engine([], Path(file))


SENTENCES = [
    *("status must not be one of: open, closed", "status must be none of 'open', 'closed'"),
    *("name should not be one of 'foo', 'bar'", "name may be anything but 'foo', 'bar'"),
    "name 'foo' is not allowed because 'fooo' exists",
    *("name 'foo' is already taken. Suggestions: fooo, fo", "status is 'open'; other things have status 'opened'"),
    *("status cannot be changed from 'open', allowed: closed for 'free' plans; opened for 'pro' plans", "too low"),
    *("owner_id must be one of: u11, u3", "owner 'u1' cannot use mode; must be one of: fast, slow"),
    *("amount must not be between 5 and 20", "amount is less than 20", "amount is not less than 5"),
    *("amount must be at least 10 EUR, you have 10 cents", "amount must be at most 5 words", "10 items left"),
    *("amount must be a string in the response", "amount should be a string like '10 EUR'"),
    *("title must be at most 3 words", "title must have at least 10 words", "title must be a list of words"),
    *("title must not match ^[A-Z].*$", "title must be less than 3 kB"),
    *("start must be after end", "start must be before 2024-01-02", "end is earlier than start", "start > end"),
    *("note is not allowed with name", "either name or note"),
    *("The response is missing required property 'id'", "upstream response: missing field 'total'"),
    *("Warning: field 'note' is deprecated. Error: quota exceeded", "note is not required"),
    *("project is archived", "invalid project", "message is bad", "Not in this state", "Your account is not open"),
]


@rows("message", SENTENCES)
def test_nothing_is_edited(engine: Engine, message: str) -> None:
    for answer in ({"message": message}, {"error": {"message": message}}, {"errors": [{"message": message}]}):
        request = Request("POST", "/things", {}, {"content-type": "application/json"}, BODY)
        exchange = Exchange(request, 400, {}, orjson.dumps(answer), "e", 1.0)
        decision = run_with_lookups_sync(engine.decide(exchange), lambda _: LookupAnswer(0))
        if isinstance(decision, Annotate):
            assert [one.get("patch") for one in decision.feedback["suggestions"] if "patch" in one] == []
