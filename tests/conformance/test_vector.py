"""The vectors: valid, linted, complete; and how values and outcomes are compared."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from corrigible.conformance.model import vector
from corrigible.conformance.model.yaml_file import VECTORS as FOLDER
from corrigible.conformance.suite.requirement import book
from corrigible.schema import Request, stdio
from tests._support.rows import rows

SCHEMA = json.loads((FOLDER / "vector.schema.json").read_text("utf-8"))
FILES = sorted(FOLDER.glob("*/*.json"))
DOCUMENTS = {path: json.loads(path.read_text("utf-8")) for path in FILES}
VECTORS = [(path, one) for path, document in DOCUMENTS.items() for one in document["vectors"]]
CONTRACT = files("corrigible.schema").joinpath("SPEC.md").read_text("utf-8")
CLAUSES = set(re.findall(r"^(\d+\.\d+) ", CONTRACT, re.MULTILINE))


def test_the_schema_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@rows("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_is_valid(path: Path) -> None:
    kind = {"consumer": "ConsumerGroup", "exchange": "ExchangeGroup"}[path.parent.name]
    schema = {**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{kind}"}]}  # one branch: its complaints can be read
    complaints = [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in Draft202012Validator(schema).iter_errors(DOCUMENTS[path])
    ]
    assert complaints == []


@rows(
    "spoiled",
    [
        {"expect": {}},
        {"expect": {"next": {"request": {"method": "GET", "path": "/"}}, "error": True}},
        {"id": "Patch/Atomic"},
        {"requirements": []},
        {"description": "lower case and no full stop"},
        {"options": {"cap": "UNSPECIFIED"}},
        {"answer": {"status": 400}},
        {"unknown": 1},
    ],
)
def test_the_schema_refuses_what_is_wrong(spoiled: dict[str, Any]) -> None:
    path = next(path for path in FILES if path.parent.name == "consumer")
    document = DOCUMENTS[path]
    good = next(one for one in document["vectors"] if "feedback" in one or "answer" not in spoiled)
    good = {k: v for k, v in good.items() if not (k == "answer" and "answer" in spoiled)} | (
        {"feedback": {}} if "answer" in spoiled else {}
    )
    assert Draft202012Validator(SCHEMA).is_valid({**document, "vectors": [good]})
    assert not Draft202012Validator(SCHEMA).is_valid({**document, "vectors": [{**good, **spoiled}]})


def test_ids_begin_with_the_name_of_the_file_and_are_unique() -> None:
    ids = Counter(one["id"] for _, one in VECTORS)
    assert [id for id, times in ids.items() if times > 1] == []
    for path, document in DOCUMENTS.items():
        if path.parent.name == "consumer":
            assert document["group"] == path.stem
            assert all(one["id"].startswith(f"{path.stem}/") for one in document["vectors"])
        else:
            assert path.stem.replace("-json", "+json").startswith(document["profile"]) or path.stem.startswith(
                document["profile"]
            )
            assert all(one["id"].startswith(f"{document['profile']}/") for one in document["vectors"])


def test_descriptions_are_unique_and_say_what_is_not_what_should_be() -> None:
    said = Counter((path.name, one["description"]) for path, one in VECTORS)
    assert [text for text, times in said.items() if times > 1] == []
    assert [text for _, text in said if re.search(r"\b(should|must|shall)\b", text, re.IGNORECASE)] == []


def test_every_vector_names_requirements_and_clauses_that_exist() -> None:
    known = {one.id for one in book().requirements}
    assert {(one["id"], id) for _, one in VECTORS for id in one["requirements"] if id not in known} == set()
    assert {one["id"] for _, one in VECTORS if "clause" in one and one["clause"] not in CLAUSES} == set()


def test_every_clause_about_reading_has_a_vector() -> None:
    used = {one.clause for group in vector.consumer() for one in group.vectors}
    assert {clause for clause in CLAUSES if clause[0] in "34"} - used == set()


def test_every_must_of_a_consumer_has_a_vector() -> None:
    used = {id for group in vector.consumer() for one in group.vectors for id in one.requirements}
    assert {one.id for one in book().requirements if one.must and "consumer" in one.roles} - used == set()


def test_the_vectors_of_a_profile_are_those_of_its_files() -> None:
    profiles = {one.profile for one in vector.exchange()}
    assert len(profiles) > 1
    for profile in profiles:
        mine = vector.exchange(profile)
        assert mine
        assert {one.profile for one in mine} == {profile}
        assert all(one.allowed for one in mine)


def test_nothing_that_is_allowed_is_allowed_twice() -> None:
    assert vector.consumer()
    for group in vector.consumer():
        assert group.vectors
        for one in group.vectors:
            outcomes = [json.dumps(outcome, sort_keys=True) for outcome in (one.expect, *one.also_allowed)]
            assert len(set(outcomes)) == len(outcomes), one.id


def test_the_question_and_the_answer_of_the_guide_belong_together() -> None:
    guide = (FOLDER / "README.md").read_text("utf-8")
    question, answer = re.findall(r"^```json\n(.*)\n(.*)\n```", guide, re.MULTILINE)[0]
    assert json.loads(stdio.answer(question)) == json.loads(answer)


# comparing


@rows(
    ("expected", "got", "said"),
    [
        (1, 1, None),
        (1.0, 1, None),
        (1, 1.0, "/ is 1.0, which is no integer"),
        (9007199254740993, 9007199254740992, "/ is 9007199254740992 and not 9007199254740993"),
        (True, 1, "/ is 1 and not true"),
        (0, False, "/ is false and not 0"),
        (None, 0, "/ is 0 and not null"),
        ("1", 1, '/ is 1 and not "1"'),
        ([1, [2]], [1, [2]], None),
        ([1, [2]], [1, [3]], "/1/0 is 3 and not 2"),
        ([1], [1, 1], "/ has 2 elements and not 1"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "/a/b is 2 and not 1"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
        ({"a": 1}, {}, "/a is missing"),
        ({}, {"a": 1}, "/a is too much"),
        ({}, [], "/ is [] and not {}"),
    ],
)
def test_difference(expected: Any, got: Any, said: str | None) -> None:
    assert vector.difference(expected, got) == said


SENT = Request("POST", "/v1/orders", headers={"x-a": "1"}, body={"size": "hug"})
NEXT = {"method": "POST", "path": "/v1/orders", "body": {"size": "huge"}}
FIX = {"action": "FIX_SIZE", "base_action": "MODIFY_PARAMS", "parameters": {"size": "huge"}}
GONE = {"recovery": "terminal", "suggestions": [{"action": "ESCALATE", "parameters": {}}]}
ASKS = {"suggestions": [{**FIX, "placeholders": [{"pointer": "/body/size"}]}]}


@rows(
    ("allowed", "feedback", "said"),
    [
        ([{"next": NEXT}], {"suggestions": [FIX]}, None),
        ([{"action": "modify_params", "next": NEXT}], {"suggestions": [FIX]}, None),
        ([{"action": "FIX_SIZE", "next": NEXT}], {"suggestions": [FIX]}, None),
        ([{"action": "ESCALATE", "next": NEXT}], {"suggestions": [FIX]}, "the action is FIX_SIZE"),
        ([{"next": {**NEXT, "headers": {"X-A": "1"}}}], {"suggestions": [FIX]}, None),
        ([{"next": {**NEXT, "headers": {"x-b": "1"}}}], {"suggestions": [FIX]}, "/headers/x-b is missing"),
        ([{"next": {**NEXT, "body": {}}}], {"suggestions": [FIX]}, "/body/size is too much"),
        ([{"next": NEXT, "wait": 3}], {"suggestions": [FIX]}, "the wait is 0 and not 3"),
        ([{"next": NEXT, "wait": 3}], {"suggestions": [FIX], "retry": {"after_seconds": 3}}, None),
        ([{"next": NEXT}], {"suggestions": [{**FIX, "steps": [NEXT]}]}, "1 steps come first"),
        ([{"next": NEXT, "steps": [NEXT]}], {"suggestions": [{**FIX, "steps": [NEXT]}]}, None),
        ([{"terminal": True}], GONE, None),
        ([{"terminal": True}], {"suggestions": [FIX]}, "a next request follows"),
        ([{"next": NEXT}], GONE, "it is terminal"),
        ([{"needs_input": True}], ASKS, None),
        ([{"next": NEXT}], ASKS, "it needs input: no suggestion may be applied without more input"),
        ([{"silent": True}], None, None),
        ([{"silent": True}], GONE, "there is feedback"),
        ([{"next": NEXT}], None, "there is no feedback"),
        ([{"next": NEXT}, {"silent": True}], None, None),
        ([{"next": NEXT}], {"suggestions": 1}, "the feedback cannot be read: /suggestions: not an array"),
        (
            [{"terminal": True}, {"silent": True}],
            {"suggestions": [FIX]},
            "a next request follows; or there is feedback",
        ),
    ],
)
def test_leads_to(allowed: list[dict[str, Any]], feedback: dict[str, Any] | None, said: str | None) -> None:
    assert vector.leads_to(allowed, feedback, SENT) == said
