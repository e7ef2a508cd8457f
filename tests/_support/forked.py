"""The `corrigible` command without its imports, of half a second each: hundreds of tests start it.

A process that has imported the program waits beside each worker. Where a test starts the command, that process forks,
and the fork runs what the new process would have run: the same code, arguments, folder, environment and streams. It is
a child of the test's own process, with a number, a status, signals and a group of its own; only `/proc` shows the
command line of the one that waits. Whatever could tell a fork from a start (Python's own options, another environment
for Python, a function to call before the start) is started as ever, and so is everything with CORRIGIBLE_EXEC=1.
"""

from __future__ import annotations

import ctypes
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

_PR_SET_CHILD_SUBREAPER: Final = 36
_MOST: Final = 1 << 17
"""Bytes of one call."""
_SCRIPT: Final = str(Path(sys.executable).parent / "corrigible")
_MODULE: Final = "corrigible.proxy.cli"
_IMPORT: Final = f"from {_MODULE} import main"
_HIDES: Final = ("meta_path", "sys.modules")
"""Code with one of these is about what is imported."""
_OF_PYTHON: Final = ("PYTHON", "LANG", "LC_")
"""What environment variables begin with that Python itself reads when it starts."""

_HEEDED: Final = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
"""Those that a fork can heed, too."""

# It ends with the code that the command runs, at the top level: the end of the process is Python's own, too.
_SERVER: Final = """
import gc, io, json, os, runpy, signal, socket, sys
import certifi, httpx
import corrigible.adapters.openapi.load
from corrigible.proxy.cli import parser
parser("proxy"), parser("pack"), parser("sandbox"), parser("description"), parser("descriptors")
import corrigible.proxy.mitm.server
import corrigible.proxy.envoy.engine, corrigible.proxy.command.correction_job
gc.freeze()
calls = socket.socket(fileno=int(sys.argv[1]))
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    text, streams, _, _ = socket.recv_fds(calls, int(sys.argv[2]), 3)
    if not text:
        os._exit(0)
    told, tell = os.pipe()
    middle = os.fork()
    if middle == 0:
        if os.fork() == 0:
            break
        os._exit(0)
    os.waitpid(middle, 0)
    for number in (tell, *streams):
        os.close(number)
    calls.send(os.read(told, 32))
    os.close(told)
call = json.loads(text)
if call["session"]:
    os.setsid()
for number, stream in enumerate(streams):
    os.dup2(stream, number)
    os.close(stream)
os.chdir(call["folder"])
os.write(tell, b"%d" % os.getpid())
for number in (calls.detach(), told, tell):
    os.close(number)
os.environ.clear()
os.environ.update(call["environment"])
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
for number, name in enumerate(("stdin", "stdout", "stderr")):
    old = getattr(sys, name)
    raw = open(number, "wb" if number else "rb", 0 if number and at_once else -1, closefd=False)
    lines = (number == 2 and not at_once) or raw.isatty()
    new = io.TextIOWrapper(raw, old.encoding, old.errors, line_buffering=lines, write_through=bool(number and at_once))
    setattr(sys, name, new)
    setattr(sys, f"__{name}__", new)
kind, code, *sys.argv[1:] = call["words"]
sys.argv[0] = code if kind == "script" else kind
if kind == "-c":
    exec(code, {"__name__": "__main__"})
elif kind == "-m":
    sys.modules.pop(code)
    runpy.run_module(code, run_name="__main__", alter_sys=True)
else:
    runpy.run_path(code, run_name="__main__")
"""


def words_of(arguments: Any, executable: Any) -> list[str] | None:
    """Return what a command runs: `-c` and code, `-m` and a module, `script` and a path. None for other programs."""
    if isinstance(arguments, (str, bytes)) or not isinstance(arguments, Sequence):
        return None
    words = [os.fspath(word) for word in arguments]
    if not all(isinstance(word, str) for word in words):
        return None
    program = words[0] if executable is None else os.fspath(executable)
    if program == _SCRIPT:
        return ["script", program, *words[1:]]
    if program != sys.executable or len(words) < 3:
        return None
    kind, code = words[1:3]
    is_ours = code == _MODULE if kind == "-m" else kind == "-c" and _IMPORT in code
    return words[1:] if is_ours and not any(word in code for word in _HIDES) else None


def _for_python(environment: Mapping[str, str]) -> dict[str, str]:
    given = {name: value for name, value in environment.items() if name.startswith(_OF_PYTHON)}
    return {name: value for name, value in given.items() if name not in _HEEDED}


class _Server:
    """The process that waits. It ends with ours: nobody holds the other end of its socket then."""

    def __init__(self) -> None:
        self.environment = _for_python(os.environ)
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-c", _SERVER, str(theirs.fileno()), str(_MOST)]
            self._process = _POPEN(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
            )

    def fork(self, call: dict[str, Any], streams: list[int]) -> int:
        """Return the number of a new process. Its parent is ours: the one between us and it has ended."""
        text = json.dumps(call).encode()
        with self._lock:
            _adopt(True)
            try:
                socket.send_fds(self._socket, [text], streams)
                told = self._socket.recv(32)
            finally:
                _adopt(False)
        assert told, "the process that starts the command has ended"
        return int(told)

    def has_ended(self) -> bool:
        """Tell whether somebody has killed it, as the time limit does with what a test has started."""
        return self._process.poll() is not None

    def end(self) -> None:
        self._socket.close()
        self._process.wait(10)


def _adopt(yes: bool) -> None:
    """Let orphans below this process become its children, not those of the system's first process."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


_POPEN: Final = subprocess.Popen
_EXECUTE: Final = getattr(subprocess.Popen, "_execute_child", None)
_servers: list[_Server] = []
_start: Final = threading.Lock()


def _server() -> _Server:
    with _start:
        if _servers and _servers[0].has_ended():
            _servers.pop().end()
        if not _servers:
            _servers.append(_Server())
        return _servers[0]


def _execute_child(process: Any, *arguments: Any) -> None:
    """Do what Popen's own method does: start a process, and close our ends of its streams."""
    assert _EXECUTE is not None
    given = inspect.signature(_EXECUTE).bind(process, *arguments).arguments
    words = words_of(given["args"], given["executable"])
    environment = dict(os.environ if given["env"] is None else given["env"])
    folder = os.getcwd() if given["cwd"] is None else os.fspath(given["cwd"])
    plain = (
        words is not None
        and not (given["shell"] or given["preexec_fn"] or given["pass_fds"])
        and (given["uid"], given["gid"], given["gids"], given["umask"]) == (None, None, None, -1)
        and given.get("process_group", -1) in (-1, None)
        and os.path.isdir(folder)
        and _for_python(environment) == (server := _server()).environment
    )
    if not plain:
        _EXECUTE(process, *arguments)
        return
    wanted = (given["p2cread"], given["c2pwrite"], given["errwrite"])
    streams = [number if number >= 0 else standard for standard, number in enumerate(wanted)]
    call = {"words": words, "environment": environment, "folder": folder, "session": given["start_new_session"]}
    process.pid = server.fork(call, streams)
    process._child_created = True
    ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
    process._close_pipe_fds(*(given[end] for end in ends))


@pytest.fixture(scope="session", autouse=True)
def forked_commands() -> Any:
    """Fork the command wherever it is started in this process."""
    if sys.platform != "linux" or os.environ.get("CORRIGIBLE_EXEC") or _EXECUTE is None:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "_execute_child", _execute_child)
        yield
    while _servers:
        _servers.pop().end()
