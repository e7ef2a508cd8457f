"""Whatever a caller or an upstream sends, what is computed has a bound; beyond it the native answer passes."""

from __future__ import annotations

import contextlib
import json
import re
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.build import build_corrector, load_profiles
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.core.decision import Annotate, PassThrough
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.limits import Limits, readable
from corrigible.proxy.http.corrector import HttpCorrector, HttpOutcome
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.edit import NotApplicable, apply_operation
from corrigible.schema.exchange import Exchange, Json, Request
from tests._support.by_description import engine_of, feedback_about
from tests._support.rows import rows

JSON = [("Content-Type", "application/json")]
FORM = [("Content-Type", "application/x-www-form-urlencoded")]
LOOK = 500
"""Steps between two looks at a clock: what counts the looks counts steps."""


class Looks:
    """A clock that stands still and counts who looks at it."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> float:
        self.count += 1
        return 0.0


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = {f"required_{n}": {"type": "string"} for n in range(20)}
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": [*names],
        "properties": {
            **names,
            "tags": {"type": "array", "uniqueItems": True, "items": {"type": "string", "format": "email"}},
            "mode": {"type": "string", "enum": ["fast", "slow", "medium"]},
            "free": {"type": "object"},
        },
    }
    body = {"content": {"application/json": {"schema": schema}}}
    query = [{"name": f"filter_{n}", "in": "query", "schema": {"type": "string"}} for n in range(20)]
    operation = {
        "operationId": "make",
        "parameters": query,
        "requestBody": body,
        "responses": {"400": {"description": "no"}},
    }
    file = tmp_path_factory.mktemp("spec") / "openapi.json"
    document = {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {"/things": {"post": operation}}}
    file.write_text(json.dumps(document))
    return file


WHOLE: Any = {f"required_{n}": "x" for n in range(20)}
PLAIN: Json = {"message": "no"}
SHAPES: dict[str, Callable[[int], tuple[str, Json, Json]]] = {
    "undeclared": lambda n: ("/things", {f"strange_{i}": 1 for i in range(n)}, PLAIN),
    "nearly declared": lambda n: ("/things", {f"requird_{i}": 1 for i in range(n)}, PLAIN),
    "alike": lambda n: ("/things", {**WHOLE, "tags": [f"a{i}@b.c" for i in range(n)] * 2}, PLAIN),
    "wrong elements": lambda n: ("/things", {**WHOLE, "tags": [f"a{i}" for i in range(n)]}, PLAIN),
    "a long text": lambda n: ("/things", {**WHOLE, "mode": "f_" * n * 20}, PLAIN),
    "a long name": lambda n: ("/things", {**WHOLE, "required_" * n: 1}, PLAIN),
    "a large member": lambda n: ("/things", {**WHOLE, "mode": "x", "free": {"a": [[i] for i in range(n)]}}, PLAIN),
    "query": lambda n: ("/things?" + "&".join(f"filtr_{i}=1" for i in range(n)), WHOLE, PLAIN),
    "complaints": lambda n: (
        "/things",
        {f"strange_{i}": 1 for i in range(50)},
        {"errors": [{"message": "is required", "field": f"required_{i % 20}"} for i in range(n)]},
    ),
    "keyed complaints": lambda n: ("/things", WHOLE, {"errors": {f"Required_{i}": ["is wrong"] for i in range(n)}}),
    "a long message": lambda n: ("/things", WHOLE, {"message": "'a' is b.c [ " * n}),
}


def looks(engine: Engine, clock: Looks, target: str, body: Json, answer: Json) -> int:
    path, _, query = target.partition("?")
    asked = dict(pair.split("=") for pair in query.split("&")) if query else {}
    request = Request("POST", path, asked, {"content-type": "application/json"}, body)
    before = clock.count
    try:
        next(engine.decide(Exchange(request, 400, {}, json.dumps(answer).encode(), "e", 1.0)))
    except StopIteration as done:
        assert isinstance(done.value, PassThrough | Annotate)
        return clock.count - before
    raise AssertionError("nothing is asked")


@pytest.fixture(scope="module")
def profiles(spec: Path) -> list[ApiProfile]:
    return load_profiles([], spec)


@rows("shape", SHAPES)
def test_steps_grow_no_faster_than_what_was_sent(profiles: list[ApiProfile], shape: str) -> None:
    clock = Looks()
    engine = Engine(profiles, Limits(steps=10_000_000, values=1_000_000), clock)
    once = looks(engine, clock, *SHAPES[shape](400))
    assert once < 250, f"some {once * LOOK} steps for a few kilobytes"
    assert looks(engine, clock, *SHAPES[shape](1600)) <= 4 * once + 4


@pytest.fixture(scope="module")
def by_spec(spec: Path) -> HttpCorrector:
    return build_corrector([], spec=spec)


def outcome(
    corrector: HttpCorrector, body: bytes, answer: Json = PLAIN, headers: Any = JSON, path: str = "/things"
) -> HttpOutcome:
    said = json.dumps(answer).encode()
    going = corrector.correct(
        HttpExchange(RequestHead("POST", path, headers), body, ResponseHead(400, JSON), said), id="e", started=1.0
    )
    return run_with_lookups_sync(going, lambda path: LookupAnswer(0), corrector.limits)


def test_of_thousands_of_mistakes_some_are_told(by_spec: HttpCorrector) -> None:
    said = outcome(by_spec, json.dumps({**WHOLE, **{f"strange_{n}": 1 for n in range(3000)}}).encode())
    assert said.feedback is not None
    assert 1 < len(said.feedback["suggestions"]) <= by_spec.limits.suggestions


def test_a_wrong_element_is_found_wherever_it_stands(by_spec: HttpCorrector) -> None:
    tags = [f"a{n}@b.c" for n in range(900)]
    tags[871] = "<a871@b.c>"
    said = outcome(by_spec, json.dumps({**WHOLE, "tags": tags}).encode())
    assert said.feedback is not None
    [suggestion] = said.feedback["suggestions"]
    assert suggestion["patch"][-1] == {"op": "replace", "path": "/body/tags/871", "value": "a871@b.c"}


def test_a_form_of_thousands_of_parameters_is_answered() -> None:
    form = "&".join(f"unknown{n}=1" for n in range(1900)).encode()
    error = {
        "error": {
            "type": "invalid_request_error",
            "message": "Received unknown parameter: unknown1",
            "param": "unknown1",
        }
    }
    said = outcome(build_corrector(["stripe"]), form, error, FORM, "/v1/charges")
    assert said.error is None
    assert said.feedback is not None


@pytest.mark.parametrize(
    "body",
    [b'{"free":' + b"[" * 150 + b"]" * 150 + b"}", json.dumps({"tags": ["x"] * 60_000}).encode()],
    ids=["deep", "many values"],
)
def test_what_holds_too_much_passes(by_spec: HttpCorrector, body: bytes) -> None:
    said = outcome(by_spec, body)
    assert (said.rewrite, said.reason) == (None, "the request holds too many values or is nested too deep")


def test_an_answer_that_is_too_deep_passes(by_spec: HttpCorrector) -> None:
    answer: Json = "no"
    for _ in range(150):
        answer = {"message": answer}
    said = outcome(by_spec, b"{}", answer)
    assert (said.rewrite, said.reason) == (None, "the answer holds too many values or is nested too deep")


def test_what_takes_too_many_steps_passes_with_a_line_for_the_log(spec: Path) -> None:
    corrector = build_corrector([], spec=spec, limits=Limits(steps=20, steps_for_values=0))
    said = outcome(corrector, b"{}")
    assert (said.rewrite, said.error) == (None, "more than 20 steps of computing")


@pytest.mark.parametrize(("query", "body", "steps"), [("", {}, 23), ("?a=1&b=2", {}, 25), ("?a=1&b=2", {"c": 1}, 26)])
def test_each_value_of_an_exchange_gives_steps(spec: Path, query: str, body: Json, steps: int) -> None:
    corrector = build_corrector([], spec=spec, limits=Limits(steps=20, steps_for_values=1))
    assert outcome(corrector, json.dumps(body).encode(), path=f"/things{query}").error == (
        f"more than {steps} steps of computing"
    )


def test_what_takes_too_much_time_passes_with_a_line_for_the_log(spec: Path) -> None:
    seconds = iter(range(1000))
    engine = Engine(load_profiles([], spec), Limits(), lambda: float(next(seconds)))
    said = outcome(HttpCorrector(engine), json.dumps({f"requird_{n}": 1 for n in range(400)}).encode())
    assert (said.rewrite, said.error) == (None, "more time than there is for computing")


def test_of_an_answer_so_much_is_read(spec: Path) -> None:
    limits = Limits()
    answer = {"errors": [{"message": "m" * 20_000, "field": f"f{n}"} for n in range(500)]}
    cut: Any = readable(answer, limits)
    assert len(cut["errors"]) == limits.errors
    assert {len(one["message"]) for one in cut["errors"]} == {limits.text}
    request = Request("POST", "/things", body={"a": 1})
    exchange = Exchange(request, 400, {}, json.dumps(answer).encode(), "e", 1.0)
    try:
        next(Engine(load_profiles([], spec)).decide(exchange))
    except StopIteration as done:
        assert len(done.value.case.errors) == limits.errors
        assert done.value.case.body == answer, "where feedback goes is told by the whole answer"


DOUBLING = "let:\n  a0: request.body.text\n" + "".join(f"  a{n}: a{n - 1} + a{n - 1}\n" for n in range(1, 40))
LISTS = "let:\n  a0: '[1, 2, 3]'\n" + "".join(f"  a{n}: '[a{n - 1}, a{n - 1}]'\n" for n in range(1, 40))
SPEAKS = "suggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]\n"


@pytest.mark.parametrize("lets", [DOUBLING, LISTS], ids=["texts", "lists"])
def test_what_a_rule_keeps_between_its_steps_has_a_bound(write_pack: Callable[..., Path], lets: str) -> None:
    """Forty doublings would be a terabyte; what a process ever had is at most what it has had before, and a little."""
    corrector = build_corrector([write_pack(x=lets + SPEAKS)], limits=Limits(seconds=60))  # other bounds come first
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = outcome(corrector, json.dumps({"text": "x" * 2000}).encode(), {"error": {"message": "m"}})
    assert said.rewrite is None
    assert said.error is not None
    assert re.match(r"apex\.x: let a\d+ makes the names of this rule hold too much|more than [\d,]+ steps", said.error)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000


@rows(
    "operation",
    [
        {"op": "replace", "path": "/a/b/0", "value": 9},
        {"op": "add", "path": "/a/c", "value": 9},
        {"op": "move", "from": "/d/e", "path": "/a/e"},
        {"op": "remove", "path": "/a/b/1/x"},
        {"op": "add", "path": "/nowhere/at/all", "value": 1},
        {"op": "add", "path": "/a/b/99999999999999999999/x", "value": 1},
    ],
)
def test_only_what_is_on_the_way_of_an_edit_is_copied(operation: dict[str, Any]) -> None:
    document: Any = {"a": {"b": [1, {"x": 2}]}, "d": {"e": 3}, "f": {"g": [4]}}
    untouched = json.dumps(document)
    mine = document
    with contextlib.suppress(NotApplicable):
        mine = apply_operation(document, operation)
    assert mine["f"] is document["f"]
    assert json.dumps(document) == untouched


@pytest.mark.parametrize("count", [400, 1000, 3000])
def test_of_very_many_errors_the_first_are_told(count: int, tmp_path: Path) -> None:
    """Each error is looked for in all that was sent: steps are kept for what follows from those that were read."""
    item = "{type: object, properties: {a: {type: integer}, b: {type: string}}}"
    engine = engine_of(tmp_path, BULK.replace("ITEM", item))
    body = {"items": [{"a": "z", "b": f"k{n}"} for n in range(count)]}
    request = Request("POST", "/things", headers={"content-type": "application/json"}, body=body)
    errors = [{"field": f"items[{n}].a", "message": "must be an integer"} for n in range(count)]
    feedback = feedback_about(engine, request, 422, {"errors": errors})
    assert feedback is not None
    places = [place["pointer"] for one in feedback["suggestions"] for place in one["placeholders"]]
    assert places == [f"/body/items/{n}/a" for n in range(len(places))] and places


BULK = """
openapi: 3.0.3
info: {title: t, version: "1"}
paths:
  /things:
    post:
      operationId: add
      requestBody:
        content:
          application/json:
            schema: {type: object, properties: {items: {type: array, items: ITEM}}}
"""
