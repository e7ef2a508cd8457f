"""Descriptions that unfold without end, lead elsewhere, or let a small request cost much."""

from __future__ import annotations

import http.server
import json
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corrigible.adapters.openapi.description import Description
from corrigible.adapters.openapi.load import load
from corrigible.adapters.openapi.schema_checks import HIGHEST_PRICE, price, written_out
from corrigible.rules.budget import Exhausted, count_values
from corrigible.rules.errors import AuthoringError
from corrigible.schema.exchange import Json, Request
from tests._support.counted import counted


def described(schema: Json, **schemas: Json) -> dict[str, Json]:
    body = {"content": {"application/json": {"schema": schema}}}
    operation = {"operationId": "make", "requestBody": body, "responses": {"400": {"description": "no"}}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "things", "version": "1"},
        "paths": {"/things": {"post": operation}},
        "components": {"schemas": schemas},
    }


def to(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def written(folder: Path, document: Json, name: str = "openapi.json") -> Path:
    file = folder / name
    file.write_text(json.dumps(document))
    return file


def steps_of(description: Description, body: Json) -> tuple[list[tuple[str, str]], int]:
    """Return what is broken, and the steps that it took to find out."""
    request = Request("POST", "/things", body=body)
    violations, steps = counted(lambda: description.schema_violations(request, "make"))
    return [(violation.pointer, violation.keyword) for violation in violations], steps


# What unfolds


def test_all_of_that_doubles_with_each_level_is_an_error_that_names_the_schema(tmp_path: Path) -> None:
    levels = {f"s{n}": {"allOf": [to(f"s{n + 1}"), to(f"s{n + 1}")]} for n in range(60)}
    file = written(tmp_path, described(to("s0"), **levels, s60={"type": "object"}))
    with pytest.raises(AuthoringError, match="/components/schemas/s0: more than 10,000 schemas hold at one place"):
        load(file, cache=tmp_path, check=True)


def test_references_without_end_are_an_error_that_names_the_schema(tmp_path: Path) -> None:
    chain = {f"s{n}": {"allOf": [to(f"s{n + 1}")]} for n in range(3000)}
    file = written(tmp_path, described(to("s0"), **chain, s3000={"type": "object"}))
    with pytest.raises(AuthoringError, match="/components/schemas/s0: references are nested too deep"):
        load(file, cache=tmp_path, check=True)


def test_a_schema_nested_too_deep_is_an_error_with_its_file(tmp_path: Path) -> None:
    schema: Json = {"type": "string"}
    for _ in range(300):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(AuthoringError, match=r"openapi\.json:1: nested deeper than 200 levels"):
        load(written(tmp_path, described(schema)), cache=tmp_path, check=True)


# What leads elsewhere


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """A server that counts who asks for anything."""
    asked: list[str] = []

    class Counting(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "object", "required": ["a"]}')

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Counting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


@pytest.mark.parametrize("check", [False, True])
def test_nothing_is_ever_fetched(tmp_path: Path, elsewhere: tuple[str, list[str]], check: bool) -> None:
    url, asked = elsewhere
    document: Any = described({"$ref": f"{url}/body.json"})
    document["paths"]["/other"] = {"$ref": f"{url}/path.json"}
    answer = {"description": "no", "content": {"application/json": {"schema": {"$ref": f"{url}/answer.json#/x"}}}}
    document["paths"]["/things"]["post"]["responses"]["422"] = answer
    beside = {"x": {"properties": {"a": {"$ref": f"{url}/beside.json"}}}}
    written(tmp_path, beside, "beside.json")
    document["components"]["schemas"]["beside"] = {"$ref": "beside.json#/x"}
    document["paths"]["/beside"] = {"put": {"requestBody": {"content": {"a/json": {"schema": to("beside")}}}}}
    description = load(written(tmp_path, document), cache=tmp_path, check=check)
    assert description.schema_violations(Request("POST", "/things", body={"b": 1}), "make") == ()
    assert asked == []
    if check:
        said = "\n".join(description.problems)
        assert all(f"{url}/{name}.json" in said for name in ("body", "path", "answer", "beside"))
        assert "not read: only files in the description's folder" in said


@pytest.mark.parametrize("reference", ["../secret.json", "{file}", "file://{file}"])
def test_no_file_outside_of_the_folder_is_opened(tmp_path: Path, reference: str) -> None:
    secret = written(
        tmp_path, {"type": "object", "required": ["a"], "properties": {"a": {"const": "s3cret"}}}, "secret.json"
    )
    folder = tmp_path / "api"
    folder.mkdir()
    place = reference.replace("{file}", str(secret))
    description = load(written(folder, described({"$ref": place})), cache=tmp_path, check=True)
    assert description.schema_violations(Request("POST", "/things", body={}), "make") == ()
    assert place in description.problems[0]


def test_who_opens_a_description_takes_its_child_along(tmp_path: Path) -> None:
    """The child is stopped in its tracks, its parent killed: then it is gone as soon as it runs again."""
    program = """
        import sys
        from corrigible.adapters.openapi.compiled_file import run_child
        waits = "import sys, time; from corrigible.adapters.openapi.compiled_file import confine; " \\
            "import os; confine(int(sys.argv[-1])); open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(300)"
        run_child([sys.executable, "-c", waits, sys.argv[1]], "--while-open")
    """
    told = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), str(told)])
    try:
        assert until(lambda: told.exists() and told.read_text() != "")
        child = int(told.read_text())
        assert is_running(child)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert until(lambda: not is_running(child))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(holds: Any) -> bool:
    for _ in range(200):
        if holds():
            return True
        time.sleep(0.05)
    return False


