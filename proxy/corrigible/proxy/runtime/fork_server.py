"""A small process that forks workers: each has all that was loaded, and can be killed without harm to anybody.

Knows: processes, their limits, a socket to each. Does not know: what the work is, event loops, HTTP.

Two servers are forked while there is one thread, and do no task: what they fork later is as fresh as that, and there in
milliseconds. One forks all workers, the other one waits: it takes the place of the first when that ends, whatever that
ended by, and forks another one to wait. They end with their parent, and workers with the server that forked them.
A worker may order workers of its own from the same server: they end with it.

What a process does about itself: its memory, its name, the children of its children, and its file descriptors.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import re
import select
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, Self

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]  # checked in both functions

_LIBC: Final = ctypes.CDLL(None) if sys.platform == "linux" else None
"""Made once: each call makes a class, for which a forked process writes to a hundred pages."""
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NAME: Final = 15
_PR_SET_CHILD_SUBREAPER: Final = 36
_MADV_DONTNEED: Final = 4
_UNCHANGED: Final = re.compile(
    r"^([0-9a-f]+)-([0-9a-f]+) r-.p .*/.*\n(?:[A-Z].*\n)+?Anonymous: +0 kB\n(?:[A-Z].*\n)+?Swap: +0 kB", re.MULTILINE
)
"""Where pages of a file are mapped, and none of them was written to."""
_LONGEST: Final = 15
"""Bytes of a name that the kernel keeps."""


def keep_what_exists() -> None:
    """Have the collector leave alone what exists now, which stays: it need not walk all of that again and again.

    Call it before a fork: each page that the collector writes to would be copied. Memory that is free goes back to the
    system, where that can be asked for it: what was loaded left a good deal of it. So do pages of libraries, of which a
    third is mapped again soon: the others were of use to the start.
    """
    gc.collect()
    gc.freeze()
    if (trim := getattr(_LIBC, "malloc_trim", None)) is not None:  # of glibc
        trim(0)
    if _LIBC is not None:
        with contextlib.suppress(OSError):  # there is no /proc
            for start, end in _UNCHANGED.findall(Path("/proc/self/smaps").read_text()):
                first, last = int(start, 16), int(end, 16)
                _LIBC.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), _MADV_DONTNEED)


def name_process(name: str) -> None:
    """Have `ps -o comm` and `top` show this name: else all that were forked have the one of the command."""
    _prctl(_PR_SET_NAME, name.encode()[:_LONGEST])


def adopt_orphans() -> None:
    """Be the parent of all processes below this one whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(signal: int) -> None:
    """Have this process sent a signal when the parent ends. Look afterwards whether it has ended before."""
    _prctl(_PR_SET_PDEATHSIG, signal)


def _prctl(option: int, argument: int | bytes) -> None:
    if _LIBC is not None:
        _LIBC.prctl(option, argument, 0, 0, 0)


CONNECTIONS: Final = 1 << 14
"""Of callers. Above this number idle ones are closed."""
_OWN: Final = 64
"""What a process has open for itself."""


def raise_limit() -> None:
    """Raise the limit as far as the system allows: the usual 1,024 serve 500 callers, with two each."""
    if resource is None:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # some systems report a limit that they do not grant
        return


def scarcity_threshold() -> int:
    """Return the descriptor number from which on they are scarce. The system assigns the lowest free number."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource is not None else 1 << 14
    if resource is not None and soft == resource.RLIM_INFINITY:
        return 1 << 20
    return soft - soft // 8


def most_connections() -> int:
    """Return how many callers one process can serve at once, with a connection to the API for each."""
    return max(8, min(CONNECTIONS, (scarcity_threshold() - _OWN) // 2))


Served = Mapping[str, Callable[..., Any]]
"""What workers can do, by name. A generator's values are questions, whose answers it is sent."""

LENGTH: Final = struct.Struct("!Q")
"""Goes before each message."""
RUN, NOTE, ANSWER = "run", "note", "answer"
"""Messages to workers: `(RUN, name, arguments, named ones)`, `(ANSWER, value)`, and without a reply `(NOTE, name,
arguments)`."""
ASK, DONE, FAILED = "ask", "done", "failed"
"""Messages from them: `(ASK, question)`, `(DONE, value, bytes of memory it took at most)`, `(FAILED, why)`."""

