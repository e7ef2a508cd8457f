"""Loops whose memory is in several processes: a success in one ends them in all.

Knows: loops, whose refusals were handed to a worker. Does not know: processes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from .detector import MOST, Loops


class LoopsApart(Loops):
    """The loops of this process, and the names of callers who may have some in a worker."""

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self._elsewhere: OrderedDict[str, None] = OrderedDict()
        self._tell: Callable[[str, str], None] | None = None

    def apart(self, tell: Callable[[str, str], None]) -> None:
        """Report successes, by caller and place, to the keeper of the other loops."""
        self._tell = tell

    def handed_over(self, caller: str) -> None:
        """Hear that a caller's refusal is counted elsewhere."""
        self._elsewhere[caller] = None
        self._elsewhere.move_to_end(caller)
        if len(self._elsewhere) > MOST:
            self._elsewhere.popitem(last=False)

    def knows(self, caller: str) -> bool:
        return caller in self._elsewhere or super().knows(caller)

    def succeeded(self, caller: str, place: str) -> None:
        super().succeeded(caller, place)
        if self._tell is not None and caller in self._elsewhere:
            self._tell(caller, place)
