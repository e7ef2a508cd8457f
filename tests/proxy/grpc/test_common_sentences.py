"""Sentences as servers of many languages write them, of no server in particular: what each is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .test_prose import feedback

SENTENCES = json.loads(Path(__file__).with_name("common_sentences.json").read_text("utf-8"))
"""Calls of the depot, refused. `places`: it is about one of these; null: nothing of the request is to blame."""


@pytest.mark.parametrize("one", SENTENCES, ids=lambda one: f"{one['code']}: {one['message']}")
def test_a_common_sentence_is_about_one_of_its_places(one: dict[str, Any]) -> None:
    told = feedback(one["method"], one["body"], one["code"], one["message"])
    suggestions = told.suggestions if told is not None else ()
    found = [placeholder.pointer for each in suggestions for placeholder in each.placeholders]
    found += [op.path for each in suggestions for op in each.patch or () if op.op != "test"]
    assert found == [] if one["places"] is None else not set(found).isdisjoint(one["places"])
