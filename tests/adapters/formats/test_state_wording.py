"""What messages of real servers say about their state, and what is no such message.

`recorded/refusals_by_reason.json` holds error messages of 29 projects (packages of PyPI, npm, Debian), drawn at random
and labelled before the wordings were tried on them: part of the table, project, label, message. What a template of a
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
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from corrigible.adapters.formats.message.state_wording import WORDINGS, Reason, Wording, speaks_of_state, told_reason
from tests._support.rows import rows

TRUE = ("state", "mixed", "credentials")


class Message(NamedTuple):
    half: str
    project: str
    label: str
    text: str


MESSAGES = [
    Message(*row)
    for row in json.loads((Path(__file__).with_name("recorded") / "refusals_by_reason.json").read_text("utf-8"))
]


def told(messages: Sequence[Message]) -> list[Message]:
    return [one for one in messages if told_reason(one.text) is not None]


def test_the_messages_are_many_and_of_many_projects() -> None:
    assert len(MESSAGES) > 850
    assert len({one.project for one in MESSAGES}) == 29
    assert sum(one.label == "state" for one in MESSAGES) > 150


def test_what_is_told_is_true_in_95_of_100() -> None:
    found = told(MESSAGES)
    wrong = [one for one in found if one.label not in TRUE]
    assert len(found) > 110
    assert len(wrong) <= 0.05 * len(found), wrong


@pytest.mark.parametrize(("half", "least"), [("develop", 0.6), ("judge", 0.6), ("second", 0.6)])
def test_more_than_half_of_what_is_about_state_is_told(half: str, least: float) -> None:
    about_state = [one for one in MESSAGES if one.half == half and one.label == "state"]
    assert len(told(about_state)) >= least * len(about_state)


@rows("wording", WORDINGS, ids=[one.example for one in WORDINGS])
def test_each_wording_tells_its_example(wording: Wording) -> None:
    assert told_reason(wording.example) is wording.reason
    others = [one.example for one in WORDINGS if one.reason is wording.reason]
    assert others.count(wording.example) == 1


@rows(
    "message",
    [
        "",
        "name is not allowed to be empty",
        "Cannot set both `page` and `cursor`",
        "The 'status' field must be a string",
        "Room 12 is already in use",
        "The user was not found or is disabled",
        "order_by can only be used when the list is not archived",
        "Invalid value for status: is not running",
        "You have made too many requests while the quota is exceeded. Please try again later.",
        "The collection is locked, please wait",
        "Only csv, json are supported. Allowed values are: csv, json",
        "Task is attached to a project. Send force=true to detach it.",
        "collection name not empty",  # as some write that it must not be
        "Parameter p1 has no value",
        "Row r7 has no such column",
        "The name conflicts with the value of another field",
    ],
)
def test_what_another_value_or_another_time_may_mend_is_no_state(message: str) -> None:
    assert told_reason(message) is None


def test_words_of_a_member_do_not_hide_that_a_right_is_missing() -> None:
    assert told_reason("You do not have permission to change the field owner") is Reason.RIGHT


def test_what_exists_already_speaks_of_state_too() -> None:
    assert speaks_of_state("A hall of this name exists already")
    assert speaks_of_state("Container web-1 is not running")
    assert not speaks_of_state("size must be a number")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("The bucket you tried to delete is not empty", Reason.IN_USE),
        ("Folder '/a b' is not empty.", Reason.IN_USE),
        ("The name conflicts with an existing one", Reason.STATE),
        ("Invoice 2026-11 has no recipient; send it with deliver instead", Reason.STATE),
        ("This storage provider does not support listing metrics", Reason.FEATURE),
        ("Search requires index configuration.", Reason.FEATURE),
    ],
)
def test_what_stands_in_the_way_is_told(message: str, reason: Reason) -> None:
    assert told_reason(message) is reason


@pytest.mark.parametrize(
    "piece", ["cannot delete ", "is not ", "no a ", "must be x ", "only an ", "already ", "not have a-"]
)
def test_a_long_message_takes_no_longer(piece: str) -> None:
    text = piece * 20_000
    told_reason(piece * 30)
    start = time.thread_time()
    told_reason(text)
    assert time.thread_time() - start < 0.05


@pytest.mark.parametrize(
    "message",
    [
        '"front" has associated containers with it. Use -f to delete them: network is being used',
        "the barn is being used",
    ],
)
def test_what_is_being_used_is_in_use(message: str) -> None:
    assert told_reason(message) is Reason.IN_USE
    assert told_reason(message.replace("being used", "being used as a name").replace("has associated", "has")) is None


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("LICENCE REQUIRED - Export is a capability available only in Shop Pro, our paid tier.", Reason.FEATURE),
        ("You must upgrade to Shop Pro for exports", Reason.FEATURE),
        ("unimplemented: calculating shares is not supported.", Reason.FEATURE),
        ("The field is available only in the body", None),
    ],
)
def test_what_another_edition_offers(message: str, reason: Reason | None) -> None:
    assert told_reason(message) is reason
