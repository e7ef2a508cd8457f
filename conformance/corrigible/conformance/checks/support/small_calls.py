"""Small calls of others while somebody does what may hold them up (SRF-TRN-13): the slowest, and the wrong ones.

Times are compared with calls that go straight to the upstream: it, and this machine, may be slow themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar

from corrigible.conformance.model.background import repeated_beside
from corrigible.conformance.validators.finding import Finding
from corrigible.schema.exchange import Json

_Result = TypeVar("_Result")

MOST: Final = 1.0
"""Seconds that a small call may take at the worst, beyond what it takes without the subject."""
LONGEST: Final = 10.0
"""Seconds in which a call has its answer, as it came or explained."""
TRIES: Final = 3
"""How often calls are measured until none is late: a busy machine is late at times, a subject that waits each time."""
STRAIGHT: Final = "straight"
"""The name of a call that goes to the upstream itself."""


@dataclass(slots=True)
class SmallCalls:
    """The slowest small call by name, and the calls that ended otherwise than expected."""

    seconds: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def note(self, name: str, seconds: float, end: str, expected: str) -> None:
        """Keep how long one call took and, where it is not as expected, how it ended."""
        self.seconds[name] = max(self.seconds.get(name, 0.0), seconds)
        if end != expected:
            self.wrong.append(f"{name}: {end}")

    def late(self) -> list[tuple[str, float]]:
        """Return what took too long, and how long."""
        straight = self.seconds.get(STRAIGHT, 0.0)
        return [(name, took) for name, took in self.seconds.items() if took - straight > MOST]

    def findings(self, load: str, finding: Callable[[str, Json, Json], Finding]) -> Iterator[Finding]:
        """Yield what went wrong for others while somebody `load`; `finding` takes a sentence, expected and got."""
        if self.wrong:
            sentence = f"While somebody {load}, small calls of others get no answer, or another one."
            yield finding(sentence, "their answers", list(self.wrong[:5]))
        allowed = f"at most {MOST:g} s more than {self.seconds.get(STRAIGHT, 0.0):.2f} s"
        for name, took in self.late():
            yield finding(f"While somebody {load}, {name} takes others {took:.1f} s.", allowed, f"{took:.2f} s")


@contextmanager
def small_calls(call: Callable[[SmallCalls], None]) -> Iterator[SmallCalls]:
    """Make small calls again and again until the block ends; `call` makes one of each kind and notes them."""
    calls = SmallCalls()
    with repeated_beside(lambda: call(calls), every=0.01, timeout=2 * LONGEST, name="others"):
        yield calls


def at_its_best(measure: Callable[[], tuple[SmallCalls, _Result]]) -> tuple[SmallCalls, _Result]:
    """Measure until no call is late, `TRIES` times at most; return what was measured last."""
    for _ in range(TRIES - 1):
        noted, result = measure()
        if noted.wrong or not noted.late():
            return noted, result
    return measure()
