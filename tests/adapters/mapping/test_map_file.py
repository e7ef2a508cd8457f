"""Maps as files: what is wrong is told with its place, and those that ship are right about the operations they name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.mapping.map_index import MapIndex, map_files, maps_of_pack, origin_of, read_map
from corrigible.adapters.mapping.mapping import MapFile
from corrigible.adapters.registry import adapter_for
from corrigible.rules.errors import AuthoringError
from corrigible.rules.pack.load import built_in
from tests._support.rows import rows

READ: Any = {
    "source": {"api": "a", "method": "GET", "path": "/things/{id}"},
    "target": {"api": "b", "method": "GET", "path": "/objects/{id}"},
    "equivalence": "same",
    "score": 1.0,
    "arguments": [{"source": "/path/id", "target": "/path/id"}],
}


def document(**members: Any) -> dict[str, Any]:
    return {"format": "corrigible map 1", "method": "by hand", "mappings": [READ], **members}


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"format": "corrigible map 9"}, "format: Input should be 'corrigible map 1'"),
        ({"mappings": [{**READ, "equivalence": "equal"}]}, "mappings/0/equivalence"),
        (
            {"mappings": [{**READ, "arguments": [{"source": "/path/id", "target": "/x", "conversion": "to tex"}]}]},
            'mappings/0: no conversion is called "to tex"',
        ),
        ({"mappings": [{**READ, "source": {"api": "a", "method": "GET", "path": "things"}}]}, '"things" is no path'),
        ({"apis": [{"name": "a", "origin": "http://[x"}]}, '"http://[x" is no origin'),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, members: Any, told: str) -> None:
    file = tmp_path / "map.json"
    file.write_text(json.dumps(document(**members)))
    with pytest.raises(AuthoringError) as caught:
        read_map(file)
    assert str(caught.value).startswith(f"{file}:1: ")
    assert told in str(caught.value)


def told_of(folder: Path, **members: Any) -> str:
    """Return what is told of a mapping with these members, empty where it is read."""
    file = folder / "map.json"
    file.write_text(json.dumps(document(mappings=[{**READ, **members}])))
    try:
        read_map(file)
    except AuthoringError as mistake:
        return str(mistake)
    return ""


BARRED = (
    *("x-http-method-override", "X-HTTP-Method", "x-method-override", "x_http_method", "x-forwarded-for", "forwarded"),
    *("x-forwarded-host", "x-original-url", "x-rewrite-url", "x-user", "x-remote-user", "host", "authorization"),
    *("cookie", "connection", "te", "transfer-encoding", "keep-alive", "x-api-key", "x-shop-pass", "dpop", "x-real-ip"),
)


@rows("name", BARRED)
def test_no_map_sets_a_header_that_makes_another_call_or_caller(tmp_path: Path, name: str) -> None:
    for members in (
        {"constants": [{"target": f"/header/{name}", "value": "DELETE"}]},
        {"arguments": [{"source": "/query/q", "target": f"/header/{name}"}]},
    ):
        told = told_of(tmp_path, **members)
        assert f'"/header/{name}" makes the call another one, or says who calls' in told
    same = f"/header/{name}"  # what the caller sent stays
    assert not told_of(tmp_path, arguments=[{"source": same, "target": same}])


@rows(
    ("target", "told"),
    [
        ("/query/_method", "write the method of the target"),
        ("/query/X-HTTP-Method-Override", "write the method of the target"),
        ("/body/_method", "write the method of the target"),
        ("/query/api_key", "says who calls"),
        ("/header", "write /header/NAME"),
        ("/header/*", "write /header/NAME"),
        ("/header/a b", "no valid name"),
        ("/method", "begins with none of /path"),
        ("/query/payment_method", ""),
        ("/query/method", ""),
        ("/query/user", ""),
        ("/body/method", ""),
        ("/header/accept", ""),
        ("/header/x-api-version", ""),
    ],
)
def test_which_places_a_map_writes(tmp_path: Path, target: str, told: str) -> None:
    for members in (
        {"constants": [{"target": target, "value": "a"}]},
        {"arguments": [{"source": "/query/q", "target": target}]},
    ):
        found = told_of(tmp_path, **members)
        assert (told in found) if told else not found


def test_no_constant_writes_a_second_header(tmp_path: Path) -> None:
    told = told_of(tmp_path, constants=[{"target": "/header/accept", "value": "a\r\nhost: b"}])
    assert "is no value of a header" in told


@rows(
    ("method", "is_right"),
    [("PUT", False), ("PATCH", False), ("DELETE", False), ("delete", False), ("POST", True), ("QUERY", True)],
)
def test_only_what_may_read_is_declared_as_reading(tmp_path: Path, method: str, is_right: bool) -> None:
    target = {"api": "b", "method": method, "path": "/objects/{id}"}
    told = told_of(tmp_path, target=target, target_reads=True)
    assert (not told) is is_right
    assert is_right or f"target_reads: {method.upper()} writes" in told
    assert not told_of(tmp_path, target=target)


@rows(
    ("pairs", "told"),
    [
        ([("a", "S"), ("b", "S")], '"a" and "b" both become "S"'),
        ([(1, "S"), ("b", "S")], '"1" and "b" both become "S"'),
        ([("a", None)], '"a" becomes null'),
        ([("a", "S"), ("b", "T")], ""),
        ([("a", "S"), ("a", "S")], ""),
        ([(True, "yes"), ("true", "yes")], ""),  # in a body, and in a query
    ],
)
def test_values_keep_their_difference(tmp_path: Path, pairs: Any, told: str) -> None:
    values = [{"source": source, "target": target} for source, target in pairs]
    found = told_of(tmp_path, arguments=[{"source": "/query/a", "target": "/query/b", "values": values}])
    assert (told in found) if told else not found


@rows(
    "path",
    ["//evil.test/x", "/\\evil.test", "/a/../b", "/a/%2e%2e/b", "/a/./b", "/a\r\nb", "/a//b", "x"],
)
def test_the_path_of_a_target_is_one_at_the_same_server(tmp_path: Path, path: str) -> None:
    assert "is no path" in told_of(tmp_path, target={"api": "b", "method": "GET", "path": path})
    file = tmp_path / "based.json"
    file.write_text(json.dumps(document(apis=[{"name": "b", "base": path}])))
    with pytest.raises(AuthoringError, match="is no base path"):
        read_map(file)


def test_the_maps_of_a_pack_are_read_again_when_they_change(tmp_path: Path) -> None:
    file = tmp_path / "maps" / "siblings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(document()))
    assert maps_of_pack(tmp_path).find("GET", "/things/7") is not None
    file.write_text(json.dumps(document(mappings=[])))
    os.utime(file, ns=(1, 1))
    assert maps_of_pack(tmp_path).find("GET", "/things/7") is None


def index_of(*, own: str = "", origins: Any = (), **members: Any) -> MapIndex:
    return MapIndex([("map.json", MapFile.model_validate(document(**members)))], own, origins)


def test_a_base_path_stands_before_the_paths_of_its_api() -> None:
    index = index_of(apis=[{"name": "a", "base": "/api/v1"}, {"name": "b", "base": "/api/v2"}])
    assert index.find("GET", "/things/7") is None
    found = index.find("GET", "/api/v1/things/7")
    assert found is not None
    assert found.variables == {"id": "7"}
    assert found.mappings[0].mapping.target.path == "/api/v2/objects/{id}"


@rows(
    ("origins", "own", "listed", "found"),
    [
        (("", ""), "https://a.test", (), ""),
        (("https://a.test", "https://a.test"), "https://a.test", (), ""),
        (("https://A.test:443", "https://a.test"), "https://a.test/", (), ""),
        (("", "https://b.test"), "https://a.test", (), None),
        (("", "http://a.test"), "https://a.test", (), None),  # without TLS it is another one
        (("", "https://b.test"), "https://a.test", ("https://b.test",), "https://b.test:443"),
        (("https://c.test", ""), "https://a.test", (), None),  # about another server
        (("", "https://b.test"), "", (), None),  # where we are is not known
    ],
)
def test_only_the_same_origin_and_listed_ones(origins: Any, own: str, listed: Any, found: str | None) -> None:
    apis = [{"name": "a", "origin": origins[0]}, {"name": "b", "origin": origins[1]}]
    known = index_of(own=own, origins=listed, apis=apis).find("GET", "/things/7")
    assert (None if known is None else known.mappings[0].origin) == found


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://API.test/v1?x", "https://api.test:443"),
        ("http://api.test:8080", "http://api.test:8080"),
        ("http://api.test:99999", ""),
        ("", ""),
    ],
)
def test_origins(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize("pack", [name for name, folder in built_in().items() if map_files(folder)])
def test_the_maps_that_ship_name_operations_that_the_api_has_or_had(pack: str) -> None:
    operations = adapter_for(pack, None).operations
    for file in map_files(built_in()[pack]):
        for one in read_map(file).mappings:
            path = one.target.path.replace("{", "").replace("}", "")
            assert operations.find(one.target.method, path) is not None, one.target
            variables = {part[1:-1] for part in one.target.path.split("/") if part.startswith("{")}
            given = {field.target.rpartition("/")[2] for field in one.arguments if field.target.startswith("/path/")}
            assert variables <= given, one.target


def test_packs_with_maps() -> None:
    assert {name for name, folder in built_in().items() if map_files(folder)} == {"kubernetes", "stripe"}
