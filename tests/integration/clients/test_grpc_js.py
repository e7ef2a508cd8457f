"""Users of @grpc/grpc-js find the native status as it was, and the feedback as one more detail of it."""

from __future__ import annotations

import importlib
import json
import subprocess
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests._support.rows import rows

grpc: Any = importlib.import_module("grpc")

NONE = {"recovery-feedback": "none"}
CALLS: dict[str, dict[str, Any]] = {
    "bare": {"kind": "Fail", "request": {"code": 7, "message": "100% ä✓"}},
    "detailed": {"kind": "Fail", "request": {"code": 7, "message": "not you", "size": 600, "metadata": 1}},
    "headers": {"kind": "Fail", "request": {"code": 7, "message": "not you", "size": 600, "headers": 1}},
    "stream": {"kind": "Down", "request": {"count": 3, "code": 7, "message": "half", "metadata": 1}},
    "full": {"kind": "Fail", "request": {"code": 7, "message": "not you", "size": 7900}},
}
each_call = rows("name", CALLS)


@pytest.fixture(scope="module")
def seen(rpc: Any, probe: Any, proxied: Any) -> Mapping[str, Mapping[str, Any]]:
    """What a user finds in each error: without the proxy, with it and mode none, and with it."""
    nodejs = importlib.import_module("corrigible.adapters.sandbox.runtimes")
    errors = importlib.import_module("corrigible.adapters.sandbox.server")
    folder = Path(__file__).parent / "grpc_js"
    try:
        node, modules = nodejs.find_node(), nodejs.npm_folder("test-grpc-js", folder)
    except errors.SandboxError as problem:
        pytest.skip(str(problem))
    script = (folder / "refusals.mjs").read_text("utf-8")
    google = Path(importlib.import_module("google.rpc.status_pb2").__file__ or "").parents[2]
    own = Path(str(files("corrigible.schema")))

    def run(port: int, **more: Any) -> Any:
        calls = json.dumps({name: {**call, **more} for name, call in CALLS.items()})
        words = [f"127.0.0.1:{port}", calls, str(google), str(own), str(own.parent)]
        command = [str(node.executable), "--input-type=module", "--eval", script, "--", *words]
        done = subprocess.run(command, cwd=modules, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr
        answers = json.loads(done.stdout)
        if port == proxied.port and proxied.is_envoy:
            for answer in answers.values():
                answer["metadata"].pop("date", None)  # RFC 9110 section 6.6.1: Envoy adds it where the API does not
        return answers

    return {"direct": run(probe.port), "none": run(proxied.port, metadata=NONE), "proxied": run(proxied.port)}


@each_call
def test_with_mode_none_the_error_is_what_it_was(name: str, seen: Mapping[str, Mapping[str, Any]]) -> None:
    assert seen["none"][name] == seen["direct"][name]


@each_call
def test_the_native_status_is_what_it_was(name: str, seen: Mapping[str, Mapping[str, Any]]) -> None:
    direct, proxied = seen["direct"][name], seen["proxied"][name]
    request = CALLS[name]["request"]
    assert (direct["code"], direct["message"], direct["instance"]) == (7, request["message"], True)
    for member in ("code", "message", "instance", "messages", "metadata"):
        assert proxied[member] == direct[member]
    assert proxied["details"][: len(direct["details"])] == direct["details"]
    assert proxied["status"] in (direct["status"], {"code": 7, "message": request["message"]})


@rows("name", [name for name in CALLS if name != "full"])
def test_the_feedback_is_the_last_detail(name: str, seen: Mapping[str, Mapping[str, Any]]) -> None:
    direct, proxied = seen["direct"][name], seen["proxied"][name]
    (added,) = proxied["details"][len(direct["details"]) :]
    assert added["type"] == "corrigible.schema.v0_1.RecoveryFeedback"
    assert added["value"]["schema"] == "self-reflective-api/0.1"
    assert added["value"]["recovery"] == "RECOVERY_TERMINAL"
    assert [suggestion["action"] for suggestion in added["value"]["suggestions"]] == ["ESCALATE"]


def test_where_the_native_details_leave_no_room_nothing_is_added(seen: Mapping[str, Mapping[str, Any]]) -> None:
    assert seen["proxied"]["full"] == seen["direct"]["full"]
    assert [detail["type"] for detail in seen["direct"]["full"]["details"]] == [
        "google.rpc.BadRequest",
        "google.rpc.DebugInfo",
    ]
