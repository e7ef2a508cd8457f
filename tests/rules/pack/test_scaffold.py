"""What `pack new` makes is in order at once, and nothing is ever overwritten."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from corrigible.rules.errors import AuthoringError
from corrigible.rules.language.rule_model import editor_schemas
from corrigible.rules.pack.cases import load_cases
from corrigible.rules.pack.load import load_pack
from corrigible.rules.pack.reference import new_pack, new_rule, unchanged_members
from tests._support.rows import rows


def test_a_new_pack_loads_and_fits_the_schemas_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "acme-two"
    made = new_pack(folder, author="A", date="2026-01-01")
    assert [file.name for file in made] == [
        "pack.yaml",
        "rule.schema.json",
        "pack.schema.json",
        "cases.schema.json",
        "example.yaml",
        "example.cases.yaml",
    ]
    pack = load_pack(folder)
    assert [(pack.name, rule.id) for rule in pack.rules] == [("acme-two", "acme-two.example")]
    assert [case.text.no_match for case in load_cases(folder / "example.yaml")] == [False, True]
    for file in made:
        if file.suffix == ".yaml":
            text = file.read_text("utf-8")
            named = text.splitlines()[0].removeprefix("# yaml-language-server: $schema=")
            schema = json.loads((folder / named).read_text("utf-8"))
            document = yaml.safe_load(text)
            if "date" in document:
                document["date"] = str(document["date"])  # YAML 1.2, which editors read, has no dates
            Draft202012Validator(schema).validate(document)


def test_the_template_speaks_of_no_particular_error(tmp_path: Path) -> None:
    """An author who leaves a part of it as it is has said nothing that could be wrong of the API."""
    folder = tmp_path / "acme"
    new_pack(folder, author="A", date="2026-01-01")
    new_rule(folder / "refund-too-large", author="A", date="2026-01-01")
    texts = [file.read_text("utf-8") for file in folder.glob("refund-too-large*.yaml")]
    words = {word.lower() for text in texts for word in re.findall(r"[A-Za-z]{3,}", text.partition("\n")[2])}
    strange = {
        "parameter",
        "unknown",
        "thing",
        "things",
        "charge",
        "order",
        "recipe",
        "milk",
        "stripe",
        "payment",
        "item",
    }
    assert words & strange == set()
    assert unchanged_members(yaml.safe_load(texts[0])) or unchanged_members(yaml.safe_load(texts[1]))


@pytest.mark.parametrize("name", sorted(editor_schemas()))
def test_the_schemas_are_schemas(name: str) -> None:
    schema = editor_schemas()[name]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


def test_a_rule_more(tmp_path: Path) -> None:
    folder = tmp_path / "acme"
    new_pack(folder, author="A", date="2026-01-01")
    made = new_rule(folder / "too-many.yaml", author="A", date="2026-01-01")
    assert [file.name for file in made] == ["too-many.yaml", "too-many.cases.yaml"]
    assert [rule.id for rule in load_pack(folder).rules] == ["acme.example", "acme.too-many"]


def test_a_rule_names_its_author_where_that_is_not_the_author_of_the_pack(tmp_path: Path) -> None:
    folder = tmp_path / "acme"
    new_pack(folder, author="A", date="2026-01-01")
    new_rule(folder / "by-b.yaml", author="B: b", date="2026-01-01")
    assert load_pack(folder).text.author == "A"
    assert "author" not in (folder / "example.yaml").read_text("utf-8")
    assert 'author: "B: b"\n' in (folder / "by-b.yaml").read_text("utf-8")


def test_a_rule_takes_the_name_of_its_pack_not_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_pack(tmp_path / "acme", author="A", date="2026-01-01")
    folder = (tmp_path / "acme").rename(tmp_path / "elsewhere")
    monkeypatch.chdir(folder)
    new_rule(Path("too-many"), author="A", date="2026-01-01")
    assert [rule.id for rule in load_pack(folder).rules] == ["acme.example", "acme.too-many"]


@rows("name", ["Acme", "acMe", "1st", "a_b", "\u00e9", "a b", "-a"])
def test_a_name_that_no_pack_may_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(AuthoringError) as caught:
        new_pack(tmp_path / name, author="A", date="2026-01-01")
    assert caught.value.problem == f'"{name}" is no pack name: lower-case letters, digits and "-"'
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["Too-Many", "a--b", "-a", "a_b", "a.b"])
def test_a_name_that_no_rule_may_have(tmp_path: Path, name: str) -> None:
    new_pack(tmp_path / "acme", author="A", date="2026-01-01")
    with pytest.raises(AuthoringError, match="is no rule name"):
        new_rule(tmp_path / "acme" / name, author="A", date="2026-01-01")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "acme"
    new_pack(folder, author="A", date="2026-01-01")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(AuthoringError, match=r"acme: is there already and not empty$"):
        new_pack(folder, author="A", date="2026-01-01")
    with pytest.raises(AuthoringError, match=r"example\.yaml: is there already$"):
        new_rule(folder / "example", author="A", date="2026-01-01")
    (folder / "b.cases.yaml").write_text("[]", "utf-8")
    with pytest.raises(AuthoringError, match=r"b\.cases\.yaml: is there already$"):
        new_rule(folder / "b", author="A", date="2026-01-01")
    (folder / "b.cases.yaml").unlink()
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
