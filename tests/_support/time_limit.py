"""A test that is over its time ends, whatever its child processes ignore.

pytest-timeout raises inside the test. A block that then waits for its child would wait for good where the child
ignores SIGINT, as children of `nohup` do: so what the test has started is killed first.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest


def children() -> set[int]:
    """Return the processes that this one has started; none where the system has no /proc."""
    ids: set[int] = set()
    with suppress(OSError):  # a thread may end in between
        for thread in os.listdir("/proc/self/task"):
            with suppress(OSError), open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:
                ids.update(map(int, file.read().split()))
    return ids


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> Generator[None, Any, Any]:
    """Put the killing before what pytest-timeout does."""
    result = yield
    if settings.method == "signal" and threading.current_thread() is threading.main_thread():
        before, fail = children(), signal.getsignal(signal.SIGALRM)

        def end(number: int, frame: FrameType | None) -> None:
            for child in children() - before:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            assert callable(fail)
            fail(number, frame)

        signal.signal(signal.SIGALRM, end)
    return result


def heed_interrupts() -> None:
    """Undo what `nohup` and some CI do: children inherit an ignored SIGINT, and Python then installs no handler."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