# What a small request costs


def filters(leaf: Json, *, named: bool) -> dict[str, Json]:
    """Filters of filters, told apart by a word or by which member they have."""
    of = {"type": "array", "items": to("Filter")}
    both: dict[str, Json] = {}
    for name in ("And", "Or", "Not"):
        word = name.lower()
        members = {"op": {"type": "string", "enum": [word]}, "of": of} if named else {word: of}
        both[name] = {"type": "object", "required": [*members], "additionalProperties": False, "properties": members}
    return {"Filter": {"oneOf": [to("And"), to("Or"), to("Not"), to("Leaf")]}, **both, "Leaf": leaf}


LEAF: Json = {
    "type": "object",
    "required": ["op", "field", "value"],
    "additionalProperties": False,
    "properties": {
        "op": {"type": "string", "enum": ["is"]},
        "field": {"type": "string"},
        "value": {"type": "string"},
    },
}
BARE_LEAF: Json = {**LEAF, "required": ["field", "value"]}


def nested(levels: int, leaf: Json, *, named: bool) -> Json:
    for _ in range(levels):
        leaf = {"op": "and", "of": [leaf]} if named else {"and": [leaf]}
    return leaf


@pytest.mark.parametrize("named", [True, False])
def test_of_filters_of_filters_the_leaf_is_what_is_wrong(tmp_path: Path, named: bool) -> None:
    leaf = LEAF if named else BARE_LEAF
    description = load(written(tmp_path, described(to("Filter"), **filters(leaf, named=named))), cache=tmp_path)
    wrong = {"op": "is", "field": "a", "value": 1} if named else {"field": "a", "value": 1}
    for levels in (1, 2, 4):
        found, steps = steps_of(description, nested(levels, wrong, named=named))
        pointer = "/body" + ("/of/0" if named else "/and/0") * levels + "/value"
        assert found == [(pointer, "type")], "the leaf is what is wrong"
        assert steps < 4000


def test_a_word_that_names_no_alternative_is_the_breach(tmp_path: Path) -> None:
    description = load(written(tmp_path, described(to("Filter"), **filters(LEAF, named=True))), cache=tmp_path)
    found, _ = steps_of(description, nested(4, {"op": "nand", "of": []}, named=True))
    assert found == [("/body" + "/of/0" * 4 + "/op", "enum")]


def test_alternatives_that_are_nested_too_deep_end_in_bounded_steps(tmp_path: Path) -> None:
    description = load(written(tmp_path, described(to("Filter"), **filters(LEAF, named=True))), cache=tmp_path)
    with pytest.raises(Exhausted):
        steps_of(description, nested(32, {"op": "is", "field": "a", "value": 1}, named=True))


def test_what_fits_several_alternatives_is_never_refused_for_it(tmp_path: Path) -> None:
    alike = {"type": "object", "required": ["of"], "properties": {"of": to("Filter")}}
    leaf = {"type": "object", "required": ["leaf"], "properties": {"leaf": {"type": "string"}}}
    schemas = {"Filter": {"anyOf": [to("One"), to("Two"), to("Leaf")]}, "One": alike, "Two": alike, "Leaf": leaf}
    description = load(written(tmp_path, described(to("Filter"), **schemas)), cache=tmp_path)
    body: Json = {"leaf": "a"}
    for _ in range(40):
        body = {"of": body}
    found, steps = steps_of(description, body)
    assert found == []
    assert steps < 20_000


