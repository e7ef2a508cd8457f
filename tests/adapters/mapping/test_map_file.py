"""Maps as files: what is wrong is told with its place, and those that ship are right about the operations they name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.mapping.map_file import map_files, maps_of_pack, read_map
from corrigible.adapters.mapping.map_index import MapIndex, origin_of
from corrigible.adapters.mapping.mapping import MapFile
from corrigible.adapters.registry import adapter_for
from corrigible.rules.errors import AuthoringError
from corrigible.rules.pack.load import built_in

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


@pytest.mark.parametrize(
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
