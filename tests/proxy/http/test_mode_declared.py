"""`?mode=` is ours only where no description says that it is the API's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corrigible.proxy.build import build_corrector
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import RequestHead

PLAIN = {"responses": {"200": {"description": "ok"}}}
MODE = {"name": "mode", "in": "query", "schema": {"type": "string", "enum": ["none", "verbose"]}}
FREE = {"name": "filters", "in": "query", "schema": {"type": "object", "additionalProperties": {"type": "string"}}}


@pytest.fixture
def corrector(tmp_path: Path) -> HttpCorrector:
    paths = {
        "/own": {"post": {**PLAIN, "operationId": "own", "parameters": [MODE]}},
        "/shared/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}, MODE],
            "get": {**PLAIN, "operationId": "shared"},
        },
        "/header": {"get": {**PLAIN, "operationId": "header", "parameters": [{**MODE, "in": "header"}]}},
        "/free": {"get": {**PLAIN, "operationId": "free", "parameters": [FREE]}},
        "/none": {"get": {**PLAIN, "operationId": "none"}},
    }
    spec = tmp_path / "openapi.json"
    spec.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "x", "version": "1"}, "paths": paths}), "utf-8")
    return build_corrector([], spec=spec)


@pytest.mark.parametrize(
    "target", ["/own?mode=verbose", "/own?a=1&mode=none&b=2", "/shared/7?mode=none", "/free?mode=none"]
)
def test_an_apis_own_mode_passes(corrector: HttpCorrector, target: str) -> None:
    assert corrector.upstream_target(target) == target
    assert corrector.requested_mode(RequestHead("POST", target, ())).mode is Mode.REFLECTIVE
    asked = RequestHead("POST", target, [("Prefer", "recovery-feedback=verbose")])
    assert corrector.requested_mode(asked) == (Mode.VERBOSE, True, False)


@pytest.mark.parametrize("path", ["/none", "/header"])
def test_where_the_operation_is_described_without_it_the_words_are_ours(corrector: HttpCorrector, path: str) -> None:
    assert corrector.upstream_target(f"{path}?a=1&mode=verbose") == f"{path}?a=1"
    assert corrector.requested_mode(RequestHead("GET", f"{path}?mode=verbose", ())).mode is Mode.VERBOSE
    assert corrector.upstream_target(f"{path}?mode=fast") == f"{path}?mode=fast"


@pytest.mark.parametrize("target", ["/unknown?mode=none", "/unknown/7?a=1&mode=verbose"])
def test_where_nothing_describes_the_operation_it_may_be_the_apis(corrector: HttpCorrector, target: str) -> None:
    for one in (corrector, build_corrector([]), build_corrector(["stripe"])):
        assert one.upstream_target(target) == target
        assert one.requested_mode(RequestHead("POST", target, ())).mode is Mode.REFLECTIVE


def test_an_operator_may_say_that_the_api_has_none(corrector: HttpCorrector) -> None:
    told = HttpCorrector(corrector.engine, query_mode=True)
    assert told.upstream_target("/unknown?a=1&mode=none") == "/unknown?a=1"
    assert told.requested_mode(RequestHead("POST", "/unknown?mode=none", ())).mode is Mode.NONE
    assert told.upstream_target("/own?mode=none") == "/own?mode=none"
