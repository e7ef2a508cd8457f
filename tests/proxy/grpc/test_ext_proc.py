"""gRPC through a real Envoy that asks a corrector by `ext_proc`: trailers are corrected, messages flow meanwhile."""

from __future__ import annotations

import json
import queue
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests._support.command import run, start
from tests._support.envoy_proxy import configured_envoy

RACED = json.dumps({"code": 10, "message": "raced"}).encode()
DETAILS = "grpc-status-details-bin"


@contextmanager
def envoy_with_corrector(probe: Any, folder: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Run Envoy before the probe, and the corrector that it asks. Yields its port, and the corrector."""
    address = f"unix:{folder / 'c.sock'}"
    words = ["--grpc-upstream", f"http://127.0.0.1:{probe.port}", "--pack", "grpc", "--time-limit", "20"]
    command = ["corrigible", "corrector", "--ext-proc", "--listen", address, *words]
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as corrector:
        try:
            assert corrector.stdout is not None
            assert corrector.stdout.readline().startswith(f"corrigible corrector: {address} ")
            config = ["corrigible", "envoy", "config", "--ext-proc", "--corrector", address]
            printed = run([*config, "--listen", "127.0.0.1:0", *words], check=True)
            with configured_envoy(yaml.safe_load(printed.stdout)) as port:
                yield port, corrector
        finally:
            corrector.kill()


@pytest.fixture(scope="module")
def placed(probe: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    with envoy_with_corrector(probe, tmp_path_factory.mktemp("c")) as running:
        yield running


def test_a_refusal_is_corrected_where_the_status_stands(rpc: Any, placed: tuple[int, Any], probe: Any) -> None:
    with rpc.channel(placed[0]) as channel, rpc.channel(probe.port) as direct:
        for method, requests in (
            ("Fail", [RACED]),  # trailers only
            ("Fail", [json.dumps({"code": 10, "message": "raced", "headers": 1}).encode()]),
            ("Chat", [b"abc", RACED]),  # after a message
            ("Chat", [RACED]),
        ):
            seen, native = (rpc.observe(one, method, *requests) for one in (channel, direct))
            assert (seen.messages, seen.code, seen.message) == (native.messages, native.code, native.message)
            assert seen.details is not None and b"corrigible.schema.v0_1.RecoveryFeedback" in seen.details
            assert native.details is None
            assert [one for one in seen.trailing if one[0] not in (DETAILS, "date")] == list(native.trailing)


def test_none_is_heeded_and_successes_are_untouched(rpc: Any, placed: tuple[int, Any], probe: Any) -> None:
    with rpc.channel(placed[0]) as channel, rpc.channel(probe.port) as direct:
        channel.added = ("date",)
        for method, requests, metadata in (
            ("Fail", [RACED], (("recovery-feedback", "none"),)),
            ("Echo", [b"hello"], ()),
            ("Echo", [b"h" * 3_000_000], ()),
            ("Up", [b"a", b"b"], ()),
            ("Down", [b'{"count": 5}'], ()),
            ("Chat", [b"abc%d" % number for number in range(30)], ()),
        ):
            seen, native = (rpc.observe(one, method, *requests, metadata=metadata) for one in (channel, direct))
            assert seen == native


def test_neither_direction_of_a_stream_waits_for_the_other(rpc: Any, placed: tuple[int, Any]) -> None:
    sent: queue.Queue[bytes | None] = queue.Queue()
    with rpc.channel(placed[0]) as channel:
        requests: Iterator[bytes] = iter(sent.get, None)
        call = channel.stream_stream("/probe.v1.Probe/Chat", None, None)(requests, timeout=rpc.PATIENCE)
        for word in (b"one", b"two", b"six"):
            sent.put(word)
            assert next(call) == word[::-1]  # before the next one is sent
        sent.put(None)
        assert list(call) == []


def test_without_its_corrector_the_native_status_passes(
    rpc: Any, probe: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with envoy_with_corrector(probe, tmp_path_factory.mktemp("c")) as (port, corrector), rpc.channel(port) as channel:
        corrector.kill()
        corrector.wait(60)
        seen = rpc.observe(channel, "Fail", RACED)
        assert (seen.code, seen.message, seen.details) == ("ABORTED", "raced", None)
        assert rpc.observe(channel, "Echo", b"hello").messages == [b"hello"]
