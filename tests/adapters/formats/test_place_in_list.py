"""Elements of lists in sentences of gRPC services."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.place_in_list import element_told, list_told, list_too_long
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.vocabulary import ANY, Path, Vocabulary
from corrigible.schema.exchange import Request
from tests._support.rows import rows

PATHS: tuple[Path, ...] = (("modelName",), ("inputs",), ("entries",), ("labels",), ("plan",))
PATHS = (*PATHS, ("inputs", ANY, "name"), ("inputs", ANY, "shape"), ("inputs", ANY, "datatype"), ("entries", ANY, "id"))
DECLARED = Vocabulary(tuple(("body", *one) for one in PATHS))


def call(body: Any) -> Request:
    return Request("/depot.v1.Depot/Infer", "", body=body)


BODY = {
    "modelName": "adder",
    "inputs": [{"name": "a", "shape": ["3"]}, {"name": "b", "shape": ["3"]}],
    "entries": [{"id": "e-1", "size": 3}],
}


@rows(
    ("message", "place"),
    [
        ("unexpected inference input 'a' for model 'adder'", "/body/inputs/0/name"),
        ("unexpected shape for input 'b' for model 'adder'. Expected [-1,3]", "/body/inputs/1/shape"),
        ("input 'b' byte size mismatch", "/body/inputs/1"),
        ("input tensor 'a' has no datatype", "/body/inputs/0/datatype"),  # which was not sent
        ("inference input 'a' data-type is wrong", "/body/inputs/0/datatype"),
        ("entry 'e-1': size is too large", "/body/entries/0/size"),
        ("entry named `e-1` already exists", "/body/entries/0/id"),
        ("unexpected input 'c'", ""),
        ("unexpected model 'adder'", ""),
        ("unexpected output 'a'", ""),
        ("input a is unexpected", ""),  # not in quotes
        ("input 'a' and input 'b' do not fit", ""),
    ],
)
def test_an_element_is_told_by_its_name(message: str, place: str) -> None:
    assert element_told(message, list(sent_places(call(BODY))), DECLARED) == place


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("missing required inputs ['b']", "/body/inputs"),
        ("missing input 'b'", "/body/inputs"),
        ("expected 2 inputs but got 1 inputs", "/body/inputs"),
        ("expected at least 1 entries, got 0", "/body/entries"),
        ("at least one label is required", ""),  # not a list of elements, and none was sent
        ("missing required plan 'b'", ""),
        ("missing input", ""),
        ("2 inputs are too many", ""),
    ],
)
def test_a_list_misses_elements(message: str, place: str) -> None:
    assert list_told(message, call({"modelName": "adder", "inputs": [{"name": "a"}], "plan": "p"}), DECLARED) == place


def test_a_list_of_values_that_was_sent_is_one() -> None:
    assert list_told("at least two labels are needed", call({"labels": ["x"]}), DECLARED) == ""
    assert list_told("at least 2 labels must be given", call({"labels": ["x"]}), DECLARED) == "/body/labels"


@rows(
    ("body", "message", "place"),
    [
        ({"success": [{}, {}], "failure": []}, "too many operations in txn request", "/body/success"),
        ({"crate": {"labels": ["a", "b"]}}, "too many write operations per batch (max 1)", "/body/crate/labels"),
        ({"labels": ["a", "b"], "names": ["c", "d"]}, "Too many labels.", "/body/labels"),
        ({"labels": ["a", "b"], "names": ["c", "d"]}, "too many labels in the request", "/body/labels"),
        # several that may be meant, none that is long, nothing that says that it is in the request
        ({"success": [{}, {}], "failure": [{}, {}]}, "too many operations in txn request", ""),
        ({"success": [{}], "failure": []}, "too many operations in txn request", ""),
        ({"success": [{}, {}]}, "too many operations", ""),
        ({"success": [{}, {}]}, "too many operations in progress", ""),
        # what is counted elsewhere, or inside of a value
        ({"success": [{}, {}]}, "too many requests in one call", ""),
        ({"success": [{}, {}]}, "too many bytes in the message", ""),
        ({"files": ["a", "b"]}, "too many open files", ""),
    ],
)
def test_a_list_has_too_many_elements(body: Any, message: str, place: str) -> None:
    assert list_too_long(message, list(sent_places(call(body)))) == place
