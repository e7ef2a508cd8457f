"""Tasks on a real kube-apiserver and a real etcd: each is refused, and what the feedback says is enough."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from corrigible.conformance.lift.environment import environments
from corrigible.conformance.lift.task import fill

from .live import played, unexpected


def test_bytes_are_written_as_the_text_that_they_are() -> None:
    filled = fill({"key": "{base64:/{tenant}/mode}", "lease": "{lease}"}, {"tenant": "e1", "lease": "7"})
    assert filled == {"key": base64.b64encode(b"/e1/mode").decode(), "lease": "7"}


def test_nobody_signs_in_with_a_token_that_was_never_saved() -> None:
    etcd = environments()["etcd"]
    assert etcd.credentials("agent", {"tenant": "e1"}) == {}
    assert etcd.credentials("agent", {"token": "t.1"}) == {"token": "t.1"}


@pytest.mark.nightly
@pytest.mark.parametrize("domain", ["kubernetes", "etcd"])
def test_the_feedback_is_enough_and_nothing_else_is(domain: str, tmp_path: Path) -> None:
    if lacking := environments()[domain].why_unavailable():
        pytest.skip(lacking)
    assert unexpected(played(domain, tmp_path)) == []
