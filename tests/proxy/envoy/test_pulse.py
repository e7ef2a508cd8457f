"""Which processes behind a socket are stuck: what stands still or computes on and on, not what has to wait."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from corrigible.proxy.envoy.correctors import Pulse

SERVER = """
import socket, sys, time
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1])
    listener.listen()
    print(flush=True)
    connection, _ = listener.accept()
    while connection.recv(1 << 16):
        exec(sys.argv[2])
        connection.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 3\\r\\n\\r\\nok\\n")
"""
MANY, FEW = 400, 12
"""Looks: on a machine with other work, it takes a while until one has computed for long."""


async def is_found(path: Path, looks: int) -> bool:
    """Whether one is found to be stuck."""
    pulse = Pulse()
    try:
        for _ in range(looks):
            if await pulse.is_stuck(path):
                return True
            await asyncio.sleep(0.25)
        return False
    finally:
        pulse.forget()


@pytest.mark.parametrize(
    ("does", "is_stuck"),
    [
        ("pass", False),
        ("time.sleep(60)", True),
        ("while True: pass", True),
        # It has no processor meanwhile, and is at work again in time.
        ("end = time.process_time() + 0.4\n        while time.process_time() < end: pass", False),
    ],
)
def test_what_is_stuck(does: str, is_stuck: bool) -> None:
    with TemporaryDirectory(prefix="c") as name:
        path = Path(name, "x.sock")
        command = [sys.executable, "-S", "-c", SERVER, str(path), does.replace("\n        ", "\n")]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                process.stdout.readline()
                assert asyncio.run(is_found(path, MANY if is_stuck else FEW)) is is_stuck
            finally:
                process.kill()


def test_one_that_was_stopped_is_stuck_and_one_that_went_on_is_not() -> None:
    with TemporaryDirectory(prefix="c") as name:
        path = Path(name, "x.sock")
        with subprocess.Popen([sys.executable, "-S", "-c", SERVER, str(path), "pass"], stdout=-1) as process:
            assert process.stdout is not None
            process.stdout.readline()

            async def watch() -> list[bool]:
                pulse, seen = Pulse(), []
                for number in range(12):
                    if number == 1:
                        os.kill(process.pid, signal.SIGSTOP)
                    if number == 4:
                        os.kill(process.pid, signal.SIGCONT)
                        assert pulse._asked is not None
                        await asyncio.wait([pulse._asked], timeout=60)
                    if number == 6:
                        os.kill(process.pid, signal.SIGSTOP)
                    seen.append(await pulse.is_stuck(path))
                    await asyncio.sleep(0.1)
                pulse.forget()
                return seen

            try:
                seen = asyncio.run(watch())
            finally:
                process.kill()
            assert not any(seen[:8]) and seen[-1]


def test_nobody_behind_a_socket_is_not_stuck(tmp_path: Path) -> None:
    async def look() -> bool:
        return await Pulse().is_stuck(tmp_path / "none.sock")

    assert asyncio.run(look()) is False
