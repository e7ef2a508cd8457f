"""Threads in the background, and the scope that ends what a check has open.

Knows: threads. Does not know: sockets, programs, checks: who opens one says how it is ended.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

Held = TypeVar("Held")

_STEP: Final = 0.1
_CURRENT: Final[ContextVar[CancelScope | None]] = ContextVar("cancel scope", default=None)


class Cancelled(BaseException):
    """The check that runs was ended. It passes everything that a check catches."""


class CancelScope:
    """One attempt of a check, and what its threads hold open. After `cancel` nothing can be opened any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: WeakKeyDictionary[Any, Callable[[Any], object]] = WeakKeyDictionary()
        self._over = threading.Event()
        self._heard = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, work: Callable[[], object], name: str) -> threading.Thread:
        """Start the thread of a check."""

        def scoped() -> None:
            _CURRENT.set(self)
            with suppress(Cancelled):
                work()

        self._thread = threading.Thread(target=scoped, name=name, daemon=True)
        self._thread.start()
        return self._thread

    def cancel(self) -> None:
        """End what is open. A blocked thread goes on, and meets `Cancelled` when it opens or reads something."""
        self._over.set()
        with self._lock:
            held = list(self._held.items())
        for one, end in held:
            with suppress(Exception):  # it may be at its end already, in any state
                end(one)

    def gone(self, *, unwinding: float, unwilling: float) -> bool:
        """Wait until the thread of a cancelled check has ended. False where it cannot be ended.

        A thread that has met `Cancelled` gets `unwinding` seconds to close what it has. One that has not, since it
        computes, is interrupted after `unwilling` seconds, and gets four times as many to end.
        """
        thread = self._thread
        if thread is None:
            return True
        thread.join(unwilling)
        if thread.is_alive() and not self._heard.is_set() and thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Cancelled))
            thread.join(4 * unwilling)
        if thread.is_alive() and self._heard.is_set():
            thread.join(unwinding)
        return not thread.is_alive()

    def hold(self, one: Held, end: Callable[[Held], object]) -> None:
        """Keep what was opened, as long as somebody uses it, with how it is ended. Raises Cancelled after `cancel`."""
        with self._lock:
            self._held[one] = end
            over = self._over.is_set()
        if over:
            with suppress(Exception):
                end(one)
            self.go_on()

    def go_on(self) -> None:
        """Raise Cancelled where the check was ended."""
        if self._over.is_set():
            self._heard.set()
            raise Cancelled

    def wait(self, seconds: float) -> None:
        self._over.wait(seconds)
        self.go_on()


def go_on() -> None:
    """Raise Cancelled in a thread whose check was ended. To be called before and after each exchange."""
    if (scope := _CURRENT.get()) is not None:
        scope.go_on()


def hold(one: Held, end: Callable[[Held], object]) -> Held:
    """Return what was opened. It is ended with the check that opened it, if that is ended before."""
    if (scope := _CURRENT.get()) is not None:
        scope.hold(one, end)
    return one


def pause(seconds: float) -> None:
    """Sleep, as long as the check goes on."""
    scope = _CURRENT.get()
    (scope or CancelScope()).wait(seconds)


def awaited(event: threading.Event, seconds: float) -> bool:
    """Wait for an event, as long as the check goes on. False where it does not come in time."""
    until = time.monotonic() + seconds
    while not event.wait(min(_STEP, max(0.0, until - time.monotonic()))):
        go_on()
        if time.monotonic() >= until:
            return False
    return True


@contextmanager
def repeated_beside(
    call: Callable[[], None], *, every: float, first: float = 0.0, timeout: float = 1.0, name: str = "meanwhile"
) -> Iterator[None]:
    """Call after `first` seconds and then with so many in between. The last call has `timeout` seconds to end.

    The thread belongs to the check that started it: it ends with it.
    """
    over = threading.Event()

    def work() -> None:
        wait = first
        with suppress(Cancelled):
            while not over.wait(wait):
                call()
                wait = every

    thread = threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout)
