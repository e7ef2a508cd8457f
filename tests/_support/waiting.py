"""What waits beside a process that starts commands, and forks them. See `forked`.

Nothing of the tests is imported here: all that is imported here is there in every command that was forked.
"""

from __future__ import annotations

import ctypes
import inspect
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

_PR_SET_CHILD_SUBREAPER: Final = 36
_MOST: Final = 1 << 17
"""Bytes of one call."""
_COMMANDS: Final = {"corrigible": "corrigible.proxy.cli", "conformance": "corrigible.conformance.cli"}
"""Scripts, and what they run."""
_MODULES: Final = (*_COMMANDS.values(), "corrigible.schema.stdio", "corrigible.adapters.openapi.generate")
_SCRIPTS: Final = frozenset(str(Path(sys.executable).parent / name) for name in _COMMANDS)
_IMPORTS: Final = (
    *(f"from {module} import main" for module in _COMMANDS.values()),
    "from corrigible.proxy.demo.recipe_service import serve",
    "from corrigible.adapters.demo.acme.service import serve",
    "from corrigible.adapters.apis.etcd.launch import launch",
    "from corrigible.adapters.apis.kubernetes.launch import launch",
)
"""Code with one of these is ours."""
_HIDES: Final = ("meta_path", "sys.modules")
"""Code with one of these is about what is imported."""
_ROOT: Final = str(Path(__file__).resolve().parents[2])
_STARTERS: Final = frozenset({"sandbox", "demo", "lift", "check"})
"""Commands that start others, for which a process waits beside them, too."""
_OF_PYTHON: Final = ("PYTHON", "LANG", "LC_")
"""What environment variables begin with that Python itself reads when it starts."""

_HEEDED: Final = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
"""Those that a fork can heed, too."""

# It ends with the code that the command runs, at the top level: the end of the process is Python's own, too.
_SERVER: Final = """
import gc, runpy, sys
import anyio._backends._asyncio, anyio.lowlevel, certifi, httpcore, httpx
import uvicorn.lifespan.on, uvicorn.loops.auto, uvicorn.server
import uvicorn.protocols.http.auto, uvicorn.protocols.websockets.auto
import corrigible.adapters.openapi.load, corrigible.adapters.openapi.generate, corrigible.schema.stdio
from corrigible.proxy.cli import parser
parser("proxy"), parser("pack"), parser("sandbox"), parser("description"), parser("descriptors"), parser("demo")
import corrigible.proxy.mitm.server, corrigible.proxy.asgi
import corrigible.proxy.envoy.engine, corrigible.proxy.command.corrector
import corrigible.adapters.demo.recipe.service, corrigible.adapters.demo.acme.service
import corrigible.adapters.apis.kubernetes.launch, corrigible.adapters.apis.etcd.launch
from corrigible.conformance.cli import parser
parser("check"), parser("lift")
from tests._support import waiting
gc.freeze()
call = waiting.called(int(sys.argv[1]))
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
    if program in _SCRIPTS:
        return ["script", program, *words[1:]]
    if program != sys.executable or len(words) < 3:
        return None
    kind, code = words[1:3]
    is_ours = code in _MODULES if kind == "-m" else kind == "-c" and any(one in code for one in _IMPORTS)
    return words[1:] if is_ours and not any(word in code for word in _HIDES) else None


def _for_python(environment: Mapping[str, str]) -> dict[str, str]:
    given = {name: value for name, value in environment.items() if name.startswith(_OF_PYTHON)}
    return {name: value for name, value in given.items() if name not in _HEEDED}


class Server:
    """The process that waits. It ends with ours: nobody holds the other end of its socket then."""

    def __init__(self, calls: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self.environment = _for_python(os.environ)
        self._lock = threading.Lock()
        self._socket, self._process = calls, process

    @classmethod
    def started(cls) -> Server:
        """Start it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-c", _SERVER, str(theirs.fileno())]
            return cls(ours, _POPEN(command, stdin=-3, stdout=-3, pass_fds=[theirs.fileno()]))

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

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def has_ended(self) -> bool:
        """Tell whether somebody has killed it, as the time limit does with what a test has started."""
        return self._process is not None and self._process.poll() is not None

    def end(self) -> None:
        self._socket.close()
        if self._process is not None:
            self._process.wait(10)


