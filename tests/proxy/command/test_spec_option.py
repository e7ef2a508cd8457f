"""Requests below a base path that no description has are told of, and cost nothing for ever after."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from corrigible.adapters.openapi.load import load
from corrigible.proxy.command.spec_option import UnmatchedPaths
from tests._support.built_in_packs import profile_of

PATHS: dict[str, object] = {f"/{name}": {"get": {"responses": {}}} for name in ("flowers", "cars")}
DESCRIPTION = {"openapi": "3.0.3", "info": {"title": "x", "version": "1"}, "paths": PATHS}


def unmatched(folder: Path) -> tuple[UnmatchedPaths, list[str]]:
    file = folder / "x.json"
    file.write_text(json.dumps(DESCRIPTION), "utf-8")
    description = load(file, cache=folder / "cache")
    plain = profile_of("http")
    profile = replace(plain, adapter=replace(plain.adapter, operations=description.operations), description=description)
    lines: list[str] = []
    return UnmatchedPaths([plain, profile], lines.append), lines


def test_each_base_path_is_told_once(tmp_path: Path) -> None:
    paths, lines = unmatched(tmp_path)
    for target in ("/api/flowers?a=1", "/api/cars", "/v2/cars", "/other", "/flowers"):
        paths.refused(target)
    assert lines == [
        "the description has /flowers, requests come to /api/flowers: start with --base /api?",
        "the description has /cars, requests come to /v2/cars: start with --base /v2?",
    ]


def test_only_the_first_refusals_are_compared(tmp_path: Path) -> None:
    paths, lines = unmatched(tmp_path)
    for _ in range(20):
        paths.refused("/other")
    paths.refused("/api/flowers")
    assert lines == []
