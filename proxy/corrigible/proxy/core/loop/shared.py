"""Loops whose memory is in several processes: a success in one ends them in all.

Knows: loops, whose refusals were handed to a worker. Does not know: processes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from .detector import Loops

MOST: Final = 4096
"""Callers who may have loops in a worker."""


class SharedLoops(Loops):
    """The loops of this process, and the names of callers who may have some in a worker."""

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self._remote_callers: OrderedDict[str, None] = OrderedDict()
        self._report: Callable[[str, str], None] | None = None

    def __bool__(self) -> bool:
        """Whether there may be a loop that a success ends, here or in another process."""
        return bool(self._remote_callers) or len(self) > 0

    def report_successes_to(self, report: Callable[[str, str], None]) -> None:
        """Report successes, by caller and place, to whoever has the other loops."""
        self._report = report

    def state(self) -> dict[str, Any]:
        """Return all that is remembered, for `restore` in another process."""
        return {name: value for name, value in vars(self).items() if name != "_report"}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Remember what another process did."""
        vars(self).update(state)

    def mark_remote(self, caller: str) -> None:
        """Note that another process counts the refusals of this caller."""
        self._remote_callers[caller] = None
        self._remote_callers.move_to_end(caller)
        if len(self._remote_callers) > MOST:
            self._remote_callers.popitem(last=False)

    def clear(self) -> None:
        super().clear()
        self._remote_callers.clear()

    def counts_here(self, caller: str) -> bool:
        """Whether this process counts refusals of a caller."""
        return super().has_loop(caller)

    def has_loop(self, caller: str) -> bool:
        return caller in self._remote_callers or super().has_loop(caller)

    def succeeded(self, caller: str, place: str) -> None:
        super().succeeded(caller, place)
        if self._report is not None and caller in self._remote_callers:
            self._report(caller, place)
