"""A refused message that is large is judged in a worker, as one that is small is judged at once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from corrigible.client.grpc import feedback_of
from tests._support.command import start
from tests._support.guarded_services import STORE, Messages

BAD: dict[str, Any] = {"name": "x", "parts": [{"code": "abc"}], "word": "w", "slug": "HELLO"}
LARGE = {**BAD, "unjudged": "x" * 20_000}

if not Path("/proc/self/task").exists():
    pytest.skip("children are looked up in /proc", allow_module_level=True)


@pytest.fixture(scope="module")
def process(service: int, descriptor_set: Path) -> Iterator[tuple[int, int]]:
    """Start a proxy; yield its process and its port."""
    command = ["corrigible", "proxy", "--grpc-upstream", f"127.0.0.1:{service}"]
    command += ["--listen", "127.0.0.1:0", "--descriptors", str(descriptor_set), "--time-limit", "40"]
    command += ["--engine", "mitmproxy"]
    with start(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "corrigible proxy: starting\n"
        said = process.stderr.readline()
        found = re.match(r"corrigible: 127\.0\.0\.1:(\d+) ", said)
        assert found is not None, said
        yield process.pid, int(found[1])
        process.terminate()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def told(port: int, messages: Messages, document: dict[str, Any]) -> Any:
    """Send a message that is refused; return the patch of the first suggestion, None where there is none."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call: Any = channel.unary_unary(STORE)
        with pytest.raises(grpc.RpcError) as refused:
            metadata = [("authorization", "Bearer one")]  # what is counted here stays here, even if its kind is slow
            call(messages.of(STORE, document).SerializeToString(), timeout=30, metadata=metadata)
    feedback = feedback_of(refused.value)
    return None if feedback is None else feedback.suggestions[0].parameters


def test_a_large_message_is_judged_in_a_worker(process: tuple[int, int], messages: Messages) -> None:
    pid, port = process
    servers = children(pid)  # one forks workers, the other waits to do so
    assert len(servers) == 2
    assert told(port, messages, BAD) == {"slug": "hello"}
    assert [children(server) for server in servers] == [[], []]
    assert told(port, messages, LARGE) == {"slug": "hello"}
    (server,) = (one for one in servers if children(one))
    (worker,) = children(server)
    os.kill(worker, signal.SIGKILL)
    assert {"slug": "hello"} in (told(port, messages, LARGE) for _ in range(2))  # it may be found dead by a task
    for one in servers:
        os.kill(one, signal.SIGKILL)
    for one in servers:
        while (left := Path(f"/proc/{one}/stat")).exists() and " Z " not in left.read_text():
            pass
    assert told(port, messages, LARGE) is None
    assert told(port, messages, BAD) == {"slug": "hello"}
