"""How fast a provider may be asked, over all episodes of a process together.

Knows: a clock that is handed in. Does not know: providers, HTTP, episodes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Final

MINUTE: Final = 60.0


class RateLimiter:
    """Requests, and tokens, of the last minute. Usable from several threads."""

    def __init__(
        self,
        requests: float | None = None,
        tokens: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._requests, self._tokens = requests, tokens
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._next = 0.0
        self._spent: deque[tuple[float, int]] = deque()

    def enter(self) -> None:
        """Wait until a request may go out. Requests are spread evenly: a burst would only be refused."""
        while (wait := self._wait()) > 0:
            self._sleep(wait)

    def billed(self, tokens: int) -> None:
        """Count what a request turned out to cost."""
        with self._lock:
            self._spent.append((self._clock(), tokens))

    def _wait(self) -> float:
        with self._lock:
            now = self._clock()
            while self._spent and self._spent[0][0] <= now - MINUTE:
                self._spent.popleft()
            if self._tokens is not None and sum(tokens for _, tokens in self._spent) >= self._tokens:
                return self._spent[0][0] + MINUTE - now
            if self._requests is None:
                return 0.0
            if now < self._next:
                return self._next - now
            self._next = now + MINUTE / self._requests
            return 0.0


@cache
def rate_limiter_for(address: str, requests: float | None, tokens: float | None) -> RateLimiter:
    """Return the one rate of a provider's address: agents that ask the same provider share it."""
    return RateLimiter(requests, tokens)
