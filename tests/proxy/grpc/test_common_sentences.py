"""Sentences as servers of many languages write them, of no server in particular: what each is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from .test_prose import feedback

SENTENCES = json.loads(Path(__file__).with_name("common_sentences.json").read_text("utf-8"))
"""Calls of the depot, refused. `places`: it is about one of these; null: nothing of the request is to blame."""


LEAST: Final = 0.9
"""The share that is right, as measured when places came to be weighed: 79 of 87."""


def is_right(one: dict[str, Any]) -> bool:
    told = feedback(one["method"], one["body"], one["code"], one["message"])
    suggestions = told.suggestions if told is not None else ()
    found = [placeholder.pointer for each in suggestions for placeholder in each.placeholders]
    found += [op.path for each in suggestions for op in each.patch or () if op.op != "test"]
    return found == [] if one["places"] is None else not set(found).isdisjoint(one["places"])


def test_a_common_sentence_is_about_one_of_its_places() -> None:
    wrong = [f"{one['code']}: {one['message']}" for one in SENTENCES if not is_right(one)]
    assert 1 - len(wrong) / len(SENTENCES) >= LEAST, wrong
