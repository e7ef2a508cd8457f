"""What a decision knows of the refusal it is about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate, Decision, PassThrough
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request

RULE = "match: {code: a}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {x: 1}}]\n"


@pytest.fixture
def engine(write_pack: Callable[..., Path]) -> Engine:
    return build_engine([write_pack(manifest="operations: {'POST /x': Make}\n", x=RULE)])


def decide(engine: Engine, body: bytes) -> Decision:
    exchange = Exchange(Request("POST", "/x", body={}), 400, {}, body, "e", 1.0)
    return run_with_lookups_sync(engine.decide(exchange), lambda lookup: LookupAnswer(0))


def test_an_annotation(engine: Engine) -> None:
    native = {"errors": [{"code": "a"}, {"code": "b"}]}
    decision = decide(engine, orjson.dumps(native))
    assert isinstance(decision, Annotate)
    assert decision.pack is engine.profiles[0].pack
    assert (decision.body, decision.operation, decision.live) == (native, "Make", False)
    assert [error.code for error in decision.errors] == ["a", "b"]
    bare = Annotate(decision.case, {}, b"")
    assert (bare.diagnoses, bare.rules, bare.live, bare.placement) == ((), (), False, "member")
    assert (bare.error, bare.seal) == (None, "")


@pytest.mark.parametrize(
    ("body", "is_refusal"), [(b'{"errors": [{"code": "b"}]}', True), (b"{}", False), (b"[1]", False)]
)
def test_what_passes(engine: Engine, body: bytes, is_refusal: bool) -> None:
    decision = decide(engine, body)
    assert isinstance(decision, PassThrough)
    assert decision.pack is (engine.profiles[0].pack if is_refusal else None)
    assert (decision.operation, decision.fault) == ("Make", False)
