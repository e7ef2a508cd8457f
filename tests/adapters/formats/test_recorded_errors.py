"""The errors of many frameworks: where each is, and what it states.

`recorded/python.json`, `node.json`, `rails.json`, `symfony.json` and `go.json` are the answers of real frameworks to
the mistakes of `recorded/mistakes.json`, written by the scripts beside them. `recorded/published.json` holds the same
mistakes in the words of documentation and sources, for frameworks that cannot be run here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from corrigible.adapters.operation import Vocabulary
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Request
from tests._support.by_description import errors_at_places
from tests._support.rows import rows

FOLDER = Path(__file__).with_name("recorded")
MISTAKES = {one["name"]: one for one in json.loads((FOLDER / "mistakes.json").read_text("utf-8"))}
ANSWERS = [
    one
    for name in ("python.json", "node.json", "rails.json", "symfony.json", "go.json", "published.json")
    for one in json.loads((FOLDER / name).read_text("utf-8"))
]
DECLARED = Vocabulary(
    (
        *(("body",), ("body", "name"), ("body", "quantity"), ("body", "status"), ("body", "address")),
        *(("body", "address", "city"), ("query", "limit")),
    ),
    ((("body", "status"), ("draft", "open", "closed")),),
)
NOT_TOLD = {
    # The place: flattened errors have only the outermost name, ajv's text no name of what is one too many.
    **dict.fromkeys([("Zod 4, flattened", "missing inside"), ("Zod 3, flattened", "missing inside")], "/body/address"),
    ("ajv, its text", "unknown"): "",
}
LIMIT_NOT_TOLD = {
    *(("connexion", "too short"), ("jsonschema", "too short"), ("Go validator", "too large")),
    *(("Go validator, its text", "too large"), ("Go validator, its text", "too short")),
    *(("Go validator", "too short"), ("express-validator", "too large"), ("express-validator", "too short")),
    ("Valibot", "too short"),
}
CHOICES_NOT_TOLD = {
    *("Django REST framework", "drf-standardized-errors", "Litestar", "msgspec", "cerberus", "express-validator"),
    *("ajv, its text", "Fastify", "Rails", "Rails, full messages", "Laravel", "Go validator", "API Platform"),
    *("Rails 6.1", "Rails 6.1, full messages", "Go validator, its text"),
    *("Phoenix", "everit json schema", "Hibernate Validator, Quarkus"),
}


NOT_READ = {
    ("Joi, its message", "unknown"): '`"colour" is not allowed` is said of a value as well',
    ("celebrate", "unknown"): "the words of Joi",
    ("NestJS", "missing"): "its first rule speaks of a length, whatever is missing",
    ("Rails, strong parameters", "missing"): "`name` is a word that any text has, and nothing marks it",
    ("Effect 3, HttpApi", "choice"): 'each sentence has one value of a union: `Expected "draft", actual "opne"`',
    ("superstruct", "choice"): "its list has quotes inside of quotes",
    ("superstruct", "unknown"): "`Expected a value of type never` says nothing to who does not know TypeScript",
}
"""Frameworks and mistakes of whose texts no place, keyword or limit is read, and why."""
WITHOUT_NAMES = {("Rails 6.1, full messages", "missing inside"): "/body/address"}
"""Where a sentence has only the words of a name, without a description: `Address city can't be blank`."""


def read(answer: dict[str, Any], declared: Vocabulary | None = DECLARED) -> list[Violation]:
    mistake = MISTAKES[answer["mistake"]]
    request = Request("POST", "/orders", mistake["query"], {"content-type": "application/json"}, mistake["body"])
    exchange = Exchange(request, answer["status"], {"content-type": answer["type"]}, b"")
    return errors_at_places(exchange, answer["answer"], declared, has_operations=True)


@rows("answer", ANSWERS, ids=lambda one: f"{one['framework']}: {one['mistake']}")
def test_errors_of_frameworks(answer: dict[str, Any]) -> None:
    mistake, case = MISTAKES[answer["mistake"]], (answer["framework"], answer["mistake"])
    errors = read(answer)
    told = NOT_TOLD.get(case, mistake["place"])
    assert {error.pointer for error in errors} - {""} <= {told}
    if case in NOT_TOLD or case in NOT_READ:
        return
    error = next(error for error in errors if error.pointer)
    if "keyword" in mistake:
        assert error.constraint == mistake["keyword"]
    if "stated" in mistake and case not in LIMIT_NOT_TOLD:
        stated = {name: error.stated.get(name) for name in mistake["stated"]}
        if mistake["name"] == "choice":
            listed = [] if answer["framework"] in CHOICES_NOT_TOLD else sorted(mistake["stated"]["enum"])
            assert sorted(stated["enum"] or []) == listed
        else:
            assert stated == mistake["stated"]


@rows("answer", ANSWERS, ids=lambda one: f"{one['framework']}: {one['mistake']}")
def test_without_a_description_no_error_is_at_a_place_of_another(answer: dict[str, Any]) -> None:
    case = answer["framework"], answer["mistake"]
    place = NOT_TOLD.get(case, MISTAKES[answer["mistake"]]["place"])
    others = {"/body/name", "/body/quantity", "/body/status", "/body/address"} - {place, WITHOUT_NAMES.get(case)}
    assert not others & {error.pointer for error in read(answer, None)}