def test_what_doubles_otherwise_ends_in_bounded_steps(tmp_path: Path) -> None:
    """All of two that lead back are no alternatives: there is nothing to choose."""
    back = {"type": "object", "properties": {"of": to("Both")}}
    schemas = {"Both": {"allOf": [to("One"), to("Two")]}, "One": back, "Two": {**back, "required": ["a"]}}
    description = load(written(tmp_path, described(to("Both"), **schemas)), cache=tmp_path)
    body: Json = {}
    for _ in range(40):
        body = {"of": body}
    with pytest.raises(Exhausted):
        steps_of(description, body)


WIDE = described(
    {
        "type": "object",
        "additionalProperties": False,
        "required": [f"required_{n}" for n in range(20)],
        "properties": {
            **{f"required_{n}": {"type": "string"} for n in range(20)},
            "tags": {"type": "array", "uniqueItems": True, "items": {"type": "string", "format": "email"}},
            "free": {"type": "object"},
            "filter": to("Filter"),
        },
    },
    **filters(LEAF, named=True),
)


@pytest.mark.parametrize("wide", [True, False], ids=["undeclared", "elements"])
def test_steps_grow_no_faster_than_the_body(tmp_path: Path, wide: bool) -> None:
    description = load(written(tmp_path, WIDE), cache=tmp_path)
    steps: dict[int, int] = {}
    for count in (1000, 2000, 4000):
        strange: Json = {f"strange_{n}": n for n in range(count)}
        _, steps[count] = steps_of(description, strange if wide else {"tags": [f"no-{n}" for n in range(count)]})
    assert steps[4000] < 4.4 * steps[1000]


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=12), st.just("and"))
NAMES = st.sampled_from(["op", "of", "field", "value", "tags", "free", "filter", "required_1", "reqired_2", "x"])
BODIES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=30), st.dictionaries(NAMES | st.text(max_size=5), inner)),
    max_leaves=200,
)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Description:
    folder = tmp_path_factory.mktemp("wide")
    return load(written(folder, WIDE), cache=folder)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(body=BODIES)
def test_any_body_is_judged_within_steps_that_are_linear_in_its_size(wide: Description, body: Json) -> None:
    _, steps = steps_of(wide, body)
    assert steps < 12_000 + 100 * len(json.dumps(body))


LEAVES = st.sampled_from(
    [{"type": "string"}, {"enum": [1, 2, 3]}, True, {"$ref": "#/$defs/leaf"}, {"$ref": "#/$defs/pair"}]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"properties": st.dictionaries(NAMES, inner, max_size=4), "additionalProperties": inner}),
        st.fixed_dictionaries({"items": inner, "prefixItems": st.lists(inner, max_size=2), "contains": inner}),
        st.fixed_dictionaries({"allOf": st.lists(inner, max_size=3), "not": inner, "$ref": st.just("#/$defs/pair")}),
        st.fixed_dictionaries(
            {"anyOf": st.lists(inner, min_size=1, max_size=3), "patternProperties": st.just({"o": {}})}
        ),
    ),
    max_leaves=20,
)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=SCHEMAS, body=BODIES)
def test_no_value_is_compared_with_more_schemas_than_there_are_written_out(schema: Json, body: Json) -> None:
    leaf = {"type": "object", "properties": {"of": {"type": "array", "items": {"type": "string"}}}}
    pair = {"$ref": "#/$defs/leaf", "allOf": [{"$ref": "#/$defs/leaf"}], "properties": {"op": {"$ref": "#/$defs/leaf"}}}
    root = {"allOf": [schema], "$defs": {"leaf": leaf, "pair": pair}}
    size = written_out(root)
    if size < HIGHEST_PRICE:
        assert price(body, root) <= size * count_values(body, sys.maxsize)


def test_a_schema_that_holds_itself_has_no_end_written_out() -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#/$defs/tree"}}}
    assert written_out({"$ref": "#/$defs/tree", "$defs": {"tree": tree}}) == HIGHEST_PRICE
    assert written_out({"$ref": "#/$defs/text", "$defs": {"text": {"type": "string"}}}) < 10