_ORDER: Final = struct.Struct("!cQqi")
"""What is ordered, its number, and of a worker the bytes it may take (`_ANY`) and its niceness."""
_ANY: Final = -1
_SPAWN, _KILL, _LEARN, _SERVER = b"s", b"k", b"l", b"f"
_is_forked = False
"""Whether this process is below a fork server."""
_above: socket.socket | None = None
"""Where a worker orders workers of its own."""
_ENDING: Final = 5.0
"""Seconds in which a server that is told to end its workers does."""
NICER: Final = 5
"""Traffic comes before corrections."""


@dataclass(frozen=True, slots=True)
class _Server:
    """One of the two, as the parent sees it."""

    orders: socket.socket
    number: int
    """Of its process among those that the other one forked; 0 where the parent forked it."""
    pid: int
    """0 where the other one forked it."""

    def __post_init__(self) -> None:
        self.orders.setblocking(False)  # a server that does not read must not stop who orders

    def has_ended(self) -> bool:
        try:
            return not self.orders.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)  # it says nothing
        except BlockingIOError:
            return False
        except OSError:
            return True

    def forget(self) -> None:
        """Take the end of a process that has ended."""
        self.orders.close()
        if self.pid:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)


class ForkServer:
    """The parent's end: orders workers, and has them killed."""

    _spare: _Server | None
    _groups: list[int]

    def __init__(self, served: Served, *, memory: int | None, nicer: int = NICER) -> None:
        """Fork the servers. Call it while the process has one thread.

        `memory` is how many bytes a worker may take beyond what it starts with; None for any. `nicer` is by how much
        this process comes before workers.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        self._be(_forked(served), memory, nicer)
        try:
            self._spare = _forked(served)
        except BaseException:
            self.close()
            raise
        self._has_spare = True
        self._groups = [] if _is_forked else [self._now.pid, self._spare.pid]

    def _be(self, now: _Server, memory: int | None, nicer: int) -> None:
        self._now, self._spare, self._has_spare, self._groups, self._count = now, None, False, [], 0
        self._limits = _ANY if memory is None else memory, os.nice(0) + nicer

    @classmethod
    def above(cls, *, memory: int | None, nicer: int = NICER) -> Self | None:
        """Return the server that forked this worker, which serves it, too; None where this process is no worker."""
        if _above is None:
            return None
        server = cls.__new__(cls)
        server._be(_Server(_above, 0, 0), memory, nicer)
        return server

    @property
    def pid(self) -> int:
        """The process that forks workers, if this one forked it; else 0."""
        return self._now.pid

    def spawn(self) -> tuple[int, socket.socket]:
        """Return a new worker's number, and the socket to talk to it. Raises OSError."""
        self.mend()
        parent_end, child_end = socket.socketpair()
        try:
            number = self._order(self._now, _SPAWN, child_end)
        except BaseException:  # raised again: a cancelled caller must not leave a socket behind either
            parent_end.close()
            raise
        finally:
            child_end.close()
        return number, parent_end

    def _order(self, server: _Server, order: bytes, handed: socket.socket) -> int:
        self._count += 1
        socket.send_fds(server.orders, [_ORDER.pack(order, self._count, *self._limits)], [handed.fileno()])
        return self._count

    def mend(self) -> None:
        """See to it that there are two servers. Workers of one that ended have ended, too."""
        for group in self._groups:
            _reap(group)
        if self._now.has_ended() and self._spare is not None:
            self._now.forget()
            self._now, self._spare = self._spare, None
        if self._spare is not None and self._spare.has_ended():
            self.kill(self._spare.number)
            self._spare.forget()
            self._spare = None
        if self._spare is None and self._has_spare:
            ours, its = socket.socketpair()
            try:
                number = self._order(self._now, _SERVER, its)
            except OSError:
                ours.close()
            else:
                self._spare = _Server(ours, number, 0)
            finally:
                its.close()

    def learn(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Have a function called in the servers: workers forked from now on know what came of it."""
        self.mend()
        for server in (self._now, self._spare):
            if server is not None:
                with tempfile.TemporaryFile() as file, contextlib.suppress(OSError):
                    pickle.dump((name, arguments), file, pickle.HIGHEST_PROTOCOL)
                    file.flush()
                    socket.send_fds(server.orders, [_ORDER.pack(_LEARN, 0, *self._limits)], [file.fileno()])

    def is_running(self) -> bool:
        """Whether a server is there: without one no worker is started any more."""
        self.mend()
        return not self._now.has_ended()

    def kill(self, number: int) -> None:
        """End a worker, whatever it is doing."""
        with contextlib.suppress(OSError):
            self._now.orders.send(_ORDER.pack(_KILL, number, *self._limits))

    def close(self) -> None:
        """End the servers and all workers."""
        servers = [one for one in (self._spare, self._now) if one is not None]
        for one in servers:
            with contextlib.suppress(OSError):
                one.orders.shutdown(socket.SHUT_WR)
        for one in servers:
            with contextlib.suppress(OSError):
                one.orders.settimeout(_ENDING)
                one.orders.recv(1)
            one.forget()


def _reap(group: int) -> None:
    """Take the ends of processes below this one whose parent has ended: they have become children of this one."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass


def _forked(served: Served) -> _Server:
    orders, child_end = socket.socketpair()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        orders.close()
        _be_server(child_end, served, parent)
    child_end.close()
    return _Server(orders, 0, pid)


def _be_server(orders: socket.socket, served: Served, parent: int | None) -> NoReturn:
    status = 1
    try:
        _serve(orders, served, parent)
        status = 0
    finally:
        os._exit(status)


def _serve(orders: socket.socket, served: Served, parent: int | None) -> None:
    """Fork as ordered until nobody is there to order. `parent` is who orders, if that forked this process."""
    global _is_forked
    _begin(parent)
    name_process("corrigible-fork")
    if not _is_forked:
        os.setpgid(0, 0)  # all that come of it are one group
        _is_forked = True
    os.closerange(3, orders.fileno())
    os.closerange(orders.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    gc.freeze()
    below: dict[socket.socket, dict[int, int]] = {orders: {}}
    """By who ordered them, what was forked: the parent orders, and each of its workers."""
    try:
        while True:
            for orderer in select.select([*below], [], [])[0]:
                if _obey(orderer, below, served, may_order=orderer is orders):
                    continue
                if orderer is orders:
                    return
                for pid in below.pop(orderer).values():
                    _end(pid)
                orderer.close()
    finally:
        for workers in below.values():
            for pid in workers.values():
                _end(pid)


def _obey(
    orderer: socket.socket, below: dict[socket.socket, dict[int, int]], served: Served, *, may_order: bool
) -> bool:
    """Do as one order says: whether there was one. With `may_order` a worker may order some itself."""
    data, handed, _, _ = socket.recv_fds(orderer, _ORDER.size, 1)
    if len(data) < _ORDER.size:
        return False
    order, number, memory, nice = _ORDER.unpack(data)
    workers = below[orderer]
    if order == _SPAWN and handed:
        with contextlib.suppress(OSError):  # the parent sees its end of the socket closed
            ours, its = socket.socketpair() if may_order else (None, None)
            pid = os.fork()
            if pid == 0:
                for one in (*below, *([ours] if ours is not None else [])):
                    one.close()
                _become_worker(its, handed[0], served, memory, nice)
            workers[number] = pid
            if ours is not None and its is not None:
                its.close()
                below[ours] = {}
    elif order == _SERVER and handed:
        with contextlib.suppress(OSError):
            pid = os.fork()
            if pid == 0:
                # No signal tells it of the end of whoever orders, which did not fork it.
                _be_server(socket.socket(fileno=handed[0]), served, None)
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
    return True


def _end(pid: int) -> None:
    # Nobody else waits for it, so the number is still its own.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _begin(parent: int | None) -> None:
    """Live no longer than the parent, if given, and leave to it what a terminal or a supervisor sends to all."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)
    if sys.platform == "linux" and parent is not None:
        end_with_parent(signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)


def _become_worker(above: socket.socket | None, handed: int, served: Served, memory: int, nice: int) -> None:
    global _above
    status = 1
    try:
        _above = above
        _begin(os.getppid())
        name_process("corrigible-work")
        os.nice(nice - os.nice(0))
        _limit(memory)
        work(socket.socket(fileno=handed), served)
        status = 0
    finally:
        os._exit(status)


def _limit(memory: int) -> None:
    if memory == _ANY or sys.platform != "linux":
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
                with contextlib.suppress(Exception):  # nobody waits for an answer, and the worker has others to serve
                    served[name](*arguments)
            case (str(kind), name, arguments, named) if kind == RUN:
                try:
                    value = _done(served[name](*arguments, **named), connection, served)
                    data = pickle.dumps((DONE, value, _peak() - least), pickle.HIGHEST_PROTOCOL)
                except Exception as problem:  # whatever it is, the parent waits to hear of it
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
