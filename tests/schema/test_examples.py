"""Every example is good by code and by schema, and survives protobuf byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from corrigible.schema import Feedback, Vocabulary, parse, validate
from corrigible.schema.convert import from_proto, to_proto
from corrigible.schema.v0_1 import feedback_pb2
from corrigible.schema.word import Word
from tests._support.rows import rows

FOLDER = Path(str(files("corrigible.schema"))) / "examples"
EXAMPLES = sorted(FOLDER.glob("*.json"))
READ_ONLY = sorted((FOLDER / "read_only").glob("*.json"))
SCHEMA = json.loads((FOLDER.parent / "feedback.schema.json").read_text("utf-8"))

example = rows("path", EXAMPLES, ids=lambda path: path.stem)
read_only = pytest.mark.parametrize("path", READ_ONLY, ids=lambda path: path.stem)


def through_proto(feedback: Feedback) -> Feedback:
    sent = feedback_pb2.RecoveryFeedback()
    sent.ParseFromString(to_proto(feedback).SerializeToString())
    return from_proto(sent)


def test_the_json_schema_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@example
def test_example_validates_by_code(path: Path) -> None:
    feedback = parse(json.loads(path.read_text("utf-8")))
    assert validate(feedback) is feedback


@example
def test_example_validates_by_schema(path: Path) -> None:
    Draft202012Validator(SCHEMA).validate(json.loads(path.read_text("utf-8")))


@example
def test_example_comes_back_from_protobuf_text_for_text(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    back = through_proto(parse(document))
    assert json.dumps(back.document()) == json.dumps(document)
    assert back == parse(document)


@read_only
def test_read_only_form_is_read_but_not_written(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    assert not Draft202012Validator(SCHEMA).is_valid(document)
    feedback = parse(document)
    assert feedback.document() != document
    assert through_proto(feedback) == feedback


def test_the_short_form_of_figure_1_holds_its_parameters_beside_the_action() -> None:
    (suggestion,) = parse(json.loads((FOLDER / "read_only/figure-1.json").read_text("utf-8"))).suggestions
    assert suggestion.action == "USE_SPECIFIC_BRAND"
    assert suggestion.parameters == {"with_specific_brand": "Bob's Red Mill Certified Gluten Free 1-to-1 Baking Flour"}


def members(value: Any, definition: dict[str, Any], where: str) -> Iterator[str]:
    """Yield every member and word of the contract that a document uses."""
    definition = SCHEMA["$defs"][definition["$ref"].rsplit("/", 1)[1]] if "$ref" in definition else definition
    if isinstance(value, list) and "items" in definition:
        for item in value:
            yield from members(item, definition["items"], where)
    elif isinstance(value, dict):
        for name, inner in definition.get("properties", {}).items():
            if name in value:
                yield f"{where}/{name}"
                yield from members(value[name], inner, f"{where}/{name}")
    elif "enum" in definition:
        yield f"{where}={value}"


def everything(definition: dict[str, Any], where: str) -> Iterator[str]:
    """Yield every member and word that the contract has."""
    definition = SCHEMA["$defs"][definition["$ref"].rsplit("/", 1)[1]] if "$ref" in definition else definition
    if "items" in definition:
        yield from everything(definition["items"], where)
    for name, inner in definition.get("properties", {}).items():
        yield f"{where}/{name}"
        yield from everything(inner, f"{where}/{name}")
    for word in definition.get("enum", ()):
        yield f"{where}={word}"


def test_the_examples_use_every_member_and_every_word() -> None:
    used = {place for path in EXAMPLES for place in members(json.loads(path.read_text("utf-8")), SCHEMA, "")}
    missing = set(everything(SCHEMA, "")) - used
    # a refuted suggestion is never sent; packs' own actions show base_action, and need only one
    assert {place for place in missing if "base_action=" not in place} == {"/suggestions/verification/status=refuted"}


def test_the_examples_use_every_base_action() -> None:
    actions = {s.action for path in EXAMPLES for s in parse(json.loads(path.read_text("utf-8"))).suggestions}
    assert set(Vocabulary.base().actions) <= actions


def test_words_are_found_in_any_case() -> None:
    assert len(Word.__subclasses__()) > 10
    for kind in Word.__subclasses__():
        for member in kind:
            assert kind(member.value.swapcase()) is member
