"""A pack made from a description: whatever its texts hold, the keys are ours and lint finds nothing."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from corrigible.adapters.openapi.load import load
from corrigible.proxy.pack_tools.from_spec import pack_from_description
from corrigible.proxy.pack_tools.lint import lint_pack
from corrigible.rules.errors import AuthoringError
from corrigible.rules.language.yaml_source import read_source
from tests._support.rows import rows

KEYS = {
    *("name", "title", "version", "api", "license", "author", "bases", "idempotency_header", "secret_parameters"),
    *("lookups", "operations"),
}
KEY = "dry_run: {query: {x: y}, methods: [POST]}"
HOSTILE = [
    *(f"a{end}{KEY}" for end in ("\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\v", "\f", "\0", "\x1b")),
    *(f"a\n{KEY}\n#", f"a\n  {KEY}", f"---\n{KEY}", f"a # {KEY}", f"'\n{KEY}", f'"\n{KEY}', f"\\\n{KEY}"),
    *("!!python/object/apply:os.system [true]", "&a [*a]", "*a", "? a", "- a", ": a", "%YAML 1.1", "{a: b}", "[a"),
    *("' + body.x + '", "\\' || true", "r'\\'", "```\nname: x\n```", "`x` <script>", "[a](http://b)", "| a | b |"),
    *("../../etc/passwd", "..", "con", "a" * 3000, "no", "~", "1.20", "012", "0o17", "1:30", "=", "<<", "", " "),
    *("\ufeffa", "\U0001f600", "\ud800", "a\tb"),
]
TEXTS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=20),
    st.tuples(st.text(max_size=5), st.sampled_from(HOSTILE)).map("".join),
)


def operation(name: str, code: str, status: str, parameter: str, summary: str) -> dict[str, Any]:
    error = {"type": "object", "properties": {"code": {"type": "string", "enum": [code, "plain_code"]}}}
    return {
        "operationId": name,
        "summary": summary,
        "parameters": [
            {"name": parameter, "in": "query", "schema": {"type": "string"}, "description": summary},
            {"name": "api_key" + parameter, "in": "query", "schema": {"type": "string"}},
        ],
        "responses": {status: {"description": summary, "content": {"application/json": {"schema": error}}}},
    }


@st.composite
def descriptions(draw: st.DrawFn) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for index in range(draw(st.integers(1, 3))):
        path = f"/things{index}{draw(st.one_of(st.just(''), TEXTS))}"
        methods = draw(st.lists(st.sampled_from(["get", "post", "delete"]), min_size=1, max_size=2, unique=True))
        paths[path] = {
            method: operation(
                name=draw(TEXTS),
                code=draw(TEXTS),
                status=draw(st.sampled_from(["400", "422", "4XX"])),
                parameter=draw(TEXTS),
                summary=draw(TEXTS),
            )
            for method in methods
        }
    return {
        "openapi": "3.0.3",
        "info": {"title": draw(TEXTS), "version": draw(TEXTS), "description": draw(TEXTS)},
        "servers": [{"url": "http://127.0.0.1/v1" + draw(TEXTS)}],
        "paths": paths,
    }  # fmt: skip


def judge(document: dict[str, Any], source: str = "openapi.json") -> None:
    with tempfile.TemporaryDirectory() as name:
        file, folder = Path(name) / "openapi.json", Path(name) / "shop"
        file.write_text(json.dumps(document))
        try:
            description = load(file)
            files = pack_from_description(
                folder, description, source, author=document["info"]["title"] or "Ada", date="2026-11-29"
            )
        except AuthoringError:
            assert not (folder / "pack.yaml").exists()
            return
        assert sorted(files) == sorted(folder.iterdir())
        data = read_source(folder / "pack.yaml").data
        assert set(data) <= KEYS
        assert set(data["api"]) == {"name", "versions"}
        assert all(type(one) is str for one in [*data["operations"].values(), *data["lookups"]])
        result = lint_pack(folder, description)
        assert [str(one) for one in result.mistakes] == []
        assert result.pack.text.dry_run is None
        page = (folder / "errors.md").read_text("utf-8")
        for line in page.splitlines():
            assert not line or line.startswith(
                ("# Documented", "Made from", "Write a", "`corrigible", "## ", "- ", "```", "match: ", "Look-ups: ")
            )
        assert page.count("\n```") % 2 == 0


@rows("text", HOSTILE)
def test_every_text_of_a_description_is_data(text: str) -> None:
    named, coded, with_parameter = (
        operation(name, code, "400", parameter, text)
        for name, code, parameter in ((text, "c", "p"), ("n", text, "p"), ("m", "c", text))
    )
    judge(
        {
            "openapi": "3.0.3",
            "info": {"title": text, "version": text},
            "servers": [{"url": "/v1" + text}],
            "paths": {
                "/a": {"get": named, "post": coded, "put": with_parameter},
                "/a/" + text: {"get": {**named, "operationId": "second"}},
            },
        },
        source="openapi.json" + text,
    )


@settings(max_examples=30, deadline=None)
@given(descriptions())
def test_any_description_gives_a_pack_whose_keys_are_ours(document: dict[str, Any]) -> None:
    judge(document)
