"""Reading an OpenAPI description, and the file it is compiled into."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from corrigible.adapters.openapi import generate, validation
from corrigible.adapters.openapi.compiled_file import NotCompiled
from corrigible.adapters.openapi.description import read
from corrigible.adapters.openapi.load import load
from corrigible.rules.errors import AuthoringError
from corrigible.schema.exchange import Request
from tests._support.rows import rows

SHOP = Path(__file__).with_name("shop.yaml")

DOCUMENT = {
    "openapi": "3.0.3",
    "info": {"title": "Things", "version": "1"},
    "servers": [{"url": "https://api.test/v2/"}, {"url": "/v2"}, {"url": "https://{region}.test/v3"}],
    "paths": {
        "/things/{id}": {
            "parameters": [],
            "get": {"operationId": "GetThing"},
            "delete": {},
            "x-extra": {"operationId": "Nothing"},
        },
        "/things": {
            "post": {
                "operationId": "CreateThing",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
            }
        },
    },
    "components": {"schemas": {"Thing": {"type": "object", "properties": {"size": {"type": "integer"}}}}},
}
WRONG = Request("POST", "/things", body={"size": "big"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(DOCUMENT), "utf-8")
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def entries(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "openapi").iterdir())


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_operations_with_and_without_the_servers_path(tmp_path: Path, cache: Path, suffix: str) -> None:
    path = tmp_path / f"openapi{suffix}"
    path.write_text(json.dumps(DOCUMENT), "utf-8")  # JSON is YAML too
    found = load(path, cache=cache).operations
    assert found.find("GET", "/things/1") == ("GetThing", {"id": "1"})
    assert found.find("GET", "/v2/things/1") == ("GetThing", {"id": "1"})
    assert found.find("DELETE", "/v2/things/1") == ("DELETE /things/{id}", {"id": "1"})
    assert found.find("POST", "/things") == ("CreateThing", {})
    assert found.find("GET", "/v3/things/1") is None


def test_a_servers_variables_have_their_defaults_and_some_parameters_take_several_segments(cache: Path) -> None:
    description = load(SHOP, cache=cache)
    assert (description.title, description.version) == ("Shop", "2.1")
    assert description.operations.find("GET", "/api/orders/7") == ("GetOrder", {"order": "7"})
    assert description.operations.find("PUT", "/v2/files/a/b.txt") == ("PutFile", {"path": "a/b.txt"})


def test_two_operations_of_one_name_are_kept_apart(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "a.json"
    operation = {"operationId": "Same"}
    path.write_text(json.dumps({"openapi": "3.0.0", "paths": {"/a": {"get": operation}, "/b": {"get": operation}}}))
    found = load(path, cache=cache).operations
    assert [found.find("GET", one) for one in ("/a", "/b")] == [("Same", {}), ("GET /b", {})]


NO_DESCRIPTIONS: Final = [
    ("a.yaml", "a: 1\n", '1: not an OpenAPI description: "paths" is missing'),
    ("a.yaml", "- 1\n", '1: not an OpenAPI description: "paths" is missing'),
    ("a.yaml", "a: 1\na: 2\n", '2: key "a" stands twice'),
    ("a.json", "{\n]", "2: not JSON: unexpected character"),
    ("a.json", "[]", '1: not an OpenAPI description: "paths" is missing'),
    ("a.json", '{"paths": {}}', '1: not an OpenAPI description: "openapi", its version, is missing'),
    (
        "a.json",
        '{"swagger": "1.2", "apis": []}',
        "1: this is Swagger 1.2: OpenAPI 3.0, 3.1, 3.2 and Swagger 2.0 are",
    ),
    ("a.json", '{"asyncapi": "3.0.0"}', "1: this is AsyncAPI: only OpenAPI 3 and Swagger 2.0 are read"),
    (
        "a.json",
        '{"swagger": "1.2", "paths": {}}',
        "1: this is Swagger 1.2: OpenAPI 3.0, 3.1, 3.2 and Swagger 2.0 are",
    ),
    ("a.yaml", "openapi: 3.0.3\nx: " + "9" * 5000, "2: a number of 5000 digits"),
    ("a.yaml", "openapi: 3.0.3\nx: 0x" + "f" * 5000, "2: a number of 5002 digits"),
    ("a.json", '{"openapi": "4.0.0", "paths": {}}', "1: this is OpenAPI 4.0.0: OpenAPI 3.0, 3.1, 3.2 and Swagger"),
    ("a.json", '{"openapi": "30.1", "paths": {}}', "1: this is OpenAPI 30.1: OpenAPI 3.0, 3.1, 3.2 and Swagger"),
    (
        "a.json",
        '{"asyncapi": "3.0.0", "paths": {}}',
        "1: this is AsyncAPI: only OpenAPI 3 and Swagger 2.0 are read",
    ),
]
"""The name of a file, its text, and the line and the problem that are said of it."""


def check_refused(path: Path, cache: Path, text: str, said: str, *, check: bool) -> None:
    path.write_text(text, "utf-8")
    with pytest.raises(AuthoringError) as caught:
        load(path, cache=cache, check=check)
    assert str(caught.value).startswith(f"{path}:{said}")
    assert entries(cache) == []


@rows(("name", "text", "said"), NO_DESCRIPTIONS)
def test_a_file_that_is_none(tmp_path: Path, name: str, text: str, said: str) -> None:
    check_refused(tmp_path / name, tmp_path / "cache", text, said, check=False)


@pytest.mark.parametrize(("name", "text", "said"), NO_DESCRIPTIONS[2:5])
def test_another_process_says_the_same_of_a_file_that_is_none(
    tmp_path: Path, cache: Path, name: str, text: str, said: str
) -> None:
    check_refused(tmp_path / name, cache, text, said, check=True)


def test_yaml_is_of_version_1_2(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        """\
openapi: 3.0.0
x-shared: &shared {type: object, required: [country]}
paths:
  /a:
    post:
      requestBody:
        content:
          application/json:
            schema:
              <<: *shared
              properties:
                country: {type: string, enum: [no, on, 14:00, 2026-11-21, "5", ~, null]}
                size: {enum: [5, 0x10, 1.5, 1e3, true, -7]}
      responses: {404: {description: none}}
