"""Errors of Agent2Agent 1.0, as a2a-sdk 1.3.0 (Python) answered them, with status 200."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.embed.member import embed_feedback
from corrigible.schema.carrier import find
from corrigible.schema.exchange import Exchange, Json, Request
from tests._support.rows import rows

PACK = "name: agent\ntitle: An agent\nversion: 1.0.0\napi: {name: An agent}\nlicense: Apache-2.0\ndialect: a2a\n"
INFO = "type.googleapis.com/google.rpc.ErrorInfo"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder: Path = tmp_path_factory.mktemp("agent")
    (folder / "pack.yaml").write_text(PACK, "utf-8")
    return build_engine([folder])


def info(reason: str, **metadata: Json) -> dict[str, Json]:
    return {"@type": INFO, "reason": reason, "domain": "a2a-protocol.org", "metadata": metadata}


def violations(**said: str) -> list[Json]:
    listed: list[Json] = [{"field": name.replace("__", "."), "description": text} for name, text in said.items()]
    bad: Json = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": listed}
    return [info("INVALID_PARAMS", errors=listed), bad]


PARSE = "Failed to parse historyLength field: invalid literal for int() with base 10: 'abc'."


@rows(
    ("method", "params", "code", "message", "data", "asked", "edit"),
    [
        ("GetTask", {"id": "nope"}, -32001, "Task not found", [info("TASK_NOT_FOUND")], ["id"], None),
        ("GetTask", {}, -32602, "Validation failed", violations(id="Field is required."), ["id"], None),
        (
            "GetTask",
            {"id": "x", "historyLength": "abc"},
            *(-32602, "Invalid params", [info("INVALID_PARAMS", parseError=PARSE)], ["historyLength"], None),
        ),
        (
            "SendMessage",
            {"message": {"messageId": "", "role": "ROLE_USER", "parts": []}},
            *(-32602, "Validation failed"),
            violations(
                message__message_id="Field is required.", message__parts="Field must contain at least one element."
            ),
            *(["message/messageId", "message/parts"], None),
        ),
        (
            "ListTasks",
            {"pageSize": 5000},
            *(-32602, "maximum page size is 100", [info("INVALID_PARAMS")], [], ("pageSize", 100)),
        ),
        ("GetTsk", {"id": "x"}, -32601, "Method not found", None, None, None),
    ],
)
def test_what_is_refused_of_the_parameters_is_answered(
    engine: Engine,
    method: str,
    params: dict[str, Json],
    code: int,
    message: str,
    data: list[Json] | None,
    asked: list[str] | None,
    edit: tuple[str, Json] | None,
) -> None:
    body: Json = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    error: dict[str, Json] = {"code": code, "message": message, **({} if data is None else {"data": data})}
    native = orjson.dumps({"error": error, "id": 1, "jsonrpc": "2.0"})
    headers = {"content-type": "application/json"}
    decisions = engine.decide(Exchange(Request("POST", "/", {}, headers, body), 200, headers, native))
    with pytest.raises(StopIteration) as ended:
        next(decisions)
    decision = ended.value.value
    assert isinstance(decision, Annotate) == (asked is not None), decision
    if asked is None:
        return
    embedded = embed_feedback(native, decision, Mode.REFLECTIVE)
    assert embedded is not None
    answer = orjson.loads(embedded.body)
    feedback: Any = find(answer, 200)
    suggestions = feedback["suggestions"]
    assert answer["error"]["data"][: len(data or ())] == data
    assert [one["pointer"] for each in suggestions for one in each.get("placeholders", ())] == [
        f"/body/params/{one}" for one in asked
    ]
    edits = [op for each in suggestions for op in each.get("patch", ()) if op["op"] != "test"]
    assert edits == ([] if edit is None else [{"op": "replace", "path": f"/body/params/{edit[0]}", "value": edit[1]}])
