"""What a peer may spend on frames that carry nothing, before it is told to calm down.

Knows: a clock. Does not know: frames, sockets.
"""

from __future__ import annotations

import time
from collections.abc import Callable

BURST = 1000.0
"""So much at once: some 50 ms of ours at one unit a frame."""

RATE = 200.0
"""So much again each second."""


class Budget:
    """A token bucket that fills with time, and with work that is worth its while."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = BURST
        self._at = clock()

    def earn(self, amount: float) -> None:
        """Put something back, for work that needs such frames."""
        self._left = min(BURST, self._left + amount)

    def spend(self, amount: float) -> bool:
        """Take something out. False where there is not that much left."""
        now = self._clock()
        self._left = min(BURST, self._left + (now - self._at) * RATE) - amount
        self._at = now
        return self._left >= 0
