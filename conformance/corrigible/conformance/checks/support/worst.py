"""How long small calls of others take at the worst, while somebody does what may hold them up (SRF-TRN-13).

What is measured is compared with calls that go straight to the upstream: it, and this machine, may be slow themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

MOST: Final = 1.0
"""Seconds that a small call may take at the worst, beyond what it takes without the subject."""
LONGEST: Final = 10.0
"""Seconds in which a call has its answer, as it came or explained."""
STRAIGHT: Final = "straight"
"""What a call is named that goes to the upstream itself."""


@dataclass(slots=True)
class Worst:
    """The slowest small call, by its name."""

    seconds: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, seconds: float) -> None:
        self.seconds[name] = max(self.seconds.get(name, 0.0), seconds)

    @property
    def allowed(self) -> str:
        return f"at most {MOST:g} s more than {self.seconds.get(STRAIGHT, 0.0):.2f} s"

    def late(self) -> list[tuple[str, float]]:
        """Return what took too long, and how long."""
        aside = self.seconds.get(STRAIGHT, 0.0)
        return [(name, took) for name, took in self.seconds.items() if took - aside > MOST]
