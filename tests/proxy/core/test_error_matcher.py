"""For each error the rules are asked first, then the description, last of all the rules of last resort."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson

from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.schema.exchange import Exchange
from tests._support.widgets import FIX, REQUEST, Api, decide, described, small_enough

WritePack = Callable[..., Path]


def test_a_rule_goes_before_the_description(write_pack: WritePack) -> None:
    decision = decide(described(write_pack(x=FIX)), Api(small_enough))
    assert isinstance(decision, Annotate)
    assert decision.rules == ("apex.x",)


def test_a_place_that_the_description_settled_is_put_to_no_last_rule(write_pack: WritePack) -> None:
    last = "priority: -5\nsuggest: [{action: MODIFY_PARAMS, message: m, ask: [{pointer: /body/size, schema: {}}]}]\n"
    body = {"errors": [{"field": "size", "code": one, "message": "size is wrong"} for one in ("type", "enum")]}
    exchange = Exchange(REQUEST, 422, {}, orjson.dumps(body), "e", 1.0)
    decision = run_with_lookups_sync(described(write_pack(x=last)).decide(exchange), Api(small_enough).fetch)
    assert isinstance(decision, Annotate)
    assert decision.rules == ("the description",)


def test_the_description_gives_its_edits_a_fresh_key(write_pack: WritePack) -> None:
    folder = write_pack(manifest="idempotency_header: Idempotency-Key\n", x=f"match: {{code: NEVER}}\n{FIX}")
    request = replace(REQUEST, headers={"idempotency-key": "k"})
    decision = decide(described(folder), Api(small_enough), request)
    assert isinstance(decision, Annotate)
    assert decision.feedback["retry"] == {"same_request": False, "idempotency_key": "new"}
    last = decision.feedback["suggestions"][0]["patch"][-1]
    assert (last["op"], last["path"], last["value"] != "k") == ("replace", "/headers/idempotency-key", True)


def test_facts_of_the_description_are_spec(write_pack: WritePack) -> None:
    rule = "suggest: [{action: MODIFY_PARAMS, message: m, parameters: {size: spec.properties.size.maximum - 1}}]\n"
    decision = decide(described(write_pack(x=rule)), Api(small_enough))
    assert isinstance(decision, Annotate)
    assert decision.feedback["suggestions"][0]["parameters"] == {"size": 9}
