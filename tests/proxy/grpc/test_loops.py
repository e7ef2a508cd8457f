"""A refusal that comes back is one of a loop, until its caller has a success there: on each engine."""

from __future__ import annotations

import json
from typing import Any

from google.rpc import status_pb2

from corrigible.schema.v0_1.feedback_pb2 import RecoveryFeedback


def attempt(rpc: Any, channel: Any, caller: str, code: int = 7) -> int:
    """Call, and return the number of the attempt that the feedback tells; 0 without a loop."""
    request = json.dumps({"code": code, "message": "not you"}).encode()
    metadata = (("authorization", f"Bearer {caller}"),) if caller else ()
    seen = rpc.observe(channel, "Fail", request, metadata=metadata)
    if not code:
        assert seen.code == "OK"
        return 0
    (detail,) = status_pb2.Status.FromString(seen.details).details
    feedback = RecoveryFeedback()
    assert detail.Unpack(feedback)
    return feedback.loop.attempt


def test_a_success_of_the_same_caller_ends_a_loop(rpc: Any, proxied_channel: Any) -> None:
    assert [attempt(rpc, proxied_channel, "one") for _ in range(2)] == [0, 2]
    attempt(rpc, proxied_channel, "another", code=0)
    assert attempt(rpc, proxied_channel, "one") == 3
    attempt(rpc, proxied_channel, "one", code=0)
    assert attempt(rpc, proxied_channel, "one") == 0


def test_callers_without_credentials_share_no_loop(rpc: Any, proxied_channel: Any) -> None:
    assert [attempt(rpc, proxied_channel, "") for _ in range(5)] == [0] * 5
