"""The pack of plain HTTP: its cases hold, it comes last, and it is silent where HTTP says nothing."""

from __future__ import annotations

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate, PassThrough
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.schema.exchange import Exchange, Request
from tests._support.built_in_packs import pack_of
from tests._support.rows import rows

ENGINE = build_engine(["http"])


def said(status: int, method: str = "POST", headers: dict[str, str] | None = None) -> Annotate | PassThrough:
    body = {"a": 1} if method == "POST" else None
    exchange = Exchange(Request(method, "/things", body=body), status, headers or {}, orjson.dumps({"message": "m"}))
    return run_with_lookups_sync(ENGINE.decide(exchange), lambda asked: pytest.fail(f"look-up {asked}"))


def test_its_rules_are_asked_after_everybody_else() -> None:
    assert max(rule.priority for rule in pack_of("http").rules) < 0


@rows("method", ["GET", "POST"])
@rows("status", [400, 404, 405, 408, 409, 410, 412, 415, 418, 422, 451, 500, 502, 503, 504])
def test_silence_where_http_does_not_say_what_follows(status: int, method: str) -> None:
    assert isinstance(said(status, method), PassThrough)


def test_what_is_too_large_is_asked_for_where_something_was_sent() -> None:
    answer = said(413, "POST")
    assert isinstance(answer, Annotate)
    (suggestion,) = answer.feedback["suggestions"]
    assert [one["pointer"] for one in suggestion["placeholders"]] == ["/body"]
    assert isinstance(said(413, "GET"), PassThrough)
    assert isinstance(said(413, "POST", {"retry-after": "5"}), PassThrough)


def test_a_version_is_asked_for_behind_the_step_that_reads_it() -> None:
    assert isinstance(said(428, "GET"), PassThrough)
    answer = said(428, "POST")
    assert isinstance(answer, Annotate)
    (suggestion,) = answer.feedback["suggestions"]
    assert [step["method"] for step in suggestion["steps"]] == ["GET"]
    assert [one["pointer"] for one in suggestion["placeholders"]] == ["/headers/if-match"]


@pytest.mark.parametrize(("status", "needed"), [(401, "credentials"), (402, "payment"), (403, "permission")])
def test_what_a_person_must_do_is_terminal(status: int, needed: str) -> None:
    answer = said(status)
    assert isinstance(answer, Annotate)
    (suggestion,) = answer.feedback["suggestions"]
    assert (answer.feedback["recovery"], suggestion["action"]) == ("terminal", "ESCALATE")
    assert suggestion["parameters"]["needed"] == needed


@pytest.mark.parametrize("status", [403, 429, 503])
def test_a_call_with_effects_is_never_repeated_blindly(status: int) -> None:
    answer = said(status, "POST", {"retry-after": "9"})
    assert isinstance(answer, Annotate)
    assert answer.feedback["retry"] == {"same_request": False, "after_seconds": 9}
