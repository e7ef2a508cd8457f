"""Starts `corrigible` and `conformance` for tests, without the half second that their imports take.

A process that has imported both, and has loaded the built-in packs, waits beside each process of tests. Where a command
is started, that process forks, and the fork runs what the command runs, with its arguments, folder, environment and
streams. It is a child of the test's own process, with a number, a status, signals and a group of its own. What Python
reads when it starts (PYTHON..., the locale), a function to call before the start, and CORRIGIBLE_EXEC=1 need a process
that is started as ever. `corrigible sandbox` and `conformance lift` have such a process beside them, too, for the
servers that they start.

Only the standard library is imported here: all that is imported here is there in every command.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import importlib
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
from types import SimpleNamespace
from typing import Any, Final

_MODULES: Final = {"corrigible": "corrigible.proxy.cli", "conformance": "corrigible.conformance.cli"}
_ROOT: Final = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_COMPILER: Final = "corrigible.adapters.openapi.generate"
_ADOPTS: Final = 36
"""PR_SET_CHILD_SUBREAPER"""
_MOST: Final = 1 << 17
"""Bytes of one call."""
_MOST_OPEN: Final = 1 << 12
_MOST_KEPT: Final = 8
"""Files of one call beside its three streams."""
_OF_PYTHON: Final = ("PYTHON", "LANG", "LC_")
"""What environment variables begin with that Python itself reads when it starts."""
# It ends with what the command runs, at the top level: the end of the process is Python's own, too.
_WAITING: Final = """
import gc, sys
import anyio._backends._asyncio, httpcore, openapi_spec_validator, uvicorn.protocols.http.auto
import corrigible.adapters.demo.acme.service, corrigible.adapters.demo.recipe.service
import corrigible.adapters.openapi.generate, corrigible.adapters.openapi.load
import corrigible.proxy.mitm.server, corrigible.proxy.envoy.engine, corrigible.proxy.command.corrector
from corrigible.conformance import cli as conformance
from corrigible.conformance.suite.requirement import book
from corrigible.proxy import cli as corrigible
from corrigible.proxy.build import build_engine
from corrigible.rules.pack.load import built_in, load_pack
corrigible.parser("proxy"), corrigible.parser("sandbox"), conformance.parser("check"), conformance.parser("lift")
[load_pack(name) for name in built_in()]
[build_engine([name]).warm_up() for name in ("http", "github", "slack", "models", "stripe")]
book()
from tests._support.command import called
gc.freeze()
name, setup, *sys.argv[1:] = called(int(sys.argv[1]))
sys.argv[0] = name
exec(setup)
sys.exit({"corrigible": corrigible, "conformance": conformance}[name].main())
"""


def arguments(words: Sequence[str], setup: str = "") -> list[str]:
    """Return how to start `corrigible ...` or `conformance ...` by other means. `setup` is code that runs first."""
    code = f"import sys\nfrom {_MODULES[words[0]]} import main\n{setup}\nsys.exit(main())"
    return [sys.executable, "-c", code, *words[1:]]


def start(words: Sequence[str], setup: str = "", **options: Any) -> subprocess.Popen[Any]:
    """Start `corrigible ...` or `conformance ...`. The options are those of `subprocess.Popen`."""
    return _Forked(arguments(words, setup), call=[words[0], setup, *words[1:]], **options)


def run(
    words: Sequence[str], setup: str = "", *, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run such a command to its end, as `subprocess.run` does, and return what it printed."""
    given = options.pop("input", None)
    pipes = {"stdin": subprocess.DEVNULL if given is None else subprocess.PIPE, "stdout": subprocess.PIPE}
    with start(words, setup, **{**pipes, "stderr": subprocess.PIPE, "text": True, **options}) as process:
        try:
            output, errors = process.communicate(given, timeout=240)
        finally:
            process.kill()
    done = subprocess.CompletedProcess([*words], process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


class _Forked(subprocess.Popen[Any]):
    def __init__(self, *given: Any, call: list[str] | None, **options: Any) -> None:
        self._call = call
        super().__init__(*given, **options)

    def _execute_child(self, *given: Any) -> None:
        """Fork a process, and close our ends of its streams; or start it, where that could be told apart."""
        child = inspect.signature(super()._execute_child).bind(*given).arguments  # type: ignore[misc]
        environment = dict(os.environ if child["env"] is None else child["env"])
        if self._call is None or not _is_plain(child, environment):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        wanted = (child["p2cread"], child["c2pwrite"], child["errwrite"])
        streams = [number if number >= 0 else standard for standard, number in enumerate(wanted)]
        call = {"words": self._call, "environment": environment, "session": child["start_new_session"]}
        kept = [*child["pass_fds"]]
        folder = os.getcwd() if child["cwd"] is None else os.fspath(child["cwd"])
        call |= {"folder": folder, "kept": kept}
        self.pid = _waiting().fork(call, [*streams, *kept])
        self._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(child[end] for end in ends))  # type: ignore[attr-defined]


class _Popen(_Forked):
    """What `subprocess.Popen` is; it forks where a command or code of ours is to run."""

    def __init__(self, words: Sequence[str], **options: Any) -> None:
        call = None
        if words and (name := os.path.basename(words[0])) in _MODULES:
            call = [name, "", *words[1:]]
        elif list(words[:2]) == [sys.executable, "-c"] and "from corrigible." in words[2]:
            call = ["corrigible", f"{words[2]}\nsys.exit()", *words[3:]]
        elif list(words[:3]) == [sys.executable, "-m", _COMPILER]:
            call = ["corrigible", f"from {_COMPILER} import main\nsys.exit(main())", *words[3:]]
        super().__init__(words, call=call, **options)


