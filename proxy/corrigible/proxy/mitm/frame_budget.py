"""How many frames without content a peer may send before its connection ends with ENHANCE_YOUR_CALM.

Knows: a clock. Does not know: frames, sockets.
"""

from __future__ import annotations

import time
from collections.abc import Callable

BURST = 1000.0
"""Units at once: at one unit per frame some 50 ms of CPU time."""

RATE = 200.0
"""Units that are added each second."""


class FrameBudget:
    """A token bucket that fills with time and with transferred data."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = BURST
        self._at = clock()

    def earn(self, amount: float) -> None:
        """Add units, for data whose transfer needs such frames."""
        self._left = min(BURST, self._left + amount)

    def spend(self, amount: float) -> bool:
        """Subtract units. Return False if too few are left."""
        now = self._clock()
        self._left = min(BURST, self._left + (now - self._at) * RATE) - amount
        self._at = now
        return self._left >= 0
