"""Requests below a base path that no description has are told of, and cost nothing for ever after."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from corrigible.adapters.openapi.load import load
from corrigible.proxy.command.options import UsageError
from corrigible.proxy.command.spec_option import UnmatchedPaths, shown, spec_files, told
from tests._support.built_in_packs import profile_of
from tests._support.rows import rows

PATHS: dict[str, object] = {f"/{name}": {"get": {"responses": {}}} for name in ("flowers", "cars", "cars/{plate}")}
DESCRIPTION = {"openapi": "3.0.3", "info": {"title": "x", "version": "1"}, "paths": PATHS}


def unmatched(folder: Path) -> tuple[UnmatchedPaths, list[str]]:
    file = folder / "x.json"
    file.write_text(json.dumps(DESCRIPTION), "utf-8")
    description = load(file, cache=folder / "cache")
    plain = profile_of("http")
    profile = replace(plain, adapter=replace(plain.adapter, operations=description.operations), description=description)
    lines: list[str] = []
    return UnmatchedPaths([plain, profile], lines.append), lines


def test_what_is_said_of_a_fetched_file_names_its_url() -> None:
    lines = ["/cache/ab12.json: converted from Swagger 2.0 to OpenAPI 3.0", "x.yaml: two operations are called a"]
    files, specs = [Path("/cache/ab12.json"), Path("x.yaml")], ["https://me:secret@example.com/a.json", "x.yaml"]
    assert told(lines, files, specs) == [
        "https://example.com/a.json: converted from Swagger 2.0 to OpenAPI 3.0",
        "x.yaml: two operations are called a",
    ]


def test_each_base_path_is_told_once(tmp_path: Path) -> None:
    paths, lines = unmatched(tmp_path)
    for target in ("/api/flowers?a=1", "/api/cars", "/v2/cars/AB-12?b=2", "/other", "/flowers"):
        paths.refused(target)
    assert lines == [
        "the description has /flowers, requests come to /api/flowers: start with --base /api?",
        "the description has /cars/{plate}, requests come to /v2/cars/{plate}: start with --base /v2?",
    ]


@rows(
    "target",
    [
        "/bot123:SECRET/cars",
        "/sk_live_abcdefgh12345678/cars",
        "/%1b%5b31m/cars",
        "/" + "a" * 50 + "/cars",
        "//[",
        "/7/cars",
    ],
)
def test_what_may_be_a_token_is_not_told(tmp_path: Path, target: str) -> None:
    paths, lines = unmatched(tmp_path)
    paths.refused(target)
    assert lines == []


@rows(
    ("spec", "told"),
    [
        ("folder/x.json", "folder/x.json"),
        ("http://127.0.0.1:80/openapi.json", "http://127.0.0.1:80/openapi.json"),
        ("https://me:secret@example.com/a?token=secret#x", "https://example.com/a?..."),
        ("https://[me:secret", "https://..."),
        ("http://user:pa/ss:w0rd@host/x", "http://host/x"),
        ("https://me:secret@example.com/a?token=sec@ret", "https://..."),
    ],
)
def test_a_url_is_told_without_its_credentials(spec: str, told: str) -> None:
    assert shown(spec) == told


def test_the_failure_of_an_invalid_url_tells_nothing_of_it() -> None:
    with pytest.raises(UsageError) as failure:
        spec_files(["http://user:pa/ss:w0rd@host/x"])
    assert str(failure.value) == "--spec http://host/x: cannot be fetched: not a valid URL"


def test_only_the_first_refusals_are_compared(tmp_path: Path) -> None:
    paths, lines = unmatched(tmp_path)
    for _ in range(20):
        paths.refused("/other")
    paths.refused("/api/flowers")
    assert lines == []
