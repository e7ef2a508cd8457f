"""What messages of real servers complain of, where that is about a state, and what is no such message.

`recorded/refusals_by_reason.json` and `recorded/refusals_of_requests.json` hold error messages of many projects
(packages of PyPI, npm, Debian), drawn at random and labelled before any wording was tried on them. What a template of a
message left open is `x1`.

| label         | what is meant                                                                    |
|---------------|----------------------------------------------------------------------------------|
| `state`       | no value of the request is the reason; something else has to change, or somebody |
| `mixed`       | so, and another value would do as well                                           |
| `credentials` | somebody has to give others                                                      |
| `value`       | the caller wrote something wrong, or left it out                                 |
| `exists`, `absent`, `fault` | a name is taken, nothing has it, the server failed                 |
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from corrigible.adapters.formats.statement import told_state
from corrigible.rules.wordings import Kind
from tests._support.rows import rows

TRUE = ("state", "mixed", "credentials")
RECORDED = Path(__file__).with_name("recorded")


class Message(NamedTuple):
    label: str
    text: str


def recorded(name: str) -> list[Message]:
    return [Message(row[2], row[-1]) for row in json.loads((RECORDED / name).read_text("utf-8"))]


@pytest.mark.parametrize(
    ("name", "least"), [("refusals_by_reason.json", 120), ("refusals_of_requests.json", 90)], ids=["drawn", "requests"]
)
def test_what_is_told_is_true_in_9_of_10_and_is_more_than_half(name: str, least: int) -> None:
    """Without the request: what it sent decides of the others whether the table of answers believes it."""
    messages = recorded(name)
    found = [one for one in messages if told_state(one.text) is not None]
    wrong = [one for one in found if one.label not in TRUE]
    about_state = [one for one in messages if one.label == "state"]
    assert len(found) > least
    assert len(wrong) <= 0.1 * len(found), wrong
    assert sum(told_state(one.text) is not None for one in about_state) > 0.55 * len(about_state)


@rows(
    "message",
    [
        "",
        "name is not allowed to be empty",
        "Cannot set both `page` and `cursor`",
        "The 'status' field must be a string",
        "The user was not found or is disabled",
        "order_by can only be used when the list is not archived",
        "Invalid value for status: is not running",
        "The collection is locked, please wait",
        "Only csv, json are supported. Allowed values are: csv, json",
        "Parameter p1 has no value",
        "Row r7 has no such column",
        "Failed to remove the volume",
        "Cannot delete more than 50 records at once",
        "You may not move a folder underneath itself.",
    ],
)
def test_what_another_value_or_another_time_may_mend_is_no_state(message: str) -> None:
    assert told_state(message) is None


@rows(
    ("message", "kind"),
    [
        ("You do not have permission to change the field owner", Kind.RIGHT),
        ("You must be an admin to select a destination assetstore.", Kind.RIGHT),
        ("Only the sender or the recipient can review this", Kind.RIGHT),
        ("only managers insure above 500.00", Kind.RIGHT),
        ("You must be logged in to link accounts.", Kind.CREDENTIALS),
        ("The bucket you tried to delete is not empty", Kind.IN_USE),
        ("This storage provider does not support listing metrics", Kind.FEATURE),
        ("This command is only available on Raspberry Pi", Kind.FEATURE),
        ("No valid license", Kind.FEATURE),
        ("The invoice has already been canceled.", Kind.STATE),
        ("Agent is offline", Kind.STATE),
        ("User has already voted on this poll", Kind.STATE),
        ("Cannot vote on your own post", Kind.FIXED),
        ("Store s1 is read-only in glance.", Kind.FIXED),
        ("Storage limit exceeded", Kind.LIMIT),
        ("Insufficient points", Kind.LIMIT),
        ("your daily limit is reached", Kind.LIMIT),
    ],
)
def test_what_stands_in_the_way_is_told(message: str, kind: Kind) -> None:
    assert told_state(message) is kind


@rows("piece", ["cannot delete ", "is not ", "no a ", "must be x ", "only an ", "already ", "a-"])
def test_a_long_message_is_read_in_linear_time(piece: str) -> None:
    """That it comes back at all is the proof."""
    assert told_state(piece * 100_000) in (None, *Kind)
