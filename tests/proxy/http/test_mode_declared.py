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


@pytest.fixture
def corrector(tmp_path: Path) -> HttpCorrector:
    paths = {
        "/own": {"post": {**PLAIN, "operationId": "own", "parameters": [MODE]}},
        "/shared/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}, MODE],
            "get": {**PLAIN, "operationId": "shared"},
        },
        "/header": {"get": {**PLAIN, "operationId": "header", "parameters": [{**MODE, "in": "header"}]}},
        "/none": {"get": {**PLAIN, "operationId": "none"}},
    }
    spec = tmp_path / "openapi.json"
    spec.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "x", "version": "1"}, "paths": paths}), "utf-8")
    return build_corrector([], spec=spec)


@pytest.mark.parametrize("target", ["/own?mode=verbose", "/own?a=1&mode=none&b=2", "/shared/7?mode=none"])
def test_an_apis_own_mode_passes(corrector: HttpCorrector, target: str) -> None:
    assert corrector.upstream_target(target) == target
    assert corrector.requested_mode(RequestHead("POST", target, ())).mode is Mode.REFLECTIVE
    asked = RequestHead("POST", target, [("Prefer", "recovery-feedback=verbose")])
    assert corrector.requested_mode(asked) == (Mode.VERBOSE, True, False)


@pytest.mark.parametrize("path", ["/none", "/header", "/unknown"])
def test_where_nothing_declares_it_the_words_are_ours(corrector: HttpCorrector, path: str) -> None:
    assert corrector.upstream_target(f"{path}?a=1&mode=verbose") == f"{path}?a=1"
    assert corrector.requested_mode(RequestHead("GET", f"{path}?mode=verbose", ())).mode is Mode.VERBOSE
    assert corrector.upstream_target(f"{path}?mode=fast") == f"{path}?mode=fast"
