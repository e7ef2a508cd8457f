"""A service that a real gRPC server has under another name: the call is made there. On both engines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from corrigible.client.grpc import feedback_of
from corrigible.schema import Next, Request, apply
from tests._support.guarded_services import BOOK, Messages

OLD = "/guarded.v1beta1.Rooms/Book"


@pytest.mark.parametrize("engine", ["mitmproxy", "envoy"])
def test_a_method_is_called_by_the_name_that_the_server_has(
    engine: str,
    service: int,
    descriptor_set: Path,
    messages: Messages,
    start_proxy: Callable[..., int],
    tmp_path: Path,
) -> None:
    if engine == "envoy":
        pytest.importorskip("envoy", exc_type=ImportError)
    file = tmp_path / "map.json"
    mapping = {
        "source": {"api": "rooms", "method": "POST", "path": OLD},
        "target": {"api": "rooms", "method": "POST", "path": BOOK},
        "equivalence": "same",
        "score": 1.0,
        "arguments": [{"source": "/body", "target": "/body"}],
        "evidence": [{"kind": "version"}],
    }
    file.write_text(json.dumps({"method": "by hand", "mappings": [mapping]}))
    words = ["--engine", "envoy"] if engine == "envoy" else []
    port = start_proxy(service, "--descriptors", str(descriptor_set), "--map", str(file), *words)
    booking = messages.of(BOOK, {"nights": 2, "guests": ["Ann"]}).SerializeToString()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:

        def call(method: str) -> Any:
            made: Any = channel.unary_unary(method)
            return made(booking, timeout=30, wait_for_ready=True)

        with pytest.raises(grpc.RpcError) as refused:
            call(OLD)
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
        feedback = feedback_of(refused.value)
        assert feedback is not None
        (only,) = feedback.suggestions
        assert only.action == "USE_ALTERNATIVE_ENDPOINT"
        assert only.safety is not None
        assert not only.safety.changes_intent
        following = apply(feedback, Request(OLD, ""))
        assert isinstance(following, Next)
        assert following.request.method == BOOK
        call(following.request.method)