def _run(
    words: Sequence[str], *, check: bool = False, capture_output: bool = False, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Do what `subprocess.run` does, without input and time limit."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} if capture_output else {}
    with _Popen(words, **pipes, **options) as process:
        output, errors = process.communicate()
    done = subprocess.CompletedProcess(words, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


FORKING: Final = SimpleNamespace(**{**vars(subprocess), "Popen": _Popen, "run": _run})
"""For a module of ours that starts servers, in the place of `subprocess`."""


def _is_plain(child: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """Whether nothing of what is wanted could tell a fork from a start."""
    is_special = child["preexec_fn"] or environment.get("CORRIGIBLE_EXEC")
    return sys.platform == "linux" and not is_special and _for_python(environment) == _for_python(os.environ)


def _for_python(environment: Mapping[str, str]) -> dict[str, str]:
    given = {name: value for name, value in environment.items() if name.startswith(_OF_PYTHON)}
    return {name: value for name, value in given.items() if name != "PYTHONUNBUFFERED"}  # a fork heeds that


class _Waiting:
    """The process that waits. It ends with ours: nobody holds the other end of its socket then."""

    def __init__(self, connection: socket.socket, process: Any) -> None:
        self._lock = threading.Lock()
        self._socket, self.process = connection, process
        atexit.register(self.end)

    @classmethod
    def started(cls) -> _Waiting:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            words = [sys.executable, "-c", _WAITING, str(theirs.fileno())]
            return cls(ours, subprocess.Popen(words, stdin=-3, stdout=-3, pass_fds=[theirs.fileno()], cwd=_ROOT))

    def end(self) -> None:
        self._socket.close()
        self.process.wait(60)

    def fork(self, call: dict[str, Any], streams: list[int]) -> int:
        """Return the number of a new process. Its parent is ours: the one between us and it has ended."""
        with self._lock:
            _adopt(True)
            try:
                socket.send_fds(self._socket, [json.dumps(call).encode()], streams)
                number = self._socket.recv(32)
            finally:
                _adopt(False)
        assert number, "the process that forks commands has ended"
        return int(number)


_running: _Waiting | None = None
_starting: Final = threading.Lock()


def _waiting() -> _Waiting:
    """Return what forks. It is started again where a time limit has killed it with what a test had started."""
    global _running
    with _starting:
        if _running is not None and _running.process.poll() is not None:
            _running.end()
            _running = None
        _running = _running or _Waiting.started()
        return _running


def _adopt(yes: bool) -> None:
    """Let orphans below this process become its children, not those of the system's first process."""
    if ctypes.CDLL(None, use_errno=True).prctl(_ADOPTS, int(yes), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def called(number: int) -> list[str]:
    """Wait for calls on this socket, and fork for each. Return in the forks: they are to run these words."""
    calls = socket.socket(fileno=number)
    for interrupt in (signal.SIGINT, signal.SIGTERM):  # it ends when nobody can call any more
        signal.signal(interrupt, signal.SIG_IGN)
    while True:
        text, streams, _, _ = socket.recv_fds(calls, _MOST, 3 + _MOST_KEPT)
        if not text:
            os._exit(0)
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:
            between = os.getpid()
            if os.fork() == 0:
                break
            os._exit(0)
        os.waitpid(between, 0)
        for each in (writing, *streams):
            os.close(each)
        calls.send(os.read(reading, 32))
        os.close(reading)
    while os.getppid() == between:
        time.sleep(0.001)
    call: dict[str, Any] = json.loads(text)
    high = [fcntl.fcntl(stream, fcntl.F_DUPFD, 1000) for stream in streams[3:]]  # above the numbers that they get
    _become(call, streams[:3])
    os.write(writing, b"%d" % os.getpid())
    for each in (calls.detach(), reading, writing, *streams):
        os.close(each)
    for each, stream in zip(call["kept"], high, strict=True):
        os.dup2(stream, each)
        os.close(stream)
    words: list[str] = call["words"]
    return _forking_too(words) if words[2:3] in (["lift"], ["sandbox"]) else words


def _forking_too(words: list[str]) -> list[str]:
    """Leave a process behind that forks what this command starts, before it has more threads than one."""
    global _running
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if (number := os.fork()) == 0:
        high, nothing = fcntl.fcntl(theirs.detach(), fcntl.F_DUPFD, 1000), os.open(os.devnull, os.O_RDWR)
        for each, kept in enumerate((nothing, nothing, nothing, high)):  # readers of the output see its end
            os.dup2(kept, each)
        ours.detach()  # no number may be closed again, once it is another's
        os.closerange(4, _MOST_OPEN)
        return called(3)
    theirs.close()
    end = SimpleNamespace(poll=lambda: None, wait=lambda seconds: os.waitpid(number, 0))
    _running = _Waiting(ours, end)
    for name in ("adapters.sandbox.server", "conformance.lift.environment", "conformance.transport.process"):
        importlib.import_module(f"corrigible.{name}").subprocess = FORKING  # type: ignore[attr-defined]
    return words


def _become(call: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Be the process that was wanted: signals, session, folder, environment and streams."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if call["session"]:
        os.setsid()
    for each, stream in enumerate(streams):
        os.dup2(stream, each)
    os.chdir(call["folder"])
    os.environ.clear()
    os.environ.update(call["environment"])
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    for each, name in enumerate(("stdin", "stdout", "stderr")):  # as Python makes them at its start
        old, through = getattr(sys, name), at_once and each > 0
        raw = open(each, "wb" if each else "rb", 0 if through else -1, closefd=False)  # noqa: SIM115  open to the end
        lines = (each == 2 and not through) or raw.isatty()
        new = io.TextIOWrapper(raw, old.encoding, old.errors, line_buffering=lines, write_through=through)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
