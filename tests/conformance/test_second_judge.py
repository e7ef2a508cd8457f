"""openapi-core beside the judges of this project: where they agree, where they differ, and what is told of it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from corrigible.adapters.demo import acme, recipe
from corrigible.adapters.openapi.load import load
from corrigible.conformance.checks.http.second_judge import Comparison
from corrigible.conformance.model.yaml_file import SUITE, load_yaml
from corrigible.conformance.validators.openapi import Breach, Description
from corrigible.conformance.validators.openapi_core import SecondJudge
from corrigible.proxy.build import profile_of
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.pack_tools.lint import evaluate_rules
from corrigible.rules.pack.cases import load_cases
from corrigible.rules.pack.load import load_pack, rule_files
from corrigible.schema.exchange import Request
from corrigible.schema.reader import Next, apply

pytestmark = pytest.mark.filterwarnings("ignore:Use of allowEmptyValue:DeprecationWarning")
SHOP = SUITE / "reference" / "openapi.yaml"
PACKS = [
    ("acme", Path(acme.__file__).with_name("openapi.yaml")),
    ("recipe", Path(recipe.__file__).with_name("openapi.yaml")),
    (str(SUITE / "reference" / "pack"), SHOP),
]


@pytest.fixture(scope="module")
def second() -> SecondJudge:
    return SecondJudge(load_yaml(SHOP.read_text("utf-8")))


@pytest.mark.parametrize(("name", "spec"), PACKS, ids=["acme", "recipe", "reference"])
def test_three_judges_agree_about_the_cases_of_packs_and_what_is_made_of_them(
    name: str, spec: Path, tmp_path: Path
) -> None:
    compiled = load(spec, cache=tmp_path)
    own, second = Description.load(spec), SecondJudge(load_yaml(spec.read_text("utf-8")))
    profile = profile_of(load_pack(name))
    requests: list[Request] = []
    for file in rule_files(profile.pack.path):
        for case in load_cases(file):
            requests.append(case.exchange.request)
            result = evaluate_rules(profile, profile.pack.rules, case)
            if isinstance(result, Annotate):
                outcome = apply(orjson.loads(result.encoded), case.exchange.request, confirm=True)
                requests += [outcome.request] if isinstance(outcome, Next) else []
    assert len(requests) > 40
    for request in requests:
        found = compiled.operations.find(request.method, request.path)
        assert found is not None
        verdicts = {
            bool(second.request_errors(request)),
            bool(own.breaches_of(request)),
            bool(compiled.schema_violations(request, found[0])),
        }
        assert len(verdicts) == 1, request


def test_what_the_second_judge_says(second: SecondJudge) -> None:
    order = {"customer": "cus_ada", "currency": "usd", "lines": [{"sku": "tea", "quantity": 1}]}
    assert second.request_errors(Request("POST", "/v1/orders", body={**order, "channel": "web"})) == []
    errors = second.request_errors(Request("POST", "/v1/orders", body={**order, "currency": "usdd"}))
    assert errors is not None and any("'usdd'" in text for text in errors)
    assert second.request_errors(Request("GET", "/nowhere")) is None


def test_answers_are_judged(second: SecondJudge) -> None:
    request = Request("GET", "/v1/items")
    json = [("Content-Type", "application/json")]
    assert second.response_errors(request, 200, json, b"[1]")
    assert second.response_errors(request, 200, [("Content-Type", "text/plain")], b"words")


def test_answers_of_a_media_type_that_is_json_by_its_suffix() -> None:
    schema = {"type": "object", "required": ["title"]}
    media = {"application/problem+json": {"schema": schema}}
    responses = {"400": {"description": "refused", "content": media}}
    paths = {"/a": {"get": {"responses": responses}}}
    judge = SecondJudge({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths})
    headers = [("Content-Type", "application/problem+json")]
    assert judge.response_errors(Request("GET", "/a"), 400, headers, b'{"title": "t"}') == []
    assert judge.response_errors(Request("GET", "/a"), 400, headers, b"{}") == ["'title' is a required property"]


def test_a_description_that_openapi_core_does_not_take() -> None:
    with pytest.raises(ValueError, match="OpenAPI 3 alone"):
        SecondJudge({"swagger": "2.0", "info": {"title": "t", "version": "1"}, "paths": {}})


def test_differences_are_told_with_an_example() -> None:
    compared = Comparison()
    wrong = [Breach("/body/a", "type", "a is no text")]
    compared.add("agreed", wrong, ["error"])
    compared.add("agreed", [], [])
    compared.add("first", wrong, [])
    compared.add("second", [], ["b is wrong"])
    compared.add("unknown path", None, [])
    compared.add("parameter", [Breach("/query/x", "additionalProperties", "x is not known")], [])
    assert compared.told("requests") == (
        "openapi-core, a second judge, agrees about 2 of 4 requests and cannot tell of 2; for one, "
        "first: a is no text (openapi-core: nothing is wrong)."
    )
    assert Comparison().told("requests") == ""