"""
    )
    description = load(path, cache=cache)
    for country, size in (("no", 5), ("on", 16), ("14:00", 1.5), ("2026-11-21", 1000), ("5", True), ("no", -7)):
        assert (
            description.schema_violations(Request("POST", "/a", body={"country": country, "size": size}), "POST /a")
            == ()
        )
    (violation,) = description.schema_violations(Request("POST", "/a", body={"country": "yes"}), "POST /a")
    assert violation.schema["enum"] == ["no", "on", "14:00", "2026-11-21", "5", None, None]
    assert [b.pointer for b in description.schema_violations(Request("POST", "/a", body={}), "POST /a")] == [
        "/body/country"
    ]
    assert tuple(description.refusals("POST /a")) == ("404",)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match=r"a\.json: no such file$"):
        load(tmp_path / "a.json")


def test_it_is_compiled_once_and_again_when_it_changes(file: Path, cache: Path) -> None:
    load(file, cache=cache)
    (name,) = entries(cache)
    compiled = cache / "openapi" / name
    before = compiled.stat().st_ino
    load(file, cache=cache)
    assert (entries(cache), compiled.stat().st_ino) == ([name], before)
    file.write_text(json.dumps({**DOCUMENT, "info": {"title": "Others"}}), "utf-8")
    assert load(file, cache=cache).title == "Others"
    assert len(entries(cache)) == 2


def test_it_is_compiled_again_when_a_file_it_refers_to_changes(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "parts").mkdir()
    part = tmp_path / "parts" / "thing.yaml"
    part.write_text("Thing: {type: object, required: [a]}\n")
    path = tmp_path / "openapi.yaml"
    path.write_text(
        "openapi: 3.0.0\npaths: {/t: {post: {requestBody: {content: "
        '{application/json: {schema: {$ref: "parts/thing.yaml#/Thing"}}}}}}}\n'
    )
    request = Request("POST", "/t", body={})
    assert [b.pointer for b in load(path, cache=cache).schema_violations(request, "POST /t")] == ["/body/a"]
    part.write_text("Thing: {type: object, required: [b]}\n")
    assert [b.pointer for b in load(path, cache=cache).schema_violations(request, "POST /t")] == ["/body/b"]


def test_what_a_reference_cannot_reach_is_not_judged_and_never_fetched(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "a.json"
    for reference in ("https://example.com/a.json#/A", "none.yaml#/A", "#/components/schemas/None", "#Anchor", "#/a"):
        body = {"content": {"application/json": {"schema": {"$ref": reference}}}}
        operation = {"post": {"operationId": "P", "requestBody": body}}
        path.write_text(json.dumps({"openapi": "3.0.0", "a": {"$ref": "#/a"}, "paths": {"/p": operation}}))
        assert load(path, cache=cache).schema_violations(Request("POST", "/p", body={"x": 1}), "P") == ()


@pytest.mark.parametrize("damage", [b"", b"corrigible-openapi 0\n", b"corrigible-openapi 5\n\0\0\0\0\0\0\0\x02{}"])
def test_a_damaged_cache_is_made_anew(file: Path, cache: Path, damage: bytes) -> None:
    load(file, cache=cache)
    (name,) = entries(cache)
    whole = (cache / "openapi" / name).read_bytes()
    (cache / "openapi" / name).write_bytes(damage or whole[:-5])
    assert [one.keyword for one in load(file, cache=cache).schema_violations(WRONG, "CreateThing")] == ["type"]
    assert (cache / "openapi" / name).read_bytes() == whole


def test_a_cache_that_cannot_be_written_only_costs_time(file: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "not-a-folder"
    blocked.write_text("")
    assert load(file, cache=blocked).schema_violations(WRONG, "CreateThing")[0].pointer == "/body/size"


def test_starts_at_the_same_time_leave_one_whole_file(file: Path, cache: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: load(file, cache=cache).schema_violations(WRONG, "CreateThing"), range(16)))
    assert {violation.pointer for one in found for violation in one} == {"/body/size"}
    assert len(entries(cache)) == 1


def test_a_large_one_is_compiled_in_another_process(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corrigible.adapters.openapi.load._SMALL", 0)
    monkeypatch.setattr("corrigible.adapters.openapi.compiler.compile_description", None)
    assert load(file, cache=cache).schema_violations(WRONG, "CreateThing")[0].keyword == "type"


def test_a_shipped_one_says_the_same_without_the_prose(tmp_path: Path, cache: Path) -> None:
    out = tmp_path / "shop.bin"
    assert generate.main([str(SHOP), str(out)]) == 0
    shipped, loaded = read(out.read_bytes()), load(SHOP, cache=cache)
    request = Request("POST", "/payments", body={"amount": "x"}, form=True)
    assert (
        shipped.schema_violations(request, "CreatePayment") == loaded.schema_violations(request, "CreatePayment") != ()
    )
    assert shipped.operations.templates == loaded.operations.templates
    (compiled,) = (cache / "openapi").iterdir()
    assert b"Prose that is not kept" not in compiled.read_bytes()
    with pytest.raises(NotCompiled):
        read(b"something else")


def test_the_command_that_ships_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "shop.bin"
    assert generate.main([str(SHOP), str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: {out.stat().st_size:,} bytes\n"
    assert read(out.read_bytes()).title == "Shop"
    assert generate.main([str(tmp_path / "none.yaml"), str(out)]) == 1
    assert capsys.readouterr().err == f"{tmp_path / 'none.yaml'}: no such file\n"


def test_what_is_formally_wrong_is_said_with_file_and_line_and_used_all_the_same(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("openapi: 3.0.3\ninfo: {title: A, version: '1'}\npaths:\n  /a:\n    get:\n      operationId: 5\n")
    description = load(path, cache=cache, check=True)
    assert len(description.problems) > 0
    assert all(one.startswith(f"{path}:") for one in description.problems)
    assert description.operations.find("GET", "/a") == ("GET /a", {})
    assert load(SHOP, cache=cache, check=True).problems == ()
    assert load(path, cache=cache).problems == ()


def test_what_has_no_problems_is_not_checked_again_at_another_path(tmp_path: Path, cache: Path) -> None:
    load(SHOP, cache=cache)
    for title, wrong in (("right", False), ("wrong", True)):
        text = f"openapi: 3.0.3\ninfo: {{title: {title}{', x: 1' if wrong else ''}, version: '1'}}\npaths: {{}}\n"
        paths = [tmp_path / f"{title}-{number}.yaml" for number in range(2)]
        before = len(entries(cache))
        for path in paths:
            path.write_text(text)
            problems = load(path, cache=cache, check=True).problems
            assert bool(problems) is wrong and all(one.startswith(f"{path}:") for one in problems)
        assert len(entries(cache)) - before == 1 + wrong


def test_the_extra_spec_names_what_is_imported_for_the_check() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    named = {re.split(r"[<>=]", one)[0] for one in project["optional-dependencies"]["spec"] + project["dependencies"]}
    imported = set(re.findall(r"^ +from (\w+) import", Path(validation.__file__).read_text(), re.MULTILINE))
    assert imported == {"jsonschema_path", "openapi_spec_validator"}
    assert {name.replace("_", "-") for name in imported} <= named


def test_the_cache_folder_is_the_users(file: Path, tmp_path: Path) -> None:
    script = "import sys, pathlib; from corrigible.adapters.openapi.load import load; load(pathlib.Path(sys.argv[1]))"
    environ = {**os.environ, "CORRIGIBLE_CACHE": str(tmp_path / "mine")}
    subprocess.run([sys.executable, "-c", script, str(file)], check=True, env=environ)
    assert len(entries(tmp_path / "mine")) == 1