def _adopt(yes: bool) -> None:
    """Let orphans below this process become its children, not those of the system's first process."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def called(number: int) -> dict[str, Any]:
    """Wait for calls on this socket, and fork for each. Return in the forks: they are to run what was called."""
    calls = socket.socket(fileno=number)
    for number in (signal.SIGINT, signal.SIGTERM):  # it ends when nobody can call any more
        signal.signal(number, signal.SIG_IGN)
    while True:
        text, streams, _, _ = socket.recv_fds(calls, _MOST, 3)
        if not text:
            os._exit(0)
        _load_packs(json.loads(text)["words"])
        told, tell = os.pipe()
        middle = os.fork()
        if middle == 0:
            between = os.getpid()
            if os.fork() == 0:
                break
            os._exit(0)
        os.waitpid(middle, 0)
        for number in (tell, *streams):
            os.close(number)
        calls.send(os.read(told, 32))
        os.close(told)
    while os.getppid() == between:
        time.sleep(0.001)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    call: dict[str, Any] = json.loads(text)
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
    starts_others = call["words"][2:3] and call["words"][2] in _STARTERS and not os.environ.get("CORRIGIBLE_EXEC")
    return _beside(call) if starts_others else _opened(call)


def _load_packs(words: list[str]) -> None:
    """Load the packs of this checkout that a proxy asks for: every fork has them, as long as they are the same."""
    if words[2:3] not in (["proxy"], ["corrector"]):
        return
    from corrigible.rules.pack.load import built_in, load_pack

    plain = "grpc" if "--grpc-upstream" in words else "http"
    for name in (plain, *words[3:]):
        if name in built_in() or (name.startswith(_ROOT) and Path(name, "pack.yaml").is_file()):
            load_pack(name)


def _beside(call: dict[str, Any]) -> dict[str, Any]:
    """Let a process wait beside this one, too. Return also in what that one forks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        os.close(nowhere)
        return called(theirs.detach())
    theirs.close()
    servers.append(Server(ours))
    vars(subprocess)["Popen"]._execute_child = execute_child
    return _opened(call)


def _opened(call: dict[str, Any]) -> dict[str, Any]:
    """Make the streams as Python does at its start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        raw = open(number, "wb" if number else "rb", 0 if number and at_once else -1, closefd=False)  # noqa: SIM115  open to the end
        lines = (number == 2 and not at_once) or raw.isatty()
        through = bool(number and at_once)
        new = io.TextIOWrapper(raw, old.encoding, old.errors, line_buffering=lines, write_through=through)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    return call


_POPEN: Final = subprocess.Popen
EXECUTE: Final = getattr(subprocess.Popen, "_execute_child", None)
servers: Final[list[Server]] = []
_start: Final = threading.Lock()


def _server() -> Server:
    with _start:
        if servers and servers[0].has_ended():
            servers.pop().end()
        if not servers:
            servers.append(Server.started())
        return servers[0]


def execute_child(process: Any, *arguments: Any) -> None:
    """Do what Popen's own method does: start a process, and close our ends of its streams."""
    assert EXECUTE is not None
    given = inspect.signature(EXECUTE).bind(process, *arguments).arguments
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
        EXECUTE(process, *arguments)
        return
    wanted = (given["p2cread"], given["c2pwrite"], given["errwrite"])
    streams = [number if number >= 0 else standard for standard, number in enumerate(wanted)]
    call = {"words": words, "environment": environment, "folder": folder, "session": given["start_new_session"]}
    process.pid = server.fork(call, streams)
    process._child_created = True
    ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
    process._close_pipe_fds(*(given[end] for end in ends))
