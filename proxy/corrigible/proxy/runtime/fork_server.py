"""A small process that forks workers: each has all that was loaded, and can be killed without harm to anybody.

Knows: processes, their limits, a socket to each. Does not know: what the work is, event loops, HTTP.

The server is forked once, while there is one thread, and does no task: what it forks later is as fresh as that, and
there in milliseconds. It ends with its parent, and its workers end with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, Final

if sys.platform != "win32":
    import resource

Served = Mapping[str, Callable[..., Any]]
"""What workers can do, by name. A generator's values are questions, whose answers it is sent."""

LENGTH: Final = struct.Struct("!Q")
"""Goes before each message."""
RUN, NOTE, ANSWER = "run", "note", "answer"
"""Messages to workers: `(RUN, name, arguments, named ones)`, `(ANSWER, value)`, and without a reply `(NOTE, name,
arguments)`."""
ASK, DONE, FAILED = "ask", "done", "failed"
"""Messages from them: `(ASK, question)`, `(DONE, value, bytes of memory it took at most)`, `(FAILED, why)`."""

_ORDER: Final = struct.Struct("!cQ")
_SPAWN, _KILL, _LEARN = b"s", b"k", b"l"
_PR_SET_PDEATHSIG: Final = 1
NICER: Final = 5
"""Traffic comes before corrections."""


class ForkServer:
    """The parent's end: orders workers, and has them killed."""

    def __init__(self, served: Served, *, memory: int | None, nicer: int = NICER) -> None:
        """Fork the server. Call it while the process has one thread.

        `memory` is how many bytes a worker may take beyond what it starts with; None for any. `nicer` is by how much
        other processes come before workers.
        """
        self._orders, child_end = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                self._orders.close()
                _serve(child_end, served, memory, nicer, parent)
                status = 0
            finally:
                os._exit(status)
        child_end.close()
        self._orders.setblocking(False)  # a server that does not read must not stop the parent
        self._count = 0

    def spawn(self) -> tuple[int, socket.socket]:
        """Return a new worker's number, and the socket to talk to it. Raises OSError."""
        parent_end, child_end = socket.socketpair()
        try:
            self._count += 1
            socket.send_fds(self._orders, [_ORDER.pack(_SPAWN, self._count)], [child_end.fileno()])
        except BaseException:  # raised again: a cancelled caller must not leave a socket behind either
            parent_end.close()
            raise
        finally:
            child_end.close()
        return self._count, parent_end

    def learn(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Have a function called in the server itself: workers forked from now on know what came of it."""
        with tempfile.TemporaryFile() as file, contextlib.suppress(OSError):
            pickle.dump((name, arguments), file, pickle.HIGHEST_PROTOCOL)
            file.flush()
            socket.send_fds(self._orders, [_ORDER.pack(_LEARN, 0)], [file.fileno()])

    def is_running(self) -> bool:
        """Whether the server is there: what has ended starts no worker any more."""
        with contextlib.suppress(ChildProcessError):
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        return False

    def kill(self, number: int) -> None:
        """End a worker, whatever it is doing."""
        with contextlib.suppress(OSError):
            self._orders.send(_ORDER.pack(_KILL, number))

    def close(self) -> None:
        """End the server and all workers."""
        self._orders.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _serve(orders: socket.socket, served: Served, memory: int | None, nicer: int, parent: int) -> None:
    """Fork as ordered until the parent is gone."""
    _begin(parent)
    os.closerange(3, orders.fileno())
    os.closerange(orders.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    gc.freeze()
    workers: dict[int, int] = {}
    try:
        while True:
            data, handed, _, _ = socket.recv_fds(orders, _ORDER.size, 1)
            if len(data) < _ORDER.size:
                return
            order, number = _ORDER.unpack(data)
            if order == _SPAWN and handed:
                with contextlib.suppress(OSError):  # the parent sees its end of the socket closed
                    pid = os.fork()
                    if pid == 0:
                        _become_worker(orders, handed[0], served, memory, nicer)
                    workers[number] = pid
            elif order == _LEARN and handed:
                with contextlib.suppress(Exception), open(handed[0], "rb", closefd=False) as file:
                    file.seek(0)
                    name, arguments = pickle.load(file)
                    served[name](*arguments)
            elif order == _KILL and number in workers:
                _end(workers.pop(number))
            for descriptor in handed:
                os.close(descriptor)
    finally:
        for pid in workers.values():
            _end(pid)


def _end(pid: int) -> None:
    # Nobody else waits for it, so the number is still its own.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _begin(parent: int) -> None:
    """Live no longer than the parent, and leave to it what a terminal or a supervisor sends to all."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)


def _become_worker(orders: socket.socket, handed: int, served: Served, memory: int | None, nicer: int) -> None:
    status = 1
    try:
        parent = os.getppid()
        orders.close()
        _begin(parent)
        os.nice(nicer)
        _limit(memory)
        work(socket.socket(fileno=handed), served)
        status = 0
    finally:
        os._exit(status)


def _limit(memory: int | None) -> None:
    if memory is None or sys.platform != "linux":
        return
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    with contextlib.suppress(ValueError, OSError):  # a harder limit is there already
        resource.setrlimit(resource.RLIMIT_AS, (size + memory, size + memory))


def work(connection: socket.socket, served: Served) -> None:
    """Do as messages say until there are none."""
    least = _peak()
    while (message := _received(connection)) is not None:
        match message:
            case (str(kind), name, arguments) if kind == NOTE:
                with contextlib.suppress(Exception):
                    served[name](*arguments)
            case (str(kind), name, arguments, named) if kind == RUN:
                try:
                    value = _done(served[name](*arguments, **named), connection, served)
                    data = pickle.dumps((DONE, value, _peak() - least), pickle.HIGHEST_PROTOCOL)
                except Exception as problem:
                    data = pickle.dumps((FAILED, f"{type(problem).__name__}: {problem}"))
                _send(connection, data)


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _done(value: Any, connection: socket.socket, served: Served) -> Any:
    """Return what comes of it in the end: a generator's look-ups are sent to the parent."""
    if not isinstance(value, Generator):
        return value
    try:
        lookup = next(value)
        while True:
            _send(connection, pickle.dumps((ASK, lookup), pickle.HIGHEST_PROTOCOL))
            while (message := _received(connection)) is not None and message[0] == NOTE:
                with contextlib.suppress(Exception):
                    served[message[1]](*message[2])
            if message is None:
                os._exit(0)
            lookup = value.send(message[1])
    except StopIteration as stop:
        return stop.value


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(LENGTH.pack(len(data)) + data)


def _received(connection: socket.socket) -> Any:
    """Return the next message, None where there will be none."""
    head = _exactly(connection, LENGTH.size)
    data = _exactly(connection, LENGTH.unpack(head)[0]) if head is not None else None
    return pickle.loads(data) if data is not None else None


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(min(size - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)
