"""What messages say about what the request itself does, and that nothing is told where a value may be refused.

`recorded/refusals_of_requests.json` holds error messages of 13 projects with the requests that they answer: part of
the table, project, label, method, path, name of the operation, message. The labels are those of
`test_state_wording.py`; they were given before the wordings were tried. Where the source names no route, the request is
what the function does.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from corrigible.adapters.formats.message.own_action import (
    DENIALS,
    Denial,
    RequestAction,
    action_of,
    denied_reason,
    denies_another,
    is_told_as_done,
    stems,
)
from corrigible.adapters.formats.message.state_wording import Reason, told_reason
from tests._support.rows import rows

TRUE = ("state", "mixed", "credentials")


class Refusal(NamedTuple):
    half: str
    project: str
    label: str
    method: str
    path: str
    operation: str
    text: str


REFUSALS = [
    Refusal(*row)
    for row in json.loads((Path(__file__).with_name("recorded") / "refusals_of_requests.json").read_text("utf-8"))
]


def literals(path: str) -> list[str]:
    return path.rpartition("}")[2].strip("/").split("/") if path.rpartition("}")[2].strip("/") else []


def action(method: str, path: str, operation: str = "") -> RequestAction:
    return action_of(method, literals(path) if "}" in path else [], operation)


def is_told(one: Refusal, *, by_the_request: bool = True) -> bool:
    reason = told_reason(one.text)
    if not by_the_request:
        return reason is not None
    done = action(one.method, one.path, one.operation)
    if reason is Reason.FIXED and denies_another(one.text, done):
        reason = None
    sends_values = one.method not in ("DELETE", "GET") and not ("}" in one.path and literals(one.path))
    return (reason or denied_reason(one.text, done, sends_values=sends_values)) is not None


@pytest.mark.parametrize("half", ["develop", "judge"])
def test_more_is_told_if_the_request_is_known_and_it_is_true(half: str) -> None:
    refusals = [one for one in REFUSALS if one.half == half]
    told = [one for one in refusals if is_told(one)]
    wrong = [one for one in told if one.label not in TRUE]
    assert len(refusals) > 200
    assert len(wrong) <= 0.06 * len(told), wrong
    about_state = [one for one in refusals if one.label == "state"]
    by_wording = [one for one in about_state if is_told(one, by_the_request=False)]
    by_request = [one for one in about_state if is_told(one)]
    assert len(by_request) >= 0.75 * len(about_state)
    assert len(by_request) > len(by_wording)


@pytest.mark.parametrize("denial", DENIALS, ids=[one.example for one in DENIALS])
def test_each_wording_tells_its_example(denial: Denial) -> None:
    method, path = denial.path.split()
    assert denied_reason(denial.example, action(method, path)) is denial.reason


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        # Another verb, or a request whose values may be what is refused.
        ("POST /alarms/{id}/acknowledge", "Alarm cannot be silenced!"),
        ("POST /alarms", "Alarm cannot be created"),
        ("PATCH /alarms/{id}", "Alarm cannot be changed"),
        # What is behind the colon is the reason.
        ("POST /alarms/{id}/silence", "cannot silence alarm: duration is negative"),
        ("POST /alarms/{id}/silence", "cannot silence more than 5 alarms"),
        ("POST /alarms/{id}/silence", "Field duration cannot be silenced"),
        ("POST /alarms/{id}/silence", "Alarm cannot be silenced, try again"),
        ("POST /alarms/{id}/silence", "Could not silence the alarm"),
        ("POST /alarms/{id}/assign", "Ann is already assigned to alarm 3"),
    ],
)
def test_nothing_is_told_where_something_else_may_be_meant(request_: str, message: str) -> None:
    assert denied_reason(message, action(*request_.split())) is None


@pytest.mark.parametrize(
    ("request_", "message", "is_another"),
    [
        ("POST /files", "cannot close the temporary file", True),
        ("PUT /tools/{id}", "The name of a tool cannot be changed", True),
        ("PUT /tools/{id}", "The tool cannot be changed while it is active", False),
        ("DELETE /tools/{id}", "The built-in tool cannot be deleted", False),
        ("PUT /tools/{id}", "Tool t1 is read-only", False),
    ],
)
def test_what_is_denied_may_be_another_thing_than_the_request(request_: str, message: str, is_another: bool) -> None:
    assert denies_another(message, action(*request_.split())) is is_another


def test_what_is_said_of_a_resource_counts_if_nothing_but_its_path_was_sent() -> None:
    act, message = action("POST", "/backups/{id}/restore"), "Backup b1 status must be available or error."
    assert denied_reason(message, act, sends_values=False) is Reason.STATE
    assert denied_reason(message, act) is None


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("silence", "silenced silencing silences"),
        ("stop", "stopped stopping stops"),
        ("apply", "applied applying applies"),
        ("cancel", "canceled cancelled cancelling cancellation"),
        ("migrate", "migrated migrating migration"),
        ("send", "sent sending"),
        ("access", "accessed accessing"),
        ("free", "freed freeing"),
    ],
)
def test_forms_of_a_verb_are_the_same_verb(verb: str, forms: str) -> None:
    act = action("POST", f"/things/{{id}}/{verb}")
    assert all(not act.own.isdisjoint(stems(form)) for form in forms.split())
    assert act.own.isdisjoint(stems("renamed"))


@pytest.mark.parametrize(
    "message",
    [
        "Post 7 has already been published.",
        "post '7' was already published",
        "Post #7 is already published!",
        "The post has already been published",
        "This post is already published.",
        "Posts 7 has already been published",
        "7 is already published",
        "It has already been published.",
        "Already published",
        "The resource is already published",
    ],
)
def test_that_it_has_been_done_already_is_told_of_what_the_path_names(message: str) -> None:
    assert is_told_as_done(message, action_of("POST", ["publish"], "publishPost"), ["posts"], ["7"])


@rows(
    "message",
    [
        "Post 7 has already been published or withdrawn",
        "Post 7 has already been archived",
        "The post 9 was already published",
        "Post 9 has already been published",
        "9 is already published",
        "Parent post is already published",
        "The parent post 7 is already published",
        "The last post has already been published",
        "Another post is already published",
        "The comment is already published",
        "Comment 7 is already published",
        "Post 7 of thread 3 is already published",
        "Post 7 7 is already published",
        "One of the posts is already published",
        "The invoice for post 7 has already been published",
        "Not already published",
        "Post 7 is not already published",
    ],
)
def test_that_something_else_has_been_done_is_no_answer(message: str) -> None:
    assert not is_told_as_done(message, action_of("POST", ["publish"], "publishPost"), ["posts"], ["7"])


def test_a_kind_may_have_several_words() -> None:
    pause = action_of("POST", ["pause"], "")
    assert is_told_as_done("Work pool 7 is already paused.", pause, ["work_pools"], ["7"])
    assert not is_told_as_done("Pool 7 is already paused.", pause, ["work_pools"], ["7"])


@pytest.mark.parametrize("piece", ["cannot be ", "only a ", "since the x ", "already ", "status must be ", "a-"])
def test_a_long_message_takes_no_longer(piece: str) -> None:
    act = action("POST", "/posts/{id}/publish")
    denied_reason(piece * 30, act)
    start = time.thread_time()
    denied_reason(piece * 20_000, act)
    assert time.thread_time() - start < 0.05
