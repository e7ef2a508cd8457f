"""The `corrigible` command without its imports, of half a second each: hundreds of tests start it.

A process that has imported the program waits beside each worker. Where a test starts the command, that process forks,
and the fork runs what the new process would have run: the same code, arguments, folder, environment and streams. It is
a child of the test's own process, with a number, a status, signals and a group of its own; only `/proc` shows the
command line of the one that waits. Whatever could tell a fork from a start (Python's own options, another environment
for Python, a function to call before the start) is started as ever, and so is everything with CORRIGIBLE_EXEC=1.

So are `conformance`, the servers of our own, and what commands of both start: beside those that start others, a process
waits as well, unless the test that starts them sets CORRIGIBLE_EXEC.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from .waiting import EXECUTE, execute_child, servers


@pytest.fixture(scope="session", autouse=True)
def forked_commands() -> Any:
    """Fork the command wherever it is started in this process."""
    if sys.platform != "linux" or os.environ.get("CORRIGIBLE_EXEC") or EXECUTE is None:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "_execute_child", execute_child)
        yield
    while servers:
        servers.pop().end()
