"""The reference of packs and the editors' schemas: nothing without a description and an example, one text in both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from corrigible.proxy.cli import main
from corrigible.rules.language.expression import DEFINITIONS, EXAMPLES, environment
from corrigible.rules.language.file_model import EXPRESSION
from corrigible.rules.language.rule_model import editor_schemas
from corrigible.rules.language.syntax import RESERVED, words
from corrigible.rules.pack.reference import reference

PAGE = Path(__file__).parents[3] / "docs" / "pack-reference.md"
SCHEMAS = editor_schemas()


def properties(kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each property of a schema, and of what it defines, under its path."""
    schema = SCHEMAS[kind]
    for title, model in [(kind, schema), *schema.get("$defs", {}).items()]:
        for name, inner in model.get("properties", {}).items():
            yield f"{title}.{name}", inner


ALL = [(kind, name, inner) for kind in SCHEMAS for name, inner in properties(kind)]


def test_the_page_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", "docs", "--reference"]) == 0
    assert capsys.readouterr().out == PAGE.read_text("utf-8"), f"run: corrigible pack docs --reference > {PAGE}"


def test_each_property_has_the_description_of_the_reference() -> None:
    assert len(ALL) > 100
    page = reference()
    assert [name for _, name, inner in ALL if not inner.get("description")] == []
    assert [name for _, name, inner in ALL if f"): {inner['description']}\n" not in page] == []


def test_each_example_is_what_its_field_takes() -> None:
    for kind, name, inner in ALL:
        validator = Draft202012Validator({**inner, "$defs": SCHEMAS[kind].get("$defs", {})})
        assert inner.get("examples"), name
        for example in inner["examples"]:
            assert list(validator.iter_errors(example)) == [], name


def test_each_expression_of_an_example_is_one() -> None:
    expressions: list[str] = []
    for _, _, inner in ALL:
        formats = {one.get("format") for one in inner.get("anyOf", [inner]) if one.get("type") == "string"}
        if formats == {EXPRESSION}:
            expressions += [example for example in inner["examples"] if isinstance(example, str)]
    assert len(expressions) > 10
    for text in expressions:
        environment(words(text) - RESERVED - set(DEFINITIONS)).compile(text)


def test_each_function_has_a_signature_a_meaning_and_an_example() -> None:
    page = reference()
    assert EXAMPLES.keys() == set(DEFINITIONS)
    for name in DEFINITIONS:
        section = page.partition(f"#### {name}\n")[2].partition("\n#### ")[0]
        assert section.startswith(f"\n`{name}(") and "\nGives " in section and f"- `{name}(" in section


@pytest.mark.parametrize("word", ["retry", "applicability", "schema_from", "requires_confirmation", "body_file"])
def test_a_field_that_had_no_word(word: str) -> None:
    assert f"- **`{word}`** (" in reference()
