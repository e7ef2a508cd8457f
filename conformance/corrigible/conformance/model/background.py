"""Calls a function again and again in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeated_beside(
    call: Callable[[], None], *, every: float, first: float = 0.0, timeout: float = 1.0, name: str = "meanwhile"
) -> Iterator[None]:
    """Call after `first` seconds and then with so many in between. The last call has `timeout` seconds to end."""
    over = threading.Event()

    def work() -> None:
        wait = first
        while not over.wait(wait):
            call()
            wait = every

    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout)
